"""Terms of the paper that a table uses, each explained in a phrase below it."""

from __future__ import annotations

import re

from distrivote.evaluation.results import Table

_TERMS = (
    (
        re.compile(r"\w\*(?!\w)"),
        "* after a method: on trajectories that SelfStepConf steered, as in WSC-GMM*",
    ),
    (
        re.compile(r"\bWAcc\b"),
        "WAcc: the confidence of the right trajectories over the confidence of all, so above Acc if the right"
        " ones are surer",
    ),
    (
        re.compile(r"\bdensity difference", re.IGNORECASE),
        "density difference: the accuracy above the cut between the two Gaussians minus that below it;"
        " 0 if the cut separates nothing",
    ),
    (
        re.compile(r"\bAUROC\b"),
        "AUROC: how often a right trajectory is surer than a wrong one; 0.5 is chance",
    ),
)


def terms_in(table: Table) -> list[str]:
    """Return the explanations of the terms in a table's title, headers and texts."""
    texts = [table.title, *(column.label for column in table.columns)]
    names = [column.name for column in table.columns if column.format == "text"]
    texts += [str(row[name]) for row in table.rows for name in names if row.get(name) is not None]
    return [words for form, words in _TERMS if any(form.search(text) for text in texts)]
