"""A batch of sentences through the model, and their vectors; the model is taken only while it runs."""

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bertviz_core.errors import BertvizError, TextError, UnsupportedModelError
from bertviz_core.hidden_states import unit
from bertviz_core.loading import LoadedModel
from bertviz_core.results.sentences import Pooling, SentenceDtype, SentencePlan
from bertviz_core.sentence_batches import SentenceRow
from bertviz_core.sentence_dense import applied
from bertviz_core.sentence_pooling import pooled, token_mask
from bertviz_core.skeleton import first_line
from bertviz_core.trace import RUN_LOCK
from bertviz_core.trace_inputs import model_inputs, prepared

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel


def plan_layer(loaded: LoadedModel, plan: SentencePlan) -> int:
    """Entry of hidden_states that a plan pools.

    Raises:
        TextError: the model has no such entry, or the pooler is asked for below the last.
        UnsupportedModelError: the model has no pooler.
    """
    last = loaded.num_hidden_layers
    layer = last if plan.layer is None else plan.layer
    if not 0 <= layer <= last:
        raise TextError(f"There is no layer {layer} in {loaded.name!r}; give 0 (the embedding output) to {last}.")
    if plan.pooling == "pooler":
        if not loaded.has_pooler:
            raise UnsupportedModelError(f"{loaded.name!r} has no pooler; choose mean, cls or max.")
        if layer != last:
            raise TextError(f"The pooler reads the last layer ({last}) only; choose that, or mean, cls or max.")
    return layer


def fast_bfloat16(device: str) -> bool:
    """Whether this machine computes in bfloat16 quicker than in float32: by its own instructions, not by detours."""
    import torch

    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device != "cpu":
        return False
    has = torch.cpu.get_capabilities()
    return any(bool(has.get(name)) for name in ("avx512_bf16", "amx_bf16", "bf16"))


class SentenceRun:
    """A model made ready to turn batches of tokenized sentences into vectors by one plan."""

    def __init__(self, loaded: LoadedModel, plan: SentencePlan, dtype: SentenceDtype, skipped: int) -> None:
        """Converts the weights where another format is asked for.

        Args:
            loaded: the model, in float32.
            plan: how a sentence becomes a vector.
            dtype: number format of the run.
            skipped: tokens at the beginning of every sentence that are not pooled.
        """
        if loaded.dtype != "float32":
            raise ValueError(f"a model in {loaded.dtype}; load it in float32")
        self._loaded, self._plan, self._skipped = loaded, plan, skipped
        self._layer = plan_layer(loaded, plan)
        self._model = loaded.model if dtype == "float32" else _in_bfloat16(loaded.model)

    def vectors(self, batch: Sequence[SentenceRow]) -> Any:
        """The vectors of a batch, (batch, dimensions) float32.

        Raises:
            BertvizError: as bertviz_core.sentences.sentence_vectors.
        """
        import torch

        plan, inside = self._plan, self._layer < self._loaded.num_hidden_layers
        inputs = model_inputs(self._loaded, batch)
        with RUN_LOCK, torch.inference_mode():
            output, mask = self._forward(inputs, batch, states=inside)
            if plan.pooling == "pooler":
                found = output["pooler_output"].float()
            else:
                hidden = output["hidden_states"][self._layer] if inside else output["last_hidden_state"]
                found = pooled(hidden, mask, plan.pooling)
            vectors = applied(found.cpu().numpy(), plan.dense)
        return (unit(vectors) if plan.normalize else vectors)[:, : plan.truncate_dim]

    def all_layers(self, batch: Sequence[SentenceRow], poolings: Sequence[Pooling], layers: Sequence[int]) -> Any:
        """The bare vectors under every pooling and layer, (poolings, layers, batch, hidden); NaN where there is none.

        Raises:
            BertvizError: as `vectors`.
        """
        import torch

        inputs = model_inputs(self._loaded, batch)
        last = self._loaded.num_hidden_layers
        with RUN_LOCK, torch.inference_mode():
            output, mask = self._forward(inputs, batch, states=True)
            states = output["hidden_states"]
            found = np.full((len(poolings), len(layers), len(batch), states[0].shape[-1]), np.nan, dtype=np.float32)
            for row, pooling in enumerate(poolings):
                for column, layer in enumerate(layers):
                    if pooling != "pooler":
                        found[row, column] = pooled(states[layer], mask, pooling).cpu().numpy()
                    elif layer == last and output["pooler_output"].shape[-1] == found.shape[-1]:
                        found[row, column] = output["pooler_output"].float().cpu().numpy()
        return found

    def _forward(
        self, inputs: "Mapping[str, torch.Tensor]", batch: Sequence[SentenceRow], states: bool
    ) -> "tuple[Mapping[str, Any], torch.Tensor]":
        """What the model gives, and which of its tokens are pooled."""
        import torch

        loaded, seq = self._loaded, inputs["input_ids"].shape[1]
        prepared(self._model, seq)
        try:
            output = self._model(**inputs, output_hidden_states=states, return_dict=True)
        except (torch.OutOfMemoryError, MemoryError) as error:
            raise TextError(f"A sentence is too long for the memory of this machine ({first_line(error)}).") from error
        except BertvizError:
            raise
        except Exception as error:  # the library raises whatever a missing input leads to
            raise UnsupportedModelError(
                f"{loaded.name!r} ({loaded.model_type}) cannot be run on a text alone: {first_line(error)}"
            ) from error
        shapes = {tuple(state.shape) for state in (*(output.get("hidden_states") or ()), output["last_hidden_state"])}
        if len(shapes) > 1 or shapes.pop()[:2] != (len(batch), seq):
            raise UnsupportedModelError(f"{loaded.name!r} ({loaded.model_type}) does not keep one vector per token.")
        lengths = torch.tensor([len(row) for row in batch], device=output["last_hidden_state"].device)
        return output, token_mask(lengths, seq, self._skipped)


def _in_bfloat16(model: "PreTrainedModel") -> "PreTrainedModel":
    """A converted copy; quicker than autocast, which converts the weights anew in every batch."""
    import torch

    with RUN_LOCK:
        converted: PreTrainedModel = copy.deepcopy(model).to(torch.bfloat16).eval()
    return converted
