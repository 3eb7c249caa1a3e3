"""The page: everything in one file, nothing from outside, nothing that a run wrote is run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from report.made_up import EVIL, made_up_report

pytest.importorskip("altair", reason="altair is not installed: pip install '.[report]'")
pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")

from distrivote.report.files.page import report_page, sources_table


@pytest.fixture(scope="module")
def page() -> str:
    return report_page(made_up_report())


class Reader(HTMLParser):
    """Collects the elements, their attributes, and what scripts hold."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag == "script":
            self.scripts.append("")
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader


def test_elements_are_closed_in_order(page: str) -> None:
    assert read(page).open == []


def test_what_a_run_wrote_is_escaped_everywhere(page: str) -> None:
    assert EVIL not in page
    assert "&lt;script&gt;" in page
    assert len(read(page).scripts) == 3
    assert not [
        tag for tag, attributes in read(page).tags if any(name.startswith("on") for name in attributes)
    ]


def test_only_scripts_with_these_checksums_may_run(page: str) -> None:
    (policy,) = re.findall(r'Security-Policy" content="([^"]*)"', page)
    data, *scripts = read(page).scripts
    for script in scripts:
        checksum = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{checksum}'" in policy
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "eval" not in policy
    assert len(json.loads(data)["charts"]) == 8


def test_nothing_is_fetched(page: str) -> None:
    sources = [a[name] for _, a in read(page).tags for name in ("src", "href") if a.get(name)]
    assert all(source and source.startswith(("#", "data:")) for source in sources)
    assert "url(" not in page.split("<style>")[1].split("</style>")[0]


def test_it_says_what_was_run(page: str) -> None:
    head = page.split('id="run"')[1].split("</section>")[0]
    for words in ("seed", "0.1.0", "bootstrap over questions", "DeepSeek-R1-8B", "15,360", "has no truth"):
        assert words in head


def test_the_contents_lead_to_every_experiment(page: str) -> None:
    tags = read(page).tags
    wanted = {a["href"] for tag, a in tags if tag == "a"}
    assert wanted == {f"#{a['id']}" for tag, a in tags if tag == "section"}
    assert len(wanted) == 5


def test_numbers_carry_what_they_sort_by(page: str) -> None:
    assert re.search(r'class="n" data-v="0\.7[0-9]+"><b>73\.1%</b>', page)


def test_the_same_report_is_the_same_page(page: str) -> None:
    report = made_up_report()
    slower = replace(report, results=tuple(replace(result, seconds=9.0) for result in report.results))
    assert report_page(slower) == page


def test_a_page_without_charts_needs_no_library() -> None:
    report = made_up_report()
    bare = report_page(replace(report, results=tuple(replace(r, charts=()) for r in report.results)))
    assert len(bare) < 100_000
    assert len(read(bare).scripts) == 2


def test_one_copy_of_the_library_serves_all_charts(page: str) -> None:
    assert 900_000 < len(page) < 1_500_000
    assert page.count("window.vegaEmbed=") + page.count("window.vegaEmbed =") == 1


def test_runs_with_different_fields_share_a_table() -> None:
    table = sources_table(({"name": "a", "n_questions": 3}, {"name": "b", "alpha": 0.8}))
    assert [(column.label, column.format) for column in table.columns] == [
        ("name", "text"),
        ("questions", "whole"),
        ("alpha", "text"),
    ]


def test_the_papers_number_is_in_our_cell(page: str) -> None:
    found = re.findall(r'<small class="paper">paper ([\d.]+)</small></td>', page)
    assert found == ["69.3", "69.8", "65.9", "72.6", "74.5", "74.2", "77.2", "78.5"]
    assert ", paper<" not in page
