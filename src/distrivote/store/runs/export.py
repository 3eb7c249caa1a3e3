"""A run -> a copy to share: what a vote or an evaluation needs, in one part, and no texts.

Questions, replies, addresses of servers and values per token are left out; answers, measures, steps and
added scores are kept. A dataset card says where the rows are, so that `datasets.load_dataset` reads the copy.
"""

from __future__ import annotations

import os
import secrets

import pyarrow as pa

from distrivote.nouns import count
from distrivote.store.results.files import new_folder
from distrivote.store.runs.folder import folder_at
from distrivote.store.runs.parts import FOLDER, write_part
from distrivote.store.runs.run import Run
from distrivote.store.runs.schema import SCHEMA
from distrivote.store.runs.scores import copy_scores

LEFT_OUT = ("server", "question", "text", "token_ends", "token_confidences", "token_logprobs", "top_logprobs")


CARD = "README.md"


def card(run: Run) -> str:
    """Return the dataset card of a copy of a run."""
    manifest, questions = run.manifest, run.questions()
    n = sum(question.n_trajectories for question in questions)
    title = f"{manifest.model or 'Unknown model'} on {manifest.benchmark.partition(': ')[0]}"
    plain = " ".join(title.split())
    return f"""---
configs:
- config_name: default
  data_files:
  - split: train
    path: {FOLDER}/*.parquet
---

# {plain}

Sampled answers of a language model: {count(n, "trajectory")} of {count(len(questions), "question")}, a row
each, with `answer`, `answer_class` (equal answers of a question have equal numbers), `ground_truth`,
`correct` and measures of confidence (higher is surer). Questions and replies are not included.
`manifest.json` has the settings.

```py
from datasets import load_dataset

rows = load_dataset("ORG/NAME", split="train")
```

A downloaded copy is a run of distrivote: `distrivote vote FOLDER`, `distrivote evaluate FOLDER`.
"""


def export_run(run: Run, folder: str | os.PathLike[str]) -> int:
    """Write a run without its texts into a new folder and return how many trajectories it has."""
    table = run.table([name for name in SCHEMA.names if name not in LEFT_OUT])
    columns = [
        pa.nulls(len(table), field.type) if field.name in LEFT_OUT else table[field.name] for field in SCHEMA
    ]
    with new_folder(folder) as beside:
        (beside / FOLDER).mkdir()
        run.graded_manifest.save(beside)
        (beside / CARD).write_text(card(run), "utf-8")
        write_part(beside, secrets.token_hex(6), 0, pa.table(columns, schema=SCHEMA))
        copy_scores(run.folder, folder_at(beside), lambda: secrets.token_hex(6))
    return len(table)
