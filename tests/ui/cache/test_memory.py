"""Memory stays within its budgets: models, results and jobs are freed when no longer needed.

Covers `ui/cache/figures.py`, `ui/cache/models.py`.
"""

import gc
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
import torch

from bertviz_core.errors import Progress, TextError
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import folder_source
from bertviz_core.parameters.results import Ledger
from bertviz_core.questions.models.architecture import parameter_tree, parameters
from bertviz_core.questions.parameters import Options
from bertviz_core.resources import ByteCache
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import write_model
from ui.cache import figures as decorator
from ui.cache import models
from ui.cache.jobs import Job, JobBoard
from ui.cache.shared_model import SharedModel

ROOM = 10**6
NAMES = [f"m{number}" for number in range(5)]
SWITCHES = 60


def ledger(name: str) -> Ledger:
    return parameters(SharedModel(name), Options()).result


@pytest.fixture
def models_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(folder))
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")
    st.cache_resource.clear()
    gc.collect()
    gc.freeze()  # so that collections here do not visit objects of earlier tests
    yield folder
    st.cache_resource.clear()


@pytest.mark.slow
def test_switches_leave_no_more_than_what_the_budgets_hold(models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        save_tiny("bert", models_dir / name)
    one = sum(each.numel() * 4 for each in models.loaded(NAMES[0]).model.parameters())
    st.cache_resource.clear()
    monkeypatch.setenv("INSIDE_BERT_MAX_LOADED_BYTES", str(int(2.5 * one)))
    monkeypatch.setenv("INSIDE_BERT_MAX_CACHE_BYTES", "200000")
    used: list[weakref.ref[torch.nn.Module]] = []
    read: list[weakref.ref[Any]] = []
    for switch in range(SWITCHES):
        name = NAMES[switch % len(NAMES)]
        used.append(weakref.ref(models.loaded(name).model))
        ledger(name)
        parameter_tree(SharedModel(name), Options(values={"depth": "3"}))
        read.append(weakref.ref(models.tokens(name, f"I love my pet python {switch}", None).input_ids))
    gc.collect()
    assert len({id(model) for reference in used if (model := reference()) is not None}) == 2, "two fit the budget"
    memory = [reference() is not None for reference in read]
    assert memory[-1]
    assert not any(memory[: SWITCHES // 2]), "of results the last ones are cached"
    assert models.loaded_models().nbytes <= 2.5 * one
    assert decorator.results().nbytes <= 200_000


def test_a_model_is_gone_before_another_is_loaded_in_its_place(
    models_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in NAMES[:2]:
        save_tiny("bert", models_dir / name)
    first = models.loaded(NAMES[0]).model
    most = sum(each.numel() * 4 for each in first.parameters())
    st.cache_resource.clear()
    monkeypatch.setenv("INSIDE_BERT_MAX_LOADED_BYTES", str(int(1.5 * most)))
    first = models.loaded(NAMES[0]).model
    first.knows_itself = first
    gone = weakref.ref(first)
    del first
    loads: list[bool] = []
    monkeypatch.setattr(models, "load_model", lambda *arguments: loads.append(gone() is None) or load_model(*arguments))
    gc.disable()
    try:
        models.loaded(NAMES[1])
    finally:
        gc.enable()
    assert loads == [True]


def test_a_ledger_of_many_tensors_pushes_out_others_and_not_the_reverse(
    models_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSIDE_BERT_MAX_CACHE_BYTES", "1000000")
    for name in ("small", "large"):
        count = 5 if name == "small" else 1_200
        write_model(models_dir / name, {f"encoder.layer.0.part{i}.weight": (2, 3) for i in range(count)})
    small = ledger("small")
    assert ledger("small") is small
    large = ledger("large")
    assert decorator.results().nbytes > 300_000
    assert ledger("large") is large
    for other in range(8):
        write_model(models_dir / f"other{other}", {f"encoder.layer.0.part{i}.weight": (2, 3) for i in range(400)})
        ledger(f"other{other}")
    assert decorator.results().nbytes <= 1_000_000
    assert ledger("large") is not large


def test_arguments_that_begin_with_a_line_are_no_part_of_the_key(models_dir: Path) -> None:
    made: list[Any] = []

    @decorator.cached_by_bytes()
    def doubled(number: int, _how: list[int]) -> int:
        made.append(_how)
        return 2 * number

    assert [doubled(1, [1]), doubled(1, [2]), doubled(2, [3])] == [2, 2, 4]
    assert made == [[1], [3]]


class Large:
    """Represents a model that a job uses."""


def held_by_a_job(fails: bool) -> tuple[JobBoard[str], Job[str], "weakref.ref[Large]"]:
    board, large = JobBoard[str](10, len, ByteCache(ROOM)), Large()

    def work(progress: Progress) -> str:
        mine = large
        if fails:
            raise TextError(f"no {type(mine).__name__}")
        return "done"

    job = board.start("key", 1, work)
    return board, job, weakref.ref(large)


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
def test_a_job_that_has_ended_holds_nothing_of_its_work(fails: bool) -> None:
    board, job, large = held_by_a_job(fails)
    assert job.wait(20)
    for thread in threading.enumerate():  # its frame is freed a moment after it has signalled its end
        if thread.name == "job":
            thread.join(20)
    gc.collect()
    assert large() is None
    assert board.find("key") is job
    assert (job.error is not None) is fails


def test_a_loaded_model_keeps_its_weights_when_its_file_is_written_over(tmp_path: Path) -> None:
    folder = save_tiny("bert", tmp_path / "tiny")
    loaded = load_model(folder_source("tiny", folder), Settings.from_environment(any_folder=True))
    weights = {name: values.clone() for name, values in loaded.model.named_parameters()}
    with open(folder / "model.safetensors", "r+b") as file:
        file.write(bytes((folder / "model.safetensors").stat().st_size))
    assert weights
    assert all(torch.equal(values, weights[name]) for name, values in loaded.model.named_parameters())
