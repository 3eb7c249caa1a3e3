"""The defaults that more than one door shares, each in one place."""

METHOD = "auto"
"""How a vote is decided by default: DistriVoting, unless the evidence for the majority is stronger."""

PAPER_METHOD = "dis-gmm"
"""The paper's own method, DistriVoting; every experiment of the paper uses it."""
