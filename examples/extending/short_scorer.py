"""A scorer of your own: a number for each reply of a run, to vote with; here shorter is better."""

import tempfile

import distrivote
from distrivote.benchmarks import Benchmark
from distrivote.engines import ReplayEngine


def shortness(reply):
    """Return any finite number, higher meaning better, or None; see `Reply` for what there is."""
    return -len(reply.text) / 100


if __name__ == "__main__":
    texts = ["It is \\boxed{4}.", "Well, let me think. It may be \\boxed{5}.", "Perhaps it is \\boxed{5}."]
    engine = ReplayEngine([distrivote.Trajectory(text) for text in texts])
    sums = Benchmark("sums", (distrivote.Problem("What is 2 + 2?", id="q1", answer="4"),), "made up")
    with tempfile.TemporaryDirectory() as folder:
        distrivote.generate_run(engine, sums, f"{folder}/run", 3, steering=None)
        print(distrivote.score_run(f"{folder}/run", shortness))
