"""What an evaluation found, in a sentence for each comparison that most readers come for."""

from __future__ import annotations

from distrivote.evaluation.results import Report, Row
from distrivote.nouns import count
from distrivote.report.cells import as_number

_EXPERIMENT = "main"
_COMPARED = (
    ("auto − SC", "auto", "majority voting"),
    ("DIS-GMM − SC", "DistriVoting (DIS-GMM)", "majority voting"),
    ("DIS-GMM* − DIS-GMM", "DistriVoting with SelfStepConf", "without it"),
)


def verdict(report: Report) -> list[str]:
    """Return the findings of the main experiment; nothing if it was not made."""
    sentences = []
    for result in report.results:
        if result.experiment != _EXPERIMENT:
            continue
        for table in result.tables:
            rows = {row["pair"]: row for row in table.rows if "pair" in row}
            model = table.title.partition(":")[0]
            for pair, ours, theirs in _COMPARED:
                sentence = _compared(rows[pair], ours, theirs) if pair in rows else None
                if sentence is not None:
                    sentences.append(f"{model}: {sentence}")
    return sentences


def _compared(row: Row, ours: str, theirs: str) -> str | None:
    difference, low, high = (
        as_number(row.get(name)) for name in ("difference", "difference_low", "difference_high")
    )
    if difference is None or low is None or high is None:
        return None
    than = f"than {theirs}" if theirs != "without it" else theirs
    on = f"on {count(int(as_number(row.get('n_questions')) or 0), 'question')}"
    interval = f"(95% interval {100 * low:+.1f} to {100 * high:+.1f} points)"
    if row.get("real") != "yes":
        beside = "differ" if theirs == "without it" else f"and {theirs} differ"
        subject = "DistriVoting with and without SelfStepConf" if theirs == "without it" else ours
        return f"{subject} {beside} by no more than chance {on} {interval}."
    more = "more" if difference > 0 else "less"
    return f"{ours} is right {abs(100 * difference):.1f} points {more} often {than} {on} {interval}."
