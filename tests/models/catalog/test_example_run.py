"""The example run is there on a fresh machine, as models and as a run, unless the reader has one of its name."""

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bertviz_core.checkpoints.training.folder import run_folder, run_names
from bertviz_core.errors import CheckpointError, ModelNotFoundError
from bertviz_core.models import catalog as example_run
from bertviz_core.models.catalog import (
    DIGESTS,
    EXAMPLE_FOLDER,
    EXAMPLE_RUN,
    OFFERED,
    TEXTS_FILE,
    example_offers,
    example_texts,
    verify_example,
)
from bertviz_core.models.sources import offers, resolve
from bertviz_core.predictions.run import stored_tasks
from bertviz_core.settings import DEFAULT_MODEL, Settings

MOST_NBYTES = 1_000_000


@pytest.fixture
def fresh(tmp_path: Path, settings: Settings) -> Settings:
    """Settings with an empty models folder."""
    return replace(settings, models_dir=tmp_path / "models", any_folder=False)


def test_every_file_is_listed_with_its_digest_and_none_is_large() -> None:
    files = {path.relative_to(EXAMPLE_FOLDER).as_posix(): path for path in EXAMPLE_FOLDER.rglob("*") if path.is_file()}
    assert {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()} == dict(DIGESTS)
    assert sum(path.stat().st_size for path in files.values()) < MOST_NBYTES


def test_its_checkpoints_are_models_with_classes(fresh: Settings) -> None:
    for name in OFFERED:
        source = resolve(name, fresh)
        assert (source.name, source.kind, source.has_weights, source.path) == (name, "example", True, "")
        assert source.config["id2label"] == {"0": "bad", "1": "good"}
        assert stored_tasks(source) == ("sequence-classification",)
        assert source.adapter is not None
        assert source.adapter.base.name == DEFAULT_MODEL
    listed = {offer.name: offer for offer in offers(fresh)}
    assert {(listed[name].readiness, listed[name].task) for name in OFFERED} == {("ready", "sequence-classification")}


def test_it_is_a_training_run(fresh: Settings) -> None:
    assert run_names(fresh) == (EXAMPLE_RUN,)
    assert run_folder(EXAMPLE_RUN, fresh) == EXAMPLE_FOLDER
    with pytest.raises(CheckpointError, match="it is a training run; choose one of its checkpoints"):
        resolve(EXAMPLE_RUN, fresh)


def test_a_run_of_its_name_in_the_models_folder_goes_before_it(fresh: Settings) -> None:
    own = fresh.models_dir / EXAMPLE_RUN
    shutil.copytree(EXAMPLE_FOLDER / "checkpoint-20", own / "checkpoint-20")
    assert run_names(fresh) == (EXAMPLE_RUN,)
    assert run_folder(EXAMPLE_RUN, fresh) == own
    assert resolve(f"{EXAMPLE_RUN}/checkpoint-20", fresh).folder == own / "checkpoint-20"
    assert example_offers(fresh) == ()
    with pytest.raises(ModelNotFoundError):
        resolve(OFFERED[0], fresh)


def test_the_list_looks_once_for_such_a_run(fresh: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run of every page makes the list twice; a look for each of its models took three quarters of that time."""
    looks: list[str] = []
    monkeypatch.setattr(example_run, "local_folder", lambda name, _: looks.append(name))
    assert len(offers(fresh)) > len(OFFERED)
    assert looks == [EXAMPLE_RUN]


def test_only_what_is_allowed_is_opened(fresh: Settings) -> None:
    chosen = replace(fresh, allowed_models=(DEFAULT_MODEL,))
    assert run_names(chosen) == ()
    assert not {offer.name for offer in offers(chosen)} & set(OFFERED)
    with pytest.raises(ModelNotFoundError, match="may not be opened"):
        resolve(OFFERED[0], chosen)


def test_a_file_that_was_changed_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / EXAMPLE_RUN
    shutil.copytree(EXAMPLE_FOLDER, copy)
    (copy / TEXTS_FILE).write_bytes(example_texts().replace(b"good", b"bad"))
    monkeypatch.setattr(example_run, "EXAMPLE_FOLDER", copy)
    verify_example.cache_clear()
    with pytest.raises(CheckpointError, match=rf"{TEXTS_FILE} of the example {EXAMPLE_RUN} has the SHA-256"):
        example_texts()
