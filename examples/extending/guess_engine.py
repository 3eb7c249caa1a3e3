"""An engine of your own: where do replies come from? Here from a function."""

import random

import distrivote


def guess(messages, seed):
    """Return one reply to a conversation: a text, or a Trajectory with tokens and log-probabilities."""
    question = messages[-1]["content"]
    answer = "4" if random.Random(seed).random() < 0.7 else "5"
    return f"You ask {question!r}, and the answer is \\boxed{{{answer}}}."


if __name__ == "__main__":
    with distrivote.open(engine="guess_engine:guess") as engine:
        solution = distrivote.solve(engine, "What is 2 + 2?", budget=16, steering=None)
    print(solution.answer, dict(solution.tally.votes))
