from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from distrivote.confidence import step_confidences
from distrivote.errors import InputError
from distrivote.splitting import DelimiterSplitter, EntropySplitter, Splitter, WindowSplitter, step_ends
from distrivote.steering import (
    BudgetForcing,
    Controller,
    Injection,
    SelfStepConf,
    lowest_ratio,
    replay,
    thresholds,
)
from distrivote.trajectory import Insertion, Interventions, Trajectory
from strategies import LAW, MANY

NAN = math.nan
PARAGRAPH = DelimiterSplitter()
EXACT = DelimiterSplitter(exact_token=True)


def yes() -> bool:
    return True


def no() -> bool:
    return False


def unasked() -> bool:
    raise AssertionError("it makes no difference whether there is an answer")


@dataclass
class Reply:
    """What an engine has at the end."""

    tokens: list[str] = field(default_factory=list)
    confidences: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    injected: list[bool] = field(default_factory=list)
    record: Interventions = field(default_factory=Interventions)

    @property
    def text(self) -> str:
        return "".join(self.tokens)

    def add(self, text: str, confidence: float, entropy: float = NAN, *, injected: bool = False) -> None:
        self.tokens.append(text)
        self.confidences.append(confidence)
        self.entropies.append(entropy)
        self.injected.append(injected)

    def drop(self, n: int) -> None:
        for column in (self.tokens, self.confidences, self.entropies, self.injected):
            del column[len(column) - n :]


Sampled = Sequence[tuple[str, float] | tuple[str, float, float]]


def generate(
    controller: Controller,
    *samples: Sampled,
    pieces: Callable[[str], list[str]] = lambda text: [text],
    confidence: float = NAN,
    answered: Callable[[], bool] = yes,
) -> Reply:
    """Drive a controller as an engine that owns sampling does.

    Each of `samples` ends with an end of text; the next one is sampled if that was turned down.
    """
    reply, stream = Reply(), controller.start()

    def carry_out(injection: Injection) -> None:
        reply.drop(injection.take_back)
        for piece in pieces(injection.text):
            reply.add(piece, confidence, injected=True)
            stream.push_injected(piece, confidence)

    for sample in samples:
        for token in sample:
            reply.add(*token)
            injection = stream.push(*token)
            if injection is not None:
                carry_out(injection)
        injection = stream.at_end(answered)
        if injection is None:
            break
        carry_out(injection)
    reply.record = stream.record()
    return reply


def steps(*confidences: float) -> list[tuple[str, float]]:
    """Return one token per step."""
    return [(f"step {m}.\n\n", confidence) for m, confidence in enumerate(confidences)]


def reflected(controller: Controller, *confidences: float) -> list[int]:
    """Return the steps behind which the controller reflects, if nothing is injected."""
    stream = controller.start()
    return [m for m, token in enumerate(steps(*confidences)) if stream.push(*token) is not None]


# A trace by hand: alpha = delta = 0.8, the reflection in two tokens of confidence 6 and 8.
#
# m   tokens                  C_m    C_m / tau             C_{m-1}          tau
# 0   9 11                    10     -                     -                10
# 1   12 13 11                12     1.2                   10               0.8 * 10    + 0.2 * 12   = 10.4
# 2   8                        8     8 / 10.4    = 0.7692  12    reflect    10.4
# 3   (6 8) 8 10.8             8.2   8.2 / 10.4  = 0.7885   8    rises      0.8 * 10.4  + 0.2 * 8.2  = 9.96
# 4   7 8                      7.5   7.5 / 9.96  = 0.7530   8.2  reflect    9.96
# 5   (6 8) 7                  7     7 / 9.96    = 0.7028   7.5  reflect    9.96
# 6   (6 8) 15.88              9.96  1                      7               9.96
# 7   8                        8     8 / 9.96    = 0.8032   9.96            0.8 * 9.96  + 0.2 * 8    = 9.568
# 8   7.6                      7.6   7.6 / 9.568 = 0.7943   8    reflect    9.568
# 9   (6 8) 8.8                7.6   0.7943                 7.6  no lower   0.8 * 9.568 + 0.2 * 7.6  = 9.1744
# 10  7.34                     7.34  7.34/9.1744 = 0.80005  7.6             0.8 * 9.1744+ 0.2 * 7.34 = 8.80752
# 11  7 7 7                    7     7 / 8.80752 = 0.7948   7.34 reflect    8.80752
# 12  (6 8) 1                  5     the end of the text is no boundary: not judged
TRACE: list[tuple[str, float]] = [
    ("a", 9), ("\n\n", 11),
    ("b", 12), (".", 13), ("\n\n", 11),
    ("c.\n\n", 8),
    ("d", 8), ("\n\n", 10.8),
    ("e\n", 7), ("\nf", 8),
    ("g\n\n", 7),
    ("h\n\n", 15.88),
    ("i\n\n", 8),
    ("j\n\n", 7.6),
    ("k\n\n", 8.8),
    ("l\n\n", 7.34),
    ("m", 7), ("\n", 7), ("\n", 7),
    ("n", 1),
]  # fmt: skip


