from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.answers.equality import Equality, NotationOnly
from distrivote.answers.equivalence import Classes, classify, same_answer
from distrivote.answers.forms import compare, form_of, normal_form, plainly_equal, scaled
from distrivote.errors import InputError, OwnCodeError
from strategies import LAW, MANY

SAME = [
    # numbers
    ("0.50", "1/2"),
    (".5", r"\frac12"),
    (r"\frac{1}{2}", r"\dfrac{1}{2}"),
    (r"\tfrac12", "0.5"),
    (r"\frac{1}2", r"\frac1{2}"),
    (r"\frac 12", "½"),
    (r"\frac{-1}{2}", r"-\frac{1}{2}"),
    ("-1/2", r"\frac{1}{-2}"),
    ("−5", "-5"),
    ("+5", "5"),
    ("007", "7"),
    ("5.", "5"),
    ("42.0", "42"),
    ("1,234", "1234"),
    ("1{,}234", r"1\,234"),
    ("1 234 567", "1,234,567"),
    (r"10,\!000", "10000"),
    (r"1{,}\!000\!,\! 000", "1,000,000"),
    (r"x = 10,\!000", "10,000"),
    ("1.5e3", "1500"),
    (r"1.5 \times 10^{3}", r"1.5\cdot 10^3"),
    ("1.5×10^3", "1500.0"),
    ("0.333333", "1/3"),
    ("0.6666667", r"\frac{2}{3}"),
    ("33.3333333", r"\frac{100}{3}"),
    # units that do not count
    (r"50\%", "50"),
    ("50%", "50 percent"),
    (r"90^\circ", "90"),
    (r"90^{\circ}", "90°"),
    (r"\$1,234.50", "1234.5"),
    ("$5", "5"),
    ("-$5", "-5"),
    # edges
    (" 42 ", "$42$"),
    ("$$42$$", r"\(42\)"),
    (r"\[42\]", "42."),
    (r"\boxed{42}", "**42**"),
    (r"\text{42}", r"\mathrm{42}"),
    ("{42}", "(42)"),
    (r"$\boxed{\text{42}}$.", "42"),
    (r"\displaystyle 42", r"\quad 42"),
    # names and words
    ("x = 5", "5"),
    (r"\theta=\frac12", "0.5"),
    ("a_{1} = 3", "3"),
    ("Yes", "yes."),
    ("No", "no"),
    (r"\text{New  York}", "new york"),
    ("It is not possible.", "it is not possible"),
    # choices
    ("(C)", "C"),
    ("C)", "C."),
    (r"\textbf{(C)}", r"\text{C}"),
    ("C:", "$C$"),
    # other notation
    ("x^{2}", "x^2"),
    (r"2 \cdot x", "2*x"),
    (r"2 \times 3^n", r"2\cdot3^{n}"),
    (r"\sqrt 3", r"\sqrt{3}"),
    ("√3", r"\sqrt3"),
    ("2π", r"2\pi"),
    ("2pi", r"2 \pi"),
    (r"\left( x+1 \right)^2", "(x + 1)^2"),
    ("sin x", r"\sin x"),
    # lists
    ("(1, 2)", r"\left(1, \frac{4}{2}\right)"),
    (r"\{2, 1\}", r"\{1,2\}"),
    ("1, 0.5", "1,1/2"),
    (r"[0, \frac12)", "[0,0.5)"),
    ("(x, (1, 0.5))", r"(x,(1,\frac12))"),
    ("3, 125, 250", r"3,\quad 125 ,250"),
    ("(10, 100)", r"(10,\,100)"),
    ("f(1, 200)", "f(1,200)"),
    # results
    ("2+900=902", "902"),
    (r"\frac{1}{3} + \frac16 = \frac12", "0.5"),
    (r"f(3) = \frac13 + \frac16 = \frac{1}{2}", "1/2"),
    ("x = y = 3", "3"),
    ("x = 10, 100", r"x=10,\ 100"),
]

