"""Page, command and library give the same numbers: the table of every figure on its page, its CSV file and `table()`.

Covers `bertviz_core/questions/views/*.py`, `ui/engine.py`.
"""

import io
import json
import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bertviz_core import open_model
from bertviz_core.figures.pages import PAGES
from bertviz_core.models.catalog import BUNDLED, WEIGHTS
from bertviz_core.questions.figures import all_figures
from bertviz_core.questions.views import sentences
from tests.cli.checkpoints.test_training import CASES as TRAINING_FIGURES
from tests.cli.conftest import Command, command, models_in_memory
from tests.cli.corpus.test_figures import CASES as CORPUS_FIGURES
from tests.cli.test_figure import CASES, MODEL, VIEWED, WITHOUT_ROWS
from tests.cli.test_figure import TEXT as BUNDLED_TEXT
from tests.helpers.made_corpora import made_corpus
from tests.helpers.training_runs import save_run
from tests.pages.labels import FIGURES, save_heads
from tests.pages.opened import opened, views_of
from ui.widgets import run_model as answers

__all__ = ["models_in_memory", "command"]  # fixtures
CORPUS_VIEWS = ("Search", "Map", "Near duplicates", "Clusters", "Heads", "Probes", "Another model")
OPEN = {"view": "All heads", "attention_heads_table": "true", "attention_measures": "true"}
"""Folds of the page Attention, whose drawing has tables of its own."""
VIEW_OF = {"classes": "Classes", "tags": "Tags", "answers": "Answers"}
"""Figure -> the view that its model shows first."""


def page_of(name: str) -> str:
    return all_figures()[name].chart.partition("_")[0]


def cases() -> Mapping[str, tuple[str, tuple[str, ...], str, dict[str, str]]]:
    """Words of the command -> model, texts, page and its address."""
    bundled = {words: (at.get("model", MODEL), texts, page, at) for words, (texts, (page, at)) in CASES.items()}
    alone = {name: page_of(name) for name in WITHOUT_ROWS}
    usual = {
        name: (MODEL, () if PAGES[page].views_without_text is None else (BUNDLED_TEXT,), page, {})
        for name, page in alone.items()
    }
    heads = {
        words: (
            model,
            texts,
            page_of(words.split()[0]),
            {"view": VIEW_OF.get(words.split()[0], ""), **at, "model": model, **({"text": texts[0]} if texts else {})},
        )
        for words, (model, texts, at) in FIGURES.items()
    }
    viewed = {
        words: (MODEL, (BUNDLED_TEXT,), "attention", {**at, **OPEN, "view": "All heads"})
        for words, at in VIEWED.items()
    }
    return {**bundled, **usual, **viewed, **{f"{words} # {each[0]}": each for words, each in heads.items()}}


EVERY = cases()
OF_FOLDERS: Mapping[str, tuple[str, str]] = {
    **dict(zip(CORPUS_FIGURES, (("corpus", view) for view in CORPUS_VIEWS), strict=True)),
    **dict.fromkeys(TRAINING_FIGURES[:2], ("checkpoint", "Training run")),
}
"""Words of the command about a corpus or a training run -> the page and its view."""
CHOSEN = {
    "parameters": "the page lists the rows and columns that are chosen; its file has all",
    "load-report": "the page lists the rows of a status; its file has all",
    "matrix": "the page shows the part of the head; its file has the matrix",
    "pooling-maps": "the page shows the numbers once, beside the same cosines as bars",
    "masked-text": "the page lists the words at the chosen position; its file has the text",
    "modules": "the page shows a tree that opens; its file has all rows",
    "overview": "the page has the numbers as files alone",
    "readings": "the page draws the four maps; their file has the numbers",
}
"""Figures whose table the page shows in part."""
ELSEWHERE = {
    ("journey", "Journey"): "one drawing; tests/journey and tests/browser/test_journey.py",
    ("corpus", "About"): "rows and columns of the corpus, and no figure",
}
"""Views without a figure that has a table."""


def settings(options: list[str]) -> dict[str, Any]:
    """Options of the command as arguments of the library."""
    found: dict[str, Any] = {}
    rest = iter(options)
    for option in rest:
        name = option.removeprefix("--")
        if name == "words":
            found[name] = True
        elif name == "set":
            key, _, value = next(rest).partition("=")
            found[key] = value
        else:
            found[name] = next(rest)
    return found


def same_cell(one: Any, other: Any) -> bool:
    empty = [
        each is None or each is pd.NA or (isinstance(each, float) and not math.isfinite(each)) for each in (one, other)
    ]
    if any(empty):
        return all(empty) or "" in (one, other)
    if isinstance(one, bool | np.bool_) or isinstance(other, str) or isinstance(one, str):
        return str(one) == str(other)
    return bool(np.isclose(float(one), float(other), rtol=1e-5, atol=1e-7, equal_nan=True))


