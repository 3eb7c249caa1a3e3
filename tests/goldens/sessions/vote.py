"""What is typed to vote on files and runs."""

from __future__ import annotations

from goldens.transcript import PIPE, TEXT, WAYS, Session

TABLE = """item,model,final,sure,truth
q1,small,4,9.5,4
q1,small,4,9.1,4
q1,small,5,7.0,4
q1,large,4,9.9,4
q1,large,5,6.5,4
q2,small,x,8.0,y
q2,small,,7.5,y
q2,small,y,9.0,y
q2,large,y,9.5,y
q2,large,y,9.4,y
"""
MIXED = "question_id,answer,confidence\na,1,9\nb,2,8\na,1,7\nb,3,8.5\n"
UNSURE = "question_id,answer\na,1\na,1\na,2\n"


def sessions() -> list[Session]:
    riddles = "vote examples/answers.jsonl"
    methods = (
        "sc wsc bon borda mob mob-poly hier wsc-top50 wsc-gmm wsc-kmeans wsc-meanshift dis-top50 dis-gmm"
    )
    methods += (
        " dis-kmeans dis-meanshift hier-top50 hier-gmm wsc-top50-reject wsc-gmm-reject auto wsc-top:0.1"
    )
    every = " ".join(f"-m {name}" for name in methods.split())
    explained = f"{riddles} --explain bat-and-ball"
    return [
        Session("vote", (riddles, f"{riddles} -m sc -m auto", f"{riddles} --min-probability 0.95")),
        Session("vote-methods", (f"{riddles} {every}",), PIPE),
        Session("vote-explain", (explained, f"{riddles} --explain handshakes -m auto -m bon")),
        Session("vote-colours", (riddles, explained), WAYS[:1], colours=True),
        Session(
            "vote-columns",
            (
                "vote t.csv --question-column item --answer-column final --confidence-column sure"
                " --truth-column truth --by model",
                "vote t.csv --question-column item --answer-column final --confidence-column sure"
                " --by model --explain small/q2",
            ),
            files={"t.csv": TABLE},
        ),
        Session(
            "vote-notes",
            (
                "vote mixed.csv",
                "vote unsure.csv",
                "vote unsure.csv -m sc",
                "vote - < " + MIXED.replace("\n", "\\n"),
            ),
            files={"mixed.csv": MIXED, "unsure.csv": UNSURE},
        ),
        Session(
            "vote-files",
            (
                "vote examples/answers.jsonl -o out.csv",
                "vote examples/answers.jsonl -o out.jsonl -m sc -m wsc",
            ),
            PIPE,
            keeps=("out.csv", "out.jsonl"),
        ),
        Session(
            "vote-run",
            (
                "vote examples/runs/qwen2.5-coder-ssc",
                "vote examples/runs/qwen2.5-coder-ssc --signal auto -m auto",
                "vote examples/runs/qwen2.5-coder-ssc --signal tail -m wsc",
            ),
            TEXT,
        ),
        Session(
            "vote-errors",
            (
                "vote",
                "vote nowhere.csv",
                "vote t.csv",
                "vote mixed.csv -m dis-gnn",
                "vote mixed.csv -m wsc-top:2",
                "vote mixed.csv --explain c",
                "vote mixed.csv --min-probability 2",
                "vote mixed.csv --signal loudness",
                "vote mixed.csv --calibration nowhere.json",
                "vote mixed.csv --no-such-option",
                "vote mixed.csv -o out.xlsx",
                "vote negative.csv",
                "vote broken.jsonl",
                "vote empty.csv",
                "vote t.txt",
                "vot mixed.csv",
            ),
            TEXT,
            files={
                "t.csv": TABLE,
                "mixed.csv": MIXED,
                "negative.csv": "question_id,answer,confidence\na,1,-2\n",
                "broken.jsonl": '{"question_id": "a", "answer"\n',
                "empty.csv": "",
                "t.txt": "hello\n",
            },
        ),
    ]
