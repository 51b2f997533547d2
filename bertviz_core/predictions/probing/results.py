"""Results for many texts: labels, predictions, accuracy, probes and their scores."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.sentences.results import Pooling
from bertviz_core.trace.results import Noticed, OfModel, OfTwoModels

LEAST = 10
"""Fewest compared texts of a slice with an interval: samples of fewer hardly differ from one another."""


@dataclass(frozen=True, slots=True)
class LabelledTexts:
    """Texts with one class each."""

    name: str
    """Name of the example set or the file, or a name for typed texts."""
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    notices: tuple[str, ...] = ()
    """Omissions and changes, one sentence each."""
    rows: tuple[int, ...] = ()
    """Line or row of each text in its file, from 1; () if it is not known."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Distinct classes in alphabetical order, as in scikit-learn."""
        return tuple(sorted(set(self.labels)))


@dataclass(frozen=True, slots=True, eq=False)
class ProbeScores(OfModel):
    """Scores of linear probes on the vectors of each layer, on held-out texts."""

    revision: str
    texts: str
    """Name of the labelled texts."""
    classes: tuple[str, ...]
    counts: Int[np.ndarray, " classes"]
    """Number of texts per class."""
    pooling: Pooling
    layers: tuple[int, ...]
    """Entries of hidden_states; 0 is the embedding output."""
    seed: int
    """Seed of the folds and of the shuffled labels."""
    accuracy: Float[np.ndarray, "layers folds"]
    """Accuracy on the held-out texts, 0 to 1."""
    macro_f1: Float[np.ndarray, "layers folds"]
    """Macro-averaged F1 on the held-out texts, 0 to 1."""
    control_accuracy: Float[np.ndarray, "layers folds"]
    """Accuracy of a probe fitted and evaluated on shuffled labels (control task, Hewitt & Liang 2019)."""

    @property
    def majority(self) -> float:
        """Accuracy of always predicting the most frequent class."""
        return float(self.counts.max() / self.counts.sum())

    @property
    def selectivity(self) -> Float[np.ndarray, " layers"]:
        """Mean accuracy minus mean control accuracy, per layer."""
        difference: np.ndarray = self.accuracy.mean(axis=1) - self.control_accuracy.mean(axis=1)
        return difference

    @property
    def best(self) -> int:
        """Index of the layer with the greatest mean accuracy, the first of equals."""
        return int(self.accuracy.mean(axis=1).argmax())


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """A linear classifier of frozen vectors of a model: probabilities = softmax(vector @ weight.T + bias)."""

    model: str
    revision: str
    pooling: Pooling
    layer: int
    """Entry of hidden_states that is pooled."""
    classes: tuple[str, ...]
    weight: Float[np.ndarray, "classes hidden"]
    """Weight matrix, one row per class."""
    bias: Float[np.ndarray, " classes"]
    texts: str
    """Name of the labelled texts of the fit."""
    count: int
    """Number of these texts."""
    seed: int
    """Seed of the folds of the cross-validation."""
    accuracy: float
    """Mean cross-validated accuracy, 0 to 1."""
    spread: float
    """Standard deviation of the accuracy over the folds."""

    @property
    def digest(self) -> str:
        """Identifier of the probe's content, as hexadecimal digits."""
        facts = (self.model, self.revision, self.classes, self.pooling, self.layer, self.texts)
        return sha256(self.weight.tobytes() + self.bias.tobytes() + repr(facts).encode()).hexdigest()

    @property
    def hidden_size(self) -> int:
        """Size of the vectors that the probe reads."""
        return int(self.weight.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class TextPredictions(OfModel):
    """One answer for each of several texts."""

    task: str
    """The head's task, or "probe"."""
    texts: tuple[str, ...]
    pairs: tuple[str, ...] | None
    """Second text, or context, of each text; None for single texts."""
    answers: tuple[str, ...]
    """Answer for each text: a class or several, words at its masks, entities, a span, a number; "" for none."""
    scores: Float[np.ndarray, " texts"]
    """Probability of each answer, of its likeliest class where it has several; NaN if there is none."""
    labels: tuple[str, ...]
    """Possible classes; () if answers are spans, words or numbers."""
    probabilities: Float[np.ndarray, "texts labels"] | None
    """Probability of each class; None if there are none."""
    logits: Float[np.ndarray, "texts outputs"] | None = None
    """Outputs of a head that answers with classes or a number, before softmax or sigmoid; None for other heads."""
    outputs: tuple[str, ...] = ()
    """Names of these outputs."""
    own_names: Mapping[str, str] = field(default_factory=dict)
    """Name of an output that a reader named -> its name in the checkpoint."""
    null_differences: Float[np.ndarray, " texts"] | None = None
    """Null score of each question minus that of its best span, NaN without one; None for other heads."""

    @property
    def are_label_sets(self) -> bool:
        """Whether each answer is any number of labels, as that of a multi-label head."""
        return self.probabilities is not None and not self.labels

    @property
    def are_numbers(self) -> bool:
        """Whether each answer is a number, as that of a regression head."""
        return self.task == "sequence-classification" and self.probabilities is None and not self.labels


@dataclass(frozen=True, slots=True)
class SharedWord:
    """The word whose presence in a text raises the share of mistakes most."""

    word: str
    mistakes: int
    """Number of mistakes with the word."""
    right: int
    """Number of right answers to texts with the word."""
    p_value: float
    """Of Fisher's exact test, one-sided, times the number of tested words (Bonferroni's correction)."""
    words: int
    """Number of tested words."""


@dataclass(frozen=True, slots=True, eq=False)
class GoldScores(Noticed):
    """Scores of predicted answers against gold labels."""

    classes: tuple[str, ...]
    """All answers and gold labels that occur, the classes of the head first."""
    confusion: Int[np.ndarray, "classes classes"]
    """Number of texts by gold label (row) and answer (column)."""
    accuracy: float
    """Share of the compared texts with the answer equal to the gold label."""
    f1: Float[np.ndarray, " classes"]
    """2 hits / (gold + answered) per class; 0 for a class that does not occur."""
    mistakes: Int[np.ndarray, " mistakes"]
    """Indices of the texts with a wrong answer, most confident first."""
    compared: Int[np.ndarray, " compared"]
    """Indices of the texts that have a gold label."""
    gold: tuple[str, ...]
    """Gold label of every text, in the spelling of the classes; "" if there is none."""
    shared: SharedWord | None = None
    """What the mistakes share beyond chance; None for nothing."""
    label_f1: Float[np.ndarray, " labels"] | None = None
    """F1 of each label of a multi-label head, whose classes are sets of labels; NaN for one that does not occur."""

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the classes that occur among gold labels or answers; of a multi-label head, of its labels."""
        if self.label_f1 is not None:
            occurring = self.label_f1[~np.isnan(self.label_f1)]
            return float(occurring.mean()) if len(occurring) else 0.0
        present = self.confusion.sum(axis=0) + self.confusion.sum(axis=1) > 0
        return float(self.f1[present].mean())


@dataclass(frozen=True, slots=True, eq=False)
class ConfidentJoint:
    """Numbers of texts by their given label (row) and the class that they confidently belong to (column)."""

    thresholds: Float[np.ndarray, " classes"]
    """Mean probability of each class over the texts with its label; above 1 for a class without texts."""
    counts: Int[np.ndarray, "classes classes"]
    """Numbers of texts that reach a threshold; at least 1 on the diagonal."""
    calibrated: Int[np.ndarray, "classes classes"]
    """The counts scaled to all texts, so that each row has as many as its label, in whole numbers."""
    counted_in: Int[np.ndarray, " texts"]
    """Column of each text; -1 for a text that reaches no threshold."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelErrors(OfModel):
    """Texts whose labels are likely wrong, by confident learning (Northcutt et al. 2021)."""

    source: str
    """Name of the labelled texts."""
    texts: tuple[str, ...]
    rows: Int[np.ndarray, " texts"]
    """Line or row of each text in its file, from 1."""
    classes: tuple[str, ...]
    gold: Int[np.ndarray, " texts"]
    """Place of the given label of each text among the classes."""
    probabilities_from: str
    """"probe" for probes on sentence vectors that were fitted without the text, "head" for the model's own head."""
    probabilities: Float[np.ndarray, "texts classes"]
    """Probability of each class for each text, from there."""
    joint: ConfidentJoint
    found_by: str
    ranked_by: str
    quality: Float[np.ndarray, " texts"]
    """How likely each label is right, by which suspects are ranked, 0 to 1."""
    suspects: Int[np.ndarray, " suspects"]
    """Indices of the texts whose label is likely wrong, the least likely right first."""
    suggested: Int[np.ndarray, " suspects"]
    """Place of the likely label of each suspect."""
    neighbours: Int[np.ndarray, "suspects 2 nearest"]
    """Indices of the nearest texts with the given and with the likely label; -1 if there are fewer."""
    cosines: Float[np.ndarray, "suspects 2 nearest"]
    """Cosines of their vectors; NaN if there are fewer."""

    @property
    def estimated(self) -> int:
        """Estimated number of wrong labels: what the calibrated joint has outside its diagonal."""
        return len(self.texts) - int(self.joint.calibrated.trace())

    @property
    def uncounted(self) -> int:
        """Number of texts that reach the threshold of no class, so that the joint does not count them."""
        return int((self.joint.counted_in < 0).sum())


@dataclass(frozen=True, slots=True)
class ScorePair:
    """A score of two models on the same texts."""

    first: float
    """Score of the first model, 0 to 1."""
    second: float
    """Score of the second model, 0 to 1."""
    low: float
    """Lower end of the 95% interval of the difference, -1 to 1."""
    high: float

    @property
    def difference(self) -> float:
        """Score of the second model minus that of the first."""
        return self.second - self.first


@dataclass(frozen=True, slots=True, eq=False)
class GoldComparison:
    """Answers of two models to the same texts, compared with gold labels."""

    first: GoldScores
    """Scores of the first model."""
    second: GoldScores
    """Scores of the second model on the same texts; its classes, gold labels and compared texts are equal."""
    accuracy: ScorePair
    """Share of the compared texts with the answer equal to the gold label."""
    macro_f1: ScorePair
    """Mean F1 of the classes that occur."""
    mcnemar_p: float
    """P-value of McNemar's exact test of equal accuracy, two-sided."""
    mended: Int[np.ndarray, " mended"]
    """Indices of the texts that the first model answers wrong and the second right, most confident first."""
    broken: Int[np.ndarray, " broken"]
    """Indices of the texts that the first model answers right and the second wrong, most confident first."""
    resamples: int
    """Number of bootstrap samples of the intervals."""
    seed: int
    """Seed of the samples."""


@dataclass(frozen=True, slots=True, eq=False)
class AnswerComparison(OfTwoModels):
    """Answers of two models to the same texts."""

    texts: tuple[str, ...]
    """The texts."""
    pairs: tuple[str, ...] | None
    """Second text of each; None for single texts."""
    labels: tuple[str, ...]
    """Labels of both heads, those of the first model first; equal names are one label."""
    answers: tuple[tuple[str, ...], tuple[str, ...]]
    """The answers of the first and the second model, in the spelling of `labels`."""
    probabilities: Float[np.ndarray, "2 texts"]
    """Probability of each answer, of the first and the second model."""
    confusion: Int[np.ndarray, "labels labels"]
    """Number of texts by answer of the first model (row) and of the second (column)."""
    changed: Int[np.ndarray, " changed"]
    """Indices of the texts with different answers, in the order of the texts."""
    common: int
    """Number of labels that both heads have; without one no answer can be the same."""
    gold: GoldComparison | None
    """Comparison with gold labels; None without them."""

    @property
    def agreement(self) -> float | None:
        """Share of the texts with the same answer of both models; None for heads without a common label."""
        return 1.0 - len(self.changed) / len(self.texts) if self.common else None

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kind of each text.

        With a gold label "mended" (only the second model is right), "broken" (only the first), "both right" or "both
        wrong"; without one "same" or "changed".
        """
        changed = set(self.changed.tolist())
        kinds = ["changed" if at in changed else "same" for at in range(len(self.texts))]
        if self.gold is not None:
            wrong = [set(each.mistakes.tolist()) for each in (self.gold.first, self.gold.second)]
            names = {(False, False): "both right", (True, False): "mended", (False, True): "broken"}
            for at in self.gold.first.compared.tolist():
                kinds[at] = names.get((at in wrong[0], at in wrong[1]), "both wrong")
        return tuple(kinds)


@dataclass(frozen=True, slots=True, eq=False)
class TextSlice:
    """A part of the texts that two models answered."""

    name: str
    """What its texts have in common."""
    places: Int[np.ndarray, " places"]
    """Indices of its texts, ascending."""
    agreement: float
    """Share of its texts with the same answer of both models, 0 to 1."""
    accuracy: ScorePair | None
    """Share of its compared texts with the right answer; None if none of them has a gold label.

    The ends of the interval are NaN if too few have one.
    """
    compared: int
    """Number of its texts with a gold label."""
    mended: int
    """Number of its texts that only the second model answers right."""
    broken: int
    """Number of its texts that only the first model answers right."""


@dataclass(frozen=True, slots=True, eq=False)
class SlicedAnswers:
    """Answers of two models by parts of the texts."""

    compared: AnswerComparison
    """The answers to all texts."""
    by: str
    """How the texts are divided: "length", "word:" and a word, or "column"."""
    slices: tuple[TextSlice, ...]
    """The slices that have texts; each text is in one."""


@dataclass(frozen=True, slots=True)
class CalibrationScores:
    """Scores of the probabilities of a classifier on labelled texts."""

    texts: int
    """Number of texts."""
    accuracy: float
    """Share of the texts with the right answer."""
    ece: float
    """Expected calibration error over bins of equal width (Naeini et al. 2015), 0 to 1."""
    ece_equal_mass: float
    """The same over bins with about as many texts each."""
    brier: float
    """Brier score (Brier 1950), from 0 to 2; of two classes half of it, from 0 to 1, as in scikit-learn."""
    log_loss: float
    """Mean of −log(probability of the gold label), in nats."""


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationBins:
    """Texts in bins by a probability, ascending; bins without a text are left out."""

    low: Float[np.ndarray, " bins"]
    """Lower edge, which is outside the bin."""
    high: Float[np.ndarray, " bins"]
    """Upper edge, which is inside."""
    counts: Int[np.ndarray, " bins"]
    """Number of texts."""
    probability: Float[np.ndarray, " bins"]
    """Mean probability."""
    share: Float[np.ndarray, " bins"]
    """Share of the texts where it came true."""
    interval: Float[np.ndarray, "2 bins"]
    """Wilson's 95% interval of this share: lower and upper ends."""


@dataclass(frozen=True, slots=True, eq=False)
class CalibratedLabel:
    """How often what a classifier is so sure of is true: of its answer, or of one label of a multi-label head."""

    label: str
    """The label; "" for the answer, whichever class it is."""
    scores: CalibrationScores
    """Scores on all texts."""
    equal_width: CalibrationBins
    """The texts by the probability of the answer or label, in bins of equal width."""
    equal_mass: CalibrationBins
    """The same in bins with about as many texts each."""
    coverage: Float[np.ndarray, " steps"]
    """Share of the texts that are answered, the most confident first, ascending; equally confident ones at once."""
    covered_accuracy: Float[np.ndarray, " steps"]
    """Share of these with the right answer."""
    covered_interval: Float[np.ndarray, "2 steps"]
    """Wilson's 95% interval of this share: lower and upper ends."""
    least_confidence: Float[np.ndarray, " steps"]
    """Least probability of an answer among them."""
    temperature: float | None
    """T by which logits are divided for the least log loss on one half of the texts; None if no T has the least."""
    before: CalibrationScores
    """Scores on the other half."""
    after: CalibrationScores | None
    """The same with the logits divided by T; None without T."""
    change: tuple[float, float] | None
    """95% t interval, over the texts of that half, by how much T changes the log loss; None without T."""


@dataclass(frozen=True, slots=True, eq=False)
class Calibration(OfModel):
    """How well the probabilities of a classifier, and of a second one, agree with labelled texts."""

    classes: tuple[str, ...]
    bins: int
    """Number of bins."""
    seed: int
    """Seed of the two halves of the texts, and of the sample of a long list."""
    labels: tuple[CalibratedLabel, ...]
    """One for each label of a multi-label head; a single one, of the answer, for classes that exclude each other."""
    other: "Calibration | None" = None
    """That of a second model on the same texts; None without one."""
    in_place_of_head: bool = False
    """Whether it is that of a probe, though the model has a head of its own."""

    @property
    def scores(self) -> CalibrationScores:
        """Scores on all texts: of the answer, or the means over the labels of a multi-label head."""
        each = [asdict(label.scores) for label in self.labels]
        means = {name: float(np.mean([one[name] for one in each])) for name in each[0]}
        return CalibrationScores(**{**means, "texts": each[0]["texts"]})

    @property
    def both(self) -> "tuple[Calibration, ...]":
        """This one, and that of the second model if there is one."""
        return (self,) if self.other is None else (self, self.other)


def compared(
    values: Float[np.ndarray, "pairs templates words outputs"],
) -> Float[np.ndarray, "pairs templates outputs"]:
    """Second minus first of numbers of both words; those that belong to both words as they are."""
    return values[:, :, 1] - values[:, :, 0] if values.shape[2] == 2 else values[:, :, 0]


@dataclass(frozen=True, slots=True, eq=False)
class WordSwaps(OfModel):
    """What a model answers to templates with the first and with the second word of pairs."""

    pairs: tuple[tuple[str, str], ...]
    """The two words of each pair."""
    templates: tuple[tuple[str, str | None], ...]
    """Each template and its second text; one of the two has the slot."""
    texts: tuple[tuple[str, str | None], ...]
    """The templates with the first and the second word: by pair, then template, then word."""
    compared_by: str
    """What is compared: "classes", "surprise" or "cosine"."""
    outputs: tuple[str, ...]
    """Names of the numbers of a text, such as the classes of the head."""
    unit: str
    """Unit of the numbers: "probability", "logit", "nats" or "cosine"."""
    values: Float[np.ndarray, "pairs templates words outputs"]
    """Numbers of the texts with the first and the second word; a cosine is one number of both."""
    mean: Float[np.ndarray, "rows outputs"]
    """Mean of `numbers` over the templates: a row for each pair, and for more than one pair a last row of all."""
    interval: Float[np.ndarray, "2 rows outputs"]
    """Ends of the 95% t interval of the mean over the templates; NaN for a single template."""

    @property
    def numbers(self) -> Float[np.ndarray, "pairs templates outputs"]:
        """What is compared: the number with the second word minus that with the first, or the cosine of both texts."""
        return compared(self.values)

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each row of `mean`."""
        named = tuple(f"{first} → {second}" for first, second in self.pairs)
        return named if len(named) == 1 else (*named, "all pairs")


TagErrorKind = Literal["wrong type", "wrong boundary", "wrong type and boundary", "missed", "spurious"]


@dataclass(frozen=True, slots=True, order=True)
class TaggedSpan:
    """An entity of a sentence."""

    start: int
    """Its first word, from 0."""
    end: int
    """The word behind its last one."""
    type: str


@dataclass(frozen=True, slots=True)
class TagError:
    """A gold entity that is not predicted as it is, or a predicted one that is no gold entity."""

    kind: TagErrorKind
    sentence: int
    """Place of its sentence in the list, from 0."""
    gold: TaggedSpan | None
    """None for a spurious one."""
    predicted: TaggedSpan | None
    """None for a missed one."""


@dataclass(frozen=True, slots=True, eq=False)
class WordTags(OfModel):
    """Gold and predicted tags of the words of sentences; words without a token of their own are left out."""

    labels: tuple[str, ...]
    """Labels of the head."""
    words: tuple[tuple[str, ...], ...]
    gold: tuple[tuple[str, ...], ...]
    """A tag for each word, as the head spells its label if it has it."""
    predicted: tuple[tuple[str, ...], ...]
    """The likeliest label of the first piece of each word."""


@dataclass(frozen=True, slots=True, eq=False)
class TagScores(WordTags):
    """Precision, recall and F1 of entities, by exact boundary and type."""

    mode: str
    """"default": a tag continues an entity as in conlleval; "strict": only well-formed entities count."""
    types: tuple[str, ...]
    """Types of gold or predicted entities, in alphabetical order."""
    counts: Int[np.ndarray, "types 3"]
    """Number of gold, of predicted and of right entities of each type."""
    errors: tuple[TagError, ...]
    """All errors, in the order of the sentences."""

    @property
    def scores(self) -> Float[np.ndarray, "rows 3"]:
        """Precision, recall and F1 of each type, of all entities together (micro), and the mean of the types (macro).

        A ratio without a denominator is 0.
        """
        gold, predicted, right = np.vstack([self.counts, self.counts.sum(axis=0)]).astype(np.float64).T
        precision, recall = right / np.maximum(predicted, 1), right / np.maximum(gold, 1)
        f1 = 2 * right / np.maximum(gold + predicted, 1)
        each = np.stack([precision, recall, f1], axis=1)
        return np.vstack([each, each[:-1].mean(axis=0) if self.types else each[-1]])

    @property
    def accuracy(self) -> float:
        """Share of the words whose tag is the gold one."""
        pairs = [pair for rows in zip(self.gold, self.predicted, strict=True) for pair in zip(*rows, strict=True)]
        return sum(gold == predicted for gold, predicted in pairs) / len(pairs)


@dataclass(frozen=True, slots=True, eq=False)
class TokenLabels(OfModel):
    """The labels of the tokens of a sentence as a trainer sets them, and the predicted ones."""

    sentence: int
    """Its place in the list, from 0."""
    aligned: str
    """Which pieces of a word have its label."""
    tokens: tuple[str, ...]
    words: tuple[str, ...]
    """The word of each token; "" for special tokens."""
    outputs: tuple[str, ...]
    """Labels of the head."""
    labels: Int[np.ndarray, " seq"]
    """Number of the label of each token; -100 where the loss leaves it out."""
    probabilities: Float[np.ndarray, "seq labels"]
    """Of each label."""
