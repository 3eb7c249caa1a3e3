"""Make answers.jsonl: made-up answers to six riddles, each of which shows one effect.

No model was used. Confidences have two humps, like those of reasoning models: one around 15 for trajectories
that were sure of their last step, one around 11 for the others.

    python examples/make_answers.py > examples/answers.jsonl
"""

import json

import numpy as np

SURE, UNSURE = (15.0, 0.7), (11.0, 1.0)

RIDDLES: dict[str, tuple[str, list[tuple[str | None, int, tuple[float, float]]]]] = {
    # The wrong answer is frequent and unsure: majority voting elects it.
    "bat-and-ball": (
        "5",
        [("10", 17, UNSURE), ("5", 12, SURE), ("100", 2, UNSURE), ("95", 1, UNSURE)],
    ),
    "lily-pads": (
        "47",
        [("24", 16, UNSURE), ("47", 3, UNSURE), ("47", 9, SURE), ("46", 4, UNSURE)],
    ),
    # Most trajectories agree.
    "machines": ("5", [("5", 15, SURE), ("5", 6, UNSURE), ("100", 7, UNSURE), ("20", 2, UNSURE)]),
    # Some trajectories ran out of tokens.
    "birthdays": (
        "23",
        [("23", 10, SURE), ("183", 9, UNSURE), ("22", 4, UNSURE), ("20", 2, UNSURE), (None, 7, UNSURE)],
    ),
    # Many different answers, as formulas.
    "two-aces": (
        r"\frac{1}{221}",
        [
            (r"\frac{1}{169}", 9, UNSURE),
            (r"\frac{1}{221}", 10, SURE),
            (r"\frac{2}{13}", 3, UNSURE),
            (r"\frac{1}{26}", 2, UNSURE),
            (None, 1, UNSURE),
        ],
    ),
    # The sure answer is wrong: here the vote by confidence loses to majority voting.
    "handshakes": ("45", [("45", 19, UNSURE), ("90", 9, SURE), ("55", 3, UNSURE), ("100", 2, UNSURE)]),
}


def main() -> None:
    rng = np.random.default_rng(20250)
    for question, (truth, groups) in RIDDLES.items():
        rows = [
            (answer, None if answer is None else round(float(rng.normal(mean, sd)), 2))
            for answer, n, (mean, sd) in groups
            for _ in range(n)
        ]
        for index in rng.permutation(len(rows)):
            answer, confidence = rows[index]
            row = {"question_id": question, "answer": answer, "confidence": confidence}
            print(json.dumps(row | {"ground_truth": truth}))


if __name__ == "__main__":
    main()
