"""A kind of answer of your own: where is the answer in a reply? Here: the last roll of dice, as in 2d6+1."""

import re

import distrivote

ROLL = re.compile(r"\b\d*d\d+(?:[+-]\d+)?\b")


def roll(text):
    """Return the answer as it stands in the text, or None if there is none."""
    rolls = ROLL.findall(text)
    return rolls[-1] if rolls else None


if __name__ == "__main__":
    poll = distrivote.Poll("What damage does a longsword do?", budget=2, answer=roll, same="text")
    for index, text in enumerate(["A longsword does 1d8.", "Not 1d6: it is 1d8, or 1d10 in two hands."]):
        poll.add(distrivote.Trajectory(text, index=index))
    print(poll.finish().tally.votes)
