"""What is typed to import files of other tools."""

from __future__ import annotations

import json
import pickle

import foreign_files
from goldens.transcript import PIPE, Session

ROWS = "question_id,answer,confidence\na,4,9.5\na,4,9.25\na,5,7.5\nb,B,8.5\nb,,3.5\n"


def sessions() -> list[Session]:
    def lines(*documents: object) -> str:
        return "".join(json.dumps(document) + "\n" for document in documents)

    traces = [
        {"text": "...", "confs": [9.0 + i, 8.0], "num_tokens": 2, "extracted_answer": str(i % 2)}
        for i in range(4)
    ]
    chats = [
        foreign_files.batch(f"q1-{i}", foreign_files.chat(logprobs=foreign_files.chat_logprobs()))
        for i in range(3)
    ]
    return [
        Session(
            "import",
            (
                "import rows.csv -o table --model toy",
                "import chats.jsonl -o chats --question-pattern ^(q[0-9]+)",
                "import rows.csv -o truth --truth q.jsonl",
                "import pickles -o pickles-run --model r1",
                "import samples_sums.jsonl -o harness",
                "runs",
                "vote chats",
            ),
            files={
                "rows.csv": ROWS,
                "q.jsonl": lines({"id": "a", "question": "2 + 2?", "answer": "4"}),
                "chats.jsonl": lines(*chats),
                "samples_sums.jsonl": lines(foreign_files.lm_eval()),
                "pickles/deepthink_offline_qid0_rid0_x.pkl": pickle.dumps(
                    {"qid": 0, "all_traces": traces, "ground_truth": "1"}, 4
                ),
            },
            keeps=("table", "chats"),
        ),
        Session(
            "import-errors",
            (
                "import",
                "import nowhere.csv -o run",
                "import rows.csv",
                "import rows.csv -o taken",
                "import rows.csv -o run --format jsonl",
                "import rows.csv -o run --answer-column final",
                "import rows.csv -o run --split sentence",
                "import rows.csv -o run --question-pattern (",
                "import empty.jsonl -o run",
                "import evil.pkl -o run",
            ),
            PIPE,
            files={
                "rows.csv": ROWS,
                "empty.jsonl": "",
                "taken/thesis.txt": "x",
                "evil.pkl": b"cos\nsystem\n(S'true'\ntR.",
            },
        ),
    ]
