"""Adapters and late interaction of every family, and the types by their known names, as docs/families.md says."""

import pytest

from tests.helpers.families_document import DOCUMENT, brought_part
from tests.helpers.known_names import KNOWN, REFUSED, Known, known_cells, refused_line

WRITE = "run python -m tests.helpers.families_document"


@pytest.mark.slow
def test_the_table_of_models_that_people_bring_is_that_of_the_runs() -> None:
    assert brought_part() in DOCUMENT.read_text(encoding="utf-8"), WRITE


@pytest.mark.sample(2)
@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.names)
def test_a_row_of_known_names_is_that_of_its_run(known: Known) -> None:
    cells = known_cells(known)
    assert not any("not the" in cell for cell in cells)
    assert f"| {' | '.join(cells)} |\n" in DOCUMENT.read_text(encoding="utf-8"), WRITE


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_said_of_a_model_that_does_not_open_is_in_the_document(name: str) -> None:
    assert refused_line(name) in DOCUMENT.read_text(encoding="utf-8"), WRITE
