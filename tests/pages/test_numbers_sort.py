"""Numbers in every table of every view are numeric: a click on a column's header sorts them by size."""

import re
from collections.abc import Iterator

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.figures.pages import PAGES
from bertviz_core.questions.figures import all_figures
from tests.pages.opened import SHELL

UNITS = "%|×|x|[kMGT]i?B|bytes?|[KMBT]|n?s|ms|µs|min|nats?|bits?|sd"
NUMBER = re.compile(rf"[-−+≈≤≥~]?\s?\d[\d,.]*(e[-−+]?\d+)?\s?({UNITS})?", re.IGNORECASE)
EMPTY = ("", "-", "–", "—", "None", "nan")


def written_numbers(frame: pd.DataFrame) -> list[str]:
    """Text columns whose cells all read as numbers, percentages or sizes."""
    found = []
    for name in frame:
        cells = [cell for cell in frame[name] if not (isinstance(cell, str) and cell.strip() in EMPTY)]
        if cells and all(isinstance(cell, str) and NUMBER.fullmatch(cell.strip()) for cell in cells):
            found.append(str(name))
    return found


@pytest.mark.parametrize("cell", ["1,234", "−0.5", "52.5%", "2.92 ×", "86.6 MiB", "1e-05", "3", "0.61x", "12 ms"])
def test_a_number_as_text_is_found(cell: str) -> None:
    frame = pd.DataFrame({"name": ["a", "b"], "value": [cell, "–"], "real": [1.5, 2.5]})
    assert written_numbers(frame) == ["value"]


@pytest.mark.parametrize("cell", ["(384, 384)", "layer 3", "12 × 768 = 9,216", "384×384", "[CLS]", "bert-2"])
def test_what_is_no_number_may_be_text(cell: str) -> None:
    assert not written_numbers(pd.DataFrame({"value": [cell]}))


def page(name: str, **query: str) -> AppTest:
    """Open a page with all folded tables."""
    at = AppTest.from_file(str(SHELL), default_timeout=120)
    at.switch_page(f"../pages/{name}.py")
    for each in all_figures().values():
        at.session_state[f"{each.chart}_table"] = True
    for key, value in query.items():
        at.query_params[key] = value
    return at.run()


def views(name: str) -> Iterator[tuple[str, AppTest]]:
    """Open every view of a page."""
    at = page(name)
    options = next((group.options for group in at.button_group if group.key == "view"), [])
    for option in options or [""]:
        yield option, page(name, view=option) if option else at


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.sample(2)
def test_numbers_of_every_table_are_numbers(name: str) -> None:
    found = {}
    for option, at in views(name):
        assert not at.exception, option
        for frame in (*at.dataframe, *at.table):
            columns = written_numbers(frame.value)
            if columns:
                found[option] = columns
    assert not found
