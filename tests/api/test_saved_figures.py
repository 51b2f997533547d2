"""The library writes the same files as the command `figure`, for slides and papers, too.

Covers `bertviz_core/api/drawing.py`, `bertviz_core/api/figures.py`, and what saves figures in
`bertviz_core/api/results/base.py`.
"""

import re
import struct
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertviz_core import BertvizError, open_attention, open_model
from tests.cli.conftest import Command

MODEL, TEXT = "all-MiniLM-L6-v2", "The bank of the river was steep."
FIGURES = Path(__file__).parents[2] / "docs" / "figures.md"


@pytest.fixture(scope="module")
def model() -> Any:
    return open_model(MODEL)


def figure_id(content: str) -> str:
    """A page without the names that plotly draws at random."""
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "", content)


def test_a_page_is_the_one_that_the_command_writes(model: Any, command: Command, tmp_path: Path) -> None:
    for name in ("result", "model"):
        (tmp_path / name).mkdir()
    run = model.trace(TEXT)
    run.save_figure(str(tmp_path / "result" / "a.html"), "attention", layer=2, head=5, theme="print")
    model.save_figure(str(tmp_path / "model" / "a.html"), "attention", TEXT, layer=2, head=5, theme="print")
    options = ("--layer", "2", "--head", "5", "--theme", "print", "-o", str(tmp_path / "a.html"))
    assert command("figure", "attention", MODEL, TEXT, *options).returncode == 0
    pages = [figure_id(each.read_text(encoding="utf-8")) for each in sorted(tmp_path.rglob("a.html"))]
    assert len(pages) == 3
    assert len(set(pages)) == 1


@pytest.mark.slow
@pytest.mark.browser
def test_the_lines_of_the_document_write_a_slide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", FIGURES.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)  # the code in the document
    assert struct.unpack(">II", (tmp_path / "slide.png").read_bytes()[16:24]) == (1600, 900)


@pytest.mark.slow
@pytest.mark.browser
def test_a_column_is_as_wide_as_that_of_a_paper(model: Any, tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    model.trace(TEXT).save_figure(str(file), medium="column", theme="print")
    assert ElementTree.parse(file).getroot().attrib["width"] == "85mm"
    open_attention(np.full((2, 3, 4, 4), 0.25), list("abcd")).save_figure(str(file), layer=1, head=2, medium="column")
    root = ElementTree.parse(file).getroot()
    assert root.attrib["width"] == "85mm"
    assert root.findtext("{*}title") == "Attention of layer 1, head 2"


WRONG: dict[str, tuple[Callable[[Any, Path], None], str]] = {
    "medium": (lambda m, p: m.save_figure(str(p / "a.svg"), "layers", medium="poster"), "choose slide or column"),
    "size": (lambda m, p: m.save_figure(str(p / "a.svg"), "layers", medium="slide", width=900), "size of its own"),
    "page": (lambda m, p: m.save_figure(str(p / "a.html"), "layers", medium="slide"), "leave out medium"),
    "ending": (lambda m, p: m.save_figure(str(p / "a.tiff"), "layers"), ".png"),
    "folder": (lambda m, p: m.save_figure(str(p / "no" / "a.svg"), "layers"), "There is no folder"),
    "name": (lambda m, p: m.save_figure(str(p / "a\0.html"), "layers"), "cannot be written"),
    "theme": (lambda m, p: m.save_figure(str(p / "a.html"), "layers", theme="pink"), "no theme 'pink'"),
    "figure": (lambda m, p: m.parameters().save_figure(str(p / "a.html"), "atlas"), "parameters"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_there_is_not_is_one_sentence_of_the_library(wrong: str, model: Any, tmp_path: Path) -> None:
    call, words = WRONG[wrong]
    with pytest.raises(BertvizError) as refused:
        call(model, tmp_path)
    assert words in str(refused.value)
    assert "--" not in str(refused.value)
    assert not list(tmp_path.iterdir())
