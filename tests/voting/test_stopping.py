"""The rules that say when a vote is settled."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc

from distrivote import Ballot, vote
from distrivote.errors import InputError, UnknownNameError
from distrivote.voting.methods import method_of
from distrivote.voting.stopping import (
    RULES,
    Anytime,
    BetaRule,
    Consensus,
    DirichletRule,
    Gain,
    StopRule,
    Sure,
    VoteHolds,
    Windows,
    completing,
    completions,
    e_value,
    first_of_three,
    half_beta,
    outlook,
    stop_rule,
)
from distrivote.voting.vote import elect
from strategies import FEW, LAW, Pool, humped, humped_pools, pools, wide_pools

EACH = [
    Consensus(n_warmup=1),
    BetaRule(),
    DirichletRule(),
    Anytime(),
    VoteHolds(),
    VoteHolds(method="sc"),
    Gain(),
    Gain(method="dis-gmm"),
    Windows(),
]


def ballot(answers: str, confidence: float = 9.0) -> Ballot:
    """Return a ballot with a letter for each answer, - for none."""
    return Ballot.of([None if a == "-" else a for a in answers], [confidence] * len(answers))


# Names


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("consensus", Consensus()),
        ("consensus:0.9", Consensus(0.9)),
        ("consensus:0.9:8", Consensus(0.9, 8)),
        ("beta", BetaRule()),
        (" beta:0.99 ", BetaRule(0.99)),
        ("dirichlet:0.9", DirichletRule(0.9)),
        ("anytime", Anytime()),
        ("anytime:0.99", Anytime(0.99)),
        ("esc", Windows()),
        ("esc:8", Windows(8)),
        ("gain", Gain()),
        ("gain:0.01", Gain(0.01)),
        ("gain:0.01:dis-gmm", Gain(0.01, "dis-gmm")),
        ("sure:0.9", Sure(0.9)),
        ("sure:0.9:wsc", Sure(0.9, "wsc")),
        ("vote", VoteHolds()),
        ("vote:0.9", VoteHolds(0.9)),
        ("vote:0.9:dis-top:fraction=0.3,intervals=5", VoteHolds(0.9, "dis-top:fraction=0.3,intervals=5")),
    ],
)
def test_a_rule_is_known_by_its_name_and_says_it(name: str, rule: StopRule) -> None:
    assert stop_rule(name) == rule
    assert stop_rule(rule.name) == rule


def test_vote_counts_by_the_method_of_the_caller_unless_the_name_says_another() -> None:
    assert stop_rule("vote", "wsc") == VoteHolds(method="wsc")
    assert stop_rule("vote:0.95:sc", "wsc") == VoteHolds(method="sc")
    assert stop_rule("gain", "wsc") == Gain(method="wsc")
    assert stop_rule("sure:0.9:sc", "wsc") == Sure(0.9, "sc")


def test_a_rule_of_ones_own_and_none_pass_through() -> None:
    own = BetaRule(0.5)
    assert stop_rule(own) is own
    assert stop_rule(None) is None


@pytest.mark.parametrize("rule", [0.95, True, BetaRule, ["beta"]])
def test_what_is_neither_a_name_nor_a_rule_is_an_input_error(rule: object) -> None:
    with pytest.raises(InputError, match="stop_when"):
        stop_rule(rule)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "betta", "consent:0.9", "0.95"])
def test_an_unknown_name_lists_the_rules(name: str) -> None:
    with pytest.raises(UnknownNameError, match="|".join(RULES)):
        stop_rule(name)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("beta:", "not a number"),
        ("beta:high", "not a number"),
        ("beta:0.95:2", "one number"),
        ("beta:0", "above 0"),
        ("esc:0", "window"),
        ("esc:x", "not a number"),
        ("esc:5:2", "one number"),
        ("gain:0", "above 0"),
        ("gain:1", "below 1"),
        ("gain:0.01:dis-gm", "did you mean dis-gmm"),
        ("sure:", "not a number"),
        ("anytime:2", "up to 1"),
        ("vote:1.5", "up to 1"),
        ("consensus:nan", "above 0"),
        ("consensus:0.95:x", "not a number"),
        ("consensus:0.95:0", "warm-up"),
        ("vote:0.95:dis-gm", "did you mean dis-gmm"),
    ],
)
def test_a_setting_that_makes_no_sense_is_an_input_error(name: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        stop_rule(name)


def test_no_completions_are_an_input_error() -> None:
    with pytest.raises(InputError, match="n_completions"):
        VoteHolds(n_completions=0)


# Laws of all rules


@pytest.mark.parametrize("rule", EACH, ids=lambda rule: rule.name)
@pytest.mark.parametrize("answers", ["-", "----------------------------------------"])
def test_nothing_is_settled_without_an_answer(rule: Consensus, answers: str) -> None:
    assert not rule.settled(ballot(answers), 8)


@pytest.mark.parametrize("rule", EACH[1:], ids=lambda rule: rule.name)
@pytest.mark.parametrize("answers", ["a", "ab", "aabb", "aaab", "abcdefgh"])
def test_little_and_tied_votes_are_not_settled(rule: BetaRule, answers: str) -> None:
    assert not rule.settled(ballot(answers), 32)


@pytest.mark.parametrize("rule", EACH, ids=lambda rule: rule.name)
def test_forty_of_one_mind_are_settled(rule: BetaRule) -> None:
    assert rule.settled(ballot("a" * 40), 24)


@given(pools | wide_pools, st.integers(0, 20))
@FEW
def test_every_pool_gets_the_same_verdict_twice(pool: Pool, n_left: int) -> None:
    given = Ballot.of(*pool)
    for rule in EACH:
        assert rule.settled(given, n_left) in (True, False)
        assert rule.settled(given, n_left) == rule.settled(given, n_left)


@given(humped_pools, st.randoms(use_true_random=False))
@FEW
def test_the_order_of_the_trajectories_makes_no_difference_to_the_counting_rules(
    pool: Pool, random: object
) -> None:
    order = list(range(len(pool.answers)))
    random.shuffle(order)  # type: ignore[attr-defined]
    mixed = Ballot.of([pool.answers[i] for i in order], [pool.confidences[i] for i in order])
    for rule in EACH[:3]:
        assert rule.settled(Ballot.of(*pool), 9) == rule.settled(mixed, 9)


# consensus


def test_consensus_waits_for_the_warm_up_and_counts_the_silent_in_it() -> None:
    assert not Consensus().settled(ballot("a" * 15), 17)
    assert Consensus().settled(ballot("a" * 15 + "-"), 16)


def test_consensus_weighs_votes_by_confidence_where_they_have_one() -> None:
    answers = ["a"] * 18 + ["b"] * 2
    assert not Consensus().settled(Ballot.of(answers), 12)
    assert Consensus().settled(Ballot.of(answers, [20.0] * 18 + [1.0] * 2), 12)
    assert Consensus().settled(Ballot.of(answers, [20.0] * 18 + [1.0, None]), 12)
    assert not Consensus().settled(Ballot.of(answers, [None] * 17 + [1.0] * 3), 12)
    assert not Consensus().settled(Ballot.of(answers, [-1.0] * 18 + [-20.0] * 2), 12)


def test_consensus_is_met_at_the_share_itself() -> None:
    assert Consensus().settled(ballot("a" * 19 + "b"), 12)
    assert not Consensus().settled(ballot("a" * 18 + "b"), 12)
    assert Consensus(0.55).settled(ballot("a" * 55 + "b" * 45), 12)


# beta


@given(st.integers(1, 200), st.integers(1, 200))
@LAW
def test_the_incomplete_beta_function_is_scipys(a: int, b: int) -> None:
    assert math.isclose(float(half_beta(a, b)), betainc(a, b, 0.5), rel_tol=1e-10, abs_tol=1e-300)


@given(st.integers(1, 60), st.integers(1, 60))
@LAW
def test_the_incomplete_beta_function_is_exact(a: int, b: int) -> None:
    n = a + b - 1
    assert half_beta(a, b) * 2**n == sum(math.comb(n, heads) for heads in range(a, n + 1))
    assert half_beta(a, b) + half_beta(b, a) == 1


def test_unanimous_votes_are_settled_at_four() -> None:
    assert [BetaRule().settled(ballot("a" * n), 40 - n) for n in range(1, 6)] == [False] * 3 + [True] * 2


@pytest.mark.parametrize(("second", "first"), [(0, 4), (1, 6), (2, 8), (3, 9), (5, 12)])
def test_one_more_vote_settles_it_and_one_less_does_not(second: int, first: int) -> None:
    def probability(v1: int, v2: int) -> float:
        return float(1 - betainc(v1 + 1, v2 + 1, 0.5))

    needed = next(v for v in range(second, 99) if probability(v, second) >= 0.95)
    assert needed == first
    assert BetaRule().settled(ballot("a" * first + "b" * second), 9)
    assert not BetaRule().settled(ballot("a" * (first - 1) + "b" * second), 9)


def test_only_the_first_two_answers_count() -> None:
    assert BetaRule().settled(ballot("aaaaaaa" + "b" + "c" + "d"), 9)


def test_certainty_is_never_reached() -> None:
    assert not BetaRule(1.0).settled(ballot("a" * 2000), 9)


# vote


@given(humped_pools, st.integers(0, 12))
@FEW
def test_a_completion_holds_what_was_seen_and_draws_only_from_it(pool: Pool, n_left: int) -> None:
    given = Ballot.of(*pool)
    if not given.labels:
        return
    n = len(given.classes)
    classes, confidences = completions(given, n_left, 16, np.random.default_rng(0))
    assert classes.shape == confidences.shape == (16, n + n_left)
    assert (classes[:, :n] == given.classes).all()
    np.testing.assert_array_equal(confidences[:, :n], np.tile(given.confidences, (16, 1)))
    assert set(np.unique(classes[:, n:])) <= {*given.classes.tolist(), len(given.labels)}
    answered = classes >= 0
    assert (confidences[answered] > 0).all()
    assert np.isfinite(confidences[answered]).all()


def test_what_can_not_change_any_more_is_settled() -> None:
    assert VoteHolds(1.0, "sc").settled(ballot("a" * 9 + "b" * 3), 5)
    assert VoteHolds(1.0).settled(ballot("ab"), 0)


@pytest.mark.parametrize("n_completions", [1, 64, 65])
def test_a_few_completions_are_enough_for_what_is_certain(n_completions: int) -> None:
    # Whatever comes, b has 4 votes of 10 at most.
    assert VoteHolds(method="sc", n_completions=n_completions).settled(ballot("aaaaaab"), 3)


def test_a_close_race_is_settled_when_little_of_the_budget_is_left() -> None:
    rule = VoteHolds(method="sc")
    assert not rule.settled(ballot("a" * 9 + "b" * 7), 40)
    assert rule.settled(ballot("a" * 9 + "b" * 7), 1)


def test_the_method_decides_what_is_settled() -> None:
    sure_few = Ballot.of(["a"] * 10 + ["b"] * 6, [8.0 + i / 10 for i in range(10)] + [16.0] * 6)
    assert VoteHolds(0.8, "bon").settled(sure_few, 4)
    assert vote(sure_few, method="bon").answer == "b"
    assert not VoteHolds(method="sc").settled(sure_few, 40)


def test_auto_judges_each_completion_by_itself_as_a_vote_does() -> None:
    """Together the completions of one question would teach it to trust their confidences."""
    answers = "212202020211100222122"
    confidences = [
        *(11.54, 12.22, 10.99, 11.79, 13.34, 12.54, 13.71, 12.36, 12.85, 11.87, 12.78),
        *(13.49, 10.74, 15.01, 14.85, 12.78, 12.26, 11.69, 13.46, 13.96, 13.8),
    ]
    assert not VoteHolds(method="auto").settled(Ballot.of(answers, confidences), 11)


def test_the_largest_confidences_do_not_overflow_in_a_completion() -> None:
    given = Ballot.of("aabab", [9.5e99, 9e99, 5e99, 1e100, 3.0])
    _, confidences = completions(given, 9, 64, np.random.default_rng(0))
    assert np.isfinite(confidences).all()
    assert VoteHolds().settled(given, 9) in (True, False)


def test_a_missing_confidence_leaves_majority_voting() -> None:
    given = Ballot.of(["a"] * 12, [9.0] * 11 + [None])
    assert VoteHolds().settled(given, 4)


@pytest.mark.slow
def test_the_answer_that_is_settled_is_nearly_always_that_of_the_whole_budget() -> None:
    """By luck of the seed it fails once in a thousand, if 1 of 20 answers changed (it is fewer)."""
    rng = np.random.default_rng(3)
    n_changed = 0
    for _ in range(30):
        pool = humped(rng, 32, n_answers=3)
        seen = next(
            (n for n in range(1, 32) if VoteHolds().settled(Ballot.of(*(p[:n] for p in pool)), 32 - n)), 32
        )
        early, late = (vote(*(part[:n] for part in pool)).answer for n in (seen, 32))
        n_changed += early != late
    assert n_changed <= 6


# dirichlet, esc


@pytest.mark.parametrize("counts", [(1, 1, 1), (2, 1, 1), (5, 2, 1), (7, 7, 2), (30, 20, 10)])
def test_the_first_of_three_is_the_largest_as_often_as_in_draws(counts: tuple[int, int, int]) -> None:
    """Five standard errors of 200,000 draws: by luck it fails once in a million."""
    shares = np.random.default_rng(1).dirichlet(counts, 200_000)
    expected = (shares.argmax(axis=1) == 0).mean()
    assert abs(first_of_three(*counts) - expected) < 5 * 0.5 / 200_000**0.5


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 40))
@LAW
def test_one_of_three_is_the_largest(a: int, b: int, c: int) -> None:
    total = first_of_three(a, b, c) + first_of_three(b, a, c) + first_of_three(c, a, b)
    assert math.isclose(total, 1.0, abs_tol=1e-9)


def test_a_third_answer_makes_the_dirichlet_rule_wait() -> None:
    assert DirichletRule().settled(ballot("a" * 8 + "b" * 2), 9)
    assert not DirichletRule().settled(ballot("a" * 8 + "bbcc"), 9)


def test_a_window_agrees_only_within_its_numbers() -> None:
    assert not Windows(4).settled(ballot("baaaab"), 9)
    assert Windows(4).settled(ballot("babbaaaa"), 9)
    assert not Windows(2).settled(ballot("--ab"), 9)


# anytime


@pytest.mark.parametrize(("won", "lost"), [(0, 0), (3, 0), (0, 3), (5, 2), (20, 9)])
def test_the_value_of_bets_is_the_mean_over_shares(won: int, lost: int) -> None:
    shares = np.linspace(0.5, 1.0, 200_001)
    values = (2 * shares) ** won * (2 * (1 - shares)) ** lost
    mean = float(((values[1:] + values[:-1]) / 2).mean())
    assert math.isclose(e_value(won, lost), mean, rel_tol=1e-6)


def test_a_fair_bet_gains_nothing() -> None:
    """Half of the money that follows a won bet and half of that after a lost one is what was there."""
    for won in range(12):
        for lost in range(12):
            after = (e_value(won + 1, lost) + e_value(won, lost + 1)) / 2
            assert math.isclose(after, e_value(won, lost), rel_tol=1e-12)


def test_a_later_answer_needs_more_and_a_certain_one_nothing() -> None:
    assert Anytime().settled(ballot("a" * 8), 56)
    assert not Anytime().settled(ballot("b" + "a" * 9), 54)
    assert not Anytime().settled(ballot("b" + "a" * 13), 50)
    assert Anytime().settled(ballot("b" + "a" * 14), 49)
    assert Anytime().settled(ballot("aab"), 0)
    assert not Anytime(1.0).settled(ballot("a" * 40), 40)
    assert Anytime(1.0).settled(ballot("a" * 40), 39)


def test_many_votes_do_not_overflow() -> None:
    assert Anytime().settled(ballot("a" * 3000), 3000)


# gain, sure


def test_what_can_hardly_change_has_no_gain() -> None:
    rng = np.random.default_rng(0)
    seen = outlook(ballot("a" * 20), 12, method_of("sc"), 64, rng)
    assert seen.now > 0.95
    assert not seen.gains.any()
    np.testing.assert_array_equal(seen.later, seen.stays)


@given(humped_pools, st.integers(1, 20))
@FEW
def test_an_outlook_has_probabilities_and_no_answer_of_auto_beats_its_own(pool: Pool, n_left: int) -> None:
    given = Ballot.of(*pool)
    if not given.labels:
        return
    for name in ("auto", "sc", "dis-gmm"):
        seen = outlook(given, n_left, method_of(name), 16, np.random.default_rng(0))
        for values in (np.array([seen.now]), seen.later, seen.stays, seen.gains):
            assert ((values >= 0) & (values <= 1)).all()
        if name != "dis-gmm":
            assert (seen.later >= seen.stays).all()


def test_the_probability_now_is_that_of_a_vote() -> None:
    for answers, confidences in (("aaabb", None), ("aaabbc", [9.0, 8.0, 7.5, 14.0, 15.0, 3.0])):
        given = Ballot.of(answers, confidences)
        tally = vote(given, method="auto")
        seen = outlook(given, 8, method_of("auto"), 4, np.random.default_rng(0))
        assert math.isclose(seen.now, tally.probability, rel_tol=1e-9)


def test_a_hopeless_question_stops_and_a_close_race_goes_on() -> None:
    assert Gain(0.02).settled(ballot("aaaabbbccddefghijklm" * 2), 24)
    assert not BetaRule(0.8).settled(ballot("aaaabbbccddefghijklm" * 2), 24)
    assert not Gain(0.02).settled(ballot("a" * 8 + "b" * 8), 48)


def test_confidences_keep_gain_waiting_where_they_may_overrule() -> None:
    sure_few = Ballot.of(["a"] * 13 + ["b"] * 2, [8.0 + i / 10 for i in range(13)] + [16.0] * 2)
    assert Gain(0.02).settled(Ballot.of(["a"] * 13 + ["b"] * 2), 49)
    assert not Gain(0.02).settled(sure_few, 49)


@given(humped_pools, st.integers(1, 20), st.sampled_from(["auto", "sc", "dis-gmm"]))
@FEW
def test_a_verdict_in_parts_is_that_of_all_completions(pool: Pool, n_left: int, name: str) -> None:
    given = Ballot.of(*pool)
    if not given.labels:
        return
    rng = np.random.default_rng([0, len(given.classes)])
    seen = outlook(given, n_left, method_of(name), 128, rng)
    for gain in (0.002, 0.02, 0.1):
        # The sums of the parts may differ from the mean in the last digit.
        if not math.isclose(seen.gains.mean(), gain, rel_tol=1e-9):
            assert Gain(gain, name).settled(given, n_left) == (seen.gains.mean() < gain)
    hopes = (seen.later >= 0.9).mean() >= 0.05 / max(math.ceil(math.log2(len(given.classes) + n_left)), 1)
    assert Sure(0.9, name).settled(given, n_left) == (seen.now >= 0.9 or not hopes)


@given(humped_pools, st.integers(0, 20), st.sampled_from(["auto", "sc", "dis-gmm"]))
@FEW
def test_vote_in_parts_asks_how_many_of_all_completions_agree(pool: Pool, n_left: int, name: str) -> None:
    given = Ballot.of(*pool)
    if not given.labels:
        return
    rule = VoteHolds(0.8, name, n_completions=40)
    rng = np.random.default_rng([0, len(given.classes)])
    n_same, now = 0, winners(given.classes[None], given.confidences[None], name)[0]
    for size in (32, 8):
        n_same += np.count_nonzero(winners(*completions(given, n_left, size, rng), name) == now)
    assert rule.settled(given, n_left) == (n_same >= rule.share_of_a_look(len(pool[0]) + n_left) * 40)


def winners(classes: np.ndarray, confidences: np.ndarray, method: str) -> np.ndarray:
    n, m = classes.shape
    return elect(classes.ravel(), confidences.ravel(), np.arange(n + 1) * m, [method])[method].winner


@pytest.mark.parametrize("name", ["auto", "dis-gmm"])
def test_confidences_of_several_models_are_compared_within_each(name: str) -> None:
    rng = np.random.default_rng(0)
    models = ("small", "large") * 12
    answers = np.where(rng.random(24) < 0.6, "a", "b").tolist()
    values = rng.normal(12, 2, 24)
    scaled = values * np.where(np.array(models) == "small", 100.0, 1.0)
    pair = [Ballot.of(answers, each.tolist()) for each in (values, scaled)]
    for is_told in (True, False):
        some = [replace(each, models=models) if is_told else each for each in pair]
        seen = [outlook(each, 16, method_of(name), 64, np.random.default_rng(0)).later for each in some]
        assert np.array_equal(*seen) == is_told
        if is_told:
            verdicts = {VoteHolds(0.5, name).settled(each, 1) for each in some}
            assert len(verdicts) == 1


def test_the_last_trajectory_settles_it() -> None:
    assert Gain().settled(ballot("ab"), 0)
    assert Sure().settled(ballot("ab"), 0)


def test_sure_says_why_it_stopped() -> None:
    rule = Sure(0.9)
    assert rule.settled(ballot("a" * 8), 24)
    assert rule.reason(ballot("a" * 8), 24) is None
    assert rule.settled(ballot("abcdefghijkl"), 8)
    assert rule.reason(ballot("abcdefghijkl"), 8) == "no answer was likely to reach a probability of 90%"
    assert not rule.settled(ballot("aaab"), 28)
    assert rule.reason(ballot("aaab"), 28) is None


def test_windows_are_settled_by_any_whole_window_but_not_by_one_that_is_unfinished() -> None:
    assert not Windows(2).settled(Ballot.of("ab"), 8)
    assert Windows(2).settled(Ballot.of("aab"), 8)


@pytest.mark.parametrize("n_completions", [1, 63, 64, 65, 200])
def test_vote_draws_as_many_completions_as_it_says(
    n_completions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []
    whole = completing.completions

    def counted(ballot: Ballot, n_left: int, n: int, rng: np.random.Generator):  # type: ignore[no-untyped-def]
        drawn.append(n)
        return whole(ballot, n_left, n, rng)

    monkeypatch.setattr(completing, "completions", counted)
    assert VoteHolds(method="sc", n_completions=n_completions).settled(Ballot.of("a" * 30), 2)
    assert sum(drawn) == n_completions