def traced() -> Reply:
    stream, reply = SelfStepConf().start(), Reply()
    for token in TRACE:
        reply.add(*token)
        if stream.push(*token) == Injection("wait"):
            for piece in [("wa", 6.0), ("it", 8.0)]:
                reply.add(*piece, injected=True)
                stream.push_injected(*piece)
    reply.record = stream.record()
    return reply


def test_the_trace_by_hand() -> None:
    reply = traced()
    assert reply.text == (
        "a\n\nb.\n\nc.\n\nwaitd\n\ne\n\nfwaitg\n\nwaith\n\ni\n\nj\n\nwaitk\n\nl\n\nm\n\nwaitn"
    )
    record = reply.record
    assert record.step_ends == (2, 5, 6, 10, 12, 15, 18, 19, 20, 23, 24, 27, 30)
    assert record.step_confidences == pytest.approx((10, 12, 8, 8.2, 7.5, 7, 9.96, 8, 7.6, 7.6, 7.34, 7, 5))
    assert record.unfinished
    assert record.insertions == tuple(Insertion(start, 2) for start in (6, 12, 15, 20, 27))
    assert record.n_reflections == 5


def test_the_thresholds_of_the_trace_by_hand() -> None:
    taus = (10, 10.4, 10.4, 9.96, 9.96, 9.96, 9.96, 9.568, 9.568, 9.1744, 8.80752, 8.80752, 8.80752)
    assert thresholds(traced().record, 0.8, 0.8) == pytest.approx(taus, rel=1e-12)


def test_the_lowest_ratio_of_the_trace_by_hand() -> None:
    assert lowest_ratio(traced().record, 0.8, 0.8) == pytest.approx(7 / 9.96)


def test_the_first_step_sets_the_threshold_and_never_reflects() -> None:
    assert reflected(SelfStepConf(), 1) == []
    assert reflected(SelfStepConf(), 1, 0.79) == [1]


def test_a_step_right_at_delta_does_not_reflect() -> None:
    assert reflected(SelfStepConf(delta=0.75), 4, 3) == []
    assert reflected(SelfStepConf(delta=0.75), 4, math.nextafter(3, 0)) == [1]


def test_a_low_step_that_rises_does_not_reflect_and_moves_the_threshold() -> None:
    assert reflected(SelfStepConf(alpha=0.5), 16, 4, 6, 8) == [1]
    record = Interventions((), (1, 2, 3, 4), (16, 4, 6, 8))
    assert thresholds(record, 0.5, 0.8) == (16, 16, 11, 9.5)


def test_the_previous_step_counts_also_if_it_reflected() -> None:
    assert reflected(SelfStepConf(), 10, 7, 6.5, 6.6, 6.4) == [1, 2, 4]


def test_alpha_0_follows_the_last_step_and_alpha_1_keeps_the_first() -> None:
    record = Interventions((), (1, 2, 3), (10, 9, 8.5))
    assert thresholds(record, 0, 0.8) == (10, 9, 8.5)
    assert thresholds(record, 1, 0.8) == (10, 10, 10)


def test_delta_0_never_reflects() -> None:
    sampled = [*steps(10, 5, 2, 1, 0.1, 0), ("end", 0.001)]
    reply = generate(SelfStepConf(delta=0), sampled)
    assert list(zip(reply.tokens, reply.confidences, strict=True)) == sampled
    assert reply.record.insertions == ()


def test_a_threshold_of_0_drops_nothing() -> None:
    assert reflected(SelfStepConf(alpha=1), 0, 5, 1) == []
    assert math.isnan(lowest_ratio(Interventions((), (1, 2), (0, 5)), 1, 0.8))


def test_an_empty_trajectory_has_an_empty_record() -> None:
    assert SelfStepConf().start().record() == Interventions()
    assert thresholds(Interventions(), 0.8, 0.8) == ()
    assert math.isnan(lowest_ratio(Interventions(), 0.8, 0.8))


def test_a_record_may_be_taken_at_any_time() -> None:
    stream = SelfStepConf().start()
    stream.push("a", 4.0)
    assert stream.record() == stream.record() == Interventions((), (1,), (4.0,), unfinished=True)
    stream.push("\n\n", 2.0)
    assert stream.record() == Interventions((), (2,), (3.0,))


def test_white_space_behind_the_last_boundary_joins_the_step_but_not_its_confidence() -> None:
    reply = generate(SelfStepConf(), [("a\n\n", 4.0), ("b\n\n", 3.5), ("\n", 1.0)])
    assert reply.record == Interventions((), (1, 3), (4.0, 3.5))
    assert reply.record.step_ends == tuple(step_ends(reply.tokens, PARAGRAPH).tolist())


