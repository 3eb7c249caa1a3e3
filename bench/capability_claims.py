"""What docs/comparison.md says about other packages, as programs that fail if it is not so.

`bench/capabilities.py` runs this file with the Python in which the package is installed:
`capability_claims.py NAME FOLDER` prints each claim of the package and how it was seen. "run": the
capability was used; "code": the source was parsed or the name imported, and nothing was run.
"""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path

RUN, CODE = "run", "code"
Claim = tuple[str, str, Callable[[Path], bool]]
LETTERS = ["a", "b", "a", "a", "a", "a", "a", "b"]


def ours_counts(_: Path) -> bool:
    from distrivote.confidence import MEASURES
    from distrivote.store.importers.registry import formats
    from distrivote.voting.methods import _FILTERS, _VOTES
    from distrivote.voting.stopping.names import RULES

    found = len(_VOTES), len(_FILTERS), len(RULES), len(MEASURES), len(formats())
    return found == (9, 4, 8, 9, 15)


def ours_rejects(_: Path) -> bool:
    import distrivote

    answers, confidences = ["7", "7", "5", "3", "3", "3"] * 4, [14.0, 14.2, 13.8, 8.0, 8.1, 8.2] * 4
    tally = distrivote.vote(answers, confidences, method="dis-gmm")
    return tally.answer == "7" and tally.majority == "3" and tally.rejected == "3"


def ours_models(_: Path) -> bool:
    import distrivote

    models = ["a", "a", "b", "b"]
    return distrivote.vote(["4", "4", "4", "5"], [11.2, 10.9, 0.7, 0.9], models=models).answer == "4"


def ours_scores(_: Path) -> bool:
    import distrivote

    return callable(distrivote.score_run)


def scorio_votes(_: Path) -> bool:
    from scorio import aggregate

    return aggregate.majority_vote([[0, 1, 1]]) == [1] and aggregate.weighted_majority_vote(
        [[0, 1, 1]], [[9.0, 1.0, 1.0]]
    ) == [0]


def scorio_measures(_: Path) -> bool:
    import numpy as np
    from scorio import aggregate

    entries = np.log(np.full((6, 5), 0.2))
    return all(
        np.isfinite(getattr(aggregate, name)(entries)) for name in ("self_certainty", "deepconf_confidence")
    )


def scorio_stops(_: Path) -> bool:
    from scorio import aggregate

    return bool(aggregate.esc_stop([1, 1, 1, 1])) and bool(aggregate.adaptive_consistency_stop([1] * 9))


def its_hub_votes(_: Path) -> bool:
    from its_hub.core.algorithms.self_consistency import SelfConsistency

    return _asked(SelfConsistency(), ["7", "12", "12", "5"])["content"] == "12"


