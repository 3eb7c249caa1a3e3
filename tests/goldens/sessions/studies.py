"""What is typed to work on runs with known answers, or without any model."""

from __future__ import annotations

from goldens.transcript import PIPE, TEXT, WAYS, Session


def sessions() -> list[Session]:
    both = "examples/runs/smollm2-basic examples/runs/smollm2-ssc"
    quick = "--budget 16 --repeats 2 --workers 1"
    return [
        Session("evaluate", (f"evaluate {both} {quick}", "evaluate --list")),
        Session(
            "evaluate-experiments",
            (f"evaluate {both} {quick} -e components -e separation -e sorted-confidence -e trust",),
            TEXT,
        ),
        Session("evaluate-colours", (f"evaluate {both} {quick}",), WAYS[:1], colours=True),
        Session(
            "evaluate-files",
            (
                f"evaluate {both} {quick} -e main -e passk -o out.md -o out.csv -o out.tex -o out.json",
                f"evaluate {both} {quick} --against-paper",
            ),
            PIPE,
            keeps=("out.md", "out.csv", "out.tex"),
        ),
        Session("evaluate-table", ("evaluate examples/answers.jsonl --budget 8 --repeats 2 --workers 1",)),
        Session(
            "evaluate-stopping",
            (
                "evaluate examples/answers.jsonl -e stopping --budget 8 --repeats 2 --workers 1"
                " --rule gain:0.02 --rule beta:0.8 --slots 4",
            ),
            TEXT,
        ),
        Session(
            "evaluate-errors",
            (
                "evaluate",
                "evaluate nowhere",
                f"evaluate {both} -e mains",
                f"evaluate {both} --budget 0",
                f"evaluate {both} --repeats 0",
                f"evaluate {both} -o out.docx",
                f"evaluate {both} --signal loudness",
                f"evaluate {both} -e stopping --rule soon",
                f"evaluate {both} -e stopping --slots 0",
                "evaluate mixed.csv",
            ),
            PIPE,
            files={"mixed.csv": "question_id,answer,confidence\na,1,9\n"},
        ),
        Session("pools", ("pools", "pools boinf/gpqa_diamond", "pools boif")),
        Session(
            "evaluate-leaderboard",
            ("evaluate -e leaderboard pools:runs/smollm2-basic --budget 8 --repeats 2 --workers 1",),
        ),
        Session(
            "calibrate",
            (
                f"calibrate {both} -o own.json",
                f"vote {both.split()[0]} --explain arithmetic-0001 --calibration own.json",
            ),
            keeps=("own.json",),
        ),
        Session(
            "calibrate-errors",
            (
                "calibrate",
                "calibrate nowhere -o own.json",
                "calibrate examples/answers.jsonl -o own.json",
                f"calibrate {both} -o own.txt",
            ),
            PIPE,
        ),
        Session(
            "simulate",
            (
                "simulate --list",
                "simulate deepseek-r1-8b/aime2025 -o run --questions 3 --trajectories 6 --tokens 500",
                "show run",
                "simulate qwen3-8b -o runs --questions 2 --trajectories 4 --seed 3",
            ),
            keeps=("run",),
        ),
        Session(
            "simulate-errors",
            (
                "simulate",
                "simulate deepseek-r1-8b/aime2025",
                "simulate deepseek/aime -o run",
                "simulate deepseek-r1-8b/aime2025 -o run --questions 0",
                "simulate deepseek-r1-8b/aime2025 -o taken",
            ),
            PIPE,
            files={"taken/thesis.txt": "x"},
        ),
        Session(
            "plan",
            ("plan --pass1 0.4 --auroc 0.75 --price 2 --tokens 8000 --budgets 1,8,32 --questions 200",),
        ),
        Session(
            "plan-errors",
            (
                "plan",
                "plan --pass1 2 --auroc 0.75 --price 2 --tokens 8000",
                "plan --pass1 0.4 --auroc 1.2 --price 2 --tokens 8000",
                "plan --pass1 0.4 --auroc 0.75 --price 2 --tokens 8000 --budgets 1,x",
                "plan --pass1 0.4 --auroc 0.75 --price -2 --tokens 8000",
            ),
            PIPE,
        ),
    ]
