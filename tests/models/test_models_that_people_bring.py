"""Adapters and late interaction of every family, as docs/families.md says."""

import pytest

from tests.helpers.families_document import DOCUMENT, brought_part


@pytest.mark.slow
def test_the_table_of_models_that_people_bring_is_that_of_the_runs() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text.endswith(brought_part()), "run python -m tests.helpers.families_document"