def its_hub_tools(_: Path) -> bool:
    from its_hub.core.algorithms.self_consistency import SelfConsistency

    calls = [
        {"id": "0", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for name in ("look", "move", "move", "rest")
    ]
    best = _asked(SelfConsistency(tool_vote="tool_name"), [[call] for call in calls])
    return best["tool_calls"][0]["function"]["name"] == "move"


def its_hub_beta(_: Path) -> bool:
    from its_hub.core.algorithms.beta_self_consistency import BetaSelfConsistency

    asked: list[int] = []
    _asked(BetaSelfConsistency(), ["12"] * 32, asked, wait=True)
    return len(asked) < 32


def its_hub_doubles(_: Path) -> bool:
    from its_hub.core.algorithms.adaptive_self_consistency import AdaptiveSelfConsistency

    asked: list[int] = []
    _asked(AdaptiveSelfConsistency(), ["12"] * 32, asked)
    return len(asked) < 32


def its_hub_has_no_confidence(folder: Path) -> bool:
    return not any("confidence" in path.name for path in (folder / "its_hub").rglob("*.py"))


def inspect_reduces(_: Path) -> bool:
    from inspect_ai.scorer import Score, mode_score

    scores = [Score(value=value) for value in ("C", "I", "C")]
    return bool(mode_score()(scores).value == "C")


def inspect_errors(_: Path) -> bool:
    from inspect_ai.scorer import bootstrap_stderr, stderr

    return callable(stderr) and callable(bootstrap_stderr)


def deepconf_votes(folder: Path) -> bool:
    spec = importlib.util.spec_from_file_location("deepconf_utils", folder / "deepconf" / "utils.py")
    assert spec is not None
    assert spec.loader is not None
    utils = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(utils)  # the package itself imports vLLM
    return bool(utils.weighted_majority_vote(["1", "2", "2"], [9.0, 1.0, 1.0]) == "1")


def has(file: str, *names: str) -> Callable[[Path], bool]:
    """Return a check that a file of a package defines classes or functions of these names."""

    def check(folder: Path) -> bool:
        tree = ast.parse((folder / file).read_text())
        return set(names) <= {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        }

    return check


def counts(pattern: str, least: int) -> Callable[[Path], bool]:
    """Return a check that a package has at least so many files of this pattern."""
    return lambda folder: len(list(folder.glob(pattern))) >= least


def says(file: str, *words: str) -> Callable[[Path], bool]:
    """Return a check that a file of a package has these words."""
    return lambda folder: all(word in (folder / file).read_text() for word in words)


CLAIMS: dict[str, list[Claim]] = {
    "distrivote": [
        ("9 votes, 4 splits, 8 stopping rules, 9 measures, 15 formats to import", RUN, ours_counts),
        ("rejection", RUN, ours_rejects),
        ("votes of several models", RUN, ours_models),
        ("scores of reward models for stored runs", CODE, ours_scores),
    ],
    "scorio": [
        ("majority and weighted votes on arrays", RUN, scorio_votes),
        ("confidences from log-probabilities", RUN, scorio_measures),
        ("stopping rules: ESC, Adaptive-Consistency", RUN, scorio_stops),
    ],
    "its_hub": [
        ("votes on replies", RUN, its_hub_votes),
        ("votes on tool calls", RUN, its_hub_tools),
        ("stops early by the rule that we call `beta`", RUN, its_hub_beta),
        ("stops early by doubling rounds", RUN, its_hub_doubles),
        ("no module about confidence", CODE, its_hub_has_no_confidence),
    ],
    "inspect-ai": [
        ("reducers over scores", RUN, inspect_reduces),
        ("standard errors of metrics", CODE, inspect_errors),
    ],
    "deepconf": [
        ("votes weighted by confidence", RUN, deepconf_votes),
        (
            "tail, bottom-window and least-grouped confidences",
            CODE,
            has(
                "deepconf/utils.py",
                "calculate_tail_confidence",
                "calculate_bottom_window_confidence",
                "compute_least_grouped",
            ),
        ),
        (
            "online and offline in one call",
            CODE,
            has("deepconf/wrapper.py", "deepthink", "_deepthink_online"),
        ),
    ],
    "optillm": [
        (
            "DeepConf on models that it loads itself",
            CODE,
            has("optillm/deepconf/deepconf.py", "deepconf_decode"),
        ),
        (
            "DeepConf stops by consensus",
            CODE,
            has("optillm/deepconf/processor.py", "check_consensus", "process_online"),
        ),
        ("tools through MCP", CODE, counts("optillm/plugins/mcp_plugin.py", 1)),
        ("16 plugins", CODE, counts("optillm/plugins/*_plugin.py", 16)),
    ],
    "thinkbooster": [
        ("beam search, phi-decoding", CODE, counts("thinkbooster/strategies/[!_]*_beam_search.py", 1)),
        ("process reward models as scorers", CODE, counts("thinkbooster/scorers/step_scorer_prm.py", 1)),
        ("a LangChain chat model", CODE, has("thinkbooster/integrations/langchain_chat_model.py", "ChatTTS")),
        ("DeepConf", CODE, counts("thinkbooster/strategies/deepconf/*.py", 1)),
    ],
    "uqlm": [
        ("judges, and scores by consistency and by token probability", CODE, counts("uqlm/*_box/*.py", 4)),
        ("chooses a reply with `use_best`", CODE, says("uqlm/scorers/shortform/black_box.py", "use_best")),
        ("calibration of scores", CODE, counts("uqlm/calibration/*.py", 1)),
    ],
    "lm-polygraph": [
        ("dozens of estimators", CODE, counts("lm_polygraph/estimators/[!_]*.py", 36)),
    ],
}


def _asked(
    algorithm: object, replies: list[object], asked: list[int] | None = None, wait: bool = False
) -> dict:
    """Return what an algorithm of its_hub chooses from a model that gives these replies in order."""
    from its_hub.api.lm import AbstractLanguageModel

    count = [] if asked is None else asked

    class Scripted(AbstractLanguageModel):
        async def agenerate(self, *_: object, **__: object) -> object:
            raise NotImplementedError

        async def agenerate_single(self, *_: object, **__: object) -> dict:
            place = len(count)
            if wait and place >= 4:
                await asyncio.sleep(30)  # has to be cancelled
            count.append(place)
            reply = replies[place % len(replies)]
            return (
                {"role": "assistant", "content": reply}
                if isinstance(reply, str)
                else {"role": "assistant", "content": "", "tool_calls": reply}
            )

        def evaluate(self, *_: object, **__: object) -> object:
            raise NotImplementedError

        async def aevaluate(self, *_: object, **__: object) -> object:
            raise NotImplementedError

    return asyncio.run(algorithm.ainfer(Scripted(), "?", budget=len(replies)))  # type: ignore[attr-defined]


def main() -> None:
    """Print how each claim fared, as JSON."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    found = []
    for claim, how, check in CLAIMS[name]:
        try:
            is_so, why = check(folder), ""
        except Exception as error:
            is_so, why = False, f"{type(error).__name__}: {error}"
        found.append({"claim": claim, "how": how, "is_so": bool(is_so), "why": why})
    print(json.dumps(found))


if __name__ == "__main__":
    main()
