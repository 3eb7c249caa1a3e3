"""Print trajectories as they come, and stop when five agree: python examples/watch_it_come.py."""

import asyncio
from collections import Counter
from contextlib import aclosing

import distrivote
from distrivote import Problem, SamplingParams, asample, solution_of
from distrivote.answers.extract import auto

PROBLEM = Problem("A box holds 6 pens. How many pens are in 2 boxes?", template="worked")


async def main() -> None:
    trajectories, votes = [], Counter()
    params = SamplingParams(max_tokens=64)
    # With aclosing, leaving the loop early cancels unfinished trajectories at once.
    with distrivote.open() as engine:
        async with aclosing(asample(engine, PROBLEM, budget=32, params=params)) as stream:
            async for trajectory in stream:
                trajectories.append(trajectory)
                found = auto(trajectory.text)
                votes[found.answer if found else None] += 1
                print(f"{len(trajectories):3} {found.answer if found else 'no answer'}")
                if votes.most_common(1)[0][1] == 5:
                    break
    print(solution_of(PROBLEM, trajectories).tally.explain())


asyncio.run(main())
