"""Made-up trajectories and the votes on them, in the shapes of docs/server-events.md.

The votes are real ones, by `distrivote.vote`, so that what the page shows fits together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distrivote.report.documents import tally_document
from distrivote.voting.ballot import Ballot
from distrivote.voting.vote import vote

Json = dict[str, Any]

HOSTILE = '<script>alert(1)</script><img src="x" onerror="alert(2)">"><img onerror=alert(3) src=y>'

_OPENINGS = (
    "Tom starts with 5 apples, and each of them counts once.",
    "He then buys 7 more: $5 + 7 = 12$, or written out $\\sum_{i=1}^{2} a_i = 12$.",
    "Check it by taking away: \\(12 - 7 = 5\\), so $\\frac{12}{2} = 6$ and $\\sqrt{144} = 12$.",
    "Then the area would be $\\pi r^2 \\le 3\\alpha_1$, which does not matter here; it cost $5 and $7.",
    "Hmm, that needs another look before I go on.",
)


def trajectories(n: int, seed: int = 0, skill: float = 0.8) -> list[Json]:
    """Return trajectories in two humps of confidence: surer ones are more often right."""
    rng = np.random.default_rng(seed)
    return [_trajectory(index, rng, skill) for index in range(n)]


def _trajectory(index: int, rng: np.random.Generator, skill: float) -> Json:
    sure = rng.random() < 0.55
    right = rng.random() < (skill if sure else 0.3 * skill)
    wrong = ["35", "2", "\\frac{7}{5}", "57"][rng.choice(4, p=[0.35, 0.4, 0.15, 0.1])]
    answer = None if rng.random() < 0.05 else "12" if right else wrong
    last = float(rng.normal(14.6, 0.9) if sure else rng.normal(10.4, 1.0))
    steps = [float(max(6.0, rng.normal(12.5, 2.2))) for _ in range(rng.integers(1, 7))] + [last]
    return made(index, answer, last, steps, int(rng.integers(2, 14)))


def made(index: int, answer: str | None, confidence: float, steps: list[float], words: int) -> Json:
    """Return one trajectory with these steps, reflections where SelfStepConf would put them."""
    thresholds: list[float | None] = [None]
    reflections: list[Json] = []
    text, ends, token_ends, tau, n_tokens = "", [], [], steps[0], 0
    for number, step in enumerate(steps):
        if number and thresholds[number] is not None and dropped(steps, number - 1, thresholds):
            reflections.append(
                {
                    "token": n_tokens,
                    "n_tokens": 1,
                    "step": number,
                    "text_start": len(text),
                    "text_end": len(text) + 5,
                }
            )
            text += "wait, "
        if number == len(steps) - 1:
            text += "The answer is unclear." if answer is None else f"The answer is $\\boxed{{{answer}}}$."
        else:
            text += _OPENINGS[(index + number) % len(_OPENINGS)] + "\n\n"
        n_tokens += 6 + words
        ends.append(len(text))
        token_ends.append(n_tokens)
        if number:
            tau = tau if dropped(steps, number, thresholds) else 0.8 * tau + 0.2 * step
        thresholds.append(0.8 * tau)
    return {
        "index": index, "answer": answer, "confidence": confidence, "correct": None, "n_tokens": n_tokens,
        "finish_reason": "stop", "server": None, "model": None,
        "step_ends": token_ends, "step_confidences": steps,
        "step_text_ends": ends, "thresholds": thresholds[: len(steps)], "reflections": reflections,
        "text": text,
    }  # fmt: skip


def dropped(steps: list[float], number: int, thresholds: list[float | None]) -> bool:
    line = thresholds[number]
    return line is not None and steps[number] < line and steps[number] < steps[number - 1]


def tally(pool: list[Json], method: str = "dis-gmm") -> Json | None:
    """Return the event `tally` of a pool, None if nothing has answered."""
    ballot = Ballot.of([each["answer"] for each in pool], [each["confidence"] for each in pool])
    counted = vote(ballot, method=method)
    if counted.answer is None:
        return None
    return dict(tally_document(counted, ballot, [each["index"] for each in pool]))


def final(pool: list[Json], budget: int, stopped: str | None = None) -> Json:
    """Return the event `final` of a pool."""
    counted = tally(pool)
    assert counted is not None
    best = max((each for each in pool if each["answer"] == counted["answer"]), key=lambda t: t["confidence"])
    return counted | {
        "best": best["index"], "budget": budget, "n_tokens": sum(each["n_tokens"] for each in pool),
        "n_tokens_saved": 0, "n_reflections": sum(len(each["reflections"]) for each in pool),
        "seconds": 4.82, "stopped": stopped, "trajectories": None,
    }  # fmt: skip
