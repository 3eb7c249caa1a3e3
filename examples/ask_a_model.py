"""Ask the built-in model sixteen times, watched by SelfStepConf, and vote."""

from distrivote import Problem, SamplingParams, SelfStepConf, solve
from distrivote.engines.llamacpp import LlamaCppEngine

engine = LlamaCppEngine("smollm2-135m")
problem = Problem("Tom has 5 apples and buys 7 more. How many has he?", template="worked")
solution = solve(engine, problem, budget=16, ssc=SelfStepConf(), params=SamplingParams(max_tokens=64))
engine.close()

print(solution.tally.explain())
print(f"{len(solution.trajectories)} trajectories, {solution.n_tokens} tokens")
