"""Questions about a corpus: search, map, near duplicates, clusters, and heads and probes over its texts."""

from dataclasses import replace
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from bertviz_core.attention.atlas import PROFILE_MEASURES
from bertviz_core.corpus.analysis.clusters import FEW_CLUSTERS, FEWEST_ROWS, MAX_CLUSTERS, map_density, whole_window
from bertviz_core.corpus.analysis.clusters import corpus_clusters as clusters_of
from bertviz_core.corpus.analysis.duplicates import ColumnValues, column_values
from bertviz_core.corpus.analysis.duplicates import duplicate_groups as groups_of
from bertviz_core.corpus.analysis.profiles import MAX_SENTENCES, SENTENCES, TEXTS, corpus_probe_scores, labelled_sample
from bertviz_core.corpus.analysis.profiles import head_profiles as profiles_of
from bertviz_core.corpus.analysis.projection import corpus_map as map_of
from bertviz_core.corpus.analysis.results import (
    CLUSTER_METHODS,
    CorpusClusters,
    CorpusMap,
    DuplicateGroups,
    HeadProfile,
    HeadProfiles,
)
from bertviz_core.corpus.analysis.row_samples import texts_of
from bertviz_core.corpus.results import CorpusHits
from bertviz_core.corpus.search import MAX_HITS, SearchIndex, query_vector, search
from bertviz_core.errors import Named, TextError
from bertviz_core.predictions.probing.reading import MAX_TEXTS
from bertviz_core.predictions.probing.results import ProbeScores
from bertviz_core.predictions.probing.scores import fold_count, probed_layers
from bertviz_core.questions.opened import CorpusSubject, Opened
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.predictions.labelled_texts import TRAIN, probe_work
from bertviz_core.questions.question import Answer, AnswerCost, AnswerJob, long_question, question, shows_answers
from bertviz_core.sentences.results import POOLINGS, MapMethod
from bertviz_core.text import escape_controls, quoted, repair_surrogates

T = TypeVar("T")
METHODS: tuple[MapMethod, ...] = ("pca", "umap")
THRESHOLD, FIRST_HITS = 0.95, 10
"""Default cosine from which two rows are near duplicates, and default number of hits."""
HITS = Param("hits", "whole", "number of rows to return")
WHERE = Param("where", "text", "only rows with this value of a column, COLUMN=VALUE")
PLACED = choice("placed", METHODS, "how vectors become points")
COLOURED = Param("coloured", "text", "the column that the map is coloured by, its density by default")
ALIKE = Param("alike", "text", "cosine from which two rows are near duplicates")
CLUSTERING = choice("clustering", CLUSTER_METHODS, "how rows are put into clusters")
CLUSTERS = Param("clusters", "whole", "clusters that are made")
LEAST = Param("least", "whole", "least rows of a cluster")
SAMPLE = Param("sample", "whole", "sentences that are run")
PART_COLUMN = Param("part_column", "text", "a column by whose values the sample is divided")
PART = Param("part", "text", "one of these values, all by default")
MEASURE = choice("measure", PROFILE_MEASURES, "the number of every head")
LABELS = Param("probe_labels", "text", "the column with the labels")
PROBE_TEXTS = Param("probe_sample", "whole", "texts that are read")
POOLING = choice("corpus_pooling", POOLINGS, "how tokens become one vector")
READER = Param("reader", "text", "the model that reads the texts anew, by default the one that made the vectors")
CONFIRM_ABOVE = 20_000
"""Number of rows above which long computations start only on request."""


@question(figures=("corpus-search",), params=(HITS, WHERE))
def corpus_hits(opened: CorpusSubject, options: Options) -> Answer[CorpusHits]:
    """The rows nearest to a text."""
    count = options.whole(HITS.key, MAX_HITS + 1, FIRST_HITS)
    return searched(opened, options.text(), count, options.get(WHERE.key), opened.index)


def searched(
    opened: CorpusSubject, text: str, count: int, where: str = "", index: SearchIndex | None = None
) -> Answer[CorpusHits]:
    """Search for the rows nearest to a text.

    Args:
        opened: the corpus.
        text: the query.
        count: number of rows to return.
        where: restricts the search to rows with a value in a column, COLUMN=VALUE; "" for all.
        index: index for an approximate search; None for an exhaustive one.

    Raises:
        BertvizError: the model is not on this machine, there is no such column, or the count is out of range.
    """
    text, model, corpus = repair_surrogates(text), opened.model, opened.corpus

    def vector_of() -> Float[np.ndarray, " dimensions"]:
        return query_vector(corpus, model.loaded, model.tokenizer, model.source, opened.settings, text)

    vector = model.get_or_compute((__name__, "query", corpus.fingerprint, text), vector_of)
    hits = search(corpus, text, vector, count, where, index)
    return Answer(hits, _models(opened), (text,), hits.notices, {"corpus_hits": hits})


