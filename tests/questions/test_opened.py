"""Opened models and corpora: parts are loaded once, errors are messages, and both can be pickled."""

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from bertviz_core.errors import BertvizError, TextError
from bertviz_core.figures.base.export import Caption
from bertviz_core.questions.interventions.effects import effects, zero_effects
from bertviz_core.questions.models.architecture import modules
from bertviz_core.questions.models.checkpoints import behaviours
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer
from bertviz_core.questions.texts.hidden_states import run
from bertviz_core.questions.texts.journey import journey
from bertviz_core.settings import DEFAULT_MODEL, Settings
from tests.helpers.tiny_models import save_tiny
from tests.helpers.written_adapters import write_adapter

TEXT = "I love my pet python."
SETTINGS = Settings.from_environment(any_folder=True)


@pytest.fixture(scope="module")
def opened() -> OpenedModel:
    return OpenedModel(DEFAULT_MODEL, SETTINGS)


def test_parts_are_loaded_once(opened: OpenedModel) -> None:
    assert opened.loaded is opened.loaded
    assert opened.tokenizer is opened.tokenizer
    assert opened.other(DEFAULT_MODEL) is opened


def test_a_text_runs_once(opened: OpenedModel) -> None:
    first = run(opened, Options((TEXT,)))
    assert run(opened, Options((TEXT,))) is first
    assert first.texts == (TEXT, None)
    assert first.models == ((opened.source.name, opened.source.revision),)
    assert run(opened, Options((TEXT,), "A river.")).result.tokens.pair == "A river."


@pytest.mark.parametrize("asking", [modules, run, journey])
def test_captions_of_an_adapter_name_the_base_that_it_runs_merged_into(
    settings: Settings, asking: Callable[[OpenedModel, Options], Answer[object]]
) -> None:
    save_tiny("bert", settings.models_dir / "base")
    write_adapter(settings.models_dir / "mine", "base", settings.models_dir / "base", ("query",))
    opened = OpenedModel("mine", settings)
    caption = Caption("", asking(opened, Options((TEXT,))).models).line
    assert caption == f"Model: mine, revision {opened.source.revision}, an adapter that runs merged into base."


@pytest.mark.slow
def test_a_comparison_with_a_rounded_copy_leaves_the_model_as_it_is() -> None:
    opened = OpenedModel(DEFAULT_MODEL, SETTINGS)
    before = [weight.clone() for weight in opened.loaded.model.parameters()]
    copy = "itself, rounded to float8_e4m3fn"
    compared = behaviours(opened, Options((TEXT,), values={"other": copy})).result
    assert compared.cosines is not None
    assert compared.cosines.min() < 1 - 1e-4
    assert all(map(torch.equal, before, opened.loaded.model.parameters()))


def test_a_pickled_model_is_opened_again(opened: OpenedModel) -> None:
    again = pickle.loads(pickle.dumps(opened))  # the test's own bytes
    assert (again.name, again.task, again.device) == (opened.name, None, None)


def test_what_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(TextError, match="There is no device"):
        _ = OpenedModel(DEFAULT_MODEL, SETTINGS, device="abacus").settings
    with pytest.raises(BertvizError):
        _ = OpenedModel(str(tmp_path / "nothing"), SETTINGS).source


@pytest.mark.slow
def test_all_effects_do_not_measure_again_what_zero_ablation_has(opened: OpenedModel) -> None:
    options = Options((TEXT,), values={"target": "state:6,3,0"})
    alone = zero_effects(opened, options).result
    assert effects(opened, options).result.effects[0] is alone
