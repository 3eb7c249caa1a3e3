"""A run -> a copy to share: what a vote or an evaluation needs, in one part, and no texts.

Questions, replies, addresses of servers and values per token are left out; answers, measures, steps and
added scores are kept.
"""

from __future__ import annotations

import os
import secrets

import pyarrow as pa

from distrivote.store.results.files import new_folder
from distrivote.store.runs.folder import folder_at
from distrivote.store.runs.parts import FOLDER, write_part
from distrivote.store.runs.run import Run
from distrivote.store.runs.schema import SCHEMA
from distrivote.store.runs.scores import copy_scores

LEFT_OUT = ("server", "question", "text", "token_ends", "token_confidences", "token_logprobs", "top_logprobs")


def export_run(run: Run, folder: str | os.PathLike[str]) -> int:
    """Write a run without its texts into a new folder and return how many trajectories it has."""
    table = run.table([name for name in SCHEMA.names if name not in LEFT_OUT])
    columns = [
        pa.nulls(len(table), field.type) if field.name in LEFT_OUT else table[field.name] for field in SCHEMA
    ]
    with new_folder(folder) as beside:
        (beside / FOLDER).mkdir()
        run.graded_manifest.save(beside)
        write_part(beside, secrets.token_hex(6), 0, pa.table(columns, schema=SCHEMA))
        copy_scores(run.folder, folder_at(beside), lambda: secrets.token_hex(6))
    return len(table)
