"""Value zeroing, and the attention of two models."""

import numpy as np
from jaxtyping import Float

from bertviz_core.attention.results import AttentionComparison, AttentionMap
from bertviz_core.errors import Progress, UnsupportedModelError, no_progress
from bertviz_core.lazy_imports import torch
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.recording import changing
from bertviz_core.models.skeleton import text_config
from bertviz_core.settings import MAX_BATCH_BYTES
from bertviz_core.text import escape_controls, quoted
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.two_tokenizers import same_parts
from bertviz_core.trace.verification import check_recording, forward, hidden_states, model_inputs, reset_model_state

RULE = (
    "The value of one token is set to zero in this layer, for all heads; a cell is the cosine distance that this moves "
    "another token's vector behind the layer, and each row is divided by its sum (Mohebbi et al. 2023, section 3)."
)
NUMBER_NBYTES = 4


def value_zeroing(
    loaded: LoadedModel, tokens: Tokens, layer: int, progress: Progress = no_progress, max_nbytes: int = MAX_BATCH_BYTES
) -> Float[np.ndarray, "seq seq"]:
    """Relative change of each token's output of a layer (rows) without each token's value (columns); rows sum to 1.

    C_ij = 1 - cos(x_i without the value of j, x_i), divided by the sum of its row; a row without any change is 0.
    """
    layers, seq = loaded.num_hidden_layers, len(tokens)
    if not 0 <= layer < layers:
        raise ValueError(f"layer {layer} of {layers}")
    require_values(loaded)
    distances = np.empty((seq, seq), dtype=np.float64)
    step = max(1, max_nbytes // (NUMBER_NBYTES * seq * _hidden_size(loaded) * (layers + 9)))
    for start in range(0, seq, step):
        places = range(start, min(start + step, seq))
        change = _ZeroedValues(layer, [None, *places])
        inputs = model_inputs(loaded, (tokens,) * (len(places) + 1))
        with RUN_LOCK, torch.inference_mode(), changing(change):
            reset_model_state(loaded.model, seq)
            output = forward(loaded, inputs, output_hidden_states=True)
            states = hidden_states(loaded, output)[layer + 1][:, :seq].double()
        moved = 1 - torch.nn.functional.cosine_similarity(states[1:], states[:1], dim=-1)
        distances[:, start : places.stop] = moved.clamp(min=0).cpu().numpy().T
        progress(places.stop, seq)
    sums = distances.sum(axis=1, keepdims=True)
    shares: np.ndarray = np.divide(distances, sums, out=np.zeros_like(distances), where=sums > 0)
    return shares.astype(np.float32)


def require_values(loaded: LoadedModel) -> None:
    """Check that the values of a model can be modified."""
    with RUN_LOCK:
        check_recording(loaded)
    if loaded.attention_source != "recorded":
        raise UnsupportedModelError(
            f"{family(loaded.model_type).title} computes attention in its own code, where no value can be set to zero; "
            "choose another model, or look at its attention weights."
        )


class _ZeroedValues:
    """Sets the value of one token to zero in each row of a batch, in one layer."""

    def __init__(self, layer: int, places: "list[int | None]") -> None:
        """`places` has the token to zero for each row of the batch; None for an unchanged row."""
        self._layer, self._places, self._calls = layer, places, 0

    def value(self, value: "torch.Tensor") -> "torch.Tensor":
        if self._calls != self._layer:
            return value
        value = value.clone()
        for row, place in enumerate(self._places):
            if place is not None:
                value[row, :, place] = 0
        return value

    def output(self, output: "torch.Tensor") -> "torch.Tensor":
        self._calls += 1
        return output


def _hidden_size(loaded: LoadedModel) -> int:
    config = text_config(loaded.model.config)
    return int(getattr(config, "hidden_size", 0) or getattr(config, "d_model", 0) or 1)


QUOTED = 30


def relative_place(place: int, count: int, other_count: int) -> int:
    """The layer, or head, of another model at the same relative place; the same number where both have as many.

    The first corresponds to the first and the last to the last: layer 5 of 6 to layer 11 of 12.
    """
    return round(place * (other_count - 1) / (count - 1)) if count > 1 else 0


def compared_attention(
    models: tuple[str, str], tokens: tuple[Tokens, Tokens], maps: tuple[AttentionMap, AttentionMap]
) -> AttentionComparison:
    """Compare two maps that were read in the same way, each of the text as its model reads it."""
    notice = ""
    for first, second in ((maps[0].queries, maps[1].queries), (maps[0].keys, maps[1].keys)):
        if not notice and not same_parts(*tokens, first.positions, second.positions):
            notice = _difference(models, first.labels, second.labels, maps[0].options.words)
    return AttentionComparison(models, tokens, *maps, same_entries=not notice, notices=(notice,) if notice else ())


def _difference(models: tuple[str, str], first: tuple[str, ...], second: tuple[str, ...], words: bool) -> str:
    """Why two axes are not the same, in one sentence."""
    noun = "words" if words else "tokens"
    how = f"{len(first):,} and {len(second):,} {noun}"
    if len(first) == len(second):
        how = f"different {noun}"
        unlike = [each for each in zip(first, second, strict=True) if each[0] != each[1]]
        if unlike:
            one, other = (quoted(escape_controls(label), QUOTED) for label in unlike[0])
            how += f", such as {one} and {other}"
    return f"{models[0]} and {models[1]} show this text as {how}, so their maps have no difference."
