"""A run: a folder with a manifest and Parquet parts, one row per trajectory.

The columns are those of `SCHEMA`. Any number of processes may read and write one run at the same time.
"""

from typing import TYPE_CHECKING

from distrivote.faces import face

if TYPE_CHECKING:
    from distrivote.store.runs.compaction import Compaction, compact
    from distrivote.store.runs.deepconf_layout import export_deepconf
    from distrivote.store.runs.export import export_run
    from distrivote.store.runs.manifest import Manifest
    from distrivote.store.runs.rows import Keep, Row, row_of, rows_of, table_of, trajectory_of
    from distrivote.store.runs.run import Run, StoredQuestion
    from distrivote.store.runs.schema import FORMAT_VERSION, MEASURES, SCHEMA
    from distrivote.store.runs.writer import RunWriter

__all__ = [
    "FORMAT_VERSION",
    "MEASURES",
    "SCHEMA",
    "Compaction",
    "Keep",
    "Manifest",
    "Row",
    "Run",
    "RunWriter",
    "StoredQuestion",
    "compact",
    "export_deepconf",
    "export_run",
    "row_of",
    "rows_of",
    "table_of",
    "trajectory_of",
]

__getattr__ = face(
    __name__,
    {
        "compaction": "Compaction compact",
        "export": "export_run",
        "deepconf_layout": "export_deepconf",
        "manifest": "Manifest",
        "rows": "Keep Row row_of rows_of table_of trajectory_of",
        "run": "Run StoredQuestion",
        "schema": "FORMAT_VERSION MEASURES SCHEMA",
        "writer": "RunWriter",
    },
)
