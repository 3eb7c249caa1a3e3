"""The defaults that more than one door shares, each in one place."""

METHOD = "auto"
"""How a vote is decided by default: DistriVoting, unless the evidence for the majority is stronger."""

BUDGET = 32
"""How many trajectories are sampled for a question."""

MEASURE = "answer-step"
"""What the confidence of a trajectory is: the mean over the step in which its answer ends."""

N_LOGPROBS = 20
"""How many of the most probable tokens a confidence is made of."""

PAPER_METHOD = "dis-gmm"
"""The paper's own method, DistriVoting; every experiment of the paper uses it."""
