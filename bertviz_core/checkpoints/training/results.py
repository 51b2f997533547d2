"""Results about a training run: the trainer's log, the movement of the weights, and what each checkpoint computes."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from operator import ne
from typing import Literal

import msgspec
import numpy as np
from jaxtyping import Float, Int

from bertviz_core.checkpoints.results import TensorLocation
from bertviz_core.trace.results import OfRun

Broken = Literal["NaN", "infinity", "blew up"]
FINAL = "final model"
"""Name of the model in the run's own folder."""
ALL_PARTS = "all"
MOVED_PARTS = (ALL_PARTS, "attention", "feed-forward", "layer norm")
"""Parts of a layer whose movement is computed; the first is the whole layer."""
GROWTH = 10
"""A tensor blew up where its root mean square is more than this many times that at the first checkpoint."""
BROKEN = (
    "A tensor is broken where it holds NaN or infinity, or blew up: where the root mean square of its values is more "
    f"than {GROWTH} times that at the first checkpoint. A first value below the spread of new weights "
    "(initializer_range in the config) counts as that spread."
)


class LogEntry(msgspec.Struct, frozen=True):
    """Numbers that the trainer logged at one step."""

    step: int
    epoch: float | None
    """Passes over the training data; None if it was not logged."""
    values: Mapping[str, float]
    """Name -> number, such as "loss" or "eval_accuracy"; NaN and infinity are what was logged."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingLog(OfRun):
    """The log of a training run."""

    source: str
    """File that it was read from, relative to the folder."""
    entries: tuple[LogEntry, ...]
    """Logged numbers, by step."""
    metrics: tuple[str, ...]
    """Names of all logged numbers, in the order in which they first occur."""


@dataclass(frozen=True, slots=True, eq=False)
class CheckpointSums:
    """Sums over the values of each parameter tensor of one checkpoint, in the order of the data flow."""

    from_first: Float[np.ndarray, " tensors"]
    """Sum of the squared differences to the first checkpoint."""
    from_previous: Float[np.ndarray, " tensors"]
    """Sum of the squared differences to the previous checkpoint."""
    squares: Float[np.ndarray, " tensors"]
    nan: Int[np.ndarray, " tensors"]
    infinite: Int[np.ndarray, " tensors"]


class BrokenTensor(msgspec.Struct, frozen=True):
    """A broken tensor, which holds NaN or infinity or blew up, and where this was first so."""

    checkpoint: str
    """Name of the first such checkpoint."""
    step: int
    name: str
    """Name in the checkpoint file."""
    place: str
    """Layer or component of the model."""
    what: Broken
    numel: int
    """Number of values with NaN or infinity; all values of a tensor that blew up."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingMovement(OfRun):
    """How far the weights moved in a training run; buffers are left out.

    Where the checkpoints are adapters, these are the weights merged into the base, and the base takes the place of the
    first checkpoint: `from_first` is the movement from it, also that of the first checkpoint, whose `from_previous` is
    the same. A tensor that the base lacks, such as that of a new head, is NaN there, and in `from_first` everywhere.

    A movement is ||now - then|| / ||then|| with Frobenius norms over all values of a place, as in the comparison of two
    checkpoints: 0 for equal values, infinity if all values were zero before, NaN if a value is not finite.
    """

    places: tuple[str, ...]
    """Layers and components of the model, in the order of the data flow: "embeddings", "layer 0", ..."""
    parts: tuple[str, ...]
    """MOVED_PARTS."""
    from_first: Float[np.ndarray, "checkpoints places parts"]
    """Movement from the first checkpoint; NaN also where a place has no such part."""
    from_previous: Float[np.ndarray, "checkpoints places parts"]
    """Movement from the previous checkpoint; that from the start for the first."""
    whole_from_first: Float[np.ndarray, " checkpoints"]
    """Movement of all parameters from the first checkpoint."""
    whole_from_previous: Float[np.ndarray, " checkpoints"]
    """Movement of all parameters from the previous checkpoint."""
    tensors: tuple[TensorLocation, ...]
    """Parameter tensors, in the order of the data flow."""
    shapes: tuple[tuple[int, ...], ...]
    """Shape of each tensor."""
    tensor_places: tuple[str, ...]
    """Place of each tensor."""
    tensor_from_first: Float[np.ndarray, "checkpoints tensors"]
    """Movement of each tensor from the first checkpoint."""
    tensor_from_previous: Float[np.ndarray, "checkpoints tensors"]
    """Movement of each tensor from the previous checkpoint."""
    frozen: tuple[str, ...]
    """Names of the tensors that have the same values in all checkpoints, and in the base of adapters."""
    broken: tuple[BrokenTensor, ...]
    """Tensors with NaN or infinity, or that blew up (see BROKEN), by step."""
    unread: tuple[str, ...]
    """Names of the tensors in formats that cannot be decoded."""
    base: str = ""
    """Name of the base of adapters, from which their movement is measured; "" for the first checkpoint."""


