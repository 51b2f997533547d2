"""A small simulation measures every part that it names; its works run in this process, too.

Covers `benchmarks/corpus/works.py`.
"""

import json
import sys
from pathlib import Path

import pytest

from benchmarks.corpus import works
from benchmarks.corpus.simulate import PARTS, Sizes, growths
from tests.helpers.made_corpora import ROWS, made_corpus

SMALL = Sizes.upto(2_000)._replace(corpora=(100, 200), planned=(1, 10), opened=(2, 20), points=(1_000, 10_000))


def test_sizes_ascend_and_are_in_proportion() -> None:
    for sizes in Sizes.upto(1_000_000):
        assert sizes == tuple(sorted(set(sizes)))
    assert Sizes.upto(1_000_000).corpora[-1] == 1_000_000
    assert Sizes.upto(2_000_000).opened[-1] == 2 * Sizes.upto(1_000_000).opened[-1]


def test_what_a_work_takes_is_measured() -> None:
    used = works.grown(lambda: bytearray(64 * 1024**2))
    assert used["nbytes"] >= 60 * 1024**2
    assert used["clock"] > 0
    assert works.grown(lambda: None)["nbytes"] < 1024**2


@pytest.mark.parametrize("name", ["search", "search_from_disk", "filter", "pca", "join"])
def test_a_work_on_a_corpus_prints_its_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    made_corpus(tmp_path / "corpora" / "one").vectors()
    monkeypatch.setattr(sys, "argv", ["works", name, str(tmp_path / "corpora" / "one")])
    works.main()
    assert json.loads(capsys.readouterr().out)["seconds"] >= 0


def test_an_index_is_measured_with_its_recall(tmp_path: Path) -> None:
    made_corpus(tmp_path / "one").vectors()
    found = works.index(str(tmp_path / "one"), str(ROWS // 2))
    assert found["file"] > 0
    assert 0 < found["recall"] <= 1


@pytest.mark.slow
def test_the_parts_without_long_works_are_driven() -> None:
    found = growths(SMALL, ("planning", "opening", "density"))
    assert {name: growth.sizes for name, growth in found.items()} == {
        "planning seconds": SMALL.corpora,
        "planning seconds by shards": SMALL.planned,
        "memory of planned shards": SMALL.planned,
        "opening seconds": SMALL.opened,
        "opening memory": SMALL.opened,
        "finding seconds": SMALL.opened,
        "density seconds": SMALL.points,
        "density memory": SMALL.points,
    }
    assert set(PARTS) == {"embedding", "planning", "opening", "corpora", "few rows", "density"}
