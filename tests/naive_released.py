"""The slow, obvious twin of the authors' released logits processor, written from what it does.

One position after the other, with lists that grow; nothing here knows how the stream works.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Seen(NamedTuple):
    """One position as a logits processor sees it."""

    likeliest: str | None
    """None: the end of the text."""

    confidence: float
    entropy: float


def boxed(text: str) -> str | None:
    if "boxed" not in text:
        return None
    behind = text.split("boxed")[-1]
    if not behind.startswith("{"):
        return behind.split("$")[0].strip()
    depth, inside = 1, ""
    for character in behind[1:]:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth == 0:
            break
        inside += character
    return inside.strip()


def exchanged_positions(
    seen: Sequence[Seen], alpha: float, delta: float, ends_step: Callable[[int, int, Seen], bool]
) -> list[int]:
    """Return where the authors' released processor exchanges two logits.

    `ends_step` takes the number of the position from 1 on, the length of the step with it, and what is seen.
    """
    tau, confs, step, texts, answers = 0.0, [], [], [], []
    flag, found = False, []
    for number, here in enumerate(seen, 1):
        step.append(here.confidence)
        texts.append("wait" if flag else here.likeliest or "")
        if flag:
            flag = False
            found.append(number - 1)
            continue
        is_end = here.likeliest is None
        if not is_end and not ends_step(number, len(step), here):
            continue
        mean = sum(step) / len(step)
        confs.append(mean)
        upward = len(confs) < 2 or confs[-1] > confs[-2]
        dropped = tau > 0 and mean / tau < delta and not upward
        if is_end:
            answer = boxed("".join(texts))
            if answer:
                answers.append((answer, mean))
                counts = Counter(answer for answer, _ in answers)
                most = max(counts, key=counts.get)
                share = sum(c for a, c in answers if a == most) / sum(c for _, c in answers)
                flag = dropped and not (share >= 0.95 and len(answers) >= 2)
            else:
                flag = True
            if flag:
                step, texts = [], []
            continue
        flag = dropped
        if not dropped:
            tau = alpha * tau + (1 - alpha) * mean if tau > 0 else mean
        step, texts = [], []
    return found
