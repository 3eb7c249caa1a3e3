"""The votes on a file as a document: counts over all questions. Rows are made in store/results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distrivote.report.documents.fields import SummaryDocument

if TYPE_CHECKING:
    from distrivote.store.results.votes import Totals


def summary_document(totals: Totals) -> SummaryDocument:
    """Return the counts."""
    return {
        "n_questions": totals.n_questions,
        "n_trajectories": totals.n_trajectories,
        "n_unanswered": totals.n_unanswered,
        "n_unmeasured": totals.n_unmeasured,
        "n_fallbacks": totals.n_fallbacks,
        "n_small_pools": totals.n_small,
        "n_one_hump": totals.n_one_hump,
        "n_uncalibrated": totals.n_uncalibrated,
        "n_withheld": {name: totals.n_withheld.get(name, 0) for name in totals.methods},
        "accuracy": {
            name: {
                "accuracy": a.value,
                "interval": list(a.interval),
                "n_right": a.n_right,
                "n_known": a.n_known,
            }
            for name, a in totals.accuracy.items()
            if a.n_known
        },
    }
