"""Texts with labels: probes fitted on them, and answers beside their labels."""

from dataclasses import replace

from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.predictions.labelled.fitting import fitted_probe, layer_vectors
from bertviz_core.predictions.labelled.fitting import probe_scores as scored
from bertviz_core.predictions.labelled.reading import example_set, gold_column, typed_labels
from bertviz_core.predictions.labelled.results import GoldScores, LabelledTexts, ProbeScores, TextPredictions
from bertviz_core.predictions.labelled.scores import gold_scores as compared_with_gold
from bertviz_core.predictions.labelled.table import probe_table, text_predictions
from bertviz_core.predictions.loading import stored_task
from bertviz_core.predictions.results import Strategy
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import EMBEDDING_OUTPUT, Options, Param
from bertviz_core.questions.question import Answer, question
from bertviz_core.sentences.reading.files import read_sentences
from bertviz_core.sentences.results import POOLINGS, Pooling, SentenceTable
from bertviz_core.text import escape_controls

MOST_SEEDS = 10_000
POOLING = Param("pooling", "choice", "how tokens become one vector, the mean by default", POOLINGS)
LAYER = Param("layer", "layer", "entry of the hidden states that is chosen, the last by default")
SEED = Param("seed", "whole", "seed of the division into folds")


@question(figures=("probe",), params=(POOLING, LAYER, SEED))
def probe_scores(opened: Opened, options: Options) -> Answer[ProbeScores]:
    """How well a linear probe does on each layer; on the example set where no texts are given."""
    labelled: LabelledTexts = typed_labels(_lines(opened, options)) if options.texts else example_set()
    pooling, last = _pooling(options), opened.loaded.num_hidden_layers
    vectors = layer_vectors(opened.loaded, opened.tokenizer, labelled.texts, pooling)
    scores = scored(opened.loaded, labelled, pooling, vectors, options.whole(SEED.key, MOST_SEEDS, 0))
    layer = options.numbered("layer", last + 1, last, opened.name, EMBEDDING_OUTPUT)
    return answered(opened, scores, scores.notices, probe_scores=scores, probed_layer=layer)


@question(figures=("confusion",), params=(POOLING,))
def gold_scores(opened: Opened, options: Options) -> Answer[GoldScores]:
    """Answers of the checkpoint's own head, or of a probe fitted on the example set, beside the labels."""
    if not options.texts:
        raise TextError("This figure compares answers with labels; give each text as 'LABEL<tab>TEXT', in quotes.")
    parted = [line.partition("\t") for line in _lines(opened, options).sentences]
    texts, gold = [text or label for label, _, text in parted], [label if text else "" for label, _, text in parted]
    try:
        task: str | None = options.task or stored_task(opened.source)
    except UnsupportedModelError:
        task = None
    predictions = _of_probe(opened, options, texts) if task is None else _of_head(opened, options, task, texts)
    scores = compared_with_gold(predictions, gold)
    notices = (*predictions.notices, *scores.notices)
    drawn = {"gold_scores": scores, "model_name": opened.source.name}
    return replace(answered(opened, scores, notices, **drawn), texts=tuple(texts))


def column_scores(
    opened: Opened, options: Options, table: SentenceTable, gold: str, strategy: Strategy
) -> Answer[tuple[TextPredictions, GoldScores]]:
    """What the model's head says of a table's texts, and how it compares with the labels of a column.

    Args:
        opened: the model.
        options: task, and the second text of all of them.
        table: the texts.
        gold: name of the column with the labels.
        strategy: how tags become entities.

    Raises:
        BertvizError: there is no such column, or the file has no such head.
    """
    pairs = None if options.pair is None else (options.pair,) * len(table.sentences)
    predictions = text_predictions(opened.head(options.task), opened.tokenizer, table.sentences, pairs, strategy)
    scores = compared_with_gold(predictions, gold_column(table, gold))
    return answered(opened, (predictions, scores), (*predictions.notices, *scores.notices))


def _of_probe(opened: Opened, options: Options, texts: list[str]) -> TextPredictions:
    pooling, labelled = _pooling(options), example_set()
    vectors = layer_vectors(opened.loaded, opened.tokenizer, labelled.texts, pooling)
    scores = scored(opened.loaded, labelled, pooling, vectors)
    probe = fitted_probe(labelled, scores, vectors, scores.layers[-1])
    return probe_table(probe, opened.loaded, opened.tokenizer, texts)


def _of_head(opened: Opened, options: Options, task: str, texts: list[str]) -> TextPredictions:
    pairs = [options.pair] * len(texts) if options.pair is not None else None
    return text_predictions(opened.head(task), opened.tokenizer, texts, pairs)


def _pooling(options: Options) -> Pooling:
    given = options.get(POOLING.key) or "mean"
    chosen = next((each for each in POOLINGS if each == given), None)
    if chosen is None:
        raise TextError(f"There is no pooling {escape_controls(given[:20])!r}; choose {', '.join(POOLINGS)}.")
    return chosen


def _lines(opened: Opened, options: Options) -> SentenceTable:
    """What was given, a text on a line."""
    return read_sentences("The list", "\n".join(options.texts), opened.settings)
