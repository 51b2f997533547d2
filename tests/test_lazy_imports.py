"""Libraries are imported on first use: torch, transformers and, by commands, pandas. One sentence names a missing one.

What needs none of these packages works without them.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch as imported_torch
import transformers as imported_transformers
from packaging.requirements import Requirement

from bertviz_core import lazy_imports
from bertviz_core.errors import BertvizError
from bertviz_core.lazy_imports import EXTRAS, install_line, optional
from tests.cli.corpus.test_search import wide

ROOT = Path(__file__).parents[1]
EVERY_MODULE = """
import importlib, pkgutil, sys
import bertviz_core

for module in pkgutil.walk_packages(bertviz_core.__path__, "bertviz_core."):
    if not module.name.endswith("__main__") and ".models.own." not in module.name:  # classes of transformers
        importlib.import_module(module.name)
print([name for name in ("torch", "transformers") if name in sys.modules])
from bertviz_core.lazy_imports import torch, transformers
torch.Tensor
print("torch" in sys.modules, "transformers" in sys.modules)
transformers.AutoModel
print("transformers" in sys.modules)
"""
EVERY_COMMAND = """
import importlib, sys
from bertviz_core.cli.app import COMMANDS

for command in COMMANDS.values():
    importlib.import_module(f"bertviz_core.cli.{command.module}")
print([name for name in ("pandas", "torch", "transformers") if name in sys.modules])
"""


@pytest.mark.slow
def test_no_command_imports_them_or_pandas_before_it_runs() -> None:
    done = subprocess.run([sys.executable, "-c", EVERY_COMMAND], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.slow
def test_modules_of_the_library_import_neither_until_a_name_is_used() -> None:
    done = subprocess.run([sys.executable, "-c", EVERY_MODULE], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["[]", "True False", "True"], done.stderr


def test_the_names_are_those_of_the_libraries() -> None:
    assert lazy_imports.torch.nn.Linear is imported_torch.nn.Linear
    assert lazy_imports.torch.__version__ == imported_torch.__version__
    assert lazy_imports.transformers.BertModel is imported_transformers.BertModel


BLOCKED = """
import sys

for name in ("usearch", "sklearn", "kaleido", "pptx"):
    sys.modules[name] = None
"""
LIBRARY = """
import json
import numpy as np

from bertviz_core import open_model
from bertviz_core.corpus.analysis.clusters import corpus_clusters
from bertviz_core.corpus.exact_search import nearest_rows
from bertviz_core.corpus.search import built_graph
from bertviz_core.errors import BertvizError
from bertviz_core.predictions.probing.scores import parts

rows = np.eye(8, dtype=np.float32)
needing = {
    "search": lambda: nearest_rows(rows, rows[0], 2),
    "index": lambda: built_graph(rows),
    "k-means": lambda: corpus_clusters(rows, count=2),
    "HDBSCAN": lambda: corpus_clusters(rows, "HDBSCAN", least=2),
    "probe": lambda: list(parts(np.array([0, 1, 0, 1]), 2, 0)),
}
sentences = {}
for name, work in needing.items():
    try:
        work()
    except BertvizError as error:
        sentences[name] = str(error)
model = open_model("all-MiniLM-L6-v2")
run = model.trace("The bank of the river was steep.")
works = [len(run.figure(layer=0, head=4).data), len(model.sentences(["A river.", "A bank."]).similarity)]
print(json.dumps([sentences, works]))
"""
COMMAND = "from bertviz_core.cli.app import main; main()"
NEEDS = {"search": "usearch", "index": "usearch", "k-means": "scikit-learn", "HDBSCAN": "scikit-learn"}
"""What needs a package of the extra corpus."""


def blocked(code: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run code in a process in which the packages of all extras cannot be imported."""
    return subprocess.run(
        [sys.executable, "-c", BLOCKED + code, *words], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    )


@pytest.fixture(scope="module")
def extras() -> dict[str, list[Requirement]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {name: list(map(Requirement, lines)) for name, lines in project["optional-dependencies"].items()}


def test_the_extras_are_those_of_the_package(extras: dict[str, list[Requirement]]) -> None:
    assert {name: tuple(each.name for each in extras[name]) for name in EXTRAS} == EXTRAS
    (own,) = [each for each in extras["dashboard"] if each.name == "inside-bert"]
    assert own.extras == set(EXTRAS)


@pytest.mark.slow
def test_the_library_names_the_extra_and_the_rest_works() -> None:
    done = blocked(LIBRARY)
    assert done.returncode == 0, done.stderr
    sentences, works = json.loads(done.stdout)
    for name, package in NEEDS.items():
        assert f"needs the package {package}, which" in sentences[name], name
        assert "pip install 'inside-bert[corpus]'" in sentences[name], name
    assert sentences["probe"] == (
        "A probe needs the package scikit-learn, which cannot be imported here: "
        "pip install 'inside-bert[probes]', or '.[probes]' in the source folder."
    )
    assert all(works)


@pytest.mark.slow
def test_a_command_ends_with_one_sentence(tmp_path: Path) -> None:
    picture = blocked(COMMAND, "figure", "layers", "all-MiniLM-L6-v2", "-o", str(tmp_path / "a.svg"))
    corpus = wide(tmp_path / "corpus").path
    search = blocked(COMMAND, "corpus", "search", str(corpus), "A bank of the river.")
    slides = blocked(COMMAND, "report", "all-MiniLM-L6-v2", "-o", str(tmp_path / "a.pptx"))
    for done, extra in ((picture, "images"), (search, "corpus"), (slides, "slides")):
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert f"pip install 'inside-bert[{extra}]'" in line
    drawn = blocked(COMMAND, "figure", "layers", "all-MiniLM-L6-v2", "-o", str(tmp_path / "a.html"))
    assert drawn.returncode == 0, drawn.stderr
    assert [path.name for path in tmp_path.glob("a.*")] == ["a.html"]


def test_an_import_that_works_is_left_alone() -> None:
    with optional("images", "kaleido", "A picture", "Try something else."):
        import json as imported
    assert imported is json
    with pytest.raises(BertvizError) as refused, optional("images", "kaleido", "A picture", "Try something else."):
        raise ImportError("no such library")
    assert str(refused.value) == (
        f"A picture needs the package kaleido, which cannot be imported here: {install_line('images')}. "
        "Try something else."
    )
