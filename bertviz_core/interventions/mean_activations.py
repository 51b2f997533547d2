"""Compute the mean activation of each part over a reference set, for mean ablation."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from bertviz_core.errors import Progress, TextError, UnsupportedModelError
from bertviz_core.interventions.hooks import Intervention, intervening
from bertviz_core.interventions.parts import model_parts
from bertviz_core.interventions.results import MeanActivations
from bertviz_core.lazy_imports import torch
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.probing.reading import EXAMPLE_SET, example_set
from bertviz_core.sentences.batches import batches
from bertviz_core.trace.forward import forward
from bertviz_core.trace.inputs import ModelRow, model_inputs, reset_model_state
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import TextTokenizer, tokenize
from bertviz_core.trace.verification import check_recording

EVERY = 4
"""Step of the default reference set: every fourth text of the example set, 55 sentences about five topics."""


def reference_texts() -> tuple[str, ...]:
    """Return the default reference set: every fourth sentence of the example set, which is ordered by topic."""
    return example_set().texts[::EVERY]


def reference_name() -> str:
    """Return the name of the default reference set."""
    return f"every fourth sentence of the example set {EXAMPLE_SET!r}"


def mean_activations(
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    texts: Sequence[str] | None = None,
    name: str = "",
    progress: Progress | None = None,
) -> MeanActivations:
    """Average the outputs of every head, feed-forward block and layer over all tokens of some texts, padding excluded.

    Args:
        loaded: the model.
        tokenizer: tokenizer of the model.
        texts: the reference set; None for reference_texts.
        name: name of the reference set.
        progress: called as progress(texts done, texts); may raise to cancel.

    Raises:
        TextError: there is no text.
        UnsupportedModelError: the model has no separate heads.
    """
    texts = reference_texts() if texts is None else texts
    if not texts:
        raise TextError("The reference set has no text, so nothing has a mean; give at least one sentence.")
    rows: list[ModelRow] = [tokenize(tokenizer, text) for text in texts]
    lengths = [len(row) for row in rows]
    with RUN_LOCK:
        check_recording(loaded)
        parts = model_parts(loaded)
    sums, done = _Sums(), 0
    for group in batches(loaded, lengths):
        batch = [rows[index] for index in group]
        inputs = model_inputs(loaded, batch)
        with RUN_LOCK, torch.inference_mode():
            reset_model_state(loaded.model, max(lengths[index] for index in group))
            sums.lengths = torch.tensor([len(row) for row in batch], device=loaded.device)
            with intervening(loaded.model, parts, loaded.num_hidden_layers, sums):
                forward(loaded, inputs)
        done += len(group)
        if progress is not None:
            progress(done, len(rows))
    layers = range(loaded.num_hidden_layers)
    if any(layer not in sums.totals["heads"] for layer in layers):
        title = family(loaded.model_type).title
        raise UnsupportedModelError(
            f"The heads of {title} cannot be reached in every layer here; choose another model."
        )
    return MeanActivations(
        model=loaded.name,
        revision=loaded.revision,
        reference=name or (reference_name() if texts == reference_texts() else "the given texts"),
        texts=len(rows),
        tokens=sum(lengths),
        heads=sums.means("heads", sum(lengths)),
        feed_forward=sums.means("feed_forward", sum(lengths)),
        layers=sums.means("layers", sum(lengths)),
    )


class _Sums(Intervention):
    """Sums of the outputs of every part over the tokens of batches, padding excluded."""

    def __init__(self) -> None:
        self.lengths: torch.Tensor
        self.totals: dict[str, dict[int, Any]] = defaultdict(dict)

    def heads(self, layer: int, output: "torch.Tensor") -> "torch.Tensor":
        self._add("heads", layer, output)
        return output

    def feed_forward(self, layer: int, output: "torch.Tensor") -> "torch.Tensor":
        self._add("feed_forward", layer, output)
        return output

    def layer(self, layer: int, before: "torch.Tensor", after: "torch.Tensor") -> "torch.Tensor":
        self._add("layers", layer, after - before)
        return after

    def means(self, kind: str, tokens: int) -> tuple[np.ndarray, ...]:
        """Return one array per layer."""
        totals = self.totals[kind]
        return tuple((totals[layer] / tokens).float().cpu().numpy() for layer in sorted(totals))

    def _add(self, kind: str, layer: int, output: "torch.Tensor") -> None:
        is_token = torch.arange(output.shape[1], device=output.device) < self.lengths[:, None]
        total = output[is_token].double().sum(dim=0)
        before = self.totals[kind].get(layer)
        self.totals[kind][layer] = total if before is None else before + total
