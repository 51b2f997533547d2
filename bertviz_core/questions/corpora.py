"""Questions about a corpus: search, map, near duplicates, clusters, and heads and probes over its texts."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float

from bertviz_core.attention.atlas import PROFILE_MEASURES
from bertviz_core.corpus.analysis.clusters import (
    FEW_CLUSTERS,
    MAX_CLUSTERS,
    MOST_LEAST,
    fewest_rows,
    map_density,
    whole_window,
)
from bertviz_core.corpus.analysis.clusters import corpus_clusters as clusters_of
from bertviz_core.corpus.analysis.duplicates import ColumnValues, column_values
from bertviz_core.corpus.analysis.duplicates import duplicate_groups as groups_of
from bertviz_core.corpus.analysis.neighbours import (
    LEAST_ROWS,
    MAX_NEIGHBOURS,
    MAX_ROWS,
    NEIGHBOURS,
    ROWS,
    check_numbers,
    compared_rows,
)
from bertviz_core.corpus.analysis.neighbours import neighbour_changes as changes_of
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
    NeighbourChanges,
)
from bertviz_core.corpus.analysis.row_samples import texts_of
from bertviz_core.corpus.corpora_folder import EXAMPLE
from bertviz_core.corpus.folder import TEXT_COLUMN
from bertviz_core.corpus.results import CorpusHits
from bertviz_core.corpus.search import MAX_HITS, SearchIndex, check_weights, query_vector, search
from bertviz_core.errors import BertvizError, Named, TextError
from bertviz_core.models.catalog import BUNDLED, FINE_TUNED
from bertviz_core.models.local_files import weights_folder
from bertviz_core.models.safetensors.folder import weights_sha256
from bertviz_core.predictions.probing.reading import MAX_TEXTS
from bertviz_core.predictions.probing.results import ProbeScores
from bertviz_core.predictions.probing.scores import probed_layers
from bertviz_core.questions.opened import CorpusSubject, Opened, names_of
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.predictions.labelled_texts import TRAIN, probe_work
from bertviz_core.questions.question import Answer, AnswerCost, Job, long_question, question, shows_answers
from bertviz_core.questions.texts.sentences import own_plan, query_model
from bertviz_core.sentences.encoding import edge_tokens, sentence_vectors
from bertviz_core.sentences.pooling import offered_poolings
from bertviz_core.sentences.results import POOLINGS, MapMethod, Pooling
from bertviz_core.sentences.similarity import umap_available
from bertviz_core.text import escape_controls, quoted, repair_surrogates

T = TypeVar("T")
METHODS: tuple[MapMethod, ...] = ("pca", "umap")
THRESHOLD, FIRST_HITS = 0.95, 10
"""Default cosine from which two rows are near duplicates, and default number of hits."""
MAPS = {"pca": "principal components", "umap": "UMAP"}
MOST_HITS, TYPICAL = 100, 3
"""Most hits on a page, and number of most typical texts of a cluster that are listed."""
COSINES = ("0.6", "0.7", "0.8", "0.9", "0.95", "0.97", "0.98", "0.99", "0.995")
"""Cosines from which two rows are near duplicates on a page."""
COLUMN_KINDS = ("text", "number", "boolean")
"""Kinds of columns whose values can colour a map, divide a sample or be labels."""
USUAL_LABELS = ("label", "topic", "class", "category")
"""Names of columns that are the labels by default."""


def value_columns(opened: CorpusSubject, _: Options) -> list[str]:
    """Names of the columns whose values are few enough to be classes."""
    return [name for name, kind in opened.corpus.columns.items() if kind in COLUMN_KINDS and name != TEXT_COLUMN]


def _labels_first(opened: CorpusSubject, options: Options) -> list[str]:
    names = value_columns(opened, options)
    first = next((name for name in USUAL_LABELS if name in names), "")
    return sorted(names, key=lambda name: name != first)


def _colours(opened: CorpusSubject, options: Options) -> list[str]:
    """The column of labels first, where there is one and its values are read at once."""
    names = _labels_first(opened, options)
    labelled = opened.corpus.rows <= CONFIRM_ABOVE and bool({*USUAL_LABELS}.intersection(names))
    return [*names, ""] if labelled else ["", *names]


def _cosines(opened: CorpusSubject, _: Options) -> list[str]:
    """The lowest is the default in the example, none of whose rows are nearly equal."""
    first = COSINES[0] if opened.name == EXAMPLE else str(THRESHOLD)
    return sorted(COSINES, key=lambda cosine: cosine != first)


def _cluster_bounds(opened: CorpusSubject, _: Options) -> tuple[int, int, int]:
    most = max(min(MAX_CLUSTERS, opened.corpus.rows), 2)
    return 2, most, min(FEW_CLUSTERS, most)


def _least_bounds(opened: CorpusSubject, _: Options) -> tuple[int, int, int]:
    most = max(min(MOST_LEAST, opened.corpus.rows), 2)
    return 2, most, min(fewest_rows(opened.corpus.rows), most)


def _made_by(method: str) -> Callable[[CorpusSubject, Options], bool]:
    return lambda _, options: options.choice(CLUSTERING) == method


def _up_to(most: int, first: int) -> Callable[[Any, Options], tuple[int, int, int]]:
    return lambda opened, _: (1, most, min(first, opened.corpus.rows))


def _poolings(opened: CorpusSubject, options: Options) -> list[Pooling]:
    """Poolings of the model that reads the texts, the mean first."""
    model = _reader(opened, options)
    offered = offered_poolings(edge_tokens(model.tokenizer).first, model.loaded.has_pooler, "mean")
    return sorted(offered, key=lambda each: each != "mean")


def _hits(opened: CorpusSubject, _: Options) -> tuple[int, int, int]:
    return 1, min(MOST_HITS, opened.corpus.rows), min(FIRST_HITS, opened.corpus.rows)


def _or(words: str) -> Callable[[str], str]:
    return lambda name: escape_controls(name) or words


def _other_models(opened: CorpusSubject, _: Options) -> list[str]:
    """A bundled sentence model that did not make the vectors; the corpus's own where no other may be opened."""
    allowed, own = opened.settings.allowed_models, opened.corpus.manifest.model
    others = [name for name in (FINE_TUNED, *BUNDLED, *allowed) if name != own and (not allowed or name in allowed)]
    return others[:1] or [own]


