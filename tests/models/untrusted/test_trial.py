"""A stranger's config is built in a process under limits before it is built here; the verdict is kept.

Covers `bertviz_core/models/untrusted/trial.py`, `bertviz_core/architecture/facts/trial.py`.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bertviz_core.errors import CheckpointError, UnsupportedModelError
from bertviz_core.models import catalog
from bertviz_core.models.skeleton import build_skeleton
from bertviz_core.models.sources import trusted_configs
from bertviz_core.models.untrusted import trial
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
