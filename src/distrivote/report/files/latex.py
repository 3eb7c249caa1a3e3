"""A report as LaTeX: tables for \\input into a paper that uses booktabs, longtable and adjustbox.

Every text is escaped, and characters that pdfLaTeX does not know become commands or their code point, so
that a question's id can't stop the compiler. Numbers and intervals have columns of their own, which aligns
the decimals. The spread over repeats is in the other formats only. A table is a float, which adjustbox
shrinks to the width of a line if it is wider; one with many rows is a longtable, which continues on the
next page.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from distrivote.evaluation.results import Column, Report, Result, Table
from distrivote.report.cells import PAPER, Shown, doubled, is_numeric, legend, rows_beside, shown_cells
from distrivote.report.settings import settings_line
from distrivote.report.text import visible

MOST_LINES = 40
"""Lines of a float, which can't be taller than a page."""

_LONGEST_HEADER = 22
_LONGEST_TEXT = 28
"""Letters; longer cells are wrapped in a column of a fixed width."""

_WRAPPED = r"p{0.35\linewidth}"

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
    """One column of the table: one column in LaTeX, two if it has intervals."""

    letters: str
    header: str
    cells: list[str]


def report_latex(report: Report) -> str:
    """Return every table of the report with a caption and a label."""
    head = (
        "% \\usepackage{booktabs,longtable,adjustbox} in the preamble, then \\input{this file}.\n"
        f"% {visible(settings_line(report))}\n\n"
    )
    # LaTeX holds 52 floats until it has placed some of them: \clearpage places those of one experiment.
    return head + "\\clearpage\n".join(filter(None, map(_experiment, report.results)))


def _experiment(result: Result) -> str:
    tables = [table for table in result.tables if table.columns]
    return "\n".join(table_latex(table, f"tab:{result.experiment}-{table.name}") for table in tables)


def table_latex(table: Table, label: str) -> str:
    """Return one table: a float, or a longtable if it has more than MOST_LINES lines."""
    numeric = [column for column in table.columns if is_numeric(column)]
    percent = bool(numeric) and all(column.format == "percent" for column in numeric)
    shown = [shown_cells(table, column, sign=False) for column in table.columns]
    beside = rows_beside(shown)
    blocks = [
        _block(column, cells, beside, percent, first=index == 0)
        for index, (column, cells) in enumerate(zip(table.columns, shown, strict=True))
    ]
    title = f"\\caption{{{_caption(table, percent)}}}", f"\\label{{{_label(label)}}}"
    lines = _long(blocks, title, beside) if len(blocks[0].cells) > MOST_LINES else _float(blocks, title)
    return "\n".join([*lines, ""])


def _caption(table: Table, percent: bool) -> str:
    marks = "; ".join(phrase for phrase in legend(table) if not phrase.startswith("±"))
    words = escaped(table.title) + (r" (\%)" if percent else "")
    return f"{words}. {escaped(marks[:1].upper() + marks[1:])}." if marks else words


def _float(blocks: Sequence[_Block], title: tuple[str, str]) -> list[str]:
    rows = (" & ".join(cells) + r" \\" for cells in zip(*(block.cells for block in blocks), strict=True))
    return [
        r"\begin{table}",
        r"  \centering",
        *(f"  {line}" for line in title),
        r"  \begin{adjustbox}{max width=\linewidth}",
        f"  \\begin{{tabular}}{{{_letters(blocks)}}}",
        *_header(blocks),
        *(f"    {row}" for row in rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"  \end{adjustbox}",
        r"\end{table}",
    ]


def _long(blocks: Sequence[_Block], title: tuple[str, str], beside: Sequence[bool]) -> Iterator[str]:
    yield r"{\footnotesize\setlength{\tabcolsep}{4pt}"
    yield f"\\begin{{longtable}}{{{_letters(blocks)}}}"
    yield f"  {title[0]}{title[1]} \\\\"
    yield from _header(blocks)
    yield r"    \endfirsthead"
    yield r"  \caption[]{(continued)} \\"
    yield from _header(blocks)
    yield r"    \endhead"
    yield r"    \bottomrule"
    yield r"    \endfoot"
    # \\* keeps the paper's line on the page of the row above it.
    ends = doubled([r"\\*" if two else r"\\" for two in beside], [r"\\"] * len(beside), beside)
    for end, *cells in zip(ends, *(block.cells for block in blocks), strict=True):
        yield f"    {' & '.join(cells)} {end}"
    yield r"\end{longtable}}"


def _letters(blocks: Sequence[_Block]) -> str:
    return "".join(block.letters for block in blocks)


def _header(blocks: Sequence[_Block]) -> list[str]:
    header = " & ".join(block.header for block in blocks)
    return [r"    \toprule", f"    {header} \\\\", r"    \midrule"]


def _block(
    column: Column, cells: Sequence[Shown], beside: Sequence[bool], percent: bool, *, first: bool
) -> _Block:
    """Return a column and its header; intervals are a second column, the paper's numbers more lines."""
    paper = [f"\\quad {PAPER}" if first else _small(cell.paper) for cell in cells]
    header = _column_header(column, percent)
    values = [_value(cell) for cell in cells]
    if not any(cell.interval for cell in cells):
        wraps = not is_numeric(column) and any(len(cell.text) > _LONGEST_TEXT for cell in cells)
        letters = "r" if is_numeric(column) else _WRAPPED if wraps else "l"
        return _Block(letters, header, doubled(values, paper, beside))
    intervals = [f"{{\\scriptsize ({escaped(cell.interval)})}}" if cell.interval else "" for cell in cells]
    body = [f"{value} & {interval}" for value, interval in zip(values, intervals, strict=True)]
    body = doubled(body, [f"{number} & " for number in paper], beside)
    return _Block(r"r@{\ }l", f"\\multicolumn{{2}}{{c}}{{{header}}}", body)


def _column_header(column: Column, percent: bool) -> str:
    unit = r" (\%)" if column.format == "percent" and not percent and "%" not in column.label else ""
    lines = [escaped(line) for line in textwrap.wrap(visible(column.label), _LONGEST_HEADER) or [""]]
    return (lines[0] if len(lines) == 1 else r"\shortstack{" + r"\\".join(lines) + "}") + unit


def _small(paper: str) -> str:
    return f"\\textit{{{escaped(paper)}}}" if paper else ""


def _value(cell: Shown) -> str:
    text = escaped(cell.text)
    if cell.mark == "best":
        return f"\\textbf{{{text}}}"
    # Without a width, so that the decimals stay aligned.
    return text + r"\rlap{$^{\approx}$}" if cell.mark == "tied" else text


def _label(text: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in ":-") else "-" for c in text)


def escaped(text: str) -> str:
    r"""Return text escaped for LaTeX.

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
