"""A vote as a document: the tally, its splits, its weighing and its ballot."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from distrivote.defaults import MIN_PROBABILITY
from distrivote.report.documents.fields import BallotEntry, SplitDocument, TallyDocument, WeighingDocument
from distrivote.report.text import told
from distrivote.voting.abstaining import withheld_sentence
from distrivote.voting.ballot import Answer, Ballot
from distrivote.voting.tally import Split, Tally, Weighing


def number(value: float) -> float | None:
    """Return a number, None for NaN and infinities, which JSON does not have."""
    return value if math.isfinite(value) else None


def tally_document(
    tally: Tally,
    ballot: Ballot,
    indices: Sequence[int] | None = None,
    *,
    min_probability: float = MIN_PROBABILITY,
    line: Callable[[str], str] | None = None,
) -> TallyDocument:
    """Return a vote.

    Args:
        tally: The vote.
        ballot: What was voted on.
        indices: The numbers of the trajectories in the order of the ballot; by default 0, 1, 2 ...
        min_probability: A less probable answer is withheld.
        line: How the explanation names an answer, if it is long.
    """
    reason = withheld_sentence(tally, min_probability)
    winner = _label(tally.answer)
    words = told(tally, line)
    return {
        "method": tally.method,
        "answer": winner if reason is None else None,
        "share": tally.share,
        "probability": tally.probability,
        "no_probability": tally.no_probability,
        "calibrated": tally.calibrated,
        "abstained": reason is not None,
        "withheld": None if reason is None else winner,
        "withheld_reason": reason,
        "majority": _label(tally.majority),
        "rejected": _label(tally.rejected),
        "negative_answer": _label(tally.negative_answer),
        "n_trajectories": tally.n_trajectories,
        "n_cast": tally.n_cast,
        "n_kept": tally.n_kept,
        "n_unanswered": tally.n_unanswered,
        "n_unmeasured": tally.n_unmeasured,
        "fallback": tally.fallback,
        "answers": [str(answer) for answer in tally.scores],
        "votes": {str(answer): n for answer, n in tally.votes.items()},
        "likely_right_votes": {str(answer): n for answer, n in tally.likely_right_votes.items()},
        "kept_votes": {str(answer): n for answer, n in tally.kept_votes.items()},
        "scores": {str(answer): number(score) for answer, score in tally.scores.items()},
        "shares": {str(answer): tally.share_of(answer) for answer in tally.scores},
        "probabilities": {str(answer): p for answer, p in tally.probabilities.items()},
        "first_split": split_document(tally.first_split),
        "split": split_document(tally.split),
        "intervals_won": None if tally.intervals_won is None else list(tally.intervals_won),
        "weighing": _weighing_document(tally.weighing),
        "ballot": _entries(tally, ballot, range(len(ballot.classes)) if indices is None else indices),
        "notes": list(tally.notes),
        "explanation": words if reason is None else f"{words}\n{reason}",
    }


def split_document(split: Split | None) -> SplitDocument | None:
    """Return a split; None for none."""
    if split is None:
        return None
    return {
        "cut": number(split.cut),
        "n_positive": split.n_positive,
        "n_negative": split.n_negative,
        "weights": None if split.weights is None else list(split.weights),
        "means": None if split.means is None else list(split.means),
        "sds": None if split.sds is None else list(split.sds),
    }


def _weighing_document(weighing: Weighing | None) -> WeighingDocument | None:
    if weighing is None:
        return None
    agree = math.isnan(weighing.odds)
    return {
        "answer": str(weighing.answer),
        "odds": None if agree else weighing.odds,
        "gap": number(weighing.gap),
        "voted": _label(weighing.voted),
        "trusted": agree or weighing.odds > 1,
    }


def _entries(tally: Tally, ballot: Ballot, indices: Sequence[int]) -> list[BallotEntry]:
    cut = tally.first_split is not None
    labels = [str(label) for label in ballot.labels]
    return [
        {
            "index": index,
            "answer": labels[given] if given >= 0 else None,
            "confidence": number(confidence),
            "likely_right": right if cut and (right or wrong) else None,
            "rejected": dropped,
            "kept": kept,
        }
        for index, given, confidence, right, wrong, dropped, kept in zip(
            indices,
            ballot.classes.tolist(),
            tally.confidences.tolist(),
            tally.likely_right.tolist(),
            tally.likely_wrong.tolist(),
            tally.dropped.tolist(),
            tally.kept.tolist(),
            strict=True,
        )
    ]


def _label(answer: Answer | None) -> str | None:
    return None if answer is None else str(answer)