def test_white_space_alone_is_one_unfinished_step() -> None:
    reply = generate(SelfStepConf(), [("\n\n", 4.0), (" ", 2.0)])
    assert reply.record == Interventions((), (2,), (3.0,), unfinished=True)


def test_an_injected_text_appears_once_in_as_many_tokens_as_it_has() -> None:
    words = " wait, let me check"
    controller = SelfStepConf(reflection=words)
    reply = generate(controller, [*steps(10, 7), ("so", 9.0)], pieces=list, confidence=5)
    assert reply.text == f"step 0.\n\nstep 1.\n\n{words}so"
    assert reply.record.insertions == (Insertion(2, len(words)),)
    assert reply.record.step_ends == (1, 2, 3 + len(words))
    assert reply.record.step_confidences[-1] == (5 * len(words) + 9) / (len(words) + 1)


def test_boundaries_inside_an_injected_text_are_passed_over() -> None:
    controller = SelfStepConf(reflection="\n\nWait.\n\nLet me see.\n\n")
    sampled = [*steps(10, 7), ("\n\n", 8.0), ("b", 8.0), ("\n\n", 8.0), ("c", 9.0)]
    reply = generate(controller, sampled, pieces=list, confidence=8)
    n = len(controller.reflection)
    assert reply.record.insertions == (Insertion(2, n),)
    assert reply.record.step_ends == (1, 2, n + 5, n + 6)
    assert reply.record.step_confidences == (10, 7, 8, 9)


def test_an_injected_text_is_text_of_its_step() -> None:
    reply = generate(SelfStepConf(), [*steps(10, 7), ("\n\n", 9.0), ("b", 9.0)])
    assert reply.record.step_ends == (1, 2, 4, 5)


def test_a_boundary_that_begins_in_an_injected_text_and_ends_behind_it_counts() -> None:
    reply = generate(SelfStepConf(reflection="wait\n"), [*steps(10, 7), ("\n", 9.0), ("b", 9.0)])
    assert reply.record.step_ends == (1, 2, 4, 5)


def test_injected_tokens_without_a_confidence_are_left_out_of_the_mean() -> None:
    reply = generate(SelfStepConf(), [*steps(10, 7), ("a", 8.0), ("b\n\n", 9.0)])
    assert reply.record.step_confidences == (10, 7, 8.5)
    assert reply.record.step_ends == (1, 2, 5)


def test_a_reflection_that_was_cut_short_or_left_out_is_recorded_as_it_is() -> None:
    stream = SelfStepConf(reflection="wait, what").start()
    for token in steps(10, 7):
        injection = stream.push(*token)
    assert injection is not None
    assert stream.record().insertions == ()
    stream.push_injected("wait", 5.0)
    assert stream.record() == Interventions((Insertion(2, 1),), (1, 2, 3), (10, 7, 5), unfinished=True)


def test_tokens_without_a_confidence_are_left_out_of_the_mean() -> None:
    reply = generate(SelfStepConf(), [("a", NAN), ("b", 4.0), (".\n\n", 6.0)])
    assert reply.record.step_confidences == (5.0,)


def test_a_step_without_any_confidence_changes_nothing() -> None:
    assert reflected(SelfStepConf(), 10, NAN, 7) == [2]
    assert reflected(SelfStepConf(), 10, 7, NAN, 7.1, 7) == [1, 4]
    assert reflected(SelfStepConf(), NAN, 10, 7) == [2]
    assert reflected(SelfStepConf(), NAN, NAN) == []
    record = Interventions((), (1, 2, 3, 4), (NAN, 10, NAN, 7))
    assert thresholds(record, 0.8, 0.8) == pytest.approx((NAN, 10, 10, 10), nan_ok=True)
    assert lowest_ratio(record, 0.8, 0.8) == 0.7


def test_the_lowest_ratio_leaves_the_unfinished_step_out() -> None:
    record = Interventions((), (1, 2, 3), (10, 9.5, 1), unfinished=True)
    assert lowest_ratio(record, 0.8, 0.8) == 0.95
    assert thresholds(record, 0.5, 0.8) == (10, 9.75, 9.75)


def test_numbers_of_numpy_are_recorded_as_floats() -> None:
    stream = SelfStepConf().start()
    stream.push("a\n\n", np.float64(4))
    stream.push("b", np.float64(2))
    assert [type(value) for value in stream.record().step_confidences] == [float, float]


