"""Every default of the product, once: signatures, options of commands, fields of requests and docs take it
from here. It imports nothing.

What the paper did is not a default and stays with the paper (`evaluation/paper`), even where the two agree;
so do settings that one module alone knows, such as how long it retries.
"""

# The vote.

METHOD = "auto"
"""How a vote is decided: DistriVoting, unless the evidence for the majority is stronger."""

PAPER_METHOD = "dis-gmm"
"""The paper's own method, DistriVoting; every experiment of the paper uses it."""

BUDGET = 32
"""Trajectories per question."""

MAX_BUDGET = 100_000
"""More trajectories than this are a mistake."""

N_INTERVALS = 10
"""Parts of the confidence axis in a hierarchical vote."""

MEASURE = "answer-step"
"""What the confidence of a trajectory is."""

K = 20
"""How many of the most probable tokens a token's confidence is made of."""

SAME = "math"
"""When two answers are one."""

MIN_PROBABILITY = 0.0
"""An answer that is less probable is withheld."""

STOP_SHARE = 0.95
"""Of a stopping rule: how sure the vote must be."""

N_WARMUP = 16
"""Trajectories before a rule decides anything, as in DeepConf."""

# Sampling. Temperature and top-p are the paper's for thinking models.

TEMPERATURE = 0.6
TOP_P = 0.95
TOP_K = 0
"""No limit."""

MIN_P = 0.0
SEED = 0
MAX_TOKENS = 1024
"""The longest trajectory, in a GGUF file's context and where nothing else is known."""

MAX_TOKENS_BUILT_IN = 256
"""The same for the built-in model, which does not think."""

MAX_TOKENS_LARGE = 16_384
"""The same for servers, vLLM and transformers, which have room for thinking."""

TEMPLATE = "math"
"""How a question is put."""

BUILT_IN_TEMPLATE = "worked"
"""The same for the built-in model, which needs examples."""

N_SLOTS = 32
"""Trajectories that advance together in the embedded engine."""

N_PARALLEL = 64
"""Trajectories under way at servers."""

# SelfStepConf, as in the paper.

ALPHA = 0.8
DELTA = 0.8
REFLECTION = "wait"
SPLIT = "paragraph"

# The server.

HOST = "127.0.0.1"
PORT = 8765
SERVER_MAX_BUDGET = 256
"""The most trajectories that a request may ask for."""

MAX_CONCURRENCY = 16
"""Requests under way."""

MAX_TOKENS_LIMIT = 131_072
"""The longest trajectory that a request may ask for."""

MAX_TOKENS_LIMIT_EMBEDDED = 4096
"""The same in this process, which holds the memory of all trajectories at their longest."""

# Evaluation.

EVALUATION_BUDGET = 128
"""Trajectories per vote, or as many as every question has; it and the repeats are the paper's."""

N_REPEATS = 64
"""Draws per question."""

PLANNED_BUDGETS = (1, 8, 16, 32, 64, 128, 256)
"""What `plan` says the accuracy of."""
