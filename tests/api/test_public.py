"""The public interface of `bertviz_core`: names, docstrings, types, a light import, and its documents.

Covers `bertviz_core/api/model.py` and `bertviz_core/api/figures.py`.
"""

import contextlib
import inspect
import io
import re
import subprocess
import sys
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import bertviz_core
from bertviz_core.api.model import Model
from bertviz_core.api.results.base import Result
from bertviz_core.questions.figures import all_figures

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RESULTS = tuple(each for each in Result.__subclasses__() if each.__module__.startswith("bertviz_core"))
METHODS = {"figure", *re.findall(r"(?m)^\| `\.(\w+)\(", DOCUMENT)}
"""Methods of a model that the document lists."""
CALLER = """
import numpy as np
from bertviz_core import BertvizError, Model, Result, open_corpus, open_model

def rows(model: Model) -> np.ndarray:
    try:
        return model.trace("a text").attention(layer=3, head=5)
    except BertvizError as error:
        raise SystemExit(str(error)) from error

model = open_model("all-MiniLM-L6-v2", task="base")
total: int = model.parameters().total
layers: int | None = model.architecture().data.num_hidden_layers
probability: float = model.predict("a text").probabilities["positive"]
text: str | None = open_corpus("corpora/news").search("money", k=3).data.hits[0].text
results: list[Result[object]] = [model.tokens("a text"), model.words("a text", target="class:positive")]
"""


def public(owner: type) -> dict[str, Any]:
    """Public names of a class -> their values."""
    return {name: value for name, value in inspect.getmembers(owner) if not name.startswith("_")}


def test_public_is_what_the_document_lists() -> None:
    last = DOCUMENT.split("`bertviz_core.__all__` is what is public")[1]
    assert set(re.findall(r"`(\w+)`", last)) == set(bertviz_core.__all__)
    assert all(getattr(bertviz_core, name) is not None for name in bertviz_core.__all__)
    with pytest.raises(AttributeError, match="open_door"):
        attrgetter("open_door")(bertviz_core)
    assert set(public(Model)) == METHODS


def test_every_public_name_says_what_comes_back_and_what_it_refuses() -> None:
    for owner in (Model, Result, *RESULTS):
        for name, value in public(owner).items():
            if name != "figures":
                assert inspect.getdoc(value), f"{owner.__name__}.{name}"
    for name in METHODS - {"parameters", "architecture", "figure"}:
        assert "Raises:\n    BertvizError" in (inspect.getdoc(getattr(Model, name)) or ""), name
    for name, shape in (("trace", "[layers + 1, tokens, hidden]"), ("heads", "[heads, head_dim, hidden]")):
        assert shape in (inspect.getdoc(getattr(Model, name)) or "")


def test_the_document_names_every_method_with_its_options_and_figures() -> None:
    for name in METHODS - {"compute", "figure", "save_figure", "table"}:
        names = [each for each in inspect.signature(getattr(Model, name)).parameters if each != "self"]
        shown = ", ".join(names).replace("sentences", "list")
        assert f"`.{name}({shown})`" in DOCUMENT
    for result in RESULTS:
        for figure in getattr(result, "figures", ()):
            assert f"`{figure}`" in DOCUMENT, figure
            assert figure in all_figures()


@pytest.mark.slow
def test_the_document_runs_and_prints_what_it_says(in_workplace: Path) -> None:
    blocks = [(kind, text) for kind, text in BLOCK.findall(DOCUMENT)]
    assert sum(kind == "python" for kind, _ in blocks) > 10
    names: dict[str, Any] = {}
    for place, (kind, text) in enumerate(blocks):
        if kind == "text":
            continue
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            exec(text, names)  # the code in the document
        following = blocks[place + 1] if place + 1 < len(blocks) else ("", "")
        assert shown.getvalue() == (following[1] if following[0] == "text" else ""), text


@pytest.mark.slow
def test_a_caller_is_checked_by_strict_types(tmp_path: Path) -> None:
    caller = tmp_path / "caller.py"
    arguments = ["--strict", "--follow-imports=silent", "--config-file", str(ROOT / "pyproject.toml"), str(caller)]
    command = [sys.executable, "-m", "mypy", *arguments]
    caller.write_text(CALLER)
    good = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert good.returncode == 0, good.stdout
    caller.write_text(CALLER.replace("total: int", "total: str"))
    assert (
        "Incompatible types in assignment" in subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    )


def test_an_import_loads_neither_torch_nor_pandas_nor_plotly() -> None:
    code = "import sys; from bertviz_core import open_model, open_corpus, BertvizError; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True).stdout.split()
    assert "bertviz_core" in loaded
    assert {"torch", "transformers", "pandas", "plotly", "numpy", "streamlit"}.isdisjoint(loaded)


@pytest.mark.slow
def test_no_figure_needs_streamlit() -> None:
    code = (
        "import sys; from bertviz_core import open_model\n"
        "open_model('all-MiniLM-L6-v2').trace('a text').figure(layer=3, head=5); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    loaded = done.stdout.split()
    assert "plotly" in loaded, done.stderr
    assert {"streamlit", "ui", "pages"}.isdisjoint(loaded)