def test_streams_of_one_controller_share_nothing() -> None:
    controller = SelfStepConf(guard=True)
    one, other = controller.start(), controller.start()
    one.push("a\n\n", 10.0)
    assert one.at_end(no) is not None
    assert other.record() == Interventions()
    assert other.at_end(no) is not None


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        (PARAGRAPH, (1, 3, 6, 9)),
        (DelimiterSplitter("\n"), (1, 2, 3, 6, 7, 9)),
        (EXACT, (6, 9)),
        (WindowSplitter(2), (2, 4, 6, 8, 9)),
        (EntropySplitter(0.5, 2), (3, 8, 9)),
    ],
)
def test_every_splitter_steers(split: Splitter, expected: tuple[int, ...]) -> None:
    tokens = ["a\n\n", "b\n", "c\n\n", "d", "e", "\n\n", "f\n", "g", "h"]
    entropies = [0.9, 0.1, 0.9, 0.9, 0.5, 0.5, 0.5, 0.9, 0.9]
    falling = [0.5**i for i in range(len(tokens))]
    controller = SelfStepConf(split=split)
    stream = controller.start()
    pushed = [stream.push(*token) for token in zip(tokens, falling, entropies, strict=True)]
    assert stream.record().step_ends == expected
    boundaries = [end for end in expected if end < 9]
    assert [i + 1 for i, injection in enumerate(pushed) if injection] == boundaries[1:]
    assert controller.uses_entropy == isinstance(split, EntropySplitter)


def test_the_end_of_the_text_stops_without_the_guard() -> None:
    stream = SelfStepConf().start()
    stream.push("a\n\n", 10.0)
    stream.push("b", 1.0)
    assert stream.allows_end(unasked)
    assert stream.at_end(unasked) is None


def test_the_guard_turns_down_an_end_without_an_answer_once() -> None:
    sampled = [("b", 9.0)]
    reply = generate(SelfStepConf(guard=True), sampled, sampled, sampled, answered=no)
    assert reply.text == "bwaitb"
    assert reply.record.insertions == (Insertion(1, 1),)
    assert reply.record.step_ends == (3,)


def test_the_guard_turns_down_an_end_in_a_step_that_dropped() -> None:
    stream = SelfStepConf(guard=True).start()
    stream.push("a\n\n", 10.0)
    stream.push("b", 7.9)
    assert not stream.allows_end(unasked)
    assert stream.at_end(unasked) == Injection("wait")
    assert stream.allows_end(unasked)
    assert stream.at_end(unasked) is None


def test_the_guard_lets_an_end_with_an_answer_stand() -> None:
    stream = SelfStepConf(guard=True).start()
    stream.push("a\n\n", 10.0)
    stream.push("b", 8.0)
    assert stream.at_end(yes) is None


def test_the_guard_does_not_judge_white_space() -> None:
    stream = SelfStepConf(guard=True).start()
    stream.push("a\n\n", 10.0)
    stream.push("\n", 1.0)
    assert stream.at_end(yes) is None
    assert stream.at_end(no) is not None


def test_a_question_about_the_end_changes_nothing() -> None:
    stream = SelfStepConf(guard=True).start()
    stream.push("a", 10.0)
    assert [stream.allows_end(no), stream.allows_end(no), stream.allows_end(yes)] == [False, False, True]
    assert stream.at_end(no) is not None


def test_a_reflection_of_the_guard_right_behind_another_is_one_of_its_own() -> None:
    reply = generate(SelfStepConf(guard=True), steps(10, 7), [("c", 9.0)], answered=no)
    assert reply.text == "step 0.\n\nstep 1.\n\nwaitwaitc"
    assert reply.record.insertions == (Insertion(2, 1), Insertion(3, 1))


def test_a_step_goes_on_behind_the_reflection_of_the_guard_and_may_still_drop() -> None:
    sampled = [("a\n\n", 10.0), ("b", 7.0)]
    reply = generate(SelfStepConf(guard=True), sampled, [("c\n\n", 7.0), ("d", 9.0)], confidence=7)
    assert reply.text == "a\n\nbwaitc\n\nwaitd"
    assert reply.record.step_ends == (1, 4, 6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SelfStepConf(alpha=-0.1), "alpha is -0.1: give"),
        (lambda: SelfStepConf(alpha=1.01), "alpha is 1.01"),
        (lambda: SelfStepConf(alpha=NAN), "alpha is nan"),
        (lambda: SelfStepConf(delta=-1), "delta is -1: give"),
        (lambda: SelfStepConf(delta=NAN), "delta is nan"),
        (lambda: SelfStepConf(delta=math.inf), "delta is inf"),
        (lambda: SelfStepConf(reflection=""), "the reflection text is '': give"),
        (lambda: SelfStepConf(reflection=" \n"), r"the reflection text is ' \\n'"),
        (lambda: SelfStepConf(split="line"), "the splitter is 'line'"),
        (lambda: SelfStepConf(split=None), "the splitter is None"),
        (lambda: thresholds(Interventions(), 2, 0.8), "alpha is 2"),
        (lambda: lowest_ratio(Interventions(), 0.8, -1), "delta is -1"),
        (lambda: BudgetForcing(-1), "-1 to None tokens"),
        (lambda: BudgetForcing(5, 4), "5 to 4 tokens"),
        (lambda: BudgetForcing(0, 0), "0 to 0 tokens"),
        (lambda: BudgetForcing(n_waits=-1), "-1 waits"),
        (lambda: BudgetForcing(text=" "), "continues the thinking is ' '"),
        (lambda: BudgetForcing(text="so</think>"), "no '</think>'"),
        (lambda: BudgetForcing(end_of_thinking=""), "end of thinking is ''"),
    ],
)
def test_parameters_that_can_not_work_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def plain(*tokens: str) -> list[tuple[str, float]]:
    return [(token, NAN) for token in tokens]


