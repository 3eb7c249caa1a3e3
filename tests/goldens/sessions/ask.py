"""What is typed to ask a model."""

from __future__ import annotations

from functools import partial

from goldens.model import APPLES, ScriptedModel, at_model, refusing, steering
from goldens.transcript import PIPE, TEXT, Session


def _ask(*more: str, budget: int = 12) -> str:
    return f'ask "{APPLES}" {at_model(f"--budget {budget}", *more)}'


def sessions() -> list[Session]:
    plain = "--template plain"
    return [
        Session("ask", (_ask(),), model=steering),
        Session(
            "ask-show",
            (_ask("--show --no-ssc", plain), _ask("-m auto --show", plain, budget=2)),
            TEXT,
            model=steering,
        ),
        Session(
            "ask-stops",
            (
                f"ask 'What is the sum of 2 and 3?' {at_model('--budget 16 --stop-when beta', plain)}",
                _ask("--deepconf low:2", plain, budget=20),
            ),
            TEXT,
            model=steering,
        ),
        Session("ask-withheld", (_ask("--min-probability 0.999", plain, budget=3),), model=steering),
        Session("ask-typed", (f"ask - {at_model('--budget 3', plain)} < {APPLES}",), PIPE, model=steering),
        Session(
            "ask-requests",
            (_ask("--seed 3 --temperature 0.5 --top-k 20 --max-tokens 100 --reflection wait", budget=3),),
            PIPE,
            model=steering,
            asked=True,
        ),
        Session("ask-unsteered", (_ask(plain, budget=3),), TEXT, model=ScriptedModel),
        Session(
            "ask-fewer-logprobs",
            (_ask(plain, "--no-ssc", budget=3),),
            TEXT,
            model=partial(ScriptedModel, max_logprobs=5),
        ),
        Session(
            "ask-without-logprobs",
            (_ask(plain, budget=4), _ask(plain, "--no-ssc", budget=4)),
            model=partial(ScriptedModel, gives=0),
        ),
        Session(
            "ask-costs",
            (
                _ask("--price 2 --max-tokens 1000", plain, budget=3),
                _ask("--price 100000 --max-cost 1", plain, budget=6),
                _ask("--max-cost 1", plain),
            ),
            PIPE,
            model=steering,
        ),
        Session("ask-no-answer", (_ask("--max-tokens 3 --no-ssc", budget=3),), model=ScriptedModel),
        Session(
            "ask-errors",
            (
                "ask",
                'ask ""',
                "ask Q --budget 0",
                "ask Q --budget 1000000",
                "ask Q --budget many",
                "ask Q --method dis-gm",
                "ask Q --split sentence",
                'ask Q --reflection " "',
                "ask Q --alpha 2",
                "ask Q --model nowhere.gguf",
                "ask Q --engine cloud",
                "ask Q --engine openai",
                "ask Q --template maths",
                "ask Q --template plain.txt",
                "ask Q --temperature -1",
                "ask Q --top-p 0",
                "ask Q --max-tokens 0",
                "ask Q --stop-when soon",
                "ask Q --deepconf middle",
                "ask Q --min-probability 2",
                "ask Q --base-url ftp://127.0.0.1",
                "ask Q --base-url http://127.0.0.1:9/v1",
                "ask Q --base-url http://127.0.0.1:9/v1 --option colour=red",
                "ask Q --base-url http://127.0.0.1:9/v1 --slots 3",
            ),
            PIPE,
            files={"plain.txt": "nothing here"},
        ),
        Session(
            "ask-wrong-key",
            (_ask(plain, "--api-key wrong"),),
            PIPE,
            model=partial(ScriptedModel, key="sk-right"),
        ),
        Session(
            "ask-wrong-model",
            (_ask(plain, "--model other"), _ask(plain)),
            PIPE,
            model=partial(ScriptedModel, models=("a", "b")),
        ),
        Session(
            "ask-refused", (_ask(plain, "--model toy"),), PIPE, model=lambda: refusing(403, "no credit left")
        ),
    ]
