"""Run the lines of Python of a view, for several models, and read the view's charts."""

from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.helpers.charts import sent_charts
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import opened
from tests.pages.snippets import BUNDLED, Printed, printed

MODELS = (BUNDLED, "gpt2", "t5", "deberta", "modernbert", "eurobert")


def ran(page: str, chart: str, model: str, folder: Path, **address: str) -> tuple[AppTest, Printed]:
    """A view with its code open, and the output of this code."""
    if model != BUNDLED:
        save_tiny(model, folder / model)
    at = opened(page, model=model, **{f"{chart}_explained": "true"}, **address)
    assert not at.exception
    assert not at.error
    return at, printed(at.code[-1].value)


def figure(at: AppTest, chart: int = 0) -> dict[str, Any]:
    """The figure of a chart."""
    decoded: dict[str, Any] = sent_charts(at)[chart].figure
    return decoded


def data(at: AppTest, chart: int = 0) -> list[dict[str, Any]]:
    """The traces of a chart."""
    return list(figure(at, chart)["data"])