@question(params=(COLOURED,))
def column_colours(opened: CorpusSubject, options: Options) -> Answer[ColumnValues]:
    """The values of a column, as indices into a short list of values."""
    return _answered(opened, column_values(opened.corpus.column(options.get(COLOURED.key))))


def _map_cost(opened: CorpusSubject, options: Options) -> AnswerCost:
    rows, slow = opened.corpus.rows, ""
    if options.choice(PLACED, METHODS) == "umap" and rows > CONFIRM_ABOVE:
        slow = (
            f"UMAP learns from a sample and then places the other rows, one after the other: of {rows:,} that takes "
            "long. You see how far it is, and can cancel."
        )
    return AnswerCost(2 * rows, slow=slow)


@long_question(_map_cost, figures=("corpus-map",), params=(PLACED, COLOURED), noun="rows")
def corpus_map(opened: CorpusSubject, options: Options, job: AnswerJob[Answer[CorpusMap]]) -> Answer[CorpusMap]:
    """All rows in two dimensions, as a density or coloured by a column."""
    method, column = options.choice(PLACED, METHODS), options.get(COLOURED.key)
    placed = map_of(opened.corpus.vectors(), method, progress=job)
    values = column_colours(opened, Options(values={COLOURED.key: column})).result if column else None
    density = map_density(placed.points, whole_window(placed.points), values)
    return _answered(opened, placed, corpus_map=placed, map_density=density, map_column=column)


def _groups_cost(opened: CorpusSubject, options: Options) -> AnswerCost:
    rows, slow = opened.corpus.rows, ""
    if rows > CONFIRM_ABOVE:
        pairs = rows * (rows - 1) // 2
        slow = (
            f"Every one of {rows:,} rows is compared with every other: {pairs:,} pairs. You see how far it is, and can "
            "cancel."
        )
    return AnswerCost(rows, slow=slow)


@long_question(_groups_cost, figures=("corpus-duplicates",), params=(ALIKE,), noun="blocks")
def duplicate_groups(
    opened: CorpusSubject, options: Options, job: AnswerJob[Answer[DuplicateGroups]]
) -> Answer[DuplicateGroups]:
    """Groups of near duplicates."""

    def on_partial(groups: DuplicateGroups) -> None:
        job.show(_answered(opened, groups, duplicate_groups=groups))

    show = on_partial if shows_answers(job) else None
    groups = groups_of(opened.corpus.vectors(), _decimal(options, ALIKE.key, THRESHOLD), job, show)
    return _answered(opened, groups, duplicate_groups=groups)


def _rows_cost(opened: CorpusSubject, options: Options) -> AnswerCost:
    return AnswerCost(opened.corpus.rows)


@long_question(_rows_cost, figures=("corpus-clusters",), params=(CLUSTERING, CLUSTERS, LEAST), noun="rows")
def corpus_clusters(
    opened: CorpusSubject, options: Options, job: AnswerJob[Answer[CorpusClusters]]
) -> Answer[CorpusClusters]:
    """Clusters of rows, with the most typical text of each if the corpus contains texts."""
    corpus, method = opened.corpus, options.choice(CLUSTERING, CLUSTER_METHODS)
    count = options.whole(CLUSTERS.key, MAX_CLUSTERS + 1, min(FEW_CLUSTERS, corpus.rows))
    least = options.whole(LEAST.key, corpus.rows + 1, min(FEWEST_ROWS, corpus.rows))
    clusters = clusters_of(corpus.vectors(), method, count, least, progress=job)
    typical = clusters.typical[:, 0]
    texts = tuple(texts_of(corpus, typical)) if corpus.manifest.text_column else ("",) * len(typical)
    return _answered(opened, clusters, corpus_clusters=clusters, typical_texts=texts)


def _profiles_cost(opened: CorpusSubject, options: Options) -> AnswerCost:
    _ = _reader(opened, options).loaded  # before the work begins
    return AnswerCost(options.whole(SAMPLE.key, MAX_SENTENCES + 1, SENTENCES))


