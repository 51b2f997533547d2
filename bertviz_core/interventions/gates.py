"""Gate parts of a run, one row of a batch per intervention: 1 keeps a part, 0 replaces it by its donor.

A part's output becomes `output * gate + donor * (1 - gate)`. The donor of a head or a feed-forward block is zero or its
mean; that of a whole layer is its input, with or without the mean of what the layer adds. A row of ones changes no bit
of any number.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bertviz_core.interventions.hooks import Intervention
from bertviz_core.interventions.results import MeanActivations
from bertviz_core.lazy_imports import torch


@dataclass(frozen=True, slots=True, eq=False)
class GateRows:
    """Gates of a batch, one row per intervention."""

    heads: "torch.Tensor"
    """(rows, layers, heads)"""
    feed_forward: "torch.Tensor"
    """(rows, layers)"""
    layers: "torch.Tensor"
    """(rows, layers)"""

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.heads)

    def part(self, rows: slice) -> "GateRows":
        """Select some of the rows."""
        return GateRows(self.heads[rows], self.feed_forward[rows], self.layers[rows])

    @property
    def first_layer(self) -> int:
        """Index of the first layer in which the rows differ; the number of layers if they do not."""
        flat = torch.cat((self.heads, self.feed_forward[..., None], self.layers[..., None]), dim=2)
        differs = (flat != flat[:1]).any(dim=2).any(dim=0).nonzero()
        return int(differs[0]) if len(differs) else flat.shape[1]


def open_gates(rows: int, layers: int, heads: int, device: str) -> GateRows:
    """Return rows of ones, which change nothing; a 0 ablates a part."""
    return GateRows(
        torch.ones(rows, layers, heads, device=device),
        torch.ones(rows, layers, device=device),
        torch.ones(rows, layers, device=device),
    )


def joined(one: GateRows, other: GateRows) -> GateRows:
    """Concatenate two sets of rows."""
    return GateRows(
        torch.cat((one.heads, other.heads)),
        torch.cat((one.feed_forward, other.feed_forward)),
        torch.cat((one.layers, other.layers)),
    )


def head_gates(removed: Sequence[Sequence[tuple[int, int]]], layers: int, heads: int, device: str) -> GateRows:
    """Return one row per set of (layer, head), with these heads ablated."""
    gates = open_gates(len(removed), layers, heads, device)
    for row, places in enumerate(removed):
        for layer, head in places:
            gates.heads[row, layer, head] = 0
    return gates


class Gated(Intervention):
    """A run with gated parts.

    Rows that are equal in all layers below `shared_from` run as one row up to there, where it is copied.
    """

    def __init__(self, gates: GateRows, means: MeanActivations | None = None, shared_from: int | None = None) -> None:
        """Set the gates of a batch.

        Args:
            gates: one row per row of the batch, or one for all.
            means: mean activations that replace ablated parts; None for zero ablation.
            shared_from: layer up to which all rows share one; None for separate rows from the start.
        """
        self._gates, self._means, self._shared_from = gates, means, shared_from
        self._used = {
            kind: [bool((gate[:, layer] != 1).any()) or gate.requires_grad for layer in range(gate.shape[1])]
            for kind, gate in (("heads", gates.heads), ("feed_forward", gates.feed_forward), ("layers", gates.layers))
        }

    def state(self, layer: int, state: "torch.Tensor") -> "torch.Tensor":
        """Expand a single row where the rows begin to differ."""
        return state.expand(len(self._gates), *state.shape[1:]) if layer == self._shared_from else state

    def heads(self, layer: int, output: "torch.Tensor") -> "torch.Tensor":
        """Return the outputs of the heads, ablated ones replaced by their donors."""
        if not self._used["heads"][layer]:
            return output
        gate = self._rows(self._gates.heads[:, layer, : output.shape[2]], layer)[:, None, :, None]
        return _mixed(output, gate, None if self._means is None else self._means.heads[layer])

    def feed_forward(self, layer: int, output: "torch.Tensor") -> "torch.Tensor":
        """Return the output of the block, or its donor."""
        if not self._used["feed_forward"][layer]:
            return output
        gate = self._rows(self._gates.feed_forward[:, layer], layer)[:, None, None]
        return _mixed(output, gate, None if self._means is None else self._means.feed_forward[layer])

    def layer(self, layer: int, before: "torch.Tensor", after: "torch.Tensor") -> "torch.Tensor":
        """Return the output of the layer, or its donor if it is ablated."""
        if not self._used["layers"][layer]:
            return after
        gate = self._rows(self._gates.layers[:, layer], layer)[:, None, None]
        mean = 0 if self._means is None else torch.tensor(self._means.layers[layer], device=after.device)
        return after * gate + (before + mean) * (1 - gate)

    def _rows(self, gate: "torch.Tensor", layer: int) -> "torch.Tensor":
        """Return the gates of the rows present in a layer."""
        return gate[:1] if self._shared_from is not None and layer < self._shared_from else gate


def _mixed(output: "torch.Tensor", gate: "torch.Tensor", donor: "object | None") -> "torch.Tensor":
    gate = gate.to(output.dtype)
    if donor is None:
        return output * gate
    return output * gate + torch.tensor(donor, dtype=output.dtype, device=output.device) * (1 - gate)