def _neighbour_bounds(opened: CorpusSubject, _: Options) -> tuple[int, int, int]:
    most = max(min(MAX_NEIGHBOURS, opened.corpus.rows - 1), 1)
    return 1, most, min(NEIGHBOURS, most)


def _row_bounds(opened: CorpusSubject, _: Options) -> tuple[int, int, int]:
    most = max(min(MAX_ROWS, opened.corpus.rows), LEAST_ROWS)
    return LEAST_ROWS, most, min(ROWS, most)


MORE = "drawn by a fixed seed; more take longer"
HITS = Param("hits", "whole", "number of rows to return", (), "Hits", bounds=_hits)
WHERE = Param("where", "text", "only rows with this value of a column, COLUMN=VALUE", (), "Filter")
HOW = "how vectors become points"
PLACED = Param("placed", "choice", HOW, METHODS, "Map", lambda *_: MAPS, applies=lambda *_: umap_available())
COLOUR = "the column that the map is coloured by, on the page that of labels, otherwise its density by default"
COLOURED = Param("coloured", "text", COLOUR, (), "Colour", _colours, shown=_or("number of rows"))
PAIRS = "cosine from which two rows are near duplicates; pairs that share a row are one group"
ALIKE = Param("alike", "text", PAIRS, (), "Cosine at least", _cosines)
CLUSTERING = choice("clustering", CLUSTER_METHODS, "how rows are put into clusters", "Method")
CLUSTERS = Param(
    "clusters", "whole", "clusters that are made", (), "Clusters", bounds=_cluster_bounds, applies=_made_by("k-means")
)
DENSE = "least rows of a cluster; fewer find smaller groups, and leave out fewer rows"
LEAST = Param("least", "whole", DENSE, (), "Rows at least", bounds=_least_bounds, applies=_made_by("HDBSCAN"))
SAMPLE = Param("sample", "whole", f"sentences that are run, {MORE}", (), "Sentences", bounds=_up_to(MAX_SENTENCES, 50))
DIVIDED = "a column by whose values the sample is divided"
PART_COLUMN = Param(
    "part_column", "text", DIVIDED, (), "Group by", lambda *of: ["", *value_columns(*of)], shown=_or("no groups")
)
PART = Param("part", "text", "one of these values, all by default", (), "Part", shown=escape_controls)
MEASURE = choice("measure", PROFILE_MEASURES, "the number of every head", "Measure")
LABELS = Param("probe_labels", "text", "the column with the labels", (), "Labels", _labels_first, shown=escape_controls)
PROBE_TEXTS = Param("probe_sample", "whole", f"texts that are read, {MORE}", (), "Texts", bounds=_up_to(MAX_TEXTS, 500))
POOLING = Param("corpus_pooling", "choice", "how tokens become one vector", POOLINGS, "Pooling", _poolings)
READER = Param("reader", "text", "the model that reads the texts anew, by default the one that made the vectors")
NEIGHBOUR_MODEL = Param(
    "neighbour_model",
    "text",
    "the other model, which reads the texts anew",
    (),
    "Other model",
    _other_models,
    control="model",
)
NEIGHBOUR_COUNT = Param(
    "neighbour_count", "whole", "nearest rows that are compared", (), "Neighbours", bounds=_neighbour_bounds
)
NEIGHBOUR_ROWS = Param(
    "neighbour_rows",
    "whole",
    "rows that are compared with each other, evenly spaced; more take longer",
    (),
    "Rows",
    bounds=_row_bounds,
)
CONFIRM_ABOVE = 20_000
"""Number of rows above which long computations start only on request."""


