"""Stored runs, tables of sampled answers, and files of other tools.

`Run` reads a run and `RunWriter` adds to it; `import_files` makes one from files of other tools. `open_table`
reads answers from a table, and a calibration is stored as a small JSON file.
"""

from typing import TYPE_CHECKING

from distrivote.faces import face

if TYPE_CHECKING:
    from distrivote.store.calibrations import read_calibration, write_calibration
    from distrivote.store.importers.base import ImportOptions
    from distrivote.store.importers.registry import Source, formats, sources
    from distrivote.store.importing import Imported, import_files
    from distrivote.store.runs.compaction import Compaction, compact
    from distrivote.store.runs.deepconf_layout import export_deepconf
    from distrivote.store.runs.export import export_run
    from distrivote.store.runs.manifest import Manifest
    from distrivote.store.runs.rows import Keep, Row, row_of, trajectory_of
    from distrivote.store.runs.run import Run, StoredQuestion
    from distrivote.store.runs.writer import RunWriter
    from distrivote.store.tables.source import AnswerTable, Columns, open_table

__all__ = [
    "AnswerTable",
    "Columns",
    "Compaction",
    "ImportOptions",
    "Imported",
    "Keep",
    "Manifest",
    "Row",
    "Run",
    "RunWriter",
    "Source",
    "StoredQuestion",
    "compact",
    "export_deepconf",
    "export_run",
    "formats",
    "import_files",
    "open_table",
    "read_calibration",
    "row_of",
    "sources",
    "trajectory_of",
    "write_calibration",
]

__getattr__ = face(
    __name__,
    {
        "calibrations": "read_calibration write_calibration",
        "importers.base": "ImportOptions",
        "importers.registry": "Source formats sources",
        "importing": "Imported import_files",
        "runs.compaction": "Compaction compact",
        "runs.export": "export_run",
        "runs.deepconf_layout": "export_deepconf",
        "runs.manifest": "Manifest",
        "runs.rows": "Keep Row row_of trajectory_of",
        "runs.run": "Run StoredQuestion",
        "runs.writer": "RunWriter",
        "tables.source": "AnswerTable Columns open_table",
    },
)