def test_an_early_end_of_thinking_is_replaced() -> None:
    reply = generate(BudgetForcing(4), plain("a", "b", "</think>", "c", "</think>", "4"))
    assert reply.tokens == ["a", "b", "Wait", "c", "</think>", "4"]
    assert reply.record == Interventions((Insertion(2, 1),))


def test_an_end_of_thinking_at_the_minimum_stands() -> None:
    assert generate(BudgetForcing(2), plain("a", "b", "</think>")).tokens == ["a", "b", "</think>"]
    assert generate(BudgetForcing(3), plain("a", "b", "</think>")).tokens == ["a", "b", "Wait"]


def test_only_so_many_ends_of_thinking_are_replaced() -> None:
    sampled = plain("a", "</think>", "b", "</think>", "c", "</think>", "d")
    assert generate(BudgetForcing(99, n_waits=2), sampled).text == "aWaitbWaitc</think>d"
    assert generate(BudgetForcing(99, n_waits=0), sampled).text == "a</think>b</think>c</think>d"


def test_an_end_of_the_text_while_thinking_is_replaced() -> None:
    reply = generate(BudgetForcing(9), plain("a"), plain("b"), plain("c"), answered=unasked)
    assert reply.tokens == ["a", "Wait", "b"]
    assert reply.record.insertions == (Insertion(1, 1),)


def test_an_end_of_the_text_behind_the_thinking_stands() -> None:
    reply = generate(BudgetForcing(2, n_waits=5), plain("a", "b", "</think>", "4"), plain("c"))
    assert reply.text == "ab</think>4"


def test_ends_of_text_and_of_thinking_draw_on_the_same_number() -> None:
    controller = BudgetForcing(99, n_waits=2)
    reply = generate(controller, plain("a"), plain("b", "</think>", "c"), plain("d"))
    assert reply.text == "aWaitbWaitc"


def test_thinking_is_closed_at_the_maximum() -> None:
    reply = generate(BudgetForcing(max_tokens=2), plain("a", "b", "4", "5", "6"))
    assert reply.tokens == ["a", "b", "</think>", "4", "5", "6"]
    assert reply.record.insertions == (Insertion(2, 1),)


def test_injected_tokens_count_as_thought_and_never_close_it() -> None:
    controller = BudgetForcing(3, 3, text="Wait, no")
    reply = generate(controller, plain("a", "</think>", "b", "c"), pieces=str.split)
    assert reply.tokens == ["a", "Wait,", "no", "b", "</think>", "c"]


def test_an_end_of_thinking_in_several_tokens_is_taken_back_with_all_of_them() -> None:
    sampled = plain("a", "<", "b", "</", "", "think", ">\n", "c", "</", "thin", "g>", "</think>")
    reply = generate(BudgetForcing(99), sampled)
    assert reply.tokens == ["a", "<", "b", "Wait", "c", "</", "thin", "g>", "</think>"]
    assert reply.record.insertions == (Insertion(3, 1),)


def test_a_repeated_beginning_does_not_hide_the_end_of_thinking() -> None:
    controller = BudgetForcing(99, end_of_thinking="<<>")
    assert generate(controller, plain("a", "<", "<", "<", ">", "b")).tokens == ["a", "<", "Wait", "b"]


def test_a_closing_waits_until_a_begun_end_of_thinking_is_decided() -> None:
    controller = BudgetForcing(max_tokens=2)
    assert generate(controller, plain("a", "</", "think>", "4")).text == "a</think>4"
    assert generate(controller, plain("a", "</", "b>", "4")).text == "a</b></think>4"


def test_an_injected_text_does_not_begin_the_end_of_thinking() -> None:
    reply = generate(BudgetForcing(99, text="Wait <"), plain("a", "</think>", "/think>", "b"))
    assert reply.text == "aWait </think>b"
    assert reply.record.n_reflections == 1
    reply = generate(BudgetForcing(99, n_waits=2), plain("a", "<"), plain("/think>", "b"), plain("c"))
    assert reply.text == "a<Wait/think>bWaitc"


def test_an_end_right_behind_a_wait_is_replaced_by_one_of_its_own() -> None:
    reply = generate(BudgetForcing(99, n_waits=2), plain("a", "</think>", "</think>", "b"))
    assert reply.text == "aWaitWaitb"
    assert reply.record.insertions == (Insertion(1, 1), Insertion(2, 1))


def test_an_end_that_comes_too_early_will_not_stand() -> None:
    stream = BudgetForcing(2).start()
    assert not stream.allows_end(unasked)
    stream.push("a", NAN)
    stream.push("b", NAN)
    assert stream.allows_end(unasked)


