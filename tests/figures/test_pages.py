"""The list of pages has every file of `pages`, and docs/pages.md has the same titles and questions."""

import re
from pathlib import Path

from bertviz_core.figures.pages import FIRST, PAGES

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| ([^|]+?) \| ([^|]+\?) \| ", re.MULTILINE)


def test_every_page_has_its_entry_and_every_entry_its_page() -> None:
    assert set(PAGES) == {path.stem for path in (ROOT / "pages").glob("[a-z]*.py")}


def test_the_document_has_title_and_question_of_each_in_this_order() -> None:
    rows = ROW.findall((ROOT / "docs" / "pages.md").read_text(encoding="utf-8"))
    assert rows == [(entry.title, entry.question) for entry in PAGES.values()]


def test_pages_of_a_group_follow_each_other() -> None:
    groups = [entry.group for entry in PAGES.values()]
    assert groups == [group for group in dict.fromkeys(groups) for _ in range(groups.count(group))]


def test_the_dashboard_opens_with_the_journey() -> None:
    assert FIRST == "journey"
    assert next(iter(PAGES)) == FIRST
