"""An equality of your own: when are two answers the same? Here: numbers within 1% of each other."""

import distrivote


def near(a, b):
    """Say whether two answers, as texts, are one. A function of one answer would return a key instead."""
    try:
        return abs(float(a) - float(b)) <= 0.01 * abs(float(b))
    except ValueError:
        return a == b


if __name__ == "__main__":
    ballot = distrivote.Ballot.from_answers(["9.81", "9.8", "10", "about ten"], same=near)
    print(ballot.labels, ballot.classes.tolist())
