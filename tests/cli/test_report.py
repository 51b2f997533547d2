"""A report contains the numbers of the commands, no tags from a user's texts, and no external addresses.

Covers `bertviz_core/cli/figure.py`, `bertviz_core/questions/report/*.py`.
"""

import html
import json
import re
import shlex
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from bertviz_core.models.catalog import BUNDLED, WEIGHTS
from bertviz_core.questions.figures import all_figures, settings_of
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.question import figure_questions
from bertviz_core.questions.report.files import report_figures
from bertviz_core.questions.report.sections import OF_WEIGHTS, USUAL, needs_many_runs, reported_figures
from tests.cli.conftest import Command

MODEL, BASE = "all-MiniLM-L6-v2", "bert-base-uncased"
TEXT = "I love my pet python."
DRAWN = re.compile(r'"z":(\{[^}]*"bdata":"[^"]+"|\[\[[^\]]+\])')
"""The numbers of a heat map in a file."""
WITHOUT_TEXT = ("heads",)
"""Default figures that need weights but no text."""
OF_OTHERS = {"models", "task-head", "values", "change", "changes"}
EVIL = '</script><img src=x onerror=alert(1)> & "python"'


class ParsedPage(HTMLParser):
    """Parser of the sections, image descriptions, facts and addresses of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.labels: list[str] = []
        self.loaded: list[str] = []
        self.tags: set[str] = set()
        self.scripts = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.scripts += tag == "script"
        if tag == "section":
            self.sections.append(given["id"])
        if given.get("role") == "img":
            self.labels.append(given["aria-label"])
        self.loaded += [given[name] for name in ("src", "href") if name in given and not given[name].startswith("#")]


def made(command: Command, path: Path, *arguments: str) -> str:
    done = command("report", *arguments, "-o", str(path))
    assert done.returncode == 0, done.stderr
    return path.read_text(encoding="utf-8")


def facts(page: str) -> dict[str, str]:
    return {name: html.unescape(value) for name, value in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page)}


def test_its_facts_are_those_of_the_commands(command: Command, tmp_path: Path) -> None:
    page = made(command, tmp_path / "r.html", MODEL, TEXT, "--figure", "parameters", "--figure", "attention")
    page_facts = facts(page)
    ledger = json.loads(command("parameters", MODEL, "--json").stdout)
    assert page_facts["Parameters"] == f"{ledger['total']:,}" == "22,713,216"
    assert page_facts["Class"] == "BertModel"
    assert page_facts["SHA-256 of the weights"] == BUNDLED[MODEL].digests[WEIGHTS]
    assert page_facts["Text"] == TEXT
    assert f"torch {version('torch')}" in page_facts["Made with"]
    parsed = ParsedPage(page)
    assert parsed.sections == ["parameters", "attention"]
    assert all(f"Model: {MODEL}" in label for label in parsed.labels)
    assert [TEXT in label for label in parsed.labels] == [False, True]


def test_the_command_in_it_draws_the_same_figure(command: Command, tmp_path: Path) -> None:
    page = made(command, tmp_path / "r.html", MODEL, TEXT, "--figure", "attention", "--layer", "3", "--head", "5")
    (line,) = re.findall(r"<code>(.*?)</code>", page)
    expected = f"python -m bertviz_core figure attention {MODEL} '{TEXT}' --layer 3 --head 5 -o attention.html"
    assert html.unescape(line) == expected
    alone = tmp_path / "attention.html"
    options = ("--layer", "3", "--head", "5", "-o", str(alone))
    assert command("figure", "attention", MODEL, TEXT, *options).returncode == 0
    assert DRAWN.findall(page)
    assert DRAWN.findall(page) == DRAWN.findall(alone.read_text(encoding="utf-8"))


@pytest.mark.sample(1)
@pytest.mark.parametrize(("text", "rest"), [("A bank.", "norms all-MiniLM-L6-v2 'A bank.' "), ("-x", "-- norms ")])
def test_its_command_says_all_that_the_figure_depends_on(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, rest: str
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ("--figure", "norms", "--theme", "dark", "-o", "r.html", "--", MODEL, text)
    assert command("report", *arguments).returncode == 0
    page = Path("r.html").read_text(encoding="utf-8")
    (line,) = re.findall(r"<code>(.*?)</code>", page)
    words = shlex.split(html.unescape(line))
    assert rest in html.unescape(line)
    assert command(*words[3:]).returncode == 0
    assert DRAWN.findall(page)
    assert DRAWN.findall(page) == DRAWN.findall(Path("norms.html").read_text(encoding="utf-8"))


def test_nothing_that_a_user_writes_is_a_tag_and_nothing_is_loaded(command: Command, tmp_path: Path) -> None:
    page = made(command, tmp_path / "r.html", MODEL, EVIL, "--figure", "tokens", "--figure", "norms")
    parsed = ParsedPage(page)
    assert "img" not in parsed.tags
    assert parsed.loaded == []
    assert facts(page)["Text"] == EVIL
    assert page.count("plotly.js v") == 1


@pytest.mark.slow
def test_without_a_choice_it_holds_what_the_model_has(command: Command, tmp_path: Path) -> None:
    page = made(command, tmp_path / "r.html", BASE)
    parsed, page_facts = ParsedPage(page), facts(page)
    assert parsed.sections == [name for name in USUAL if name in ("overview", "parameters", "layers")]
    assert page_facts["Parameters"] == "109,482,240"
    assert "not on this machine" in page_facts["Weights"]
    left_out = dict(list(page_facts.items())[-2:])  # of a text, and of weights
    assert [name for names in left_out for name in names.split(", ")] == [
        *(name for name in USUAL if name not in (*parsed.sections, *WITHOUT_TEXT)),
        *WITHOUT_TEXT,
    ]
    assert ["shows one text" in why or "The weights of" in why for why in left_out.values()] == [True, True]


def test_a_figure_that_was_asked_for_and_cannot_be_is_told_with_its_reason(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    done = command("report", MODEL, TEXT, "--figure", "tokens", "--figure", "classes", "-o", str(path))
    assert done.returncode == 0
    page = path.read_text(encoding="utf-8")
    assert ParsedPage(page).sections == ["tokens"]
    assert "head" in facts(page)["classes"]
    assert "Without classes: " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--figure", "nothing", "-o", "r.html"), "There is no figure 'nothing' for a report"),
        (("--figure", "corpus-map", "-o", "r.html"), "There is no figure 'corpus-map' for a report"),
        (("-o", "r.pdf"), "A report is an .html or .pptx file, and 'r.pdf' has another ending."),
        (("-o", "absent/r.html"), "There is no folder 'absent'"),
        (("--theme", "pink", "-o", "r.html"), "There is no theme 'pink'"),
        (("--figure", "classes", "-o", "r.html"), "head"),
    ],
)
def test_a_wrong_request_is_one_sentence(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command("report", MODEL, TEXT, *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_slides_without_a_browser_are_refused_before_a_model_is_run(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", "/nonexistent/chromium")
    done = command("report", "no-such-model", TEXT, "-o", str(tmp_path / "r.pptx"))
    assert done.returncode == 2
    assert "Chromium" in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_is_offered_are_figures_of_a_model_and_its_text() -> None:
    names = reported_figures()
    assert set(names) <= set(all_figures())
    assert len(set(names)) == len(names)
    assert names[: len(USUAL)] == USUAL
    assert set(names) >= OF_WEIGHTS - OF_OTHERS
    for name in names:
        assert all_figures()[name].reported, f"{name} is usual, and not declared with reported=True"
        assert figure_questions()[name].subject is Opened
        assert OTHER.key not in settings_of(name)
    assert tuple(report_figures(quick=False)) == names
    assert {name for name in names if needs_many_runs(name)} == set(names) - set(report_figures(quick=True))