def test_budget_forcing_without_limits_does_nothing() -> None:
    sampled = plain("a", "</think>", "b")
    assert generate(BudgetForcing(), sampled).tokens == ["a", "</think>", "b"]
    assert not BudgetForcing().uses_entropy


def test_replay_finds_the_reflections_by_the_decisions() -> None:
    reply = traced()
    assert replay(SelfStepConf(), reply.tokens, reply.confidences) == reply.record


def test_replay_takes_tokens_that_spell_something_else_as_sampled() -> None:
    record = replay(SelfStepConf(), ["a\n\n", "b\n\n", "wa", "s"], [10, 7, 6, 8])
    assert record == Interventions((), (1, 2, 4), (10, 7, 7), unfinished=True)


def test_replay_knows_a_reflection_that_the_end_cut_short() -> None:
    record = replay(SelfStepConf(), ["a\n\n", "b\n\n", "wa"], [10, 7, 6])
    assert record.insertions == (Insertion(2, 1),)
    assert replay(SelfStepConf(), ["a\n\n", "b\n\n"], [10, 7]).insertions == ()


def test_replay_takes_the_insertions_it_is_given() -> None:
    tokens, confidences = ["a\n\n", "x\n\n", "b\n\n", "c"], [10.0, 7.0, 7.0, 8.0]
    record = replay(SelfStepConf(), tokens, confidences, insertions=[Insertion(1, 1)])
    assert record == Interventions((Insertion(1, 1),), (1, 3, 4), (10, 7, 8), unfinished=True)
    plain_record = replay(SelfStepConf(reflection="b\n\n"), tokens, confidences, insertions=[])
    assert plain_record == Interventions((), (1, 2, 3, 4), (10, 7, 7, 8), unfinished=True)


@pytest.mark.parametrize(
    "make",
    [
        lambda: replay(SelfStepConf(), ["a", "b"], [1.0]),
        lambda: replay(SelfStepConf(), ["a", "b"], [1.0, 1.0], [0.5]),
        lambda: replay(SelfStepConf(), ["a"], [1.0], insertions=[Insertion(0, 2)]),
        lambda: replay(SelfStepConf(), ["a"], [1.0], insertions=[Insertion(0, 0)]),
        lambda: replay(SelfStepConf(), ["a"], [1.0], insertions=[Insertion(-1, 1)]),
        lambda: replay(SelfStepConf(), ["a"] * 3, [1.0] * 3, insertions=[Insertion(0, 2), Insertion(1, 1)]),
    ],
)
def test_replay_refuses_what_does_not_fit_together(make: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=r"give (one of each per token|them in order of their start)"):
        make()


# The slow twin: the whole trajectory at once, by the text of the method.


def naive_boundaries(reply: Reply, rule: Splitter) -> list[int]:
    """Return where steps of the whole text end, but not inside injected text."""
    found, start = [], 0
    for i, token in enumerate(reply.tokens):
        step = "".join(reply.tokens[start : i + 1])
        length = i + 1 - start
        # A token without text is a part of a character.
        is_blank = all(each.isspace() for each in reply.tokens[start : i + 1])
        if isinstance(rule, DelimiterSplitter) and rule.exact_token:
            over = token == rule.delimiter and bool(step.strip())
        elif isinstance(rule, DelimiterSplitter):
            over = rule.delimiter in step.lstrip()
        elif isinstance(rule, WindowSplitter):
            over = length >= rule.n_tokens and not is_blank
        else:
            assert isinstance(rule, EntropySplitter)
            over = reply.entropies[i] > rule.threshold and length >= rule.min_tokens and not is_blank
        if over:
            start = i + 1
            if not reply.injected[i]:
                found.append(i + 1)
    return found


