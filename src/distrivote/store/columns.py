"""The names of the columns that tables and runs share, defined only here.

A run has more columns, which `runs.schema` lists with their types.
"""

from __future__ import annotations

QUESTION_ID = "question_id"
SAMPLE = "sample"
ANSWER = "answer"
ANSWER_CLASS = "answer_class"
CORRECT = "correct"
GROUND_TRUTH = "ground_truth"
CONFIDENCE = "confidence"
MODEL = "model"
N_TOKENS = "n_tokens"
QUESTION = "question"
TEXT = "text"
FINISH_REASON = "finish_reason"

TEXTS = (TEXT, "response", "completion", "output", "generation", "reply")
"""What tools call the column of whole replies."""
