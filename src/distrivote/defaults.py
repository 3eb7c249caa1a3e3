"""Every default of the product, defined once: signatures, options of commands, fields of requests and docs
use these. It imports nothing.

The paper's settings are not defaults and are in `evaluation/paper`, even if the two agree. Settings of a
single module, such as how long it retries, are in that module.
"""

# The vote.

METHOD = "auto"
"""How a vote is decided: DistriVoting, unless the evidence for the majority is stronger."""

PAPER_METHOD = "dis-gmm"
"""The paper's own method, DistriVoting; every experiment of the paper uses it."""

BUDGET = 32
"""Trajectories per question."""

MAX_BUDGET = 100_000
"""A larger budget is refused as a mistake."""

N_INTERVALS = 10
"""Parts of the confidence axis in a hierarchical vote."""

MEASURE = "answer-step"
"""The measure of a trajectory's confidence."""

K = 20
"""The number of most probable tokens in a token's confidence."""

SAME = "math"
"""When two answers are equal."""

ANSWER = "auto"
"""What counts as an answer: chosen by the question, else by the replies."""

MIN_PROBABILITY = 0.0
"""An answer that is less probable is withheld."""

PROMISE_CHANCE = 0.1
"""How probable it may be that the labelled questions of a promise about errors were not typical."""

STOP_SHARE = 0.95
"""Of a stopping rule: how sure the vote must be."""

STOP_GAIN = 0.002
"""Of a stopping rule: how much probability the rest of the budget must be expected to add."""

STOP_WINDOW = 5
"""Of a stopping rule: how many neighbouring trajectories must agree, as in ESC."""

STOP_FIRST_ROUND = 8
"""Of a stopping rule: trajectories that are begun together at first; each later round doubles them."""

N_WARMUP = 16
"""Trajectories before a rule decides anything, as in DeepConf."""

ONLINE_STRICTNESS = 1.5
"""Of online DistriVoting: how many times the worth of a new trajectory one must have to go on."""

# Sampling. Temperature and top-p are the paper's for thinking models.

TEMPERATURE = 0.6
TOP_P = 0.95
TOP_K = 0
"""No limit."""

MIN_P = 0.0
SEED = 0
MAX_TOKENS = 1024
"""The longest trajectory, in a GGUF file's context and if nothing else is known."""

MAX_TOKENS_BUILT_IN = 256
"""The same for the built-in model, which does not think."""

MAX_TOKENS_LARGE = 16_384
"""The same for servers, vLLM and transformers, which have room for thinking."""

TEMPLATE = "auto"
"""How a question is put: a sum as a sum, a choice as a choice, anything else as it is."""

N_SLOTS = 32
"""Trajectories that advance together in the embedded engine."""

N_PARALLEL = 64
"""Trajectories that are sampled on servers at the same time."""

# SelfStepConf, as in the paper.

ALPHA = 0.8
DELTA = 0.8
REFLECTION = "wait"
SPLIT = "paragraph"

# The server.

HOST = "127.0.0.1"
PORT = 8765
LOG_LEVEL = "info"
SERVER_MAX_BUDGET = 256
"""The largest budget of a request."""

MAX_CONCURRENCY = 16
"""Requests that are answered at the same time."""

MAX_TOKENS_LIMIT = 131_072
"""The largest `max_tokens` of a request."""

MAX_TOKENS_LIMIT_EMBEDDED = 4096
"""The same in this process, which holds the memory of all trajectories at their longest."""

# Files.

MAX_SPOOL = 16_000_000_000
"""Bytes of a pipe that are kept in a temporary file."""

# Evaluation.

EVALUATION_BUDGET = 128
"""Trajectories per vote, or as many as every question has; it and the repeats are the paper's."""

LEADERBOARD_BUDGET = 32
"""The same for the leaderboard; pools with fewer are left out."""

N_REPEATS = 64
"""Draws per question."""

PLANNED_BUDGETS = (1, 8, 16, 32, 64, 128, 256)
"""The methods whose accuracy `plan` shows."""
