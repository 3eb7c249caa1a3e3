"""A report as LaTeX: tables for \\input into a paper that uses booktabs.

Every text is escaped, and characters that pdfLaTeX does not know become commands or their code point, so
that a question's id can't stop the compiler. Numbers and intervals are columns of their own: decimals
stand under each other. A page is narrow: the spread over repeats is in the other formats only, and what
is wider than a line of the class `article` is set as several tabulars, one under the other.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from distrivote.evaluation.results import Column, Report, Table
from distrivote.report.cells import PAPER, Shown, doubled, is_numeric, legend, rows_beside, shown_cells
from distrivote.report.settings import settings_line
from distrivote.report.text import visible

_LINE = 345.0
"""Points on a line of LaTeX's `article`."""

_LETTER, _SMALL_LETTER, _GAP = 5.3, 4.1, 12.0
"""Points of a letter at 10 points, of one in scriptsize, and between two columns."""

_WIDEST_TEXT = 150.0
"""Points of a column of words; longer ones go on in a second line."""

_MOST_FLOATS = 40
"""LaTeX holds 52 at most until a page is made for them."""

_END = r"\end{table}"
_LONGEST_HEADER = 22
_PAGE, _MOST_ROWS = 44, 36
"""Lines in a float, and rows in a tabular."""

_COMMANDS = {
    # A row that begins with [ or * would be read as an argument of the line end before it.
    "[": "{[}", "*": "{*}",
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_",
    "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''", "’": "'", "‘": "`",
    "“": "``", "”": "''", "–": "--", "—": "---", "…": r"\dots{}", "−": "$-$", "±": r"$\pm$",
    "×": r"$\times$", "·": r"$\cdot$", "≈": r"$\approx$", "≤": r"$\leq$", "≥": r"$\geq$",
    "→": r"$\rightarrow$", "★": r"$\star$", "✓": r"$\surd$", "α": r"$\alpha$", "β": r"$\beta$",
    "γ": r"$\gamma$", "δ": r"$\delta$", "Δ": r"$\Delta$", "λ": r"$\lambda$", "μ": r"$\mu$",
    "σ": r"$\sigma$", "τ": r"$\tau$", "ß": r"\ss{}", "ø": r"\o{}", "Ø": r"\O{}", "æ": r"\ae{}",
    "ł": r"\l{}", "\u00a0": "~", "\u2009": r"\,",
}  # fmt: skip
_ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u"}
_ACCENTS |= {
    "\u030b": "H",
    "\u0307": ".",
    "\u0308": '"',
    "\u030a": "r",
    "\u030c": "v",
    "\u0327": "c",
}


@dataclass(frozen=True, slots=True)
class _Block:
    """One column, with its interval beside it."""

    letters: str
    header: str
    cells: list[str]
    width: float
    """In points, about."""


def report_latex(report: Report) -> str:
    """Return every table of the report as a float with a caption and a label."""
    head = [
        "% \\usepackage{booktabs} in the preamble, then \\input{this file}.",
        f"% {visible(settings_line(report))}",
    ]
    tables = [
        table_latex(table, f"tab:{result.experiment}-{table.name}")
        for result in report.results
        for table in result.tables
        if table.columns
    ]
    text = "\n".join(head) + "\n\n" + "\n".join(tables)
    pieces = text.split(_END)
    groups = [_END.join(pieces[i : i + _MOST_FLOATS]) for i in range(0, len(pieces), _MOST_FLOATS)]
    return (_END + "\n\\clearpage").join(groups)


def table_latex(table: Table, label: str) -> str:
    """Return one table: several tabulars where it is wider than a page, several floats where it is higher."""
    every = all(column.format == "percent" for column in table.columns if is_numeric(column))
    percent = every and any(is_numeric(column) for column in table.columns)
    groups: list[list[_Block]] = []
    shown = [shown_cells(table, column, sign=False) for column in table.columns]
    beside = rows_beside(shown)
    for index, (column, cells) in enumerate(zip(table.columns, shown, strict=True)):
        block = _block(column, cells, beside, percent, first=index == 0)
        # What names a row is one group.
        if index and not any(is_numeric(each) for each in table.columns[: index + 1]):
            groups[-1].append(block)
        else:
            groups.append([block])
    marks = "; ".join(phrase for phrase in legend(table) if not phrase.startswith("±"))
    words = escaped(table.title) + (r" (\%)" if percent else "")
    caption = f"{words}. {escaped(marks[:1].upper() + marks[1:])}." if marks else words
    floats = _packed(list(_parts(groups, beside)))
    return "\n".join(
        _float(tabulars, caption, label, index, len(floats)) for index, tabulars in enumerate(floats)
    )


def _float(tabulars: Sequence[Sequence[str]], caption: str, label: str, index: int, n: int) -> str:
    part = f" Part {index + 1} of {n}." if n > 1 else ""
    lines = [r"\begin{table}", r"  \centering", f"  \\caption{{{caption}{part}}}"]
    lines.append(f"  \\label{{{_label(label if not index else f'{label}-{index + 1}')}}}")
    for number, tabular in enumerate(tabulars):
        lines += [r"  \par\medskip"] if number else []
        lines += tabular
    return "\n".join([*lines, _END, ""])


