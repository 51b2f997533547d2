"""Notebooks run from top to bottom, and each ends with links that open the dashboard's own pages.

Covers `notebooks/*.py`.
"""

import csv
import re
from pathlib import Path
from typing import Any

import jupytext
import pytest
from nbclient import NotebookClient
from plotly.offline import get_plotlyjs

from bertviz_core import open_training
from bertviz_core.figures.pages import PAGES
from bertviz_core.models.catalog import EXAMPLE_FOLDER, example_texts

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))
LARGEST_FIGURE = 2_000_000
"""Most characters of a figure as HTML, far below plotly's own code."""
SECONDS = 240
"""Most seconds for one cell, far above the slowest; the notebooks' own assertions check their numbers."""


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> Any:
    return jupytext.read(request.param)


@pytest.mark.slow
def test_every_cell_runs(notebook: Any) -> None:
    client = NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": ROOT}})
    client.execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    figures = [
        output for cell in code for output in cell.outputs if "application/vnd.plotly.v1+json" in output.get("data", {})
    ]
    assert len(figures) >= 2
    for figure in figures:
        assert figure["data"]["application/vnd.plotly.v1+json"]["layout"]["title"]["text"]
        assert len(figure["data"]["text/html"]) < LARGEST_FIGURE
        assert re.search(r"<div id=\"[\w-]+\" class=\"plotly-graph-div\"", figure["data"]["text/html"])
    pages = [
        output["data"]["text/html"] for cell in code for output in cell.outputs if "text/html" in output.get("data", {})
    ]
    assert sum(get_plotlyjs() in each for each in pages) == 1  # plotly's code, once for all figures


def test_it_ends_with_the_same_view_in_the_dashboard(notebook: Any) -> None:
    pages = re.findall(r"\(http://localhost:8501/(\w+)[?)]", notebook.cells[-1].source)
    assert pages
    assert set(pages) <= set(PAGES)


@pytest.mark.slow
def test_a_cell_that_fails_fails_the_notebook() -> None:
    broken = jupytext.reads("# %%\nassert 1 + 1 == 3\n", fmt="py:percent")
    client = NotebookClient(broken, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": ROOT}})
    with pytest.raises(Exception, match="AssertionError"):
        client.execute()


@pytest.mark.slow
def test_the_example_run_can_be_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    cells = jupytext.read(ROOT / "notebooks" / "since_which_step.py").cells
    made = next(at for at, cell in enumerate(cells) if "def make(" in cell.source)
    names: dict[str, Any] = {}
    for cell in cells[: made + 1]:
        if cell.cell_type == "code":
            exec(cell.source, names)
    names["make"](tmp_path / "again")
    here = sorted(path.relative_to(EXAMPLE_FOLDER) for path in EXAMPLE_FOLDER.rglob("*"))
    assert sorted(path.relative_to(tmp_path / "again") for path in (tmp_path / "again").rglob("*")) == here
    for path in (path for path in here if path.suffix == ".csv" or path.name.endswith("config.json")):
        assert (tmp_path / "again" / path).read_bytes() == (EXAMPLE_FOLDER / path).read_bytes(), path
    again = open_training(tmp_path / "again")
    # Other versions and machines round in other ways, which 80 steps enlarge.
    rows = list(csv.DictReader(example_texts().decode().splitlines()))
    negated = [row for row in rows if row["negation"] == "yes"]
    texts, gold = [row["text"] for row in negated], [row["label"] for row in negated]
    accuracy = again.scores(texts, gold).data.accuracy
    assert accuracy[1] > 0.75
    assert accuracy[-1] < 0.5
    assert again.log().data.metrics == open_training(EXAMPLE_FOLDER).log().data.metrics