DIFFERENT = [
    ("1/2", "2"),
    (r"50\%", "0.5"),
    ("0.33", "1/3"),
    ("0.333333", "0.333334"),
    ("0.000001", "0.0000012"),
    ("100000", "100000.4"),
    ("1 2", "12"),
    (r"1 \, 2", "12"),
    ("1,2", "12"),
    ("1,23", "123"),
    ("10, 100", "10100"),
    ("10, 100", "10,100"),
    ("10 ,100", "10,100"),
    ("x = 10, 100", "10100"),
    (r"3,\quad 125", "3125"),
    (r"3,\ 125", "3125"),
    ("0.333...", "0.333"),
    ("1/0", "0"),
    ("--5", "5"),
    ("2+900=902", "1+1+930=932"),
    ("1024-1=1023", "2+900=902"),
    ("x = 1, y = 2", "2"),
    ("2 <= 5", "5"),
    ("f(x) = 5x", "5x"),
    ("C", "c"),
    ("C", "D"),
    ("AB", "ab"),
    ("Paris", "Rome"),
    ("(1,2)", "(2,1)"),
    ("(1,2)", "[1,2]"),
    ("(1,2]", "(1,2)"),
    ("x=1, y=2", "y=1, x=2"),
    ("(1,2),(3,4)", "(1,2,3,4)"),
    (r"\pi r", r"\pir"),
    ("x^2", "x2"),
    (r"\sin 30^\circ", r"\sin 30"),
    ("1e999", "1e998"),
    ("1e-999", "1e-998"),
    ("9" * 4999, "9" * 5000),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_notation_does_not_matter(a: str, b: str) -> None:
    assert plainly_equal(a, b)
    assert len(classify([a, b], "notation").labels) == 1


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_other_answers_stay_apart(a: str, b: str) -> None:
    assert not plainly_equal(a, b)
    assert len(classify([a, b], "notation").labels) == 2


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("1/2", "0.5", True),
        ("1/2", "3", False),
        ("Paris", r"\sqrt{4}", False),
        ("C", "2", False),
        ("2", r"\sqrt{4}", None),
        ("x+1", "1+x", None),
        ("(1,2)", "1,2", None),
        ("x" * 1000, "2", False),
        ("(" * 30 + "1" + ")" * 30, "1", False),
    ],
)
def test_only_mathematics_is_left_open(a: str, b: str, expected: bool | None) -> None:
    assert compare(form_of(a), form_of(b)) is expected
    assert compare(form_of(b), form_of(a)) is expected


@LAW
@given(
    st.lists(
        st.one_of(
            st.sampled_from(["1/3", "2/3", "-1/3", "1e999", "2e999", "1e-999", "0", "x", "C", "(1,2)"]),
            st.integers(-3, 3).map(lambda n: f"0.33333{33 + n}"),
            st.integers(-3, 3).map(lambda n: f"{(n or 1) / 3:.8f}"),
        ),
        max_size=12,
    )
)
def test_numbers_are_joined_as_if_every_two_were_compared(answers: list[str]) -> None:
    every_two = Equality("every two", normal_form, lambda a, b: plainly_equal(a, b))
    assert classify(answers, "notation") == classify(answers, every_two)


def test_the_label_is_the_most_frequent_form_and_the_first_on_ties() -> None:
    assert classify(["1/2", "0.5", "3", "0.5"]).labels == ("0.5", "3")
    assert classify(["1/2", "0.5", "3"]).labels == ("1/2", "3")
    assert classify(["3", "1/2", "$3$", "0.5", "0.5", "$3$"]) == Classes((0, 1, 0, 1, 1, 0), ("$3$", "0.5"))


def test_no_answer_is_in_no_class() -> None:
    classes = classify([None, "1", "  ", "", "2", "1.0"])
    assert classes.ids == (-1, 0, -1, -1, 1, 0)
    assert classes.answers == [None, "1", None, None, "2", "1"]
    assert classify([]) == Classes((), ())


def test_a_key_of_ones_own_replaces_the_plain_rules() -> None:
    answers = ["1/2", "0.5", "a b", "b a"]
    assert classify(answers, Equality("own", key=lambda answer: frozenset(answer.split()))).ids == (
        0,
        1,
        2,
        2,
    )


def test_an_equal_of_ones_own_replaces_the_plain_rules() -> None:
    assert classify(["1/2", "0.5", "6/12"], Equality("own", equal=lambda a, b: a[0] == b[0])).ids == (0, 1, 2)
    assert classify(["ab", "cb", "cd"], Equality("own", equal=lambda a, b: bool(set(a) & set(b)))).ids == (
        0,
        0,
        0,
    )


def test_equal_sees_one_answer_for_each_key() -> None:
    asked: set[str] = set()

    def equal(a: str, b: str) -> bool:
        asked.update((a, b))
        return False

    classify(["0.50", "1/2", ".5", "x", "$x$"], Equality("own", normal_form, equal))
    assert asked == {".5", "x"}


def test_frequent_answers_are_compared_first() -> None:
    asked: list[set[str]] = []

    def equal(a: str, b: str) -> bool:
        asked.append({a, b})
        return False

    classify(["z", "aa", "b", "z", "b", "z"], Equality("own", equal=equal))
    assert asked[0] == {"z", "b"}


def test_a_list_of_numbers_has_their_values() -> None:
    assert normal_form("3, 125, 250") == "3,125,250"
    assert form_of(r"3,\quad 125").numbers == (3, 125)


