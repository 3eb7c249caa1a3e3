"""A benchmark of your own: which questions are asked? Here sums; a pair is a question and its answer."""

from distrivote import Problem
from distrivote.benchmarks import load


def sums():
    """Yield pairs of question and answer, or problems with an id and a template."""
    yield "What is 2 + 2?", "4"
    yield Problem("What is 2 + 3?", id="harder", answer="5", template="plain")


if __name__ == "__main__":
    for problem in load("sums_benchmark:sums"):
        print(problem.id, problem.question, problem.answer)