def naive_mean(values: list[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    total = 0.0
    for value in known:
        total += value
    return total / len(known) if known else NAN


def naive_drops(confidences: list[float], alpha: float, delta: float) -> list[bool]:
    """Judge every step by its number m, with all steps at hand."""
    known = [c for c in confidences if not math.isnan(c)]
    taus: list[float] = []
    drops: list[bool] = []
    for m, c in enumerate(known):
        if m == 0:
            drops.append(False)
            taus.append(c)
            continue
        tau = taus[m - 1]
        drops.append(tau > 0 and c / tau < delta and c < known[m - 1])
        taus.append(tau if drops[m] else alpha * tau + (1 - alpha) * c)
    by_step = iter(drops)
    return [False if math.isnan(c) else next(by_step) for c in confidences]


def naive_record(reply: Reply, controller: SelfStepConf) -> tuple[Interventions, list[int]]:
    """Return the record without insertions, and the indices behind which a reflection was due."""
    ends = naive_boundaries(reply, controller.split)
    confidences = [naive_mean(reply.confidences[a:b]) for a, b in pairwise([0, *ends])]
    drops = naive_drops(confidences, controller.alpha, controller.delta)
    due = [end for end, dropped in zip(ends, drops, strict=True) if dropped]
    n, last = len(reply.tokens), ends[-1] if ends else 0
    unfinished = bool("".join(reply.tokens[last:]).strip()) or (n > 0 and not ends)
    if unfinished:
        ends.append(n)
        confidences.append(naive_mean(reply.confidences[last:]))
    elif ends:
        ends[-1] = n
    return Interventions((), tuple(ends), tuple(confidences), unfinished), due


texts = st.one_of(
    st.sampled_from(["\n\n", ".\n\n", "\n", "a\n", "a", " ", "", "a\n\nb"]), st.text("ab \n", max_size=4)
)
few_values = st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, 8.0, NAN])
any_values = st.one_of(st.floats(0.01, 50), st.floats(0.01, 50), st.just(NAN))
entropies = st.sampled_from([0.1, 0.5, 0.9, NAN])
samples = st.one_of(
    st.lists(st.tuples(texts, values, entropies), max_size=40) for values in (few_values, any_values)
)
rules = st.sampled_from(
    [
        PARAGRAPH,
        DelimiterSplitter("\n"),
        EXACT,
        DelimiterSplitter("a"),
        WindowSplitter(1),
        WindowSplitter(3),
        EntropySplitter(0.5, 2),
    ]
)
controllers = st.builds(
    SelfStepConf,
    alpha=st.sampled_from([0.0, 0.3, 0.8, 1.0]),
    delta=st.sampled_from([0.0, 0.5, 0.8, 0.95, 1.5]),
    reflection=st.sampled_from(["wait", " wait, what?", "\n\nWait.\n\n", "a", "w\n"]),
    split=rules,
    guard=st.booleans(),
)
cuts = st.sampled_from([lambda text: [text], list, lambda text: [text[:1], "", text[1:]]])


@st.composite
def replies(draw: st.DrawFn, guarded: bool = True) -> tuple[SelfStepConf, Reply]:
    controller = draw(controllers)
    if not guarded:
        controller = SelfStepConf(controller.alpha, controller.delta, controller.reflection, controller.split)
    reply = generate(
        controller,
        draw(samples),
        draw(samples),
        pieces=draw(cuts),
        confidence=draw(few_values),
        answered=draw(st.sampled_from([yes, no])),
    )
    return controller, reply


def same(one: Interventions, other: Interventions) -> bool:
    """Compare records; NaN is equal to itself."""
    return repr(one) == repr(other)


@MANY
@given(replies())
def test_a_stream_agrees_with_its_twin(drawn: tuple[SelfStepConf, Reply]) -> None:
    controller, reply = drawn
    record, due = naive_record(reply, controller)
    starts = [insertion.start for insertion in reply.record.insertions]
    assert same(replace(reply.record, insertions=()), record)
    assert set(due) <= set(starts)
    assert len(starts) - len(due) <= controller.guard
    injected = {t for i in reply.record.insertions for t in range(i.start, i.start + i.n_tokens)}
    assert injected == {t for t, was in enumerate(reply.injected) if was}
    for insertion in reply.record.insertions:
        tokens = reply.tokens[insertion.start : insertion.start + insertion.n_tokens]
        assert "".join(tokens) == controller.reflection


@MANY
@given(replies())
def test_replay_of_a_recorded_run_gives_the_record(drawn: tuple[SelfStepConf, Reply]) -> None:
    controller, reply = drawn
    again = replay(controller, reply.tokens, reply.confidences, reply.entropies, reply.record.insertions)
    assert same(again, reply.record)


@pytest.mark.slow
@MANY
@given(replies(guarded=False))
def test_replay_finds_the_insertions_of_a_recorded_run(drawn: tuple[SelfStepConf, Reply]) -> None:
    controller, reply = drawn
    # Empty tokens behind a reflection could be the model's own: the text does not tell.
    last = [insertion.start + insertion.n_tokens - 1 for insertion in reply.record.insertions]
    assume(all(reply.tokens[index] for index in last))
    assert same(replay(controller, reply.tokens, reply.confidences, reply.entropies), reply.record)


@LAW
@given(replies())
def test_steps_joined_give_the_text_back(drawn: tuple[SelfStepConf, Reply]) -> None:
    _, reply = drawn
    found = [reply.tokens[start:end] for start, end in pairwise([0, *reply.record.step_ends])]
    assert "".join(token for step in found for token in step) == reply.text
    assert all(found)
    assert len(found) == len(reply.record.step_confidences)


@LAW
@given(replies())
def test_steps_are_those_of_the_splitter_if_no_injected_token_ends_one(
    drawn: tuple[SelfStepConf, Reply],
) -> None:
    controller, reply = drawn
    stream = controller.split.start()
    pairs = zip(reply.tokens, reply.entropies, strict=True)
    ended = [stream.push(*pair) for pair in pairs]
    if not any(map(operator.and_, ended, reply.injected)):
        ends = step_ends(reply.tokens, controller.split, reply.entropies)
        assert reply.record.step_ends == tuple(ends.tolist())