def test_a_key_that_can_not_be_compared_is_an_input_error() -> None:
    with pytest.raises(InputError, match="the key of 'a b' is a list"):
        classify(["a b"], Equality("own", key=str.split))


def test_an_error_in_ones_own_function_says_whose_it_is() -> None:
    with pytest.raises(OwnCodeError, match="'own' raised TypeError"):
        classify(["a"], Equality("own", key=lambda answer: answer + 1))  # type: ignore[operator]
    with pytest.raises(OwnCodeError, match="'own' raised ZeroDivisionError"):
        classify(["a", "b"], Equality("own", equal=lambda a, b: bool(len(a) / (len(b) - 1))))


def partition(answers: list[str | None], classes: Classes) -> set[frozenset[str]]:
    groups: dict[int, set[str]] = {}
    for answer, index in zip(answers, classes.ids, strict=True):
        if answer is not None and answer.strip():
            groups.setdefault(index, set()).add(answer.strip())
    return {frozenset(group) for group in groups.values()}


def components(answers: list[str | None], links: set[tuple[str, str]]) -> set[frozenset[str]]:
    """The slow twin: merge any two groups with a link between them until there are none."""
    groups = {frozenset([answer]) for answer in answers if answer is not None}
    while True:
        merged = next(
            ((g, h) for g in groups for h in groups if g != h and any((a, b) in links for a in g for b in h)),
            None,
        )
        if merged is None:
            return groups
        groups = groups - set(merged) | {merged[0] | merged[1]}


names = st.sampled_from("abcdefgh")
pools = st.lists(st.one_of(names, names, st.none()), max_size=20)


@MANY
@given(pools, st.sets(st.tuples(names, names), max_size=8), st.randoms(use_true_random=False))
def test_any_equal_makes_a_partition_that_ignores_the_order(
    answers: list[str | None], links: set[tuple[str, str]], rng: random.Random
) -> None:
    def equal(a: str, b: str) -> bool:
        return (a, b) in links

    classes = classify(answers, Equality("own", equal=equal))
    assert partition(answers, classes) == components(answers, links)
    firsts = [i for i in dict.fromkeys(classes.ids) if i >= 0]
    assert firsts == list(range(len(classes.labels)))
    assert [i < 0 for i in classes.ids] == [answer is None for answer in answers]
    for index, label in enumerate(classes.labels):
        members = [answer for answer, i in zip(answers, classes.ids, strict=True) if i == index]
        assert members.count(label) == max(map(members.count, members))
    shuffled = rng.sample(answers, len(answers))
    assert partition(shuffled, classify(shuffled, Equality("own", equal=equal))) == partition(
        answers, classes
    )


pieces = st.sampled_from(
    ["1", "2", "0.5", "1/2", ",", ".", "-", "x", "C", "(", ")", "{", "}", "[", "]", "$", "\\", " ", "=", "^",
     "%", r"\frac", r"\sqrt", r"\left", r"\right", r"\text{", r"\boxed{", r"\(", r"\)", r"\{", r"\}",
     r"\%", "e9", "no", "yes", "pi", "√", "−", "½", "\n", "|", "_", "*", "10^", "000", "é", "是"]
)  # fmt: skip
texts = st.one_of(st.lists(pieces, max_size=14).map("".join), st.text(max_size=30))


@pytest.mark.slow
@MANY
@given(st.lists(texts, max_size=8), st.randoms(use_true_random=False))
def test_the_plain_rules_take_any_text_and_ignore_the_order(answers: list[str], rng: random.Random) -> None:
    shuffled = rng.sample(answers, len(answers))
    assert partition(list(shuffled), classify(shuffled, "notation")) == partition(
        list(answers), classify(answers, "notation")
    )


@MANY
@given(texts, texts)
def test_the_plain_rules_are_symmetric(a: str, b: str) -> None:
    assert compare(form_of(a), form_of(b)) is compare(form_of(b), form_of(a))
    assert plainly_equal(a, a)
    if normal_form(a) == normal_form(b):
        assert plainly_equal(a, b)


@LAW
@given(st.fractions(max_denominator=10**6))
def test_a_fraction_is_its_value_however_it_is_written(value: Fraction) -> None:
    n, d = value.as_integer_ratio()
    for written in (f"{n}/{d}", rf"\frac{{{n}}}{{{d}}}", rf"$\dfrac{{{2 * n}}}{{{2 * d}}}$", f"x = {n}/{d}."):
        assert normal_form(written) == value


@LAW
@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**7), max_value=10**7))
def test_a_decimal_is_its_value_however_it_is_written(value: object) -> None:
    exact = Fraction(str(value))
    for written in (f"{value:f}", f"{value:,f}", f"{value:e}", f"{value:f}000", rf"{value:f}\%"):
        assert normal_form(written) == exact
    assert normal_form(form_of(str(value)).latex) == exact