@question(figures=("corpus-search",), params=(HITS, WHERE))
def corpus_hits(opened: CorpusSubject, options: Options) -> Answer[CorpusHits]:
    """The rows nearest to a text."""
    count = options.whole(HITS.key, MAX_HITS + 1, FIRST_HITS)
    return searched(opened, options.text(), count, options.get(WHERE.key), opened.index)


def first_text(opened: CorpusSubject) -> str:
    """The text of the first row, the query by default; "" where the corpus keeps no texts."""
    if TEXT_COLUMN not in opened.corpus.columns:
        return ""
    return opened.get_or_compute((__name__, "first"), lambda: texts_of(opened.corpus, np.arange(1))[0])


def refusal(opened: CorpusSubject) -> str:
    """Why the weights of the model on this machine do not suit the corpus; "" where they do."""
    source = opened.model.source

    def compared() -> str:
        try:
            check_weights(opened.corpus, source.name, weights_sha256(weights_folder(source, opened.settings)))
        except BertvizError as error:
            return str(error)
        return ""

    return opened.model.get_or_compute((__name__, "refusal", opened.corpus.fingerprint), compared)


def searched(
    opened: CorpusSubject, text: str, count: int, where: str = "", index: SearchIndex | None = None
) -> Answer[CorpusHits]:
    """Search for the rows nearest to a text.

    Args:
        where: restricts the search to rows with a value in a column, COLUMN=VALUE; "" for all.
        index: index for an approximate search; None for an exhaustive one.
    """
    text, model, corpus = repair_surrogates(text), opened.model, opened.corpus

    def vector_of() -> Float[np.ndarray, " dimensions"]:
        reader = query_model(model)
        return query_vector(corpus, reader.loaded, reader.tokenizer, model.source, opened.settings, text, reader.source)

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
def corpus_map(opened: CorpusSubject, options: Options, job: Job[CorpusMap]) -> Answer[CorpusMap]:
    """All rows in two dimensions, as a density or coloured by a column."""
    method, column = options.choice(PLACED, METHODS), options.get(COLOURED.key)
    return coloured_map(opened, map_of(opened.corpus.vectors(), method, progress=job), column)


