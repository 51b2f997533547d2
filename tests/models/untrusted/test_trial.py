"""A stranger's config is built in a process under limits before it is built here; the verdict is kept.

Covers `bertviz_core/models/untrusted/trial.py`, `bertviz_core/architecture/facts/trial.py`.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bertviz_core.architecture.facts import bundled
from bertviz_core.architecture.facts.derive import model_facts
from bertviz_core.errors import BusyError, CheckpointError, UnsupportedModelError
from bertviz_core.models import catalog
from bertviz_core.models.skeleton import build_skeleton
from bertviz_core.models.sources import trusted_configs
from bertviz_core.models.untrusted import trial
from bertviz_core.sandbox.run import ChildError, ChildTimeoutError
from bertviz_core.sandbox.worker import Worker
from bertviz_core.settings import Settings

SETTINGS = replace(Settings.from_environment(), isolate_models=True, max_modules=60)
TINY = {"model_type": "bert", "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 20}


@pytest.fixture
def required() -> Iterator[None]:
    trial.require_trials(SETTINGS, trusted_configs())
    yield
    trial.require_trials(replace(SETTINGS, isolate_models=False), ())


@pytest.mark.usefixtures("required")
def test_what_passed_is_built_and_what_did_not_is_one_sentence_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = {**TINY, "num_hidden_layers": 1}, {**TINY, "num_hidden_layers": 9}
    assert len(list(build_skeleton("small", small).modules())) < 60
    refusals = []
    for _ in range(2):
        with pytest.raises(CheckpointError, match="more than 60 modules .INSIDE_BERT_MAX_MODULES") as refusal:
            build_skeleton("large", large)
        refusals.append(str(refusal.value))
        monkeypatch.setattr(Worker, "ask", lambda *_: pytest.fail("tried again"))
    assert refusals[0] == refusals[1]
    build_skeleton("small", {**small, "id2label": {"0": "yes", "1": "no"}})
    known = catalog.find("bert-tiny")
    assert known is not None
    build_skeleton("known", known.config)


@pytest.mark.usefixtures("required")
def test_a_refusal_of_the_family_keeps_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def refuse(_worker: Worker, request: bytes) -> bytes:
        asked.append(request)
        raise UnsupportedModelError("No such class.")

    monkeypatch.setattr(Worker, "ask", refuse)
    for _ in range(2):
        with pytest.raises(UnsupportedModelError, match="No such class"):
            build_skeleton("small", {**TINY, "num_hidden_layers": 2})
    assert len(asked) == 1


def test_nothing_is_tried_where_no_one_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Worker, "ask", lambda *_: pytest.fail("tried"))
    build_skeleton("small", {**TINY, "num_hidden_layers": 1})


@pytest.mark.usefixtures("required")
def test_what_the_process_read_off_the_modules_is_not_read_here_again(monkeypatch: pytest.MonkeyPatch) -> None:
    config = {**TINY, "num_hidden_layers": 2}
    expected = model_facts("small", config, "masked-lm")
    monkeypatch.setattr(bundled, "model_facts", lambda *_: pytest.fail("read again"))
    assert bundled.facts_of("small", config, "masked-lm") == expected
    images = {"model_type": "vit", "num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 2}
    with pytest.raises(UnsupportedModelError, match="'pictures' .vit. cannot be run"):
        bundled.facts_of("pictures", images, "base")


@pytest.mark.usefixtures("required")
def test_a_refusal_names_the_model_that_was_asked_for() -> None:
    large = {**TINY, "num_hidden_layers": 9}
    for name in ("one", "another"):
        with pytest.raises(CheckpointError, match=f"'{name}'"):
            build_skeleton(name, large)


@pytest.mark.usefixtures("required")
def test_what_a_busy_machine_did_not_build_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def too_late(_worker: Worker, request: bytes) -> bytes:
        asked.append(request)
        raise ChildTimeoutError("that takes more than 60 seconds")

    monkeypatch.setattr(Worker, "ask", too_late)
    for _ in range(2):
        with pytest.raises(CheckpointError, match="more than 60 seconds"):
            build_skeleton("small", {**TINY, "num_hidden_layers": 1, "hidden_size": 4})
    assert len(asked) == 2


def test_who_finds_all_processes_at_work_is_told_so() -> None:
    trials = trial.Trials(replace(SETTINGS, max_children=1), ())
    trials._wait_s = 0.0
    busy = trials._taken()
    with pytest.raises(BusyError, match="try again in a minute"):
        trials.told("small", TINY, "base")
    trials._workers.put(busy)
    assert trials._taken() is busy


def test_what_was_told_is_kept_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "KEPT_NBYTES", 100)
    monkeypatch.setattr(Worker, "ask", lambda *_: b"x" * 40)
    trials = trial.Trials(SETTINGS, ())
    for layers in range(5):
        assert trials.told("small", {**TINY, "num_hidden_layers": layers}, "base") == b"x" * 40
    assert len(trials._verdicts) == 2


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
    trials = trial.Trials(replace(SETTINGS, max_children=2), ())
    trials.warm()
    assert trials._taken() is ready[0]
    assert trials._taken() is not ready[0]
