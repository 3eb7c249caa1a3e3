"""Without the other program, an integration says which extra brings it."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("inspect_ai", "inspect_ai", "inspect"),
        ("inspect_stopping", "inspect_ai", "inspect"),
        ("lm_eval", "lm_eval", "lm-eval"),
        ("lm_eval_chat", "lm_eval", "lm-eval"),
        ("dspy", "dspy", "dspy"),
        ("mcp", "mcp", "mcp"),
    ],
)
def test_the_error_names_the_extra(module: str, package: str, extra: str) -> None:
    code = (
        "import sys\n"
        f"sys.modules[{package!r}] = None\n"
        "from distrivote import MissingPackageError\n"
        "try:\n"
        f"    import distrivote.integrations.{module}\n"
        "except MissingPackageError as error:\n"
        "    print(error)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"pip install '.[{extra}]'" in result.stdout
