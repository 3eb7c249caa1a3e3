"""A report as LaTeX: tables for \\input into a paper that uses booktabs.

Every text is escaped, and characters that pdfLaTeX does not know become commands or their code point, so
that a question's id can't stop the compiler. Numbers and intervals are columns of their own: decimals
stand under each other. A page is narrow: the spread over repeats is in the other formats only.
"""

from __future__ import annotations

import unicodedata

from distrivote.evaluation.results import Column, Report, Table
from distrivote.report.cells import Shown, is_numeric, legend, shown_cells
from distrivote.report.settings import settings_line
from distrivote.report.text import visible

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
    return "\n".join(head) + "\n\n" + "\n".join(tables)


def table_latex(table: Table, label: str) -> str:
    """Return one table."""
    every = all(column.format == "percent" for column in table.columns if is_numeric(column))
    percent = every and any(is_numeric(column) for column in table.columns)
    blocks = [_block(table, column, percent) for column in table.columns]
    spec = "".join(block[0] for block in blocks)
    lines = [" & ".join(cells) + r" \\" for cells in zip(*(block[1] for block in blocks), strict=True)]
    marks = "; ".join(phrase for phrase in legend(table) if not phrase.startswith("±"))
    words = escaped(table.title) + (r" (\%)" if percent else "")
    caption = f"{words}. {escaped(marks[:1].upper() + marks[1:])}." if marks else words
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            f"  \\caption{{{caption}}}",
            f"  \\label{{{_label(label)}}}",
            f"  \\begin{{tabular}}{{{spec}}}",
            r"    \toprule",
            f"    {lines[0]}",
            r"    \midrule",
            *(f"    {line}" for line in lines[1:]),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _block(table: Table, column: Column, percent: bool) -> tuple[str, list[str]]:
    """Return the column's letters and its cells under the header; an interval takes a second column."""
    cells = shown_cells(table, column, sign=False)
    unit = r" (\%)" if column.format == "percent" and not percent and "%" not in column.label else ""
    header = escaped(column.label) + unit
    if not any(cell.interval for cell in cells):
        return "r" if is_numeric(column) else "l", [header, *map(_value, cells)]
    intervals = [f"{{\\scriptsize ({escaped(cell.interval)})}}" if cell.interval else "" for cell in cells]
    body = [f"{_value(cell)} & {interval}" for cell, interval in zip(cells, intervals, strict=True)]
    return r"r@{\ }l", [f"\\multicolumn{{2}}{{c}}{{{header}}}", *body]


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