def coloured_map(opened: CorpusSubject, placed: CorpusMap, column: str) -> Answer[CorpusMap]:
    """The map as a density, or coloured by a column, whose name is "" for the density."""
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
def duplicate_groups(opened: CorpusSubject, options: Options, job: Job[DuplicateGroups]) -> Answer[DuplicateGroups]:
    """Groups of near duplicates."""

    def on_partial(groups: DuplicateGroups) -> None:
        if len(groups.sizes):
            job.show(_answered(opened, groups, duplicate_groups=groups))

    show = on_partial if shows_answers(job) else None
    groups = groups_of(opened.corpus.vectors(), _decimal(options, ALIKE.key, THRESHOLD), job, show)
    return _answered(opened, groups, duplicate_groups=groups)


def _rows_cost(opened: CorpusSubject, options: Options) -> AnswerCost:
    return AnswerCost(opened.corpus.rows)


@long_question(_rows_cost, figures=("corpus-clusters",), params=(CLUSTERING, CLUSTERS, LEAST), noun="rows")
def corpus_clusters(opened: CorpusSubject, options: Options, job: Job[CorpusClusters]) -> Answer[CorpusClusters]:
    """Clusters of rows, with the most typical text of each if the corpus contains texts."""
    corpus, method = opened.corpus, options.choice(CLUSTERING, CLUSTER_METHODS)
    count = options.whole(CLUSTERS.key, MAX_CLUSTERS + 1, min(FEW_CLUSTERS, corpus.rows))
    least = options.whole(LEAST.key, corpus.rows + 1, min(fewest_rows(corpus.rows), corpus.rows))

    def answered(clusters: CorpusClusters) -> Answer[CorpusClusters]:
        rows = clusters.typical[:, :TYPICAL]
        texts = np.full(rows.shape, "", dtype=object)
        if corpus.manifest.text_column:
            texts[rows >= 0] = texts_of(corpus, rows[rows >= 0])
        listed = tuple(map(tuple, texts.tolist()))
        drawn = {"typical_texts": tuple(each[0] for each in listed), "listed_texts": listed}
        return _answered(opened, clusters, corpus_clusters=clusters, **drawn)

    show = (lambda clusters: job.show(answered(clusters))) if shows_answers(job) else None
    return answered(clusters_of(corpus.vectors(), method, count, least, progress=job, on_partial=show))


def _profiles_cost(opened: CorpusSubject, options: Options) -> AnswerCost:
    _ = _reader(opened, options).loaded  # before the work begins
    return AnswerCost(options.whole(SAMPLE.key, MAX_SENTENCES + 1, SENTENCES))


@long_question(
    _profiles_cost, figures=("corpus-heads",), params=(SAMPLE, PART_COLUMN, PART, MEASURE, READER), noun="sentences"
)
def head_profiles(opened: CorpusSubject, options: Options, job: Job[HeadProfiles]) -> Answer[HeadProfiles]:
    """Attention statistics of every head over a sample of the texts."""
    model, sentences = _reader(opened, options), options.whole(SAMPLE.key, MAX_SENTENCES + 1, SENTENCES)
    column = options.get(PART_COLUMN.key)
    profiles = profiles_of(opened.corpus, model.loaded, model.tokenizer, sentences, column, progress=job)
    answer = _answered(opened, profiles, profiles.notices, head_profiles=profiles, **_profile_drawn(profiles, options))
    return replace(answer, models=names_of(model))


def profile_of_part(answer: Answer[HeadProfiles], options: Options) -> Answer[HeadProfiles]:
    """The same profiles, drawn for another part or measure, without another run."""
    return replace(answer, drawn={**answer.drawn, **_profile_drawn(answer.result, options)})


