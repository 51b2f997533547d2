"""Results of interventions: ablation effects, ablation curves, activation patching."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.trace.results import Tokens

EffectKind = Literal["zero", "mean", "gradient"]
"""What stands in a part's place: nothing, or its mean over a reference set; or an estimate of the first."""
EFFECT_KINDS: tuple[EffectKind, ...] = get_args(EffectKind)
RemovalOrder = Literal["greedy", "gradient", "random"]
"""Order of ablation: greedy by the target at each step, by the gradient estimate, or random."""


@dataclass(frozen=True, slots=True, eq=False)
class MeanActivations:
    """Means of a model's parts over the tokens of a reference set, padding left out."""

    model: str
    """Name of the model."""
    revision: str
    """State of its files."""
    reference: str
    """Name of the set of texts."""
    texts: int
    """How many there are."""
    tokens: int
    """Tokens over which the mean is taken, special ones included."""
    heads: tuple[Float[np.ndarray, "heads value_dim"], ...]
    """Per layer what each head gives to the output projection."""
    feed_forward: tuple[Float[np.ndarray, " hidden"], ...]
    """Per layer what the feed-forward block's last map gives; () where that is not known."""
    layers: tuple[Float[np.ndarray, " hidden"], ...]
    """Per layer what comes out less what went in; () where that is not known."""


@dataclass(frozen=True, slots=True, eq=False)
class AblationEffects:
    """How much one number of the model changes with each head, feed-forward block and layer: changed minus clean."""

    model: str
    """Name of the model."""
    target: str
    """Name of the target, such as "cosine" or "class:NAME"."""
    title: str
    """What the target is."""
    unit: str
    """Unit of the target and of every effect."""
    kind: EffectKind
    """What stands in a part's place."""
    tokens: Tokens
    """The text that was run."""
    clean: float
    """The target of the unchanged run."""
    heads: Float[np.ndarray, "layers heads"]
    """Effect of each head; NaN where a layer has fewer heads than others."""
    feed_forward: Float[np.ndarray, " layers"] | None
    """Effect of each feed-forward block: its last linear map, bias included, gives nothing or its mean; the residual
    connection and the normalisation stay. None where a family has no one such map."""
    layers: Float[np.ndarray, " layers"] | None
    """Effect of each whole layer: what comes out is what went in, plus the mean of that change where `kind` is "mean".
    None where a family has no module of a whole layer."""
    reference: str
    """Over what the mean is taken, one phrase; "" for the other kinds."""
    shared: bool
    """Whether the layers below a changed part ran once for all its rows."""
    seconds: float
    """Duration of all runs."""
    notices: tuple[str, ...]
    """What a reader must know, one sentence each."""

    def ranked(self) -> tuple[tuple[int, int, float], ...]:
        """(layer, head, effect), the largest change first, whichever its sign."""
        places = [
            (int(layer), int(head), float(self.heads[layer, head]))
            for layer, head in np.argwhere(~np.isnan(self.heads))
        ]
        return tuple(sorted(places, key=lambda place: -abs(place[2])))


@dataclass(frozen=True, slots=True, eq=False)
class EffectComparison:
    """Effects of several kinds on one target."""

    effects: tuple[AblationEffects, ...]
    """One for each kind."""
    correlations: Float[np.ndarray, "kinds kinds"]
    """Pearson's correlation over the heads of each kind with each; NaN where one does not vary."""


@dataclass(frozen=True, slots=True, eq=False)
class EffectSpread:
    """Mean and standard deviation of every head's effect over a list of texts."""

    model: str
    """Name of the model."""
    target: str
    """The target."""
    title: str
    """What it is, for titles."""
    unit: str
    """Its unit."""
    kind: EffectKind
    """What stands in a head's place."""
    texts: int
    """Count of texts."""
    mean: Float[np.ndarray, "layers heads"]
    """Mean effect over the texts."""
    spread: Float[np.ndarray, "layers heads"]
    """Standard deviation over the texts (n - 1); NaN for a single one."""
    clean: Float[np.ndarray, " texts"]
    """The target of each text, unchanged."""
    seconds: float
    """Duration of all runs."""


@dataclass(frozen=True, slots=True, eq=False)
class JointAblation:
    """Several heads ablated together, compared with the sum of their single effects."""

    title: str
    """What the target is."""
    unit: str
    """Its unit."""
    kind: EffectKind
    """What stands in their place."""
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
        """Sum of the single effects; it is the joint one only where heads do not depend on each other."""
        return float(self.single.sum())


@dataclass(frozen=True, slots=True, eq=False)
class AblationCurve:
    """The target, or the accuracy, as heads are ablated one after the other."""

    title: str
    """What is drawn."""
    unit: str
    """Its unit."""
    kind: EffectKind
    """What stands in the place of a removed head."""
    order: RemovalOrder
    """Who goes first."""
    places: Int[np.ndarray, "orders removed 2"]
    """Layer and head in the order of their removal; several orders where it is random."""
    values: Float[np.ndarray, "orders steps"]
    """The number with 0, 1, 2, ... heads removed; steps = removed + 1."""


@dataclass(frozen=True, slots=True, eq=False)
class ActivationPatching:
    """What copying a part of the clean run into the run of another text gives back of the target.

    Every effect is (patched - corrupt) / (clean - corrupt): 0 changes nothing, 1 gives the clean text's number.
    """

    model: str
    """Name of the model."""
    title: str
    """What the target is."""
    unit: str
    """Its unit."""
    tokens: Tokens
    """The clean text, from which is copied."""
    corrupt_tokens: Tokens
    """The text whose run is patched."""
    clean: float
    """The target of the clean text."""
    corrupt: float
    """The target of the other."""
    states: Float[np.ndarray, "layers seq"] | None
    """Effect of the hidden state that goes into each layer at each position; None where a family has no module of a
    whole layer."""
    heads: Float[np.ndarray, "layers heads"]
    """Effect of each head's output at all positions; NaN where a layer has fewer heads than others."""
    seconds: float
    """Duration of all runs."""
    notices: tuple[str, ...]
    """What a reader must know, one sentence each."""
