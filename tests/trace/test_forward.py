"""Whatever a model does or returns, readers get numbers or one message."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedConfig, PreTrainedModel, T5GemmaConfig, T5GemmaModel
from transformers.modeling_outputs import BaseModelOutput

from bertviz_core.errors import SupersededError, TextError, UnsupportedModelError
from bertviz_core.models.loading import LoadedModel, load_model
from bertviz_core.models.sources import folder_source
from bertviz_core.sentences.encoding import SentenceRow, SentenceRun
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.settings import Settings
from bertviz_core.trace.run import trace
from bertviz_core.trace.verification import forward, hidden_states
from tests.helpers.made_traces import tokens_of
from tests.helpers.tiny_models import HIDDEN, tiny_model

STATES = torch.zeros(1, 3, HIDDEN)
INPUTS = {"input_ids": torch.ones(1, 3, dtype=torch.long)}


def misbehaving(answer: Any) -> LoadedModel:
    """A model that returns or raises this."""
    module = tiny_model("bert")

    class Misbehaving(type(module)):
        def forward(self, **_inputs: Any) -> Any:
            if isinstance(answer, BaseException):
                raise answer
            return answer

    module.__class__ = Misbehaving
    return LoadedModel("odd", "r", "bert", module, "cpu", "float32", True, "eager", ())


ANSWERS = {
    "a tuple": (STATES,),
    "nothing": None,
    "no hidden states": BaseModelOutput(last_hidden_state=STATES),
    "nested hidden states": {"hidden_states": {"text": STATES}},
    "hidden states of another rank": {"hidden_states": (STATES[0], STATES[0])},
    "hidden states that are none": {"hidden_states": (None, None)},
    "no states": {"hidden_states": ()},
    "a missing argument": TypeError("forward() missing 1 required positional argument: 'query_embeds'"),
    "an attribute of nothing": AttributeError("'NoneType' object has no attribute 'shape'"),
    "a key": KeyError("input_ids"),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_odd_answer_is_refused_in_a_sentence(answer: Any) -> None:
    with pytest.raises(UnsupportedModelError, match="odd") as refused:
        trace(misbehaving(answer), tokens_of(3))
    assert "\n" not in str(refused.value)


def refused_by_torch() -> RuntimeError:
    """The error of torch if memory of a CPU cannot be allocated."""
    with pytest.raises(RuntimeError) as refused:
        torch.empty(2**62, dtype=torch.uint8)
    return refused.value


@pytest.mark.parametrize("error", [MemoryError("16 GiB"), torch.OutOfMemoryError("16 GiB"), refused_by_torch()])
def test_a_lack_of_memory_is_no_fault_of_the_model(error: Exception) -> None:
    loaded = misbehaving(error)
    with pytest.raises(TextError, match="too long for the memory of this machine"):
        forward(loaded, INPUTS)
    loaded.device = "cuda:1"
    with pytest.raises(TextError, match="too long for the memory of cuda:1"):
        forward(loaded, INPUTS)


def test_the_end_of_a_run_that_nobody_wants_goes_through() -> None:
    with pytest.raises(SupersededError):
        forward(misbehaving(SupersededError()), INPUTS)


@pytest.mark.parametrize("attentions", [{"local": STATES}, (None,), (STATES,), 5])
def test_maps_of_another_kind_are_no_maps(attentions: Any) -> None:
    found = trace(misbehaving({"hidden_states": (STATES, STATES), "attentions": attentions}), tokens_of(3))
    assert found.attention_source == "none"


def test_a_pooler_that_gives_nothing_is_refused_in_a_sentence() -> None:
    model = misbehaving({"hidden_states": (STATES, STATES), "last_hidden_state": STATES})
    model.attention_source = "none"
    row = SentenceRow(np.arange(3), None, {}, truncated=False)
    with pytest.raises(UnsupportedModelError, match="no output of its pooler"):
        SentenceRun(model, SentencePlan("pooler"), "float32", 0).vectors([row])


def test_what_a_model_needs_beside_the_tokens_is_named() -> None:
    class Perceiver(PreTrainedModel):
        def forward(self, inputs: Any, input_ids: Any = None, **more: Any) -> Any:
            raise AssertionError("never run")

    loaded = LoadedModel("odd", "r", "perceiver", Perceiver(PreTrainedConfig()), "cpu", "float32", False, "none", ())
    with pytest.raises(UnsupportedModelError, match="cannot be run on a text alone: it needs inputs"):
        forward(loaded, INPUTS)


def test_the_encoder_of_t5gemma_is_run(tmp_path: Path) -> None:
    """Its encoder class needs a config that declares the decoder absent."""
    torch.manual_seed(0)
    half = {
        "vocab_size": 67, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "head_dim": 6,
        "num_key_value_heads": 1, "intermediate_size": 14, "max_position_embeddings": 40,
    }  # fmt: skip
    whole = T5GemmaModel(T5GemmaConfig(encoder=half, decoder=half, vocab_size=67)).eval()
    whole.save_pretrained(tmp_path)
    found = trace(load_model(folder_source("tiny", tmp_path), Settings.from_environment()), tokens_of(5))
    with torch.inference_mode():
        ids = torch.tensor(tokens_of(5).input_ids)[None]
        own = whole.get_encoder()(input_ids=ids, attention_mask=torch.ones_like(ids))
    np.testing.assert_allclose(found.hidden_states[-1], own.last_hidden_state[0].numpy(), atol=1e-5)


def test_a_class_without_a_last_hidden_state_gives_the_last_of_its_states() -> None:
    model = misbehaving({"hidden_states": (STATES, STATES + 2), "pooler_output": torch.zeros(1, HIDDEN)})
    model.attention_source = "none"
    assert torch.equal(hidden_states(model, forward(model, INPUTS))[-1], STATES + 2)
    run = SentenceRun(model, SentencePlan("mean"), "float32", 0)
    row = SentenceRow(np.arange(3), None, {}, truncated=False)
    assert (run.vectors([row]) == 2).all()
