"""A tally in words: how the answer came about, for somebody who has not read the paper."""

from __future__ import annotations

from distrivote.voting.ballot import Split, Tally


def explain(tally: Tally) -> str:
    """Return a few lines: the result, the split, the rejection, the vote, and what to be wary of."""
    if tally.answer is None:
        return "No trajectory gave an answer, so there is nothing to vote on."
    lines = [_result(tally)]
    if tally.first_split is not None:
        lines.append(_split(tally, tally.first_split))
        lines.extend(_rejection(tally))
    lines.append(_vote(tally))
    lines.extend(f"Note: {note}" for note in tally.notes)
    return "\n".join(lines)


def _result(tally: Tally) -> str:
    line = f"{tally.answer} wins with {tally.share:.0%} of the score ({tally.method})"
    if tally.method == "sc":
        return line + "."
    if tally.majority == tally.answer:
        return line + "; majority voting says so too."
    return f"{line}; majority voting would have said {tally.majority}."


def _split(tally: Tally, split: Split) -> str:
    cast = _count(tally.n_cast, "answer")
    if tally.n_unanswered:
        cast += f" ({tally.n_unanswered} more without one)"
    if not split.n_negative:
        return f"{cast}: the confidences could not be told apart, so all are kept."
    line = (
        f"{cast}, cut at confidence {split.cut:.4g}: {split.n_positive} likely right are kept,"
        f" {split.n_negative} likely wrong are set aside."
    )
    if split.means is not None and split.sds is not None and split.weights is not None:
        wrong, right = (
            f"{weight:.0%} around {mean:.4g} ± {sd:.2g}"
            for weight, mean, sd in zip(split.weights, split.means, split.sds, strict=True)
        )
        line += f"\nThe two Gaussians: likely wrong {wrong}, likely right {right}."
    return line


def _rejection(tally: Tally) -> list[str]:
    if tally.negative_answer is None:
        return []
    if tally.rejected is None or tally.split is None:
        return [f"Both sides prefer {tally.negative_answer}, so nothing is rejected."]
    line = (
        f"{tally.rejected} is rejected because the likely wrong side prefers it:"
        f" its {_count(tally.votes[tally.rejected], 'vote')} left the pool."
    )
    split = tally.split
    if split.n_negative:
        line += (
            f" The other {split.n_positive + split.n_negative} are cut again, at {split.cut:.4g}:"
            f" {split.n_positive} kept."
        )
    else:
        line += f" The other {split.n_positive} are all kept."
    return [line]


def _vote(tally: Tally) -> str:
    supporters = f"{tally.kept_votes[tally.answer]} of {_count(tally.n_kept, 'kept vote')}"
    if tally.intervals_won is None:
        return f"{supporters} are for {tally.answer}."
    won, total = tally.intervals_won
    return (
        f"{supporters} are for {tally.answer}, which wins {won} of {_count(total, 'interval')} of confidence."
    )


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
