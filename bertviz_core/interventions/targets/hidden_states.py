"""Targets read from one hidden state: one of its values, or its projection on a direction."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import TextError
from bertviz_core.hidden_states.results import state_name
from bertviz_core.interventions.targets.target import Target, build_target, check_place
from bertviz_core.isolation.regular_files import open_regular
from bertviz_core.isolation.sanitized.npy_header import npy_header
from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.text import counted, decimals, escape_controls, quoted
from bertviz_core.trace.forward import forward, hidden_states
from bertviz_core.trace.inputs import reset_model_state
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer, tokenize

BETWEEN = "->"
"""Stands between the two texts of a direction."""
MAX_DIMENSIONS = 1_000_000
"""Maximum size of a direction in a file."""


def state_target(
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    text: str,
    pair: str | None,
    layer: int,
    position: int,
    dimension: int,
) -> Target:
    """Target one value of one hidden state.

    Args:
        loaded: the model.
        tokenizer: tokenizer of the model.
        text: the text.
        pair: the second text, or None.
        layer: entry of the hidden states; 0 is the embedding output.
        position: position of the token.
        dimension: dimension of its vector.

    Raises:
        TextError: there is no such entry, token or dimension.
        BertvizError: the model returns no hidden states.
    """
    tokens = _tokens_of(loaded, tokenizer, text, pair, layer, position)

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        state = _state(loaded, layer, inputs, lengths)
        check_place("dimension", dimension, state.shape[-1])
        return state[:, position, dimension].float()

    return build_target(
        loaded,
        tokens,
        values,
        name=f"state:{layer},{position},{dimension}",
        title=f"value of dimension {dimension} of token {position}, {state_name(layer)}",
        unit="(no unit)",
        layer=layer,
    )


def direction_target(
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    text: str,
    pair: str | None,
    layer: int,
    position: int,
    direction: Float[np.ndarray, " hidden"],
    name: str,
) -> Target:
    """Target the projection of a hidden state on a direction: the dot product with the unit vector.

    Args:
        loaded: the model.
        tokenizer: tokenizer of the model.
        text: the text.
        pair: the second text, or None.
        layer: entry of the hidden states; 0 is the embedding output.
        position: position of the token.
        direction: the vector, not zero.
        name: origin of the direction: two texts separated by ->, or a file name.

    Raises:
        TextError: there is no such entry or token, or the vector has no direction or does not fit the model.
        BertvizError: the model returns no hidden states.
    """
    tokens = _tokens_of(loaded, tokenizer, text, pair, layer, position)
    wide = np.asarray(direction, dtype=np.float64)
    length, spelled = float(np.linalg.norm(wide)), _named_state(name)
    if not np.isfinite(length) or length == 0:
        raise TextError(f"A direction is needed, and {spelled} has length {length}; give another.")
    unit = torch.tensor(wide / length, dtype=torch.float32, device=loaded.device)

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        state = _state(loaded, layer, inputs, lengths)
        if state.shape[-1] != len(unit):
            raise TextError(
                f"A hidden state of {loaded.name!r} has {state.shape[-1]:,} numbers, {spelled} has {len(unit):,}; give "
                "one of this model."
            )
        return state[:, position].float() @ unit

    return build_target(
        loaded,
        tokens,
        values,
        name=f"direction:{layer},{position},{name}",
        title=f"projection of token {position}, {state_name(layer)}, on {spelled}",
        unit="(no unit)",
        layer=layer,
        notices=(f"Scaled to length 1: {spelled}; its own length is {decimals(length)}.",),
    )


def text_direction(
    loaded: LoadedModel, tokenizer: TextTokenizer, first: str, second: str, layer: int
) -> Float[np.ndarray, " hidden"]:
    """Return the mean hidden state of one text minus that of another, over all tokens.

    Args:
        loaded: the model.
        tokenizer: tokenizer of the model.
        first: start of the direction.
        second: end of the direction.
        layer: entry of the hidden states; 0 is the embedding output.

    Raises:
        BertvizError: a text cannot be encoded (see bertviz_core.sentences.encoding.sentence_vectors).
    """
    check_place("hidden state", layer, loaded.num_hidden_layers + 1)
    vectors = sentence_vectors(loaded, tokenizer, [first, second], SentencePlan("mean", layer)).vectors
    return np.asarray(vectors[1] - vectors[0])


def file_direction(path: str) -> Float[np.ndarray, " hidden"]:
    """Read the vector of a file written by np.save.

    Raises:
        TextError: there is no such file, or it contains no vector of numbers.
    """
    direction = f"The direction {quoted(escape_controls(path), 60)}"
    form = f"give a .npy file of one vector, or two texts as TEXT{BETWEEN}TEXT."
    try:
        with open_regular(Path(path)) as file:
            shape, _, dtype = npy_header(file)
            if len(shape) != 1 or dtype.kind not in "fiu":
                raise TextError(f"{direction} is no vector of numbers; {form}")
            if shape[0] > MAX_DIMENSIONS:
                raise TextError(f"{direction} says it has {shape[0]:,} numbers; at most {MAX_DIMENSIONS:,} are read.")
            vector = np.fromfile(file, dtype, shape[0])
    except (OSError, ValueError) as error:
        raise TextError(f"{direction} cannot be read; {form}") from error
    if len(vector) < shape[0]:
        raise TextError(f"{direction} is cut off: it has {len(vector):,} of its {counted(shape[0], 'number')}; {form}")
    return vector.astype(np.float64)


def _named_state(name: str) -> str:
    """Describe the origin of a direction."""
    first, _, second = (quoted(escape_controls(part), 40) for part in name.partition(BETWEEN))
    return f"the way from {first} to {second}" if BETWEEN in name else f"the vector of {first}"


def _tokens_of(
    loaded: LoadedModel, tokenizer: TextTokenizer, text: str, pair: str | None, layer: int, position: int
) -> Tokens:
    """Tokenize the text, and check that the hidden state and the token exist."""
    tokens = tokenize(tokenizer, text, pair)
    check_place("hidden state", layer, loaded.num_hidden_layers + 1)
    check_place("token", position, len(tokens))
    return tokens


def _state(
    loaded: LoadedModel, layer: int, inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]
) -> "torch.Tensor":
    """Return one entry of the hidden states of a run: (batch, seq, hidden)."""
    reset_model_state(loaded.model, max(lengths))
    return hidden_states(loaded, forward(loaded, inputs, output_hidden_states=True))[layer]
