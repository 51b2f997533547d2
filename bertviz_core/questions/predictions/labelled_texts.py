"""Questions about labelled texts: probes fitted on them, and predictions compared with their labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bertviz_core.errors import Named, TextError, UnsupportedModelError
from bertviz_core.models.catalog import TEXTS_FILE
from bertviz_core.predictions.probing.gold import gold_scores as scores_of
from bertviz_core.predictions.probing.gold import without_gold
from bertviz_core.predictions.probing.reading import example_set, example_sets, gold_column, typed_labels
from bertviz_core.predictions.probing.results import GoldScores, LabelledTexts, Probe, ProbeScores, TextPredictions
from bertviz_core.predictions.probing.scores import (
    fitted_probe,
    fold_count,
    layer_vectors,
    probe_predictions,
    probed_layers,
)
from bertviz_core.predictions.probing.scores import probe_scores as scored
from bertviz_core.predictions.probing.table import probe_table, text_predictions, with_class_names
from bertviz_core.predictions.results import ClassPrediction, Strategy
from bertviz_core.predictions.run import stored_task
from bertviz_core.questions.interventions.targets import TARGET, chosen_probe
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import EMBEDDING_OUTPUT, Options, Param, choice, flag, joined_names
from bertviz_core.questions.question import Answer, AnswerCost, Job, after, long_question, question
from bertviz_core.resources import retained_nbytes
from bertviz_core.sentences.lists import read_sentences
from bertviz_core.sentences.results import POOLINGS, Pooling, SentenceTable
from bertviz_core.text import counted, quoted

MOST_SEEDS, MOST_NUMBERS = 10_000, 10_000
"""Seeds; numbers of a text in all hidden states (13 of 768 in BERT base) up to which the example set is quick."""
POOLING = Param("pooling", "choice", "how tokens become one vector, the mean by default", POOLINGS, parts=True)
LAYER = Param("layer", "layer", "entry of the hidden states that is chosen, the last by default")
TRAIN = "Train the probes"
SEED = Param("seed", "whole", "seed of the division into folds")
PAIRED = flag("paired", "whether each text is followed by its second text")
LABELLED_TEXTS = Param("labelled_texts", "text", "texts with their labels, one on each line")
MANY_TEXTS = Param("many_texts", "text", "texts, one on each line")
TEXTS_FROM = choice("texts_from", ("typed", "file", TEXTS_FILE), "where the texts come from", "Texts")
ANSWERED_BY = Param(
    "answered_by", "text", "the task of the head that answers, or probe", label="Answered by", parts=True
)
LABELLED = Param("labelled", "text", "where the labelled texts come from", label="Labelled texts")
CLASS_NAMES = Param("class_names", "text", "names for the classes of a head that only numbers them, in its order")
SET = Param("labelled_set", "text", "name of a set of texts, each followed by its label, and what must be known of it")


@dataclass(frozen=True, slots=True, eq=False)
class FittedProbes:
    """Probes with their scores."""

    scores: ProbeScores
    """Scores of every layer; of those done so far in an intermediate answer."""
    probes: tuple[Probe, ...]
    """The probe of every layer; () in an intermediate answer."""


def probe_work(opened: Opened, labelled: LabelledTexts, layers: int) -> str:
    """What training probes takes, in two sentences: the texts that are run, and the fits; "" for the quick examples."""
    width = int(getattr(opened.loaded.model.config, "hidden_size", MOST_NUMBERS))
    if layers * width <= MOST_NUMBERS and any({*labelled.texts} <= {*each.texts} for each in example_sets()):
        return ""
    folds = fold_count(labelled)
    where = f"on {counted(layers, 'hidden state')}, each of {counted(folds, 'part')} held out once"
    ran = counted(len(labelled.texts), "labelled text")
    return (
        f"{quoted(opened.name)} is run on {ran}, and {2 * layers * folds:,} linear probes are trained: {where}, "
        "with the labels and with shuffled ones. It can be stopped."
    )


def _fit_cost(opened: Opened, options: Options) -> AnswerCost:
    pooling = options.choice(POOLING, POOLINGS)
    labelled, layers = _labelled_set(opened, options), len(probed_layers(opened.loaded, pooling))
    slow = probe_work(opened, labelled, layers)
    steps = len(labelled.texts) + 2 * layers * fold_count(labelled)
    return AnswerCost(steps, slow=slow, nbytes=retained_nbytes(labelled), action=TRAIN)


@long_question(_fit_cost, params=(POOLING, SEED, SET))
def fitted_probes(opened: Opened, options: Options, job: Job[FittedProbes]) -> Answer[FittedProbes]:
    """Linear probes on every layer with their scores, fitted on the texts; on the example set by default."""
    labelled, pooling = _labelled_set(opened, options), options.choice(POOLING, POOLINGS)
    model, seed = opened.loaded, options.whole(SEED.key, MOST_SEEDS, 0)
    count = len(labelled.texts)
    total = count + 2 * len(probed_layers(model, pooling)) * fold_count(labelled)
    vectors = layer_vectors(model, opened.tokenizer, labelled.texts, pooling, after(job, 0, total))

    def on_partial(scores: ProbeScores) -> None:
        job.show(_fitted(opened, scores))

    scores = scored(model, labelled, pooling, vectors, seed, after(job, count, total), on_partial)
    probes = tuple(fitted_probe(labelled, scores, vectors, layer) for layer in scores.layers)
    return _fitted(opened, scores, probes)


def _fitted(opened: Opened, scores: ProbeScores, probes: tuple[Probe, ...] = ()) -> Answer[FittedProbes]:
    """The probes, drawn with the most accurate hidden state."""
    drawn = {"probe_scores": scores, "probed_layer": scores.layers[scores.best]}
    return answered(opened, FittedProbes(scores, probes), scores.notices, **drawn)


@question(figures=("probe",), params=(POOLING, LAYER, SEED))
def probe_scores(opened: Opened, options: Options) -> Answer[ProbeScores]:
    """Scores of linear probes on every layer, fitted on the texts; on the example set by default."""
    last = opened.loaded.num_hidden_layers
    layer = options.numbered("layer", last + 1, last, opened.name, EMBEDDING_OUTPUT)
    answer = fitted_probes(opened, replace(options.only(POOLING, SEED), pair=None))
    scores = answer.result.scores
    return answer.of(scores, probe_scores=scores, probed_layer=layer)


@question(params=(TARGET,))
def probe_answer(opened: Opened, options: Options) -> Answer[ClassPrediction]:
    """Prediction of a probe for a text."""
    text, probe = options.text(), _named_probe(opened, options)
    if not text.strip():
        raise TextError("The text is empty; write one in the field Text, so that the probe has something to read.")
    (prediction,) = probe_predictions(probe, opened.loaded, opened.tokenizer, (text,))
    drawn = {"class_prediction": prediction, "class_order": "by size"}
    return replace(answered(opened, prediction, prediction.notices, **drawn), texts=(text, None))


def _texts_cost(opened: Opened, options: Options) -> AnswerCost:
    _ = opened.loaded if TARGET.key in options.values else opened.head(options.task)  # load before the work begins
    texts, _ = _texts_and_pairs(options)
    return AnswerCost(len(texts), nbytes=retained_nbytes(options.texts))


@long_question(_texts_cost, params=(TARGET, PAIRED), noun="texts")
def text_answers(opened: Opened, options: Options, job: Job[TextPredictions]) -> Answer[TextPredictions]:
    """Predictions of a task head or probe for many texts."""
    texts, pairs = _texts_and_pairs(options)
    if TARGET.key in options.values:
        answers = probe_table(_named_probe(opened, options), opened.loaded, opened.tokenizer, texts, job)
    else:
        answers = text_predictions(opened.head(options.task), opened.tokenizer, texts, pairs, progress=job)
    return replace(answered(opened, answers, answers.notices), texts=texts)


def with_pairs(texts: Sequence[str], pairs: Sequence[str] | None, task: str) -> Options:
    """Options for predictions of a task head for texts, optionally with second texts."""
    if pairs is None:
        return Options(tuple(texts), task=task)
    both = tuple(text for pair in zip(texts, pairs, strict=True) for text in pair)
    return Options(both, task=task, values={PAIRED.key: "true"})


def labelled_options(labelled: LabelledTexts, pooling: Pooling, seed: int) -> Options:
    """Options for probes on labelled texts."""
    values = {POOLING.key: pooling, SEED.key: str(seed)}
    if labelled == example_set():
        return Options(values=values)
    both = tuple(text for pair in zip(labelled.texts, labelled.labels, strict=True) for text in pair)
    return Options(both, values={**values, SET.key: joined_names((labelled.name, *labelled.notices))})


def _labelled_set(opened: Opened, options: Options) -> LabelledTexts:
    if not options.texts:
        return example_set()
    if SET.key in options.values:
        name, *notices = options.names(SET.key)
        return LabelledTexts(name, options.texts[::2], options.texts[1::2], tuple(notices))
    return typed_labels(_lines(opened, options))


def _texts_and_pairs(options: Options) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    if options.flag(PAIRED):
        return options.texts[::2], options.texts[1::2]
    pairs = None if options.pair is None else (options.pair,) * len(options.texts)
    return options.texts, pairs


def _named_probe(opened: Opened, options: Options) -> Probe:
    probe = chosen_probe(opened, options)
    if probe is None:
        raise TextError("This needs a probe; give ", Named(TARGET.key), "=probe:FILE.")
    return probe


@question(figures=("confusion",), params=(POOLING, CLASS_NAMES))
def gold_scores(opened: Opened, options: Options) -> Answer[GoldScores]:
    """Predictions of the head of the checkpoint, or of a probe fitted on the example set, compared with the labels."""
    if not options.texts:
        raise TextError("This figure compares answers with labels; give each text as 'LABEL<tab>TEXT', in quotes.")
    parted = [line.partition("\t") for line in _lines(opened, options).sentences]
    texts, gold = [text or label for label, _, text in parted], [label if text else "" for label, _, text in parted]
    try:
        task: str | None = options.task or stored_task(opened.source)
    except UnsupportedModelError:
        task = None
    if task is None:
        fit = fitted_probes(opened, Options(values={POOLING.key: options.choice(POOLING, POOLINGS)})).result
        predictions = probe_table(fit.probes[-1], opened.loaded, opened.tokenizer, texts)
    else:
        predictions = text_answers(opened, Options(tuple(texts), options.pair, task)).result
        predictions = with_class_names(predictions, options.names(CLASS_NAMES.key))
    scored = scored_texts(answered(opened, predictions, predictions.notices), gold, opened.source.name)
    return replace(scored, texts=tuple(texts))


def scored_texts(answer: Answer[TextPredictions], gold: Sequence[str], name: str) -> Answer[GoldScores]:
    """Predictions of a model of this name compared with the labels, of which one at least is a class."""
    scores = _compared(answer.result, gold)
    return answer.of(scores, scores.notices, gold_scores=scores, model_name=name)


def column_scores(
    opened: Opened, options: Options, table: SentenceTable, gold: str, strategy: Strategy
) -> Answer[tuple[TextPredictions, GoldScores]]:
    """Predictions for the texts of a table, and their scores against the labels in a column.

    Args:
        options: task, a second text for all texts, and names of the classes.
        gold: name of the column with the labels.
        strategy: how tags are merged into entities.
    """
    pairs = None if options.pair is None else (options.pair,) * len(table.sentences)
    answers = text_predictions(opened.head(options.task), opened.tokenizer, table.sentences, pairs, strategy)
    predictions = with_class_names(answers, options.names(CLASS_NAMES.key))
    scores = _compared(predictions, gold_column(table, gold))
    return answered(opened, (predictions, scores), (*predictions.notices, *scores.notices))


def _compared(predictions: TextPredictions, gold: Sequence[str]) -> GoldScores:
    scores = scores_of(predictions, gold)
    if refusal := without_gold(predictions, scores):
        raise TextError(refusal)
    return scores


def _lines(opened: Opened, options: Options) -> SentenceTable:
    return read_sentences("The list", "\n".join(options.texts), opened.settings)
