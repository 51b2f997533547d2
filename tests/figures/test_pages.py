"""The list of pages has every file of `pages`, and the documents have the tables that follow from the code.

Covers `docs/tables.py`.
"""

from pathlib import Path

import pytest

from bertviz_core.figures.pages import FIRST, PAGES
from docs.tables import DOCS, TABLES, with_table

ROOT = Path(__file__).parents[2]


def test_every_page_has_its_entry_and_every_entry_its_page() -> None:
    assert set(PAGES) == {path.stem for path in (ROOT / "pages").glob("[a-z]*.py")}


@pytest.mark.parametrize("name", TABLES)
def test_a_document_has_the_table_that_make_tables_writes(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == with_table(name)


def test_pages_of_a_group_follow_each_other() -> None:
    groups = [entry.group for entry in PAGES.values()]
    assert groups == [group for group in dict.fromkeys(groups) for _ in range(groups.count(group))]


def test_the_dashboard_opens_with_the_journey() -> None:
    assert FIRST == "journey"
    assert next(iter(PAGES)) == FIRST
