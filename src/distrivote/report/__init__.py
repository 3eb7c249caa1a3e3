"""Reports of evaluations as files: a page, tables for papers and programs, figures."""

from typing import TYPE_CHECKING

from distrivote.faces import face

if TYPE_CHECKING:
    from distrivote.report.charts.chart import figure
    from distrivote.report.charts.figures import write_figures
    from distrivote.report.files.files import report_json, tidy_table, write_report
    from distrivote.report.files.latex import report_latex
    from distrivote.report.files.markdown import report_markdown
    from distrivote.report.files.page import report_page

__all__ = [
    "figure",
    "report_json",
    "report_latex",
    "report_markdown",
    "report_page",
    "tidy_table",
    "write_figures",
    "write_report",
]

__getattr__ = face(
    __name__,
    {
        "charts.chart": "figure",
        "charts.figures": "write_figures",
        "files.files": "report_json tidy_table write_report",
        "files.latex": "report_latex",
        "files.markdown": "report_markdown",
        "files.page": "report_page",
    },
)
