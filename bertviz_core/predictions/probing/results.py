"""Results for many texts: labels, predictions, accuracy, probes and their scores."""

from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.sentences.results import Pooling


@dataclass(frozen=True, slots=True)
class LabelledTexts:
    """Texts, each with its class."""

    name: str
    """Name of the set: that of the example set, of a file, or of what was typed."""
    texts: tuple[str, ...]
    """The texts."""
    labels: tuple[str, ...]
    """The class of each."""
    notices: tuple[str, ...] = ()
    """What was left out or changed, one sentence each."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes, each once, in the order of the alphabet, which is scikit-learn's."""
        return tuple(sorted(set(self.labels)))


@dataclass(frozen=True, slots=True, eq=False)
class ProbeScores:
    """How well a linear probe tells the classes apart from each layer's vectors, on texts that it was not fitted on."""

    model: str
    """Name of the model."""
    revision: str
    """Its revision."""
    texts: str
    """Name of the labelled texts."""
    classes: tuple[str, ...]
    """The classes."""
    counts: Int[np.ndarray, " classes"]
    """Texts of each class."""
    pooling: Pooling
    """How the tokens' vectors become one."""
    layers: tuple[int, ...]
    """Entries of hidden_states, 0 for the embedding output."""
    seed: int
    """Seed of the parts and of the shuffled labels."""
    accuracy: Float[np.ndarray, "layers folds"]
    """Share of the held-out texts whose class is found, 0 to 1."""
    macro_f1: Float[np.ndarray, "layers folds"]
    """Mean of the classes' F1 on the held-out texts, 0 to 1."""
    control_accuracy: Float[np.ndarray, "layers folds"]
    """Accuracy of a probe that is fitted and tried on shuffled labels (control task, Hewitt & Liang 2019)."""
    notices: tuple[str, ...]
    """What a reader must know, one sentence each."""

    @property
    def majority(self) -> float:
        """Accuracy of always naming the most frequent class."""
        return float(self.counts.max() / self.counts.sum())

    @property
    def selectivity(self) -> Float[np.ndarray, " layers"]:
        """Mean accuracy minus mean control accuracy, of each layer."""
        difference: np.ndarray = self.accuracy.mean(axis=1) - self.control_accuracy.mean(axis=1)
        return difference

    @property
    def best(self) -> int:
        """Place of the layer with the greatest mean accuracy, the first of equals."""
        return int(self.accuracy.mean(axis=1).argmax())


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """A linear classifier of a model's frozen vectors: probabilities = softmax(vector @ weight.T + bias)."""

    model: str
    """Name of the model whose vectors it reads."""
    revision: str
    """Its revision."""
    pooling: Pooling
    """How the tokens' vectors become one."""
    layer: int
    """Entry of hidden_states that is pooled."""
    classes: tuple[str, ...]
    """The classes."""
    weight: Float[np.ndarray, "classes hidden"]
    """A row for each class."""
    bias: Float[np.ndarray, " classes"]
    """A number for each class."""
    texts: str
    """Name of the labelled texts that it was fitted on."""
    count: int
    """How many there were."""
    seed: int
    """Seed of the parts on which its accuracy was measured."""
    accuracy: float
    """Mean accuracy on held-out parts, 0 to 1."""
    spread: float
    """Standard deviation of that accuracy over the parts."""

    @property
    def digest(self) -> str:
        """What tells one probe from another, as hexadecimal digits."""
        facts = (self.model, self.revision, self.classes, self.pooling, self.layer, self.texts)
        return sha256(self.weight.tobytes() + self.bias.tobytes() + repr(facts).encode()).hexdigest()

    @property
    def hidden_size(self) -> int:
        """Numbers of a vector that it reads."""
        return int(self.weight.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class TextPredictions:
    """One answer for each of many texts."""

    model: str
    """Name of the model."""
    task: str
    """The head's task, or "probe"."""
    texts: tuple[str, ...]
    """The texts."""
    pairs: tuple[str, ...] | None
    """The second text, or context, of each; None where there are none."""
    answers: tuple[str, ...]
    """What is said of each: a class, words at its masks, its entities, a span, a number; "" for nothing."""
    scores: Float[np.ndarray, " texts"]
    """Probability of the answer; NaN where it has none."""
    labels: tuple[str, ...]
    """The classes that may be answered; () where the answer is a piece of text or a number."""
    probabilities: Float[np.ndarray, "texts labels"] | None
    """Of each class; None where there are none."""
    notices: tuple[str, ...]
    """What a reader must know, one sentence each."""


@dataclass(frozen=True, slots=True, eq=False)
class GoldScores:
    """Answers beside the labels that are known to be right."""

    classes: tuple[str, ...]
    """Every answer or gold label that occurs, the head's own classes first."""
    confusion: Int[np.ndarray, "classes classes"]
    """Texts by their gold label (row) and answer (column)."""
    accuracy: float
    """Share of the compared texts whose answer is the gold label."""
    f1: Float[np.ndarray, " classes"]
    """2 hits / (gold + answered) of each class; 0 where a class occurs nowhere."""
    mistakes: Int[np.ndarray, " mistakes"]
    """Places of the texts with a wrong answer, the most confident first."""
    compared: Int[np.ndarray, " compared"]
    """Places of the texts that have a gold label."""
    gold: tuple[str, ...]
    """The gold label of every text, as the classes are spelled; "" where there is none."""
    notices: tuple[str, ...]
    """What a reader must know, one sentence each."""

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the classes that occur among gold labels or answers."""
        present = self.confusion.sum(axis=0) + self.confusion.sum(axis=1) > 0
        return float(self.f1[present].mean())
