"""Tables of sampled answers: JSON Lines, CSV, Parquet or a run, read into whole questions.

`open_table` finds the format, `questions_of` groups the rows, and equal answers get one label.
"""

from typing import TYPE_CHECKING

from distrivote.faces import face

if TYPE_CHECKING:
    from distrivote.store.tables.classes import questions_of
    from distrivote.store.tables.lookup import find_question
    from distrivote.store.tables.questions import Questions, hold_questions, stream_questions
    from distrivote.store.tables.source import AnswerTable, Columns, open_table
    from distrivote.store.tables.truth import Judge

__all__ = [
    "AnswerTable",
    "Columns",
    "Judge",
    "Questions",
    "find_question",
    "hold_questions",
    "open_table",
    "questions_of",
    "stream_questions",
]

__getattr__ = face(
    __name__,
    {
        "classes": "questions_of",
        "lookup": "find_question",
        "questions": "Questions hold_questions stream_questions",
        "source": "AnswerTable Columns open_table",
        "truth": "Judge",
    },
)