def _parts(groups: Sequence[list[_Block]], beside: Sequence[bool]) -> Iterator[list[str]]:
    """Yield tabulars that fit on a page, the names of the rows in each."""
    for start, end in _spans(beside):
        for some in _fitting(groups):
            lines = [" & ".join(block.header for block in some) + r" \\", r"\midrule"]
            for row in range(start, end):
                # The paper's line is left out where it has no number in these columns.
                if any(block.cells[row].strip(" &") for block in some[len(groups[0]) :] or some):
                    lines.append(" & ".join(block.cells[row] for block in some) + r" \\")
            letters = "".join(block.letters for block in some)
            yield [
                f"  \\begin{{tabular}}{{{letters}}}",
                r"    \toprule",
                *(f"    {line}" for line in lines),
                r"    \bottomrule",
                r"  \end{tabular}",
            ]


def _spans(beside: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Yield the lines of each tabular, first and behind the last; the paper's stay under ours."""
    start = end = 0
    for two in beside:
        if end + 1 + two - start > _MOST_ROWS:
            yield start, end
            start = end
        end += 1 + two
    yield start, end


def _fitting(groups: Sequence[list[_Block]]) -> Iterator[list[_Block]]:
    """Yield as many columns at a time as a line holds, behind those that name the rows."""
    found = list(groups[0])
    for group in groups[1:]:
        if len(found) > len(groups[0]) and sum(block.width for block in (*found, *group)) > _LINE:
            yield found
            found = list(groups[0])
        found += group
    yield found


def _packed(tabulars: Sequence[list[str]]) -> list[list[list[str]]]:
    """Return the tabulars in floats, as many in each as a page holds."""
    floats: list[list[list[str]]] = []
    height = 0
    for tabular in tabulars:
        if not floats or height + len(tabular) > _PAGE:
            floats.append([])
            height = 0
        floats[-1].append(tabular)
        height += len(tabular)
    return floats


def _block(
    column: Column, cells: Sequence[Shown], beside: Sequence[bool], percent: bool, *, first: bool
) -> _Block:
    """Return a column under its header; an interval takes a second column, the paper's numbers more lines."""
    paper = [f"\\quad {PAPER}" if first else _small(cell.paper) for cell in cells]
    unit = r" (\%)" if column.format == "percent" and not percent and "%" not in column.label else ""
    told = textwrap.wrap(visible(column.label), _LONGEST_HEADER) or [""]
    said = [escaped(line) for line in told]
    header = (said[0] if len(said) == 1 else r"\shortstack{" + r"\\".join(said) + "}") + unit
    widest = max((len(cell.text) for cell in cells), default=0)
    least = _GAP + _LETTER * (max(map(len, told)) + len(unit))
    if not any(cell.interval for cell in cells):
        width = max(least, _GAP + _LETTER * widest)
        if not is_numeric(column) and width > _WIDEST_TEXT:
            letters, width = f"p{{{_WIDEST_TEXT - _GAP:g}pt}}", _WIDEST_TEXT
        else:
            letters = "r" if is_numeric(column) else "l"
        return _Block(letters, header, doubled([_value(cell) for cell in cells], paper, beside), width)
    intervals = [f"{{\\scriptsize ({escaped(cell.interval)})}}" if cell.interval else "" for cell in cells]
    body = [f"{_value(cell)} & {interval}" for cell, interval in zip(cells, intervals, strict=True)]
    interval = _SMALL_LETTER * max(len(cell.interval) + 2 for cell in cells)
    width = max(least, _GAP + _LETTER * (widest + 1) + interval)
    body = doubled(body, [f"{number} & " for number in paper], beside)
    return _Block(r"r@{\ }l", f"\\multicolumn{{2}}{{c}}{{{header}}}", body, width)


def _small(paper: str) -> str:
    return f"\\textit{{{escaped(paper)}}}" if paper else ""


def _value(cell: Shown) -> str:
    text = escaped(cell.text)
    if cell.standing == "best":
        return f"\\textbf{{{text}}}"
    # No width, so that the decimals stay under each other.
    return text + r"\rlap{$^{\approx}$}" if cell.standing == "tied" else text


def _label(text: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in ":-") else "-" for c in text)


def escaped(text: str) -> str:
    r"""Return text that LaTeX prints as it is.

    >>> escaped("50% of a_b"), escaped("é ű 数")
    ('50\\% of a\\_b', "\\'{e} \\H{u} {[}U+6570]")
    """
    return "".join(map(_character, visible(text)))


def _character(char: str) -> str:
    if char in _COMMANDS:
        return _COMMANDS[char]
    if char.isascii():
        return char
    parts = unicodedata.normalize("NFD", char)
    if len(parts) == 2 and parts[0].isascii() and parts[1] in _ACCENTS:
        return f"\\{_ACCENTS[parts[1]]}{{{parts[0]}}}"
    return f"{{[}}U+{ord(char):04X}]"
