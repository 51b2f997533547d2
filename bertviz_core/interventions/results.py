"""Results of interventions: ablation effects, ablation curves, activation patching."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.trace.results import Noticed, OfModel, Tokens

EffectKind = Literal["zero", "mean", "gradient"]
"""Zero ablation, mean ablation over a reference set, or the gradient estimate of zero ablation."""
EFFECT_KINDS: tuple[EffectKind, ...] = get_args(EffectKind)
RemovalOrder = Literal["greedy", "gradient", "random"]
"""Order of ablation: greedy by the target at each step, by the gradient estimate, or random."""


@dataclass(frozen=True, slots=True, eq=False)
class MeanActivations:
    """Mean outputs of a model's parts over the tokens of a reference set, padding excluded."""

    model: str
    revision: str
    reference: str
    """Name of the set of texts."""
    texts: int
    tokens: int
    """Number of tokens in the mean, special ones included."""
    heads: tuple[Float[np.ndarray, "heads value_dim"], ...]
    """Per layer, the mean output of each head before the output projection."""
    feed_forward: tuple[Float[np.ndarray, " hidden"], ...]
    """Per layer, the mean output of the last map of the feed-forward block; () if unknown."""
    layers: tuple[Float[np.ndarray, " hidden"], ...]
    """Per layer, the mean of output minus input; () if unknown."""


@dataclass(frozen=True, slots=True, eq=False)
class AblationEffects(OfModel):
    """Change of a target with each head, feed-forward block and layer ablated: ablated minus clean."""

    target: str
    """Name of the target, such as "cosine" or "class:NAME"."""
    title: str
    """Title of the target."""
    unit: str
    """Unit of the target and of every effect."""
    kind: EffectKind
    """Replacement of an ablated part."""
    tokens: Tokens
    """The text that was run."""
    clean: float
    """The target of the unchanged run."""
    heads: Float[np.ndarray, "layers heads"]
    """Effect of each head; NaN if a layer has fewer heads than others."""
    feed_forward: Float[np.ndarray, " layers"] | None
    """Effect of each feed-forward block: the output of its last linear map, bias included, becomes zero or its mean;
    the residual connection and the normalisation stay. None if a family has no single such map."""
    layers: Float[np.ndarray, " layers"] | None
    """Effect of each whole layer: its output becomes its input, plus the mean change for kind "mean". None if a family
    has no module for a whole layer."""
    reference: str
    """Reference set of the mean, one phrase; "" for other kinds."""
    shared: bool
    """Whether the layers below an ablated part ran once for all its rows."""
    seconds: float
    """Duration of all runs in seconds."""

    def ranked(self) -> tuple[tuple[int, int, float], ...]:
        """(layer, head, effect), sorted by descending magnitude."""
        places = [
            (int(layer), int(head), float(self.heads[layer, head]))
            for layer, head in np.argwhere(~np.isnan(self.heads))
        ]
        return tuple(sorted(places, key=lambda place: -abs(place[2])))


@dataclass(frozen=True, slots=True, eq=False)
class TwoModelEffects(Noticed):
    """Effects of ablating every head on the same target in two models."""

    first: AblationEffects
    second: AblationEffects

    @property
    def difference(self) -> Float[np.ndarray, "layers heads"] | None:
        """Second minus first, in the unit of the target; None where the models differ in layers or heads."""
        if self.first.heads.shape != self.second.heads.shape:
            return None
        return np.asarray(self.second.heads - self.first.heads, dtype=np.float32)

    @property
    def same_model(self) -> bool:
        """Whether both models have one name."""
        return self.first.model == self.second.model


@dataclass(frozen=True, slots=True, eq=False)
class EffectComparison:
    """Effects of several kinds on one target."""

    effects: tuple[AblationEffects, ...]
    """One for each kind."""
    correlations: Float[np.ndarray, "kinds kinds"]
    """Pearson correlation over the heads between kinds; NaN if one is constant."""


@dataclass(frozen=True, slots=True, eq=False)
class EffectSpread:
    """Mean and standard deviation of every head's effect over several texts."""

    model: str
    target: str
    title: str
    unit: str
    kind: EffectKind
    texts: int
    mean: Float[np.ndarray, "layers heads"]
    """Mean effect over the texts."""
    spread: Float[np.ndarray, "layers heads"]
    """Standard deviation over the texts (n - 1); NaN for a single one."""
    clean: Float[np.ndarray, " texts"]
    """The target of each text, unchanged."""
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class JointAblation:
    """Joint ablation of several heads, compared with the sum of their single effects."""

    title: str
    unit: str
    kind: EffectKind
    clean: float
    """The target of the unchanged run."""
    places: Int[np.ndarray, "removed 2"]
    """Layer and head of each."""
    single: Float[np.ndarray, " removed"]
    """Effect of each alone."""
    joint: float
    """Effect of all together."""

    @property
    def total(self) -> float:
        """Sum of the single effects; equals the joint effect only for independent heads."""
        return float(self.single.sum())


@dataclass(frozen=True, slots=True, eq=False)
class AblationCurve:
    """The target, or the accuracy, as heads are ablated one after another."""

    title: str
    """Title of the plotted quantity."""
    unit: str
    kind: EffectKind
    order: RemovalOrder
    """How the order was chosen."""
    places: Int[np.ndarray, "orders removed 2"]
    """Layer and head in the order of ablation; several orders if random."""
    values: Float[np.ndarray, "orders steps"]
    """The target or accuracy with 0, 1, 2, ... heads ablated; steps = removed + 1."""


@dataclass(frozen=True, slots=True, eq=False)
class ActivationPatching(OfModel):
    """Share of the target restored by copying a part of the clean run into the run of another text.

    Every effect is (patched - corrupt) / (clean - corrupt): 0 changes nothing, 1 restores the clean target.
    """

    title: str
    unit: str
    tokens: Tokens
    """The clean text, the source of the copies."""
    corrupt_tokens: Tokens
    """The text whose run is patched."""
    clean: float
    """The target of the clean text."""
    corrupt: float
    """The target of the corrupt text."""
    states: Float[np.ndarray, "layers seq"] | None
    """Effect of the input state of each layer at each position; None if a family has no module for a whole layer."""
    heads: Float[np.ndarray, "layers heads"]
    """Effect of each head's output at all positions; NaN if a layer has fewer heads than others."""
    seconds: float
