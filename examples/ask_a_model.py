"""Ask the built-in model sixteen times, with SelfStepConf, and vote: python examples/ask_a_model.py."""

import distrivote
from distrivote import Problem, SamplingParams, SelfStepConf, solve

problem = Problem("Tom has 5 apples and buys 7 more. How many does he have?", template="worked")
with distrivote.open() as engine:
    solution = solve(
        engine, problem, budget=16, steering=SelfStepConf(), params=SamplingParams(max_tokens=64)
    )

print(solution.tally.explain())
print(f"{len(solution.trajectories)} trajectories, {solution.n_tokens} tokens")
