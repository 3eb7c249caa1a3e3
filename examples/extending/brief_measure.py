"""A measure of your own: how sure was the model of one trajectory? Here: short replies are sure."""

import distrivote
from distrivote.engines import ReplayEngine


def brevity(trajectory):
    """Return a positive number, higher meaning surer, or NaN; see `Trajectory` for what there is."""
    return 100 / (1 + len(trajectory.text))


if __name__ == "__main__":
    texts = ["It is \\boxed{4}.", "Well, let me think about it. It may be \\boxed{5}."]
    engine = ReplayEngine([distrivote.Trajectory(text) for text in texts])
    solution = distrivote.solve(
        engine, "What is 2 + 2?", budget=2, measure=brevity, method="wsc", steering=None
    )
    print(solution.answer, [round(reading.confidence, 2) for reading in solution.readings])