@dataclass(frozen=True, slots=True, eq=False)
class FollowedText(OfRun):
    """What every checkpoint of a training run that can be run computes for a text or a pair."""

    text: str
    """The text."""
    pair: str | None
    """The second text; None for a single text."""
    task: str
    """Task of the head; "" for a model without one."""
    answers: tuple[str, ...]
    """Answer of the head at each checkpoint: a class, tagged words, a span, or words at masks; "" where it has none."""
    scores: Float[np.ndarray, " checkpoints"]
    """Probability of each answer, or the number that a regression head returns; NaN where there is none."""
    labels: tuple[str, ...]
    """Classes of the head; () for heads that do not choose one class."""
    probabilities: Float[np.ndarray, "checkpoints labels"] | None
    """Probability of each class; None without classes."""
    surprise: Float[np.ndarray, " checkpoints"] | None
    """Mean surprise of the tokens when each is masked, in nats; None without a masked-LM head, or with a mask."""
    cosine: Float[np.ndarray, " checkpoints"] | None
    """Cosine of the two texts, each embedded by itself as the checkpoint specifies; None for a single text."""
    null_differences: Float[np.ndarray, " checkpoints"] | None = None
    """Null score minus that of the best span, see AnswerPrediction; None for heads that do not answer questions."""
    waiting: int = 0
    """Number of checkpoints that have not been run yet."""

    @property
    def changes(self) -> tuple[int, ...]:
        """Indices of the checkpoints whose answer differs from that of the previous checkpoint."""
        pairs = enumerate(pairwise(self.answers), start=1)
        return tuple(place for place, (before, now) in pairs if before != now)


@dataclass(frozen=True, slots=True, eq=False)
class FollowedLabels(OfRun):
    """Answers of every checkpoint of a training run that can be run to texts with gold labels, and their scores."""

    texts: tuple[str, ...]
    """The texts."""
    pairs: tuple[str, ...] | None
    """Second text of each; None for single texts."""
    gold: tuple[str, ...]
    """Gold label of each text, in the spelling of the head; "" for none."""
    answers: tuple[tuple[str, ...], ...]
    """Answers of each checkpoint to the texts."""
    accuracy: Float[np.ndarray, " checkpoints"]
    """Share of the texts with a gold label whose answer is this label."""
    macro_f1: Float[np.ndarray, " checkpoints"]
    """Mean F1 of the classes that occur among gold labels or answers."""
    ece: Float[np.ndarray, " checkpoints"] | None = None
    """Expected calibration error of each checkpoint over 15 bins of equal width, 0 to 1; None without probabilities."""
    brier: Float[np.ndarray, " checkpoints"] | None = None
    """Brier score of each; None without probabilities."""
    log_loss: Float[np.ndarray, " checkpoints"] | None = None
    """Log loss of each in nats; None without probabilities."""
    waiting: int = 0
    """Number of checkpoints that have not been run yet."""

    @property
    def changed(self) -> tuple[int, ...]:
        """Number of texts whose answer differs from that of the previous checkpoint; 0 for the first, as in 1.0."""
        counts = [sum(map(ne, before, now)) for before, now in pairwise(self.answers)]
        return (0, *counts)

    @property
    def fall(self) -> int | None:
        """Index of the checkpoint after which the accuracy falls most; None where it never falls."""
        steps = np.diff(self.accuracy)
        return int(steps.argmin()) if (steps < 0).any() else None


@dataclass(frozen=True, slots=True, eq=False)
class FollowedStates(OfRun):
    """Hidden states and attention of every checkpoint of a training run that can be run, over a list of texts."""

    texts: int
    """Number of texts."""
    cka: Float[np.ndarray, "checkpoints states"]
    """CKA of each hidden state with the same one of the first checkpoint; entry 0 is the output of the embeddings."""
    entropy: Float[np.ndarray, "checkpoints layers heads"] | None
    """Mean entropy of the attention of each head, over all tokens and then over all texts, in nats; None for a model
    whose attention cannot be recorded."""
    waiting: int = 0
    """Number of checkpoints that have not been run yet."""
