"""A folder of corpora offers its direct subfolders, and opens nothing outside by a link."""

from dataclasses import replace
from pathlib import Path

import pytest

from bertviz_core.corpus.corpora_folder import corpus_folder, corpus_names, stamp
from bertviz_core.corpus.folder import open_corpus
from bertviz_core.errors import CorpusError
from bertviz_core.settings import Settings
from tests.helpers.made_corpora import ROWS, made_corpus


@pytest.fixture
def places(settings: Settings, tmp_path: Path) -> Settings:
    """Settings with a folder of two corpora."""
    root = tmp_path / "corpora"
    made_corpus(root / "b")
    made_corpus(root / "a")
    (root / "no corpus").mkdir()
    (root / "file").write_text("")
    return replace(settings, corpora_dir=root)


def test_corpora_are_offered_by_name_and_opened(places: Settings) -> None:
    assert corpus_names(places) == ("a", "b")
    assert open_corpus(corpus_folder("b", places)).rows == ROWS
    assert corpus_names(replace(places, corpora_dir=places.corpora_dir / "absent")) == ()


def test_a_link_to_itself_hides_no_other_corpus(places: Settings) -> None:
    (places.corpora_dir / "loop").symlink_to("loop")
    assert corpus_names(places) == ("a", "b")


@pytest.mark.parametrize("name", ["c", "../a", "/", "", "a/../b", "no corpus", "x" * 5_000, "a\0b", "."])
def test_other_names_are_refused_in_a_sentence(places: Settings, name: str) -> None:
    with pytest.raises(CorpusError, match="There is no corpus .* there is 'a', 'b'"):
        corpus_folder(name, places)


@pytest.mark.parametrize("inner", ["", "manifest.json", "shards", "shards/part-00001.parquet", "vectors.npy"])
def test_a_link_out_of_the_folder_is_refused(places: Settings, tmp_path: Path, inner: str) -> None:
    (tmp_path / "outside").mkdir()
    inside = places.corpora_dir / "a" / inner if inner else places.corpora_dir / "a"
    outside = tmp_path / "outside" / "moved"
    if inside.exists():
        inside.rename(outside)
    else:
        outside.write_bytes(b"")
    inside.symlink_to(outside)
    with pytest.raises(CorpusError, match="is a link out of the folder of corpora"):
        corpus_folder("a", places)


@pytest.mark.parametrize("name", ["index.json", "vectors.npy", "shards/part-00001.parquet"])
def test_a_link_to_itself_is_refused(places: Settings, name: str) -> None:
    path = places.corpora_dir / "a" / name
    path.unlink(missing_ok=True)
    path.symlink_to(path.name)
    with pytest.raises(CorpusError, match="is a link .* to itself"):
        corpus_folder("a", places)


def test_a_link_that_stays_inside_is_followed(places: Settings) -> None:
    (places.corpora_dir / "again").symlink_to(places.corpora_dir / "a")
    assert open_corpus(corpus_folder("again", places)).rows == ROWS


def test_the_stamp_changes_when_a_file_does(places: Settings) -> None:
    folder = corpus_folder("a", places)
    before = stamp(folder)
    assert stamp(folder) == before
    shard = folder / "shards" / "part-00001.parquet"
    shard.write_bytes(shard.read_bytes() + b" ")
    changed = stamp(folder)
    assert changed != before
    shard.unlink()
    assert len(stamp(folder)) == len(changed) - 1


def test_a_corpus_of_more_shards_has_no_more_paths_to_follow(places: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page looks for its corpus in every run, and following a path takes twenty times as long as listing it."""
    made_corpus(places.corpora_dir / "many", rows=200, rows_per_shard=2, shards=100)
    counts, resolve = [], Path.resolve

    def counting(self: Path, strict: bool = False) -> Path:
        counts[-1] += 1
        return resolve(self, strict)

    monkeypatch.setattr(Path, "resolve", counting)
    for name in ("a", "many"):
        counts.append(0)
        corpus_folder(name, places)
    assert counts[0] == counts[1]