def _profile_drawn(profiles: HeadProfiles, options: Options) -> dict[str, object]:
    return {"profile_part": _part(options, profiles), "profile_measure": options.choice(MEASURE, PROFILE_MEASURES)}


def _probes_cost(opened: CorpusSubject, options: Options) -> AnswerCost:
    model, count = _reader(opened, options), options.whole(PROBE_TEXTS.key, MAX_TEXTS + 1, TEXTS)
    layers = len(probed_layers(model.loaded, options.choice(POOLING, POOLINGS)))  # loaded before the work begins
    labelled = labelled_sample(opened.corpus, _labels(options), count)
    slow = probe_work(model, labelled, layers)
    return AnswerCost(count, slow=slow, action=TRAIN)


def _labels(options: Options) -> str:
    if column := options.get(LABELS.key):
        return column
    what = "This figure reads labels from a column and none was named; give "
    raise TextError(what, Named(LABELS.key), "=COLUMN.")


@long_question(_probes_cost, figures=("corpus-probe",), params=(LABELS, PROBE_TEXTS, POOLING, READER))
def probe_scores(opened: CorpusSubject, options: Options, job: Job[ProbeScores]) -> Answer[ProbeScores]:
    """How well a linear probe predicts a column from each layer."""
    column, model = _labels(options), _reader(opened, options)
    pooling, texts = options.choice(POOLING, POOLINGS), options.whole(PROBE_TEXTS.key, MAX_TEXTS + 1, TEXTS)

    def scored(scores: ProbeScores) -> Answer[ProbeScores]:
        best = scores.layers[scores.best]
        answer = _answered(opened, scores, scores.notices, corpus_probe_scores=scores, best_layer=best)
        return replace(answer, models=names_of(model))

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


def _neighbours_cost(opened: CorpusSubject, options: Options) -> AnswerCost:
    _ = _other_model(opened, options).loaded  # before the work begins
    return AnswerCost(min(options.whole(NEIGHBOUR_ROWS.key, MAX_ROWS + 1, ROWS), opened.corpus.rows))


@long_question(
    _neighbours_cost,
    figures=("corpus-neighbours",),
    params=(NEIGHBOUR_MODEL, NEIGHBOUR_COUNT, NEIGHBOUR_ROWS),
    noun="texts",
)
def neighbour_changes(opened: CorpusSubject, options: Options, job: Job[NeighbourChanges]) -> Answer[NeighbourChanges]:
    """Which rows have other nearest rows by the vectors of another model."""
    corpus, most = opened.corpus, options.whole(NEIGHBOUR_ROWS.key, MAX_ROWS + 1, ROWS)
    count = options.whole(NEIGHBOUR_COUNT.key, MAX_NEIGHBOURS + 1, NEIGHBOURS)
    compared, model = compared_rows(corpus, most), _other_model(opened, options)
    made = sentence_vectors(model.loaded, model.tokenizer, compared.texts, own_plan(model), progress=job)
    notices = [own_plan(model).reason, *made.notices]
    if model.name == corpus.manifest.model:
        notices.insert(0, "This is the model that made the corpus, so that its rows should keep their neighbours.")
    changes = changes_of(corpus, compared, made.vectors, model.source.name, count, notices)
    answer = _answered(opened, changes, changes.notices, neighbour_changes=changes)
    return replace(answer, models=(*_models(opened), *names_of(model)))


def neighbour_options(model: str, count: int, rows: int) -> Options:
    """Options for a comparison of neighbours: the other model, their number, and that of the rows."""
    check_numbers(rows, count)
    values = {NEIGHBOUR_MODEL.key: model, NEIGHBOUR_COUNT.key: str(count), NEIGHBOUR_ROWS.key: str(rows)}
    return Options(values=values)


def _other_model(opened: CorpusSubject, options: Options) -> Opened:
    return opened.model.other(options.get(NEIGHBOUR_MODEL.key) or _other_models(opened, options)[0])


def _reader(opened: CorpusSubject, options: Options) -> Opened:
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
