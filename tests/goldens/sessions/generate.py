"""What is typed to make runs, and to look at them."""

from __future__ import annotations

import json
from functools import partial

from goldens.model import APPLES, ScriptedModel, at_model, steering
from goldens.transcript import PIPE, Session

QUESTIONS = (
    ("apples", APPLES, "12"),
    ("candles", "Of 10 candles 3 burn down. How many candles are left?", "7"),
    ("train", "A train is three quarters of an hour late. How much is that of an hour?", "3/4"),
)
QUESTION_FILE = "".join(
    json.dumps({"id": name, "question": text, "answer": answer}) + "\n" for name, text, answer in QUESTIONS
)


def _generate(*more: str, budget: int = 4) -> str:
    return f"generate q.jsonl -o run {at_model(f'--budget {budget} --template plain', *more)}"


def sessions() -> list[Session]:
    small = "--budget 2 --template plain"
    files: dict[str, str | bytes] = {"q.jsonl": QUESTION_FILE}
    return [
        Session(
            "generate",
            (
                _generate("--dry-run --price 2"),
                _generate("--limit 2"),
                _generate(),
                _generate(),
                _generate("--seed 7 --top-p 0.5"),
                _generate("--seed 7 --new"),
                "runs",
            ),
            files=files,
            model=steering,
            keeps=("run",),
        ),
        Session(
            "batch",
            (
                "batch write run --benchmark q.jsonl --budget 2",
                "batch write run --benchmark q.jsonl --model toy --budget 2 --template plain --for other",
                "batch write run",
                "batch read run",
                "batch read run q.jsonl",
                "batch write nowhere",
                "batch send run",
            ),
            files=files,
        ),
        Session(
            "generate-everything",
            (_generate("--no-ssc --token-confidences --top-logprobs --limit 1", budget=2),),
            PIPE,
            files=files,
            model=partial(ScriptedModel, max_logprobs=3),
            keeps=("run",),
        ),
        Session(
            "generate-stops",
            (
                _generate("--stop-when beta --no-texts", budget=12),
                _generate("--stop-when beta --no-texts", budget=12),
                f"generate q.jsonl -o small {at_model(small, '--max-tokens-total 12')}",
                f"generate q.jsonl -o dear {at_model(small, '--max-cost 1 --price 50000')}",
            ),
            files=files,
            model=steering,
        ),
        Session(
            "generate-total",
            (
                _generate("--total 20 --no-texts --no-ssc", budget=12),
                _generate("--total 20 --no-texts --no-ssc", budget=12),
                _generate("--total 24 --no-texts --no-ssc", budget=12),
                "runs",
            ),
            PIPE,
            files=files,
            model=steering,
        ),
        Session(
            "generate-errors",
            (
                "generate",
                "generate q.jsonl",
                "generate nowhere -o run",
                "generate nowhere.jsonl -o run",
                "generate bad.jsonl -o run",
                "generate q.jsonl -o taken --base-url http://127.0.0.1:9/v1 --model toy",
                "generate q.jsonl -o run --base-url http://127.0.0.1:9/v1",
                "generate q.jsonl -o run --budget 0",
                "generate q.jsonl -o run --max-cost 1",
                "generate q.jsonl -o run --max-tokens-total 0",
                "generate q.jsonl -o run --dry-run --new",
                "generate q.jsonl -o run --template essay",
                "generate q.jsonl -o run --stop-when soon",
                "generate q.jsonl -o run --total 2",
                "generate q.jsonl -o run --total 20 --stop-when gain",
            ),
            PIPE,
            files=files | {"bad.jsonl": '{"text": "?"}\n', "taken/thesis.txt": "x"},
        ),
        Session(
            "runs-and-show",
            (
                "runs",
                "runs examples/runs",
                _generate("--limit 2", budget=5),
                _generate(budget=5),
                "show run",
                "show run apples",
                "show run apples -m sc",
                "show run apples 3",
                "vote run -m sc -m dis-gmm",
                "compact run",
                "export run -o out.csv",
                "export run -o out.jsonl",
                "export run -o traces --format deepconf",
                "export run -o copy --format run",
                "show copy",
            ),
            files=files,
            model=steering,
            keeps=("out.csv", "copy"),
        ),
        Session(
            "runs-errors",
            (
                "runs nowhere",
                "show nowhere",
                "show examples",
                "show examples/runs/qwen2.5-coder-ssc no-such-question",
                "show examples/runs/qwen2.5-coder-ssc -m dis-gnn",
                "compact nowhere",
                "export nowhere -o out.csv",
                "export examples/runs/qwen2.5-coder-ssc -o out.xlsx",
                "export examples/runs/qwen2.5-coder-ssc -o out --format csv",
            ),
            PIPE,
        ),
    ]
