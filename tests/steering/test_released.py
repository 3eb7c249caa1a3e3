"""SelfStepConf as the authors' released code does it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.errors import InputError
from distrivote.splitting import DelimiterSplitter, EntropySplitter, Splitter, WindowSplitter
from distrivote.steering import ReleasedStream, SelfStepConf, replay
from distrivote.trajectory import Insertion, Interventions
from naive_released import Seen, exchanged_positions
from strategies import MANY

END = None
PARAGRAPH = "\n\n"


def published() -> ReleasedStream:
    stream = SelfStepConf.as_published().start()
    assert isinstance(stream, ReleasedStream)
    return stream


def exchanged(stream: ReleasedStream, seen: Sequence[tuple[str | None, float]]) -> list[int]:
    """Return the positions that are exchanged, if the most likely tokens are sampled, and x for an end."""
    found = []
    for at, (likeliest, confidence) in enumerate(seen):
        exchanges = stream.exchanges
        stream.look(likeliest, confidence)
        if exchanges:
            found.append(at)
            stream.push_injected("wait", confidence)
        else:
            stream.push("x" if likeliest is None else likeliest, confidence)
    return found


def steps(*confidences: float) -> list[tuple[str | None, float]]:
    """Return steps of one token and the delimiter."""
    return [token for c in confidences for token in (("a", c), (PARAGRAPH, c))]


def test_as_published_is_the_released_code_at_exact_tokens_without_a_guard() -> None:
    controller = SelfStepConf.as_published()
    assert controller == SelfStepConf(
        0.8, 0.8, "wait", DelimiterSplitter(PARAGRAPH, exact_token=True), guard=False, released=True
    )
    with pytest.raises(InputError, match="can't refuse an end of the text"):
        SelfStepConf(guard=True, released=True)


def test_a_hand_computed_trace() -> None:
    # Step  mean   tau before  ratio   previous  then
    # 0     10     -           -       -         tau = 10
    # 1     11     10          1.1     10        tau = 0.8 * 10 + 0.2 * 11 = 10.2
    # 2     8      10.2        0.784   11        drop: exchange at position 6
    # 3     6      10.2        0.588   8         (5 of the exchanged position, 6 and 7 behind it) drop at 9
    # 4     6.5    10.2        0.637   6         rises: tau = 8.16 + 1.3 = 9.46
    # 5     7.5    9.46        0.793   6.5       rises: tau = 7.568 + 1.5 = 9.068
    # 6     7.5    9.068       0.827   7.5       above delta: tau = 7.2544 + 1.5 = 8.7544
    # 7     7      8.7544      0.7996  7.5       drop: exchange at position 18
    seen = steps(10, 11, 8)
    seen += [("b", 5.0), ("c", 6.0), (PARAGRAPH, 7.0)]
    seen += [("d", 6.0), ("e", 6.5), (PARAGRAPH, 7.0)]
    seen += steps(7.5, 7.5, 7)
    seen += [("f", 9.0), ("g", 9.0)]
    stream = published()
    assert exchanged(stream, seen) == [6, 9, 18]
    assert stream.record() == Interventions(
        (Insertion(6, 1), Insertion(9, 1), Insertion(18, 1)),
        (2, 4, 6, 9, 12, 14, 16, 18, 20),
        (10, 11, 8, 6, 6.5, 7.5, 7.5, 7, 9),
        unfinished=True,
    )


def test_a_step_as_sure_as_the_one_before_counts_as_one_that_fell() -> None:
    assert exchanged(published(), [*steps(10, 7, 7), ("a", 7.0)]) == [4, 6]
    stream = SelfStepConf().start()
    pushed = [stream.push(f"a{PARAGRAPH}", confidence) for confidence in (10.0, 7.0, 7.0)]
    assert [injection is not None for injection in pushed] == [False, True, False]


def test_a_step_of_the_delimiter_alone_is_a_step() -> None:
    assert exchanged(published(), [("a", 10.0), (PARAGRAPH, 10.0), (PARAGRAPH, 5.0), ("b", 9.0)]) == [3]


def test_boundaries_follow_the_most_likely_token_and_not_the_sampled_one() -> None:
    stream = published()
    for likeliest, sampled, confidence in [
        ("a", PARAGRAPH, 10.0),  # sampled only: no boundary
        (PARAGRAPH, "b", 10.0),  # most likely only: a boundary
        ("c", "c", 5.0),
        (PARAGRAPH, "d", 5.0),
    ]:
        stream.look(likeliest, confidence)
        stream.push(sampled, confidence)
    assert stream.exchanges
    assert stream.record().step_ends == (2, 4)


def test_an_exchange_is_not_one_of_the_record_unless_the_reflection_came() -> None:
    stream = published()
    assert exchanged(stream, steps(10, 5)) == []
    assert stream.exchanges
    stream.look("a", 9.0)
    stream.push("other", 9.0)
    assert not stream.exchanges
    record = stream.record()
    assert record.insertions == ()
    assert record.step_confidences == (10, 5, 9)


def test_nothing_is_looked_for_at_an_exchanged_position() -> None:
    assert exchanged(published(), [*steps(10, 5), (PARAGRAPH, 1.0), ("a", 9.0)]) == [4]
    assert exchanged(published(), [*steps(10, 5), (END, 1.0), ("a", 9.0)]) == [4]


def test_an_end_without_a_boxed_answer_sets_the_flag_and_is_not_turned_down() -> None:
    stream = published()
    stream.look("seven", 9.0)
    stream.push("seven", 9.0)
    stream.look(END, 9.0)
    assert stream.exchanges
    assert stream.at_end(lambda: False) is None
    assert stream.allows_end(lambda: False)
    assert stream.record() == Interventions((), (1,), (9.0,), unfinished=True)


def test_the_flag_of_an_end_has_the_next_position_exchanged_if_the_text_goes_on() -> None:
    assert exchanged(published(), [("seven", 9.0), (END, 9.0), ("a", 9.0), ("b", 9.0)]) == [2]


def test_an_end_with_an_answer_in_its_step_sets_the_flag_only_if_the_step_dropped() -> None:
    answer = "\\boxed{7}"
    assert exchanged(published(), [*steps(10), (answer, 9.0), (END, 9.0), ("b", 9.0)]) == []
    assert exchanged(published(), [*steps(10), (answer, 5.0), (END, 5.0), ("b", 9.0)]) == [4]
    # The answer of the step before does not count: this one holds none.
    seen = [(answer, 9.0), (PARAGRAPH, 9.0), ("so", 9.0), (END, 9.0), ("b", 9.0)]
    assert exchanged(published(), seen) == [4]


def test_answers_that_agree_are_settled_and_an_end_that_dropped_stands() -> None:
    answer = "\\boxed{7}"
    seen = [*steps(10), (answer, 5.0), (END, 5.0), ("b", 5.0), (answer, 4.0), (END, 4.0), ("b", 9.0)]
    assert exchanged(published(), seen) == [4]
    seen[5] = ("\\boxed{8}", 4.0)
    assert exchanged(published(), seen) == [4, 7]


def test_an_end_moves_the_step_before_and_not_the_threshold() -> None:
    # Behind a step of 8.5 one of 7 falls; behind an end at 6, which set the flag, it rises.
    assert exchanged(published(), [*steps(10, 8.5, 7), ("b", 9.0)]) == [6]
    seen = [*steps(10, 8.5), ("\\boxed{7}", 8.0), (END, 4.0), ("a", 7.0), (PARAGRAPH, 7.0), ("b", 9.0)]
    assert exchanged(published(), seen) == [6]


def test_positions_without_a_confidence_are_left_out() -> None:
    nan = math.nan
    assert exchanged(published(), [*steps(10), ("a", nan), (PARAGRAPH, 5.0), ("b", 9.0)]) == [4]
    assert exchanged(published(), [*steps(10), ("a", nan), (PARAGRAPH, nan), ("b", 9.0)]) == []


def test_the_record_can_not_be_made_from_a_text() -> None:
    with pytest.raises(InputError, match="depends on the most likely"):
        replay(SelfStepConf.as_published(), ["a"], [1.0])


WAYS: list[tuple[Splitter, Callable[[int, int, Seen], bool]]] = [
    (DelimiterSplitter(exact_token=True), lambda _number, _length, seen: seen.likeliest == PARAGRAPH),
    (DelimiterSplitter("\n"), lambda _number, _length, seen: "\n" in seen.likeliest),
    (WindowSplitter(3), lambda number, _length, _seen: number % 3 == 0),
    (EntropySplitter(0.5, 2), lambda _number, length, seen: seen.entropy > 0.5 and length >= 2),
]
positions = st.builds(
    Seen,
    st.sampled_from(["a", "\n", PARAGRAPH, ".\n\n", "\\boxed{7}", "\\boxed{8}", END]),
    st.integers(1, 16).map(lambda value: value / 4),
    st.sampled_from([0.2, 0.9]),
)


@pytest.mark.slow
@MANY
@given(
    st.sampled_from(WAYS),
    st.sampled_from([0.0, 0.5, 0.8]),
    st.sampled_from([0.0, 0.8, 1.5]),
    st.lists(positions, max_size=40),
    st.lists(st.booleans(), min_size=40, max_size=40),
)
def test_positions_are_exchanged_where_the_slow_twin_says_so(
    way: tuple[Splitter, Callable[[int, int, Seen], bool]],
    alpha: float,
    delta: float,
    seen: list[Seen],
    came: list[bool],
) -> None:
    split, ends_step = way
    stream = SelfStepConf(alpha, delta, split=split, released=True).start()
    assert isinstance(stream, ReleasedStream)
    found, n_came = [], 0
    for at, (here, comes) in enumerate(zip(seen, came, strict=False)):
        if stream.exchanges:
            found.append(at)
        injected = stream.exchanges and comes
        n_came += injected
        stream.look(*here)
        (stream.push_injected if injected else stream.push)("x", here.confidence)
    # What was sampled makes no difference to what is exchanged.
    assert found == exchanged_positions(seen, alpha, delta, ends_step)
    record = stream.record()
    assert record.n_reflections == n_came
    assert record.step_ends[-1:] == ((len(seen),) if seen else ())
    assert len(record.step_confidences) == len(record.step_ends)