def same_table(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Whether the cells and the names of the columns are equal."""
    if list(map(str, one.columns)) != list(map(str, other.columns)) or len(one) != len(other):
        return False
    cells = zip(one.to_numpy(dtype=object).ravel(), other.to_numpy(dtype=object).ravel(), strict=True)
    return all(same_cell(*pair) for pair in cells)


@pytest.fixture(scope="session")
def head_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of models with each kind of head, of a training run, and of a corpus."""
    folder = save_heads(tmp_path_factory.mktemp("heads"))
    save_run(folder / "my-run")
    sha = BUNDLED[MODEL].digests[WEIGHTS]
    made_corpus(folder / "corpora" / "mine", dimensions=384, rows=40, rows_per_shard=25, shards=2, weights_sha256=sha)
    return folder


def written(command: Command, name: str, inputs: Sequence[str], options: list[str], file: Path) -> pd.DataFrame:
    """The table that the command `figure` writes, of which `table` prints the same rows."""
    done = command("figure", name, *inputs, *options, "-o", str(file))
    assert done.returncode == 0, done.stderr
    frame = pd.read_csv(io.BytesIO(file.read_bytes()), keep_default_na=False, na_values=[""])
    values = settings(options)
    own = [word for key in ("task", "pair") if key in values for word in (f"--{key}", values.pop(key))]
    sets = [word for key, value in values.items() for word in ("--set", f"{key}={str(value).replace('True', 'true')}")]
    printed = command("table", name, *inputs, *own, *sets, "--json")
    assert printed.returncode == 0, printed.stderr
    rows = json.loads(printed.stdout)["rows"]
    assert [list(row) for row in rows[:1]] == [[str(each).replace(" ", "_") for each in frame]][: len(rows)]
    cells = zip([cell for row in rows for cell in row.values()], frame.to_numpy(dtype=object).ravel(), strict=True)
    assert all(isinstance(one, list) or same_cell(one, other) for one, other in cells)  # a list is a tuple in the CSV
    return frame


def shown(name: str, page: str, address: Mapping[str, str]) -> list[pd.DataFrame]:
    """The tables of a view of a page, or of all of its views, with that of the figure unfolded."""
    frames = []
    address = {key: value for key, value in address.items() if key != "view" or value}
    for view in [address.get("view", "")] if address else views_of(page):
        folded = {f"{all_figures()[name].chart}_table": "true"}
        at = opened(page, **{**address, **folded, **({"view": view} if view else {})})
        assert not at.exception
        frames += [each.value for each in (*at.dataframe, *at.table)]
    return frames


@pytest.fixture(autouse=True)
def folders(head_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(head_folder))
    monkeypatch.setenv("INSIDE_BERT_CORPORA_DIR", str(head_folder / "corpora"))
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)


@pytest.mark.parametrize("words", EVERY, ids=EVERY)
@pytest.mark.sample(2)
def test_the_table_of_the_page_is_that_of_the_command_and_the_library(
    words: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, texts, page, address = EVERY[words]
    name, *options = shlex.split(words.partition(" # ")[0])
    if name == "blocks":
        monkeypatch.setattr(sentences, "EVERY_PAIR", 2)
    values = settings(options)
    task, pair = values.pop("task", None), values.pop("pair", None)
    table = open_model(model, task=task).table(name, *texts, pair=pair, **values)
    assert len(table) > 0
    assert same_table(written(command, name, (model, *texts), options, tmp_path / "a.csv"), table)
    more = {"sentences": "\n".join(texts)} if page == "sentences" and "sentences" not in address else {}
    frames = shown(name, page, {**address, **more})
    assert any(same_table(each, table) for each in frames) != (name in CHOSEN), [list(each) for each in frames]


@pytest.mark.parametrize("words", OF_FOLDERS, ids=OF_FOLDERS)
@pytest.mark.sample(1)
def test_the_table_of_a_folder_is_that_of_the_command(
    words: str, command: Command, head_folder: Path, tmp_path: Path
) -> None:
    (page, view), (name, *options) = OF_FOLDERS[words], shlex.split(words)
    folder = head_folder / ("corpora/mine" if page == "corpus" else "my-run")
    text = [options.pop(0)] if options and not options[0].startswith("--") else []
    table = written(command, name, (str(folder), *text), options, tmp_path / "a.csv")
    query = {"view": view, "corpus_query": "".join(text)}
    frames = shown(name, page, {**query, **settings(options)})
    assert table.empty or any(same_table(each, table) for each in frames), [list(each) for each in frames]


def test_every_view_with_a_table_is_among_them() -> None:
    """Every view has a figure whose table is compared, or a reason."""
    tried = {(page, at.get("view") or views_of(page)[0]) for _, _, page, at in EVERY.values() if at}
    tried |= {(page, view) for _, _, page, at in EVERY.values() if not at for view in views_of(page)}
    every = {(page, view) for page in PAGES for view in views_of(page)}
    assert every - tried - set(OF_FOLDERS.values()) == set(ELSEWHERE)