@pytest.mark.parametrize(
    "hostile",
    [
        "1e999999999",
        "9" * 10**6,
        "0." + "3" * 10**6,
        "{" * 10_000 + "1" + "}" * 10_000,
        "(" * 199 + "1" + ")" * 199,
        r"\text{" * 60 + "1" + "}" * 60,
        r"\left(" * 10_000,
        "$" * 399,
        "," * 399,
        "1," * 199 + "1",
        "(" * 12 + "1," * 150 + "1" + ")" * 12,
        r"\frac" * 79,
        "a " * 199,
        "\\" * 399,
        "\x00" * 399,
        " " * 10**6,
        r"10^{" * 99 + "}" * 99,
    ],
    ids=lambda hostile: f"{hostile[:8]!r}x{len(hostile)}",
)
def test_no_text_is_too_much(hostile: str) -> None:
    classes = classify([hostile, "42", hostile, "$42$"])
    assert classes.ids in ((0, 1, 0, 1), (-1, 0, -1, 0))


def test_two_answers_are_one_by_the_same_rules() -> None:
    assert same_answer("0.5", r"\frac12")
    assert not same_answer("0.5", "5")
    assert same_answer("a", "b", Equality("own", equal=lambda a, b: {a, b} == {"a", "b"}))
    assert same_answer("A", "a", Equality("own", key=str.lower))


def test_no_answer_is_the_same_as_none() -> None:
    assert not same_answer(" ", " ")
    assert not same_answer("4", "")


# Many numbers that are close to each other

_BEGINNINGS = ["0.12345", "-0.12345", "0.999999", "0.3333333", "12.345678"]
_SPECIAL = ["1/3", r"\frac{2}{6}", "1", "1.0000000", "0.33333333333333", "0.1234565", "0.1234575", "10/81"]
_BELOW = st.sampled_from([3, 7, 81, 10**6, 3 * 10**6])
CLOSE = st.one_of(
    st.tuples(st.sampled_from(_BEGINNINGS), st.text("059", max_size=6)).map("".join),
    st.sampled_from(_SPECIAL),
    st.tuples(st.integers(-30, 30), _BELOW).map(lambda pair: f"{pair[0]}/{pair[1]}"),
)


def joined_pair_by_pair(answers: list[str]) -> set[frozenset[str]]:
    """The slow twin: every two keys are compared, by the shortest answer of each."""
    keys: dict[object, list[str]] = {}
    for answer in answers:
        keys.setdefault(normal_form(answer), []).append(answer)
    groups = [set(group) for group in keys.values()]
    speakers = [min(group, key=lambda form: (len(form), form)) for group in keys.values()]
    links = [(i, j) for i in range(len(groups)) for j in range(i) if plainly_equal(speakers[i], speakers[j])]
    labels = list(range(len(groups)))
    for _ in labels:
        for i, j in links:
            labels[i] = labels[j] = min(labels[i], labels[j])
    classes: dict[int, set[str]] = {}
    for label, group in zip(labels, groups, strict=True):
        classes.setdefault(label, set()).update(group)
    return {frozenset(group) for group in classes.values()}


@given(st.lists(CLOSE, max_size=12))
@MANY
def test_close_numbers_are_joined_as_pair_by_pair(answers: list[str]) -> None:
    ids = classify(answers, "notation").ids
    found: dict[int, set[str]] = {}
    for answer, number in zip(answers, ids, strict=True):
        found.setdefault(number, set()).add(answer)
    assert {frozenset(group) for group in found.values()} == joined_pair_by_pair(answers)


@pytest.mark.parametrize("same", ["notation", "math"])
def test_the_work_for_close_numbers_grows_with_their_number_alone(
    same: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distrivote.answers import equivalence

    n_calls = 0

    def counted(*given: object) -> int:
        nonlocal n_calls
        n_calls += 1
        return scaled(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(equivalence, "scaled", counted)
    monkeypatch.setattr(equivalence, "plainly_equal", None)
    answers = [f"0.12345{number:020d}" for number in range(2_000)] + ["0.123450", "1/7"]
    assert len(classify(answers, same).labels) == 2  # what rounds to 0.123450 is one with it
    assert n_calls <= 3 * len(answers)


def test_numbers_are_not_compared_as_mathematics() -> None:
    asked: list[tuple[str, str]] = []

    class Counting(NotationOnly):
        def verdict(self, a: str, b: str) -> bool | None:
            asked.append((a, b))
            return super().verdict(a, b)

    rule = Equality("math", normal_form, Counting())
    classify([*map(str, range(300)), r"\sqrt{2}", r"\pi"], rule)
    assert len(asked) == 300 + 301
