"""An untrusted config is built in a process with limits before it is built here; the verdict is cached.

Covers `bertviz_core/isolation/config_trials.py`, `bertviz_core/isolation/pool.py`,
`bertviz_core/settings.py`, `bertviz_core/architecture/dataflow/derive.py`.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from bertviz_core.architecture.dataflow import derive
from bertviz_core.architecture.dataflow.derive import model_facts
from bertviz_core.architecture.module_tree import module_tree
from bertviz_core.checkpoints.load_report.report import source_load_report
from bertviz_core.checkpoints.load_report.task_heads import source_head_difference
from bertviz_core.errors import BertvizError, BusyError, CheckpointError, UnsupportedModelError
from bertviz_core.isolation import config_trials, pool
from bertviz_core.isolation.pool import Pool, Verdicts
from bertviz_core.isolation.run import ChildError, ChildTimeoutError, Limits
from bertviz_core.isolation.worker import Worker
from bertviz_core.models import catalog
from bertviz_core.models.loading import load_model
from bertviz_core.models.skeleton import build_skeleton
from bertviz_core.models.sources import ModelSource, resolve
from bertviz_core.parameters.ledger import config_ledger
from bertviz_core.settings import OpenedConfig, Settings, Terms
from tests.helpers.tiny_models import save_tiny

SETTINGS = replace(Settings.from_environment(), isolate_models=True, max_modules=60)
TINY = {"model_type": "bert", "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 20}


def strangers(**entries: Any) -> OpenedConfig:
    """An untrusted config, opened as where models are isolated."""
    return OpenedConfig({**TINY, **entries}, Terms(trial=SETTINGS))


@pytest.fixture(autouse=True)
def no_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_trials, "VERDICTS", Verdicts())


def small_pool(children: int = 1, wall_s: float = 1.0) -> Pool:
    limits = Limits(2**29, 1, wall_s, 1000, children)
    return Pool("", limits, lambda folder: str(folder).encode(), "All are busy; try again in a minute.")


def test_what_passed_is_built_and_what_did_not_is_one_sentence_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = strangers(num_hidden_layers=1), strangers(num_hidden_layers=9)
    assert len(list(build_skeleton("small", small).modules())) < 60
    refusals = []
    for _ in range(2):
        with pytest.raises(CheckpointError, match="more than 60 modules .INSIDE_BERT_MAX_MODULES") as refusal:
            build_skeleton("large", large)
        refusals.append(str(refusal.value))
        monkeypatch.setattr(Worker, "ask", lambda *_: pytest.fail("tried again"))
    assert refusals[0] == refusals[1]
    build_skeleton("small", strangers(num_hidden_layers=1, id2label={"0": "yes", "1": "no"}))


@pytest.mark.slow
def test_libraries_that_map_much_leave_as_much_for_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build of torch for CUDA maps several gigabytes when it is imported; here eight are mapped at the start."""
    (tmp_path / "sitecustomize.py").write_text("import mmap\nmapped = mmap.mmap(-1, 2**33, prot=mmap.PROT_READ)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(config_trials, "trials_of", config_trials.trials_of.__wrapped__)
    assert len(list(build_skeleton("small", strangers(num_hidden_layers=1)).modules())) < 60


def test_a_refusal_of_the_family_keeps_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = []

    def refuse(_worker: Worker, request: bytes) -> bytes:
        requests.append(request)
        raise UnsupportedModelError("No such class.")

    monkeypatch.setattr(Worker, "ask", refuse)
    for _ in range(2):
        with pytest.raises(UnsupportedModelError, match="No such class"):
            build_skeleton("small", strangers(num_hidden_layers=2))
    assert len(requests) == 1


def test_only_a_strangers_config_is_tried_and_only_where_the_settings_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder's config is tried, unless it is one of the catalogue with any labels; a caller's own mapping is not."""
    monkeypatch.setattr(Worker, "ask", lambda *_: pytest.fail("tried"))
    build_skeleton("small", {**TINY, "num_hidden_layers": 1})
    known = catalog.find("bert-tiny")
    assert known is not None
    save_tiny("bert", tmp_path / "stranger")
    save_tiny("bert", tmp_path / "known")
    settings = replace(SETTINGS, models_dir=tmp_path, allow_hub=False)
    (tmp_path / "known" / "config.json").write_bytes(orjson.dumps({**known.config, "id2label": {"0": "a", "1": "b"}}))
    for name, isolates, tried in (
        *((name, True, False) for name in ("all-MiniLM-L6-v2", "bert-base-uncased", "known")),
        ("stranger", True, True),
        ("stranger", False, False),
    ):
        chosen = replace(settings, isolate_models=isolates)
        config = resolve(name, chosen).config
        assert isinstance(config, OpenedConfig)
        assert config.terms.trial == (chosen if tried else None), name
        if name == "known":
            build_skeleton(name, config)


DOORS: dict[str, Callable[[ModelSource, Settings], object]] = {
    "modules": lambda source, _: module_tree(source.name, source.config),
    "facts": lambda source, _: derive.facts_of(source.name, source.config, "base"),
    "ledger": lambda source, _: config_ledger(source.name, source.config, "base"),
    "weights": load_model,
    "load report": lambda source, settings: source_load_report(source, "sequence-classification", settings, 3),
    "head": lambda source, _: source_head_difference(source, "sequence-classification", 3),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_tries_a_strangers_config_first(door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_tiny("bert", tmp_path / "stranger")
    settings = replace(SETTINGS, models_dir=tmp_path, allow_hub=False)
    source = resolve("stranger", settings)

    def refuse(_worker: Worker, _request: bytes) -> bytes:
        raise CheckpointError("Tried first.")

    monkeypatch.setattr(Worker, "ask", refuse)
    with pytest.raises(BertvizError, match="Tried first"):
        DOORS[door](source, settings)


def test_what_the_process_read_off_the_modules_is_not_read_here_again(monkeypatch: pytest.MonkeyPatch) -> None:
    config = strangers(num_hidden_layers=2)
    expected = model_facts("small", dict(config), "masked-lm")
    monkeypatch.setattr(derive, "model_facts", lambda *_: pytest.fail("read again"))
    assert derive.facts_of("small", config, "masked-lm") == expected
    images = strangers(model_type="vit", num_hidden_layers=1)
    with pytest.raises(UnsupportedModelError, match="'pictures' .vit. cannot be run"):
        derive.facts_of("pictures", images, "base")


def test_a_refusal_names_the_model_that_was_asked_for() -> None:
    large = strangers(num_hidden_layers=9)
    for name in ("one", "another"):
        with pytest.raises(CheckpointError, match=f"'{name}'"):
            build_skeleton(name, large)


def test_what_a_busy_machine_did_not_build_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = []

    def too_late(_worker: Worker, request: bytes) -> bytes:
        requests.append(request)
        raise ChildTimeoutError("that takes more than 60 seconds")

    monkeypatch.setattr(Worker, "ask", too_late)
    for _ in range(2):
        with pytest.raises(CheckpointError, match="more than 60 seconds"):
            build_skeleton("small", strangers(num_hidden_layers=1, hidden_size=4))
    assert len(requests) == 2


def test_who_finds_all_processes_at_work_is_told_so() -> None:
    made = small_pool(wall_s=0.0)
    busy = made._acquire()
    with pytest.raises(BusyError, match="try again in a minute"):
        made.ask(b"")
    made._workers.put(busy)
    assert made._acquire() is busy


def test_what_was_told_is_kept_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MAX_VERDICTS_NBYTES", 100)
    verdicts, requests = Verdicts(), []

    def answer(key: int) -> bytes:
        def ask() -> bytes:
            requests.append(key)
            return b"x" * 40

        return verdicts.of(key, ask, lambda error: CheckpointError(str(error)))

    assert {answer(key) for key in (0, 1, 2, 3, 4, 4, 3)} == {b"x" * 40}
    assert requests == [0, 1, 2, 3, 4]
    answer(2)
    assert requests[-1] == 2


def test_where_a_process_keeps_more_than_its_answer_only_failures_are_cached() -> None:
    verdicts = Verdicts()
    outcomes: list[bytes | Exception] = [b"one", b"two", ChildTimeoutError("too late"), b"three"]

    def ask() -> bytes:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def requests() -> bytes:
        return verdicts.of("key", ask, lambda error: CheckpointError(f"Not read: {error}."), failures_only=True)

    assert [requests(), requests()] == [b"one", b"two"]
    for _ in range(2):
        with pytest.raises(CheckpointError, match="Not read: too late"):
            requests()
    assert outcomes == [b"three"]


@pytest.mark.parametrize("fault", [None, ChildError("that takes more memory"), CheckpointError("no")])
def test_a_process_made_ready_goes_back_to_those_that_wait(
    fault: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready: list[Worker] = []

    def prepared(worker: Worker) -> bytes:
        ready.append(worker)
        if fault is not None:
            raise fault
        return b""

    monkeypatch.setattr(Worker, "prepared", prepared)
    made = small_pool(children=2)
    made.warm()
    assert made._acquire() is ready[0]
    assert made._acquire() is not ready[0]