@long_question(
    _profiles_cost,
    figures=("corpus-heads",),
    params=(SAMPLE, PART_COLUMN, PART, MEASURE, READER),
    noun="sentences",
)
def head_profiles(
    opened: CorpusSubject, options: Options, job: AnswerJob[Answer[HeadProfiles]]
) -> Answer[HeadProfiles]:
    """Attention statistics of every head over a sample of the texts."""
    model, sentences = _reader(opened, options), options.whole(SAMPLE.key, MAX_SENTENCES + 1, SENTENCES)
    column = options.get(PART_COLUMN.key)
    profiles = profiles_of(opened.corpus, model.loaded, model.tokenizer, sentences, column, progress=job)
    drawn = {"profile_part": _part(options, profiles), "profile_measure": options.choice(MEASURE, PROFILE_MEASURES)}
    answer = _answered(opened, profiles, profiles.notices, head_profiles=profiles, **drawn)
    return replace(answer, models=((model.source.name, model.source.revision),))


def _probes_cost(opened: CorpusSubject, options: Options) -> AnswerCost:
    model, count = _reader(opened, options), options.whole(PROBE_TEXTS.key, MAX_TEXTS + 1, TEXTS)
    layers = len(probed_layers(model.loaded, options.choice(POOLING, POOLINGS)))  # loaded before the work begins
    labelled = labelled_sample(opened.corpus, _labels(options), count)
    slow = probe_work(model.name, len(labelled.texts), layers, fold_count(labelled))
    return AnswerCost(count, slow=slow, action=TRAIN)


def _labels(options: Options) -> str:
    """The column with the labels."""
    if column := options.get(LABELS.key):
        return column
    what = "This figure reads labels from a column and none was named; give "
    raise TextError(what, Named(LABELS.key), "=COLUMN.")


@long_question(_probes_cost, figures=("corpus-probe",), params=(LABELS, PROBE_TEXTS, POOLING, READER))
def probe_scores(opened: CorpusSubject, options: Options, job: AnswerJob[Answer[ProbeScores]]) -> Answer[ProbeScores]:
    """How well a linear probe predicts a column from each layer."""
    column, model = _labels(options), _reader(opened, options)
    pooling, texts = options.choice(POOLING, POOLINGS), options.whole(PROBE_TEXTS.key, MAX_TEXTS + 1, TEXTS)

    def scored(scores: ProbeScores) -> Answer[ProbeScores]:
        best = scores.layers[scores.best]
        answer = _answered(opened, scores, scores.notices, corpus_probe_scores=scores, best_layer=best)
        return replace(answer, models=((model.source.name, model.source.revision),))

    return scored(
        corpus_probe_scores(
            opened.corpus,
            model.loaded,
            model.tokenizer,
            column,
            pooling,
            texts,
            progress=job,
            on_partial=lambda scores: job.show(scored(scores)),
        )
    )


def _reader(opened: CorpusSubject, options: Options) -> Opened:
    """The model that is run on the texts."""
    name = options.get(READER.key)
    return opened.model.other(name) if name else opened.model


def _models(opened: CorpusSubject) -> tuple[tuple[str, str], ...]:
    manifest = opened.corpus.manifest
    return ((manifest.model, manifest.revision),)


def _answered(opened: CorpusSubject, result: T, notices: tuple[str, ...] = (), /, **drawn: object) -> Answer[T]:
    return Answer(result, _models(opened), (), notices, {"corpus_name": opened.name, **drawn})


def _part(options: Options, profiles: HeadProfiles) -> HeadProfile:
    """The profile of the whole sample, or of the texts with one value of the column."""
    name = options.get(PART.key)
    parts = {"all": profiles.overall, "": profiles.overall, **{part.name: part for part in profiles.parts}}
    if name in parts:
        return parts[name]
    what = f"={escape_controls(name[:30])}; "
    if not profiles.parts:
        raise TextError("There is no ", Named(PART.key), f"{what}give ", Named(PART_COLUMN.key), "=COLUMN.")
    known = ", ".join(quoted(part.name, 40) for part in profiles.parts)
    raise TextError("There is no ", Named(PART.key), f"{what}those there are: {known}.")


def _decimal(options: Options, key: str, default: float) -> float:
    value = options.get(key, str(default))
    try:
        number = float(value)
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise TextError(Named(key), f"={escape_controls(value[:20])} is no number; give one such as {default}.")
    return number