@LAW
@given(replies())
def test_step_confidences_are_those_of_the_steps(drawn: tuple[SelfStepConf, Reply]) -> None:
    _, reply = drawn
    if reply.tokens:
        ends = np.array(reply.record.step_ends)
        means = step_confidences(np.array(reply.confidences), ends)
        # White space behind the last boundary counts in the one and not in the other.
        n = len(ends) - (not reply.record.unfinished)
        assert reply.record.step_confidences[:n] == pytest.approx(means[:n], rel=1e-12, nan_ok=True)


@LAW
@given(replies())
def test_tau_lies_between_the_lowest_and_the_highest_step_so_far(
    drawn: tuple[SelfStepConf, Reply],
) -> None:
    controller, reply = drawn
    record = reply.record
    seen: list[float] = []
    taus = thresholds(record, controller.alpha, controller.delta)
    assert len(taus) == len(record.step_ends)
    for m, (tau, confidence) in enumerate(zip(taus, record.step_confidences, strict=True)):
        if not math.isnan(confidence) and not (record.unfinished and m == len(taus) - 1):
            seen.append(confidence)
        if seen:
            assert min(seen) * (1 - 1e-12) <= tau <= max(seen) * (1 + 1e-12)
        else:
            assert math.isnan(tau)


@LAW
@given(replies(), st.integers(-30, 30))
def test_a_power_of_two_changes_no_decision(drawn: tuple[SelfStepConf, Reply], power: int) -> None:
    controller, reply = drawn
    scaled = [math.ldexp(confidence, power) for confidence in reply.confidences]
    record = replay(controller, reply.tokens, scaled, reply.entropies)
    plain_record = replay(controller, reply.tokens, reply.confidences, reply.entropies)
    assert record.insertions == plain_record.insertions
    assert record.step_ends == plain_record.step_ends
    ratios = [lowest_ratio(r, controller.alpha, controller.delta) for r in (record, plain_record)]
    assert ratios[0] == pytest.approx(ratios[1], rel=0, abs=0, nan_ok=True)


@MANY
@given(st.lists(st.floats(0.01, 50), max_size=30), st.sampled_from([0.0, 0.3, 0.8, 1.0]))
def test_the_lowest_ratio_is_below_delta_exactly_if_a_step_dropped(
    confidences: list[float], alpha: float
) -> None:
    for delta in (0.5, 0.8, 0.95):
        controller = SelfStepConf(alpha, delta)
        dropped = reflected(controller, *confidences)
        record = Interventions((), tuple(range(1, len(confidences) + 1)), tuple(confidences))
        assert (lowest_ratio(record, alpha, delta) < delta) == bool(dropped)


@LAW
@given(samples, rules)
def test_delta_0_gives_the_plain_trajectory(sampled: Sampled, rule: Splitter) -> None:
    reply = generate(SelfStepConf(delta=0, split=rule), sampled, [("more", 1.0)])
    assert reply.tokens == [token[0] for token in sampled]
    assert not any(reply.injected)


@MANY
@given(
    st.text("a</>", max_size=30).flatmap(
        lambda text: st.lists(st.integers(0, 30)).map(
            lambda at: [text[a:b] for a, b in pairwise(sorted({0, len(text), *(c % 31 for c in at)}))]
        )
    ),
    st.integers(0, 3),
)
def test_an_end_of_thinking_is_found_however_it_is_cut(tokens: list[str], n_waits: int) -> None:
    end, text = "</>", "".join(tokens)
    reply = generate(BudgetForcing(10**6, n_waits=n_waits, end_of_thinking=end), plain(*tokens))
    assert (reply.record.n_reflections >= 1) == (n_waits > 0)
    if end not in text or n_waits == 0:
        assert reply.text.removesuffix("Wait") == text
    shown = ["\0" if was else token for token, was in zip(reply.tokens, reply.injected, strict=True)]
    if reply.record.n_reflections < n_waits:
        assert end not in "".join(shown)
    assert {*shown} <= {*tokens, "\0"}


def test_its_settings_and_what_it_did_are_told() -> None:
    rule = SelfStepConf(alpha=0.7, delta=0.9, reflection="wait")
    assert rule.settings() == {"alpha": 0.7, "delta": 0.9, "reflection": "wait"}
    stream = rule.start()
    for text, value in (("a\n\n", 10.0), ("b\n\n", 8.0)):
        stream.push(text, value)
    once = Trajectory("a\n\nb\n\n", interventions=stream.record())
    # The second step has 8 of the threshold of 10, which is below delta.
    assert rule.told([once]) == "0 reflections, lowest step at 0.80 of the threshold (reflects below 0.9)"
    assert rule.told([]) == "0 reflections; no trajectory has two steps to compare"
