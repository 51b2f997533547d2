"""Run a text with one change: a token masked, or a head or a layer ablated by the interventions package."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.interventions.hooks import Gated, GateRows, Parts, intervening, model_parts, open_gates
from bertviz_core.interventions.results import MeanActivations
from bertviz_core.interventions.runs import InterventionRuns, chosen, parts_inside
from bertviz_core.interventions.targets import Target
from bertviz_core.lazy_imports import torch
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel
from bertviz_core.text import counted
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.run import RUN_LOCK, trace
from bertviz_core.trace.tokenization import TextTokenizer
from bertviz_core.trace.verification import check_recording


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a run."""

    kind: Literal["mask", "head", "layer", "text"]
    """A token masked, a head ablated, a layer ablated, or the text edited."""
    at: int = 0
    """Position of the token, or index of the layer."""
    head: int = 0
    """Index of the head, for "head"."""

    def sentence(self, label: str, means: MeanActivations | None) -> str:
        """Return what was changed and how, as a sentence.

        Args:
            label: label of the masked token.
        """
        if self.kind == "mask":
            return f"Token {self.at} “{label}” is masked: the mask token replaces it."
        over = "" if means is None else f"over {counted(means.texts, 'reference text')} (mean ablation)"
        if self.kind == "head":
            return f"Head {self.head} of layer {self.at} is switched off: its output is replaced by " + (
                f"its mean {over}." if over else "zero (zero ablation)."
            )
        return f"Layer {self.at} is switched off: it returns its input" + (
            f" plus its mean change {over}." if over else " (zero ablation)."
        )


def masked_tokens(tokenizer: TextTokenizer, tokens: Tokens, position: int) -> Tokens:
    """Replace a token by the mask token."""
    mask = tokenizer.tokenizer.mask_token_id
    if mask is None:
        raise UnsupportedModelError(
            "This tokenizer has no mask token, so no token can be masked; switch off a head or a layer instead."
        )
    ids, names = np.array(tokens.input_ids), list(tokens.tokens)
    ids[position], names[position] = mask, str(tokenizer.tokenizer.convert_ids_to_tokens([mask])[0])
    return replace(tokens, input_ids=ids, tokens=tuple(names))


def ablated_trace(
    loaded: LoadedModel, tokens: Tokens, change: Change, heads: int, means: MeanActivations | None = None
) -> Trace:
    """Run a text with a head or a layer ablated.

    An ablated layer returns its input, plus its mean change for mean ablation; where layers share weights, only this
    application is ablated.
    """
    made = trace(ablated_model(loaded, change, heads, means), tokens)
    return made if change.kind == "head" else _with_output(made, change.at, means)


def ablated_model(loaded: LoadedModel, change: Change, heads: int, means: MeanActivations | None = None) -> LoadedModel:
    """Return a model in whose every run a head or a layer is ablated; the given one stays as it is."""
    layers = loaded.num_hidden_layers
    with RUN_LOCK:
        check_recording(loaded)
        parts = model_parts(loaded, heads_needed=change.kind == "head")
    gates = _close(open_gates(1, layers, heads, str(loaded.model.device)), change, parts, loaded)
    return replace(loaded, intervention=partial(intervening, loaded.model, parts, layers, Gated(gates, means)))


def changed_value(
    target: Target, tokenizer: TextTokenizer, change: Change, means: MeanActivations | None = None
) -> float:
    """Compute a target in a run with one change.

    Args:
        change: the change; a masked token is counted in the tokens of the target, which is that of an edited text.
    """
    loaded, tokens = target.loaded, target.tokens
    if change.kind == "head":
        runs = InterventionRuns(target)
        chosen([(change.at, change.head)], runs)
        gates = _close(runs.gates(1), change, runs.parts, loaded)
        with RUN_LOCK, torch.inference_mode():
            return float(runs.run(Gated(gates, means), tokens, 1)[0])
    row = masked_tokens(tokenizer, tokens, change.at) if change.kind == "mask" else tokens
    with RUN_LOCK, ExitStack() as changed, torch.inference_mode():
        check_recording(loaded)
        if change.kind == "layer":
            layers, parts = loaded.num_hidden_layers, parts_inside(target, heads_needed=False)
            gates = _close(open_gates(1, layers, 0, loaded.device), change, parts, loaded)
            changed.enter_context(intervening(target.model, parts, layers, Gated(gates, means)))
        return float(target.values(target.inputs((row,)), [len(row)])[0])


def _close(gates: GateRows, change: Change, parts: Parts, loaded: LoadedModel) -> GateRows:
    """Close the gate of the ablated head or layer."""
    if change.kind == "head":
        gates.heads[0, change.at, change.head] = 0
        return gates
    if not parts.layers:
        raise UnsupportedModelError(
            f"{family(loaded.model_type).title} has no module for a whole layer, so no layer can be switched off; "
            "switch off a head instead."
        )
    gates.layers[0, change.at] = 0
    return gates


def _with_output(made: Trace, layer: int, means: MeanActivations | None) -> Trace:
    """Set the state after an ablated layer, which most families record before the layer's output is replaced.

    The last state is what the model returns, so it is right already.
    """
    if layer + 2 == len(made.hidden_states):
        return made
    states = made.hidden_states.copy()
    states[layer + 1] = states[layer] + (0 if means is None else means.layers[layer])
    states.setflags(write=False)
    return replace(made, hidden_states=states)
