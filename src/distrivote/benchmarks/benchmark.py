"""A benchmark: problems with a name and a source."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from distrivote.errors import InputError
from distrivote.problem import Problem


def system_of(problems: Sequence[Problem]) -> str | None:
    """Return the system message of problems, None if they have none, a digest if they have different ones.

    >>> system_of([Problem("1 + 1?", "a", system="Be brief."), Problem("1 + 2?", "b", system="Be brief.")])
    'Be brief.'
    >>> system_of([Problem("1 + 1?", "a", system="Be brief."), Problem("1 + 2?", "b")])
    'each question its own (58c8c0b4)'
    """
    told = {problem.system for problem in problems}
    if len(told) == 1:
        return told.pop()
    each = json.dumps([[problem.id, problem.system] for problem in problems], ensure_ascii=False)
    digest = hashlib.blake2b(each.encode(), digest_size=4).hexdigest()
    return f"each question its own ({digest})"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Problems with unique ids, in a fixed order.

    >>> sums = Benchmark("sums", (Problem("1 + 1?", "a", "2"), Problem("1 + 2?", "b", "3")), "made up")
    >>> len(sums), [problem.id for problem in sums]
    (2, ['a', 'b'])
    """

    name: str
    problems: tuple[Problem, ...]
    source: str
    """A path, `hf:ORG/NAME`, or for a built-in one the settings that reproduce its problems."""

    system: str | None = None
    """The system message of all problems, including those that a limit leaves out; see `system_of`."""

    answer: str | None = None
    """The kind of answer that the problems ask for, by name; None: what their template says."""

    def __post_init__(self) -> None:
        if not self.problems:
            raise InputError(
                f"the benchmark {self.name} from {self.source} has no problems: give at least one"
            )
        seen: set[str] = set()
        for problem in self.problems:
            if problem.id in seen:
                raise InputError(
                    f"the benchmark {self.name} has two problems with the id {problem.id!r}: give every"
                    " problem its own"
                )
            seen.add(problem.id)

    def put_with(self, template: str) -> Benchmark:
        """Return the same questions with another template (see `Problem.template`)."""
        return replace(self, problems=tuple(replace(problem, template=template) for problem in self))

    def told(self, system: str) -> Benchmark:
        """Return the same questions with a system message."""
        told = tuple(replace(problem, system=system) for problem in self)
        return replace(self, problems=told, system=system)

    def spread(self, n: int) -> Benchmark:
        """Return n problems spread over the benchmark, in its order; a larger n only adds.

        They are chosen by bisection: the first, the middle one, the quarters, the eighths and so on.

        >>> ten = Benchmark("ten", tuple(Problem(str(i), str(i)) for i in range(10)), "made up")
        >>> [problem.id for problem in ten.spread(4)]
        ['0', '2', '4', '8']
        """
        width = (len(self) - 1).bit_length()
        order = sorted(range(len(self)), key=lambda index: f"{index:0{width}b}"[::-1])
        return replace(self, problems=tuple(self.problems[index] for index in sorted(order[:n])))

    def __len__(self) -> int:
        return len(self.problems)

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.problems)
