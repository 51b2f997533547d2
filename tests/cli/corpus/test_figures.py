"""`figure corpus-...`: figures of a corpus show the results of the functions for the same folder and settings.

Covers `bertviz_core/questions/corpora.py`.
"""

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertviz_core.corpus.analysis.clusters import corpus_clusters, map_density, whole_window
from bertviz_core.corpus.analysis.duplicates import column_values, duplicate_groups
from bertviz_core.corpus.analysis.projection import corpus_map
from bertviz_core.corpus.folder import Corpus
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import LIGHT
from bertviz_core.models.catalog import BUNDLED, WEIGHTS
from bertviz_core.questions.figures import all_figures
from tests.cli.conftest import Command
from tests.helpers.made_corpora import made_corpus

MODEL, QUERY = "all-MiniLM-L6-v2", "A bank of the river."
CASES = (
    "corpus-search 'A bank of the river.' --set hits=3 --set where=kind=a",
    "corpus-map --set coloured=kind",
    "corpus-duplicates --set alike=0.5",
    "corpus-clusters --set clusters=3",
    "corpus-heads --set measure=distance --set sample=6 --set part_column=kind --set part=a",
    "corpus-probe --set probe_labels=kind --set probe_sample=24",
    "corpus-neighbours --set neighbour_model=splade-tiny --set neighbour_count=5 --set neighbour_rows=30",
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    sha = BUNDLED[MODEL].digests[WEIGHTS]
    place = tmp_path_factory.mktemp("corpora") / "mine"
    return made_corpus(place, dimensions=384, rows=40, rows_per_shard=25, shards=2, weights_sha256=sha)


def expected(name: str, corpus: Corpus) -> Any:
    """The numbers of a figure's first trace; None if only its texts are compared."""
    vectors = corpus.vectors()
    if name == "corpus-map":
        points = corpus_map(vectors).points
        density = map_density(points, whole_window(points), column_values(corpus.column("kind")))
        return (density.majority == 0).astype(int)
    if name == "corpus-duplicates":
        return np.unique(duplicate_groups(vectors, 0.5).sizes, return_counts=True)[1]
    if name == "corpus-clusters":
        return corpus_clusters(vectors, "k-means", 3).sizes
    return None


@pytest.mark.sample(2)
@pytest.mark.parametrize("words", CASES, ids=lambda words: words.split()[0])
def test_a_file_shows_what_the_functions_give(
    words: str, corpus: Corpus, command: Command, drawn_figures: list[FigureSpec], tmp_path: Path
) -> None:
    name, *options = shlex.split(words)
    done = command("figure", name, str(corpus.path), *options, "-o", str(tmp_path / "a.svg"))
    assert done.returncode == 0, done.stderr
    figure, numbers = drawn_figures[0].drawn(LIGHT), expected(name, corpus)
    trace = figure.data[0]
    if numbers is not None:
        shown = {"corpus-map": "z", "corpus-duplicates": "y", "corpus-clusters": "x"}[name]
        np.testing.assert_array_equal(np.asarray(getattr(trace, shown)), numbers)
    if name == "corpus-search":
        assert (len(trace.x), "Only rows with kind=a." in drawn_figures[0].caption) == (3, True)
    if name == "corpus-heads":
        assert np.asarray(trace.z).shape == (6, 12)
        assert "kind: a" in drawn_figures[0].title
    if name == "corpus-neighbours":
        assert (len(trace.x), int(np.sum(trace.y))) == (6, 30)
    if name == "corpus-probe":
        assert list(trace.x) == list(range(7))
    assert done.stderr.endswith("a.svg.\n")


def test_every_figure_of_a_corpus_is_tried() -> None:
    assert {words.split()[0] for words in CASES} == {name for name in all_figures() if name.startswith("corpus-")}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("corpus-search", "none came"),
        ("corpus-map --set coloured=colour", "no column 'colour'"),
        ("corpus-duplicates --set alike=much", "alike=much is no number"),
        ("corpus-duplicates --set alike=0.1", "give a cosine from 0.5 to 1"),
        ("corpus-clusters --set clustering=tree", "k-means, HDBSCAN"),
        ("corpus-heads --set sample=3 --set part=x", "There is no --set part=x"),
        ("corpus-probe", "probe_labels=COLUMN"),
        ("corpus-neighbours --set neighbour_rows=2", "give 3 to 5,000"),
        ("corpus-neighbours --set neighbour_count=0", "give 1 to 100"),
    ],
)
def test_a_wrong_setting_is_refused_in_one_line(
    words: str, message: str, corpus: Corpus, command: Command, tmp_path: Path
) -> None:
    name, *options = shlex.split(words)
    done = command("figure", name, str(corpus.path), *options, "-o", str(tmp_path / "a.svg"))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr.splitlines()[-1]
    assert not (tmp_path / "a.svg").exists()


def test_no_corpus_is_refused(command: Command, tmp_path: Path) -> None:
    done = command("figure", "corpus-map", MODEL, "-o", str(tmp_path / "a.svg"))
    assert done.returncode == 2
    assert "is no corpus folder" in done.stderr
