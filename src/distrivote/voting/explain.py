"""A tally in words: how the answer was chosen, for readers who do not know the paper."""

from __future__ import annotations

import math

from distrivote.nouns import count, verb
from distrivote.voting.tally import Split, Tally, Weighing


def explain(tally: Tally) -> str:
    """Return a few lines: the result, the split, the rejection, the vote, and caveats."""
    if tally.answer is None:
        return "No trajectory gave an answer, so there is nothing to vote on."
    lines = [_result(tally)]
    weighing = tally.weighing
    if weighing is not None and weighing.voted != tally.answer:
        lines.append(f"DistriVoting by itself would have said {weighing.voted}.")
    elif tally.first_split is not None:
        lines.append(_split(tally, tally.first_split))
        lines.extend(_rejection(tally))
    lines.append(_vote(tally))
    # If the majority and DistriVoting agree, an answer that neither elects is not mentioned.
    if weighing is not None and weighing.answer != tally.majority != weighing.voted:
        lines.append(_weighing(tally, weighing))
    lines.append(_probability(tally))
    lines.extend(f"Note: {note}" for note in tally.notes)
    return "\n".join(lines)


def _result(tally: Tally) -> str:
    if tally.fallback:
        return (
            f"{tally.answer} wins with {tally.share:.0%} of the votes (majority voting, not {tally.method})."
        )
    whole = "votes" if tally.shares_votes else "score"
    line = f"{tally.answer} wins with {tally.share:.0%} of the {whole} ({tally.method})"
    if tally.method == "sc":
        return line + "."
    if tally.majority == tally.answer:
        return line + "; majority voting says so too."
    return f"{line}; majority voting would have said {tally.majority}."


def _split(tally: Tally, split: Split) -> str:
    cast = count(tally.n_cast, "answer")
    if tally.n_unanswered:
        cast += f" ({tally.n_unanswered} more without one)"
    if tally.n_unmeasured:
        cast += f", {tally.n_cast - tally.n_unmeasured} of them with a confidence"
    if not split.n_negative:
        return f"{cast}: the confidences could not be told apart, so all are kept."
    kept, aside = (
        f"{n} likely {side} {verb(n, 'are')}"
        for n, side in ((split.n_positive, "right"), (split.n_negative, "wrong"))
    )
    line = f"{cast}, cut at confidence {_told(split.cut, split)}: {kept} kept, {aside} set aside."
    if split.means is not None and split.sds is not None and split.weights is not None:
        wrong, right = (
            f"{weight:.0%} around {_told(mean, split)} ± {sd:.2g}"
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
        f" its {count(tally.votes[tally.rejected], 'vote')} left the pool."
    )
    split = tally.split
    if split.n_negative:
        line += (
            f" The other {split.n_positive + split.n_negative} are cut again, at {_told(split.cut, split)}:"
            f" {split.n_positive} kept."
        )
    elif split.n_positive == 1:
        line += " The other 1 is kept."
    else:
        line += f" The other {split.n_positive} are all kept."
    return [line]


def _vote(tally: Tally) -> str:
    n = tally.kept_votes[tally.answer]
    line = f"{n} of {count(tally.n_kept, 'kept vote')} {verb(n, 'are')} for {tally.answer}"
    if tally.intervals_won is None:
        return line + "."
    won, total = tally.intervals_won
    return f"{line}, which wins {won} of {count(total, 'interval')} of confidence."


def _weighing(tally: Tally, weighing: Weighing) -> str:
    n = tally.votes[weighing.answer]
    surer = f"its {count(n, 'vote')} {verb(n, 'are')} {weighing.gap:.1f} standard deviations"
    rival = f"the {count(tally.votes[tally.majority], 'vote')} for {tally.majority}"
    if weighing.odds > 1:
        return (
            f"Confidence was trusted: {surer} surer than the rest, which outweighs {rival}"
            f" ({_odds(weighing.odds)})."
        )
    return (
        f"Confidence was not trusted: it speaks for {weighing.answer}, but {surer} surer than the rest,"
        f" which does not outweigh {rival} ({_odds(1 / weighing.odds)})."
    )


def _probability(tally: Tally) -> str:
    if tally.probability is None:
        return f"{tally.no_probability}."
    if tally.calibrated:
        return f"The probability that {tally.answer} is right is {likely(tally.probability)}."
    return (
        f"There is no probability: none was fitted on pools like this one ({count(tally.n_cast, 'answer')})."
    )


def likely(probability: float) -> str:
    """Return a probability in percent; nothing is certain, so never 0% or 100%.

    >>> likely(0.824), likely(0.9999), likely(0.001)
    ('82%', '> 99%', '< 1%')
    """
    if probability > 0.99:
        return "> 99%"
    return "< 1%" if probability < 0.01 else f"{probability:.0%}"


def _odds(odds: float) -> str:
    return "odds over 1,000 to 1" if odds > 1000 else f"odds {odds:.2g} to 1"


def _told(confidence: float, split: Split) -> str:
    """Return a confidence with four digits, or as many as distinguish the cut from the two means."""
    digits = 4
    if split.means is not None and split.cut:
        gap = min((abs(mean - split.cut) for mean in split.means if mean != split.cut), default=math.nan)
        if math.isfinite(gap):
            digits = max(digits, math.floor(math.log10(abs(split.cut))) - math.floor(math.log10(gap)) + 1)
    return f"{confidence:.{min(digits, 15)}g}"
