"""An importer of your own: how is another program's file read? Here lines of "question; answer; score"."""

import tempfile
from pathlib import Path

from distrivote.store import import_files, sources


def lines(path):
    """Yield a dict per reply: question_id, answer or text, and what else is known."""
    for line in Path(path).read_text().splitlines():
        question, answer, score = line.split(";")
        yield {"question_id": question, "answer": answer, "confidence": float(score)}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "replies.log")
        log.write_text("sum;4;9.5\nsum;5;3.1\nsum;4;8.2\n")
        imported = import_files(sources([str(log)], "log_importer:lines"), Path(folder, "run"))
        print(imported.n_trajectories, "trajectories of", imported.n_questions, "question")
