"""The page Corpus: search, map, near duplicates, clusters, heads and probes over many texts, and what a corpus is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bertviz_core.attention.results import HeadMeasure
from bertviz_core.corpus import tables
from bertviz_core.corpus.analysis.duplicates import ColumnValues, unlike
from bertviz_core.corpus.analysis.neighbours import LEAST_ROWS
from bertviz_core.corpus.analysis.results import (
    CorpusClusters,
    CorpusMap,
    DuplicateGroups,
    HeadProfile,
    HeadProfiles,
    NeighbourChanges,
)
from bertviz_core.corpus.corpora_folder import EXAMPLE
from bertviz_core.corpus.results import CorpusHits
from bertviz_core.errors import BertvizError
from bertviz_core.figures import corpus as figures
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.probing.results import ProbeScores
from bertviz_core.predictions.probing.scores import most_accurate
from bertviz_core.predictions.tables import ACCURACIES
from bertviz_core.questions import corpora
from bertviz_core.questions.opened import CorpusSubject
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.report.library_lines import explained, library_lines, opening_lines
from bertviz_core.questions.tables.corpora import change_words, changes_frame, neighbours_frame
from bertviz_core.questions.view import (
    LONGEST_LINKED,
    Ask,
    Explained,
    Figure,
    Link,
    Links,
    Notices,
    Part,
    Section,
    Special,
    Table,
    TableFiles,
    Text,
    View,
)
from bertviz_core.questions.views.texts.sentences import variance_words
from bertviz_core.sentences.results import MapMethod
from bertviz_core.text import counted, decimals, escape_markdown, tied

CORPUS_QUERY = "rain all night"
"""Default query of a search in the example."""
CORPUS = Param("corpus", "text", "the corpus", label="Corpus")
QUERY = Param(
    "corpus_query",
    "text",
    "what is searched for; if it is empty, the first text of the corpus",
    label="Search for",
    values=lambda opened, _: [CORPUS_QUERY if opened.name == EXAMPLE else ""],
)
HIT = Param("hit", "position", "the open hit, from 1", label="Open hit")
GROUP = Param("group", "position", "the open group of near duplicates, from 1", label="Open group")
CLUSTER = Param("cluster", "position", "the open cluster, from 0", label="Open cluster")
FIRST_ROW = Param(
    "first_row",
    "whole",
    "the first row that is listed, from 0",
    label="First row",
    bounds=lambda opened, _: (0, opened.corpus.rows - 1, 0),
)
CHANGED_ROW = Param(
    "changed_row", "position", "the open row of those that changed most, from 1", label="Open row of the list"
)
MOST_CHANGED = 100
"""Most rows with other neighbours that are listed."""
CHANGED_COLUMNS = ("row", "kept", "text", "text before", "text now")
"""Columns of the list; the files have more."""
RUN_ANEW = ("Heads", "Probes")
"""Views that run the texts through the chosen model; all others use the vectors of the corpus."""
SIDEBAR = f"Model: for {' and '.join(RUN_ANEW)}; the other views show what the corpus's own model made."
"""Caption below the model on this page."""
OTHER_MODEL = "The texts are run through {name}, the model chosen under Model; the corpus's vectors play no part here."
PAGES = (("Tokens", "tokens"), ("Attention", "attention"), ("Predictions", "predictions"))
CAUSES = (("Words that matter", "words"), ("Heads that matter", "causes"))
OPENED, LINE = 200, 35
"""Most rows of the open group, and pixels of a table's row."""
PRINTED = "print(corpus.rows, corpus.vectors.shape)\nprint(corpus.data.manifest)\nprint(dict(corpus.data.columns))\n"
NONE_YET = "The **example** corpus: 220 labelled sentences. **About** tells how to bring your own."
BRING_YOUR_OWN = (
    "**A corpus of your own:** `python -m bertviz_core corpus embed MODEL INPUT -o FOLDER` makes one from a table of "
    "texts; this page lists those in the folder that the setting `INSIDE_BERT_CORPORA_DIR` names."
)
ABOUT = (
    "A corpus is a folder: Parquet shards with the input's own columns, the texts and a vector for each, beside a "
    "manifest that says which model made the vectors and how. The file of all vectors, in the order of the rows, is "
    "read as a map of memory, so that nothing of it is loaded before it is looked at. The page reads; it never writes "
    "into the folder."
)
MAPS: Mapping[MapMethod, str] = {
    "pca": (
        "Principal component analysis of all rows: their covariance is summed block by block in float64, its two "
        "leading directions are the axes, and every row is projected on them. Points far apart are far apart in the "
        "model too; points close together need not be where the two axes hold little of the variance. "
    ),
    "umap": (
        "UMAP links rows to their nearest by the cosine and looks for points of the plane with the same links (McInnes "
        "et al. 2018). It is fitted on a sample; the other rows are placed among it. Who is whose neighbour can be "
        "read from it; distances between groups, their sizes and the axes cannot. "
    ),
}
SHADING = (
    "The server counts the rows in each cell of the part that is looked at; the shade follows the logarithm of the "
    "count, the colour the value that most rows of a cell have."
)
SEARCH = (
    "The query becomes a vector as the corpus's texts did: by the same weights (their SHA-256 is compared), pooling, "
    "layer and prompt. Its cosine with every row's vector is computed, and the largest are listed; of equal ones the "
    "first row comes first. Where this machine has an index of the corpus, it is searched instead, and the rows that "
    "it returns are compared exactly; with a filter every row that is left is compared."
)
DUPLICATES = (
    "Every row's vector is compared with every other's, block by block; pairs whose cosine reaches the threshold are "
    "edges of a graph, and its connected components are the groups. So two rows of a group may be less alike than the "
    "threshold where others join them. Alike means alike to this model: a negation or a number may be all that differs."
)
CLUSTERS_MADE = (
    "On vectors of unit length: k-means looks for so many centres that the squared distances to the nearest are small; "
    "HDBSCAN (Campello et al. 2013) for dense regions, and leaves out what lies between them. Of many rows a sample is "
    "clustered, and the others go to the nearest centre. Typical rows have the largest cosine with the cluster's mean "
    "direction. Another seed, method or count draws other borders: clusters are a way of looking, not a finding."
)
ONE_START = (
    "k-means begins from several starts and keeps the best: another may draw other borders. Rows that it does not look "
    "at are missing."
)
HEADS = (
    "A sample of the texts, drawn by a fixed seed, is run one by one through the model chosen under Model. For "
    "each head a measure is averaged over the queries of a text, then over the texts; every text counts alike. Entropy "
    "in nats: 0 for a head that looks at one token. Distance in tokens. Shares of a row: on the first token ([CLS]), "
    "on the other special tokens ([SEP]), on the token before, the one after, and itself (Clark et al. 2019)."
)
PROBES = (
    "A sample of the rows that have a label is run once through the model chosen under Model, for all layers. "
    "On each layer multinomial logistic regression is fitted on four fifths of the texts and tried on the fifth that "
    "it has not seen, five times over, and once more with shuffled labels: the *control task* (Hewitt and Liang 2019). "
    "The long-dashed line is always naming the most frequent class. What a probe can read is in the vector; whether "
    "the model uses it, it does not say."
)

NEIGHBOURS_COMPARED = (
    "The texts of the rows are run through the other model by the recipe of its own folder. Each row's nearest rows "
    "are those with the largest cosines: once of the vectors that the corpus keeps, once of the new ones. Cosines of "
    "two models have different scales, so that only their order is compared. A row that is as near as another, up to "
    "rounding, counts as kept. Of a large corpus some rows, evenly spaced, are compared with each other only: in the "
    "whole corpus other rows may be nearer. Changed neighbours are not worse ones; what they are, the texts say. If "
    "many change, a corpus must be embedded anew, and vectors of both models must never be mixed."
)


def about_corpus(opened: CorpusSubject, _: Ask, options: Options) -> tuple[str, Sequence[Part]]:
    """How many rows it has, and which model reads their texts anew."""
    manifest, reader = opened.corpus.manifest, options.get(corpora.READER.key)
    note = f"{manifest.rows:,} rows, whose vectors this model made."
    return note + (f" {reader} reads their texts anew." if reader not in ("", manifest.model) else ""), ()


def search_view(opened: CorpusSubject, ask: Ask, options: Options) -> Iterator[Part]:
    """The rows nearest to a text."""
    text = options.get(QUERY.key) or corpora.first_text(opened)
    if not text:
        yield Text("Type a text to search for: the rows nearest to it are listed.", "notice")
        return
    _ = opened.model.source  # without the model nothing can be searched, even if there are cached hits
    chosen = replace(options.only(corpora.HITS, corpora.WHERE), texts=(text,))
    answer = ask(corpora.corpus_hits, chosen)
    hits = answer.result
    if not hits.hits:
        yield Notices(hits.notices, "notice")
        return
    columns = ", ".join(escape_markdown(name) for name in list(opened.corpus.columns)[:12])
    words = f"{SEARCH} A filter is such as topic=weather or year=null; the columns are: {columns}."
    yield Figure.of(
        figures.hits_figure,
        answer,
        f"corpus search {opened.name} {hits.model}",
        numbers="open",
        below=[Text(_summary(hits)), Notices(hits.notices, "caption")],
        **explained(words, corpora.corpus_hits, opened, chosen),
    )
    if hits.hits[0].text is not None:
        bounds = 1, len(hits.hits), 1
        yield Section((replace(HIT, bounds=lambda *_: bounds),), partial(_hit, hits))


def _summary(hits: CorpusHits) -> str:
    scope = f"{hits.searched:,} of {hits.rows:,} rows, those with {escape_markdown(hits.where)},"
    way = "each compared with the query" if hits.method == "exact" else "found by an index of neighbours"
    among = scope if hits.where else counted(hits.rows, "row")
    return f"Among {among} in {1000 * hits.seconds:,.0f} ms, {way}."


def _hit(hits: CorpusHits, _: CorpusSubject, __: Ask, options: Options) -> Iterator[Part]:
    """A hit with its whole text, and links that open it on other pages."""
    text, query = hits.hits[int(options.get(HIT.key)) - 1].text or "", hits.query
    yield Text(escape_markdown(text))
    if len(text) + len(query) > LONGEST_LINKED:
        words = f"Text and query have more than {LONGEST_LINKED:,} characters, too many for a link: copy it there."
        yield Text(words, "caption")
        return
    model, both = {"model": hits.model}, f"{query}\n{' '.join(text.split())}"
    # A second text of the page would be read with the hit, so it is cleared.
    alone = {**model, "text": text, "pair": ""}
    beside = {**model, "view": "Token contributions", "source": "typed", "sentences": both}
    alike = {**model, "text": text, "pair": query, "target": "cosine"}
    links = [
        *(Link.to(f"Open in {title}", page, alone) for title, page in PAGES),
        Link.to("Compare with the query in Sentences", "sentences", beside),
        *(Link.to(f"Its cosine with the query in {title}", page, alike) for title, page in CAUSES),
    ]
    yield Links("corpus_search_open", "Open this text on another page", links)


@dataclass(frozen=True, slots=True, eq=False)
class CorpusPlane(Special):
    """The map of all rows, which is moved, zoomed, and of which rows are selected."""

    placed: CorpusMap
    column: str
    """Column that colours it; "" for the number of rows."""
    values: ColumnValues | None
    words: str
    """What is said below it."""


def map_view(opened: CorpusSubject, ask: Ask, options: Options) -> Iterator[Part]:
    """All rows as a map; selected rows are listed and can be downloaded."""
    corpus = opened.corpus
    if corpus.rows < 3:
        yield Text("A map needs at least three rows.", "notice")
        return
    chosen, column = options.only(corpora.PLACED), options.get(corpora.COLOURED.key)
    placed = ask(corpora.corpus_map, chosen).result
    values = ask(corpora.column_colours, options.only(corpora.COLOURED)).result if column else None
    yield CorpusPlane(placed, column, values, variance_words(placed))
    yield Explained("corpus_plane", MAPS[placed.method] + SHADING, library_lines(corpora.corpus_map, opened, chosen))


def duplicates_view(opened: CorpusSubject, ask: Ask, options: Options) -> Iterator[Part]:
    """Groups of near duplicates above a threshold; where it has none in a small corpus, those of the closest pairs."""
    chosen, corpus = options.only(corpora.ALIKE), opened.corpus
    so_far = (figures.duplicates_figure, "Pairs that are not compared yet are missing.")
    answer = ask(corpora.duplicate_groups, chosen, so_far)
    first = groups = answer.result
    for cosine in reversed(corpora.COSINES) if corpus.rows <= corpora.CONFIRM_ABOVE else ():
        if not len(groups.sizes) and float(cosine) < groups.threshold:
            chosen = replace(chosen, values={corpora.ALIKE.key: cosine})
        # Asked each time, also for what is known: what is below keeps its place on the page.
        answer = ask(corpora.duplicate_groups, chosen, so_far)
        groups = answer.result
    explained = Explained("corpus_duplicates", DUPLICATES, library_lines(corpora.duplicate_groups, opened, chosen))
    if not len(groups.sizes):
        yield Text(no_duplicates(groups, groups.threshold > float(corpora.COSINES[0])), "notice")
        yield explained
        return
    threshold, extra = f"{groups.threshold:g}", len(groups.rows) - len(groups.sizes)
    have = "has" if groups.pairs == 1 else "have"
    words = (
        f"**{counted(len(groups.sizes), 'group')}** with {counted(len(groups.rows), 'row')}: "
        f"{counted(groups.pairs, 'pair')} of the {groups.searched:,} rows {have} a cosine of at least {threshold}. "
        f"Keeping one row of each group would leave out {counted(extra, 'row')}."
    )
    file = f"corpus near duplicates {threshold} {opened.name} {corpus.manifest.model}"
    below = [Text(words)]
    if groups is not first:  # below the picture, which keeps its place
        below.insert(0, Text(f"{no_duplicates(first, False)} The closest pairs are shown instead.", "caption"))
    yield Figure.of(figures.duplicates_figure, answer, file, below=below)
    yield Text("**The groups, the largest first**")
    yield Table(tables.groups_frame(corpus, groups), "The groups, the largest first", 240)
    listed = f"The {tables.MOST_GROUPS:,} largest are listed. " if len(groups.sizes) > tables.MOST_GROUPS else ""
    yield Text(f"{listed}The files have every row of every group.", "caption")
    file = f"corpus near duplicate rows {threshold} {opened.name}"
    yield TableFiles(partial(tables.members_frame, corpus, groups), "corpus_duplicates_rows", file)

    def rows(_: CorpusSubject, __: Ask, opened_one: Options) -> Iterator[Part]:
        number = int(opened_one.get(GROUP.key))
        members = groups.group(number - 1)[:OPENED].tolist()
        yield Table(tables.row_table(corpus, members), f"The rows of group {number}", 240)

    yield Section((replace(GROUP, bounds=lambda *_: (1, len(groups.sizes), 1)),), rows)
    yield explained


def no_duplicates(groups: DuplicateGroups, lower: bool) -> str:
    """The message if no rows are near duplicates; `lower` says whether a lower threshold can be chosen."""
    if groups.searched < 2:
        return f"Near duplicates need at least two rows, and this corpus has {groups.searched} to compare."
    advice = " Choose a lower cosine to find rows that are less alike." if lower else ""
    return f"No two of the {groups.searched:,} rows have a cosine of at least {groups.threshold:g}.{advice}"


def clusters_view(opened: CorpusSubject, ask: Ask, options: Options) -> Iterator[Part]:
    """Clusters with their most typical rows."""
    chosen, corpus = options.only(corpora.CLUSTERING, corpora.CLUSTERS, corpora.LEAST), opened.corpus
    answer = ask(corpora.corpus_clusters, chosen, (figures.clusters_figure, ONE_START))
    clusters, method = answer.result, options.get(corpora.CLUSTERING.key)
    none = int((clusters.labels < 0).sum())
    words = [
        Text(
            f"**{counted(len(clusters.sizes), 'cluster')}** of {counted(corpus.rows, 'row')}"
            + (f"; {counted(none, 'row')} outside them." if none else ".")
        ),
        Text(escape_markdown(clusters.note), "caption"),
    ]
    if len(clusters.sizes):
        yield Figure.of(
            figures.clusters_figure,
            answer,
            f"corpus clusters {method} {opened.name} {corpus.manifest.model}",
            numbers="open",
            height=240,
            formats={"share": "percent"},
            below=words,
        )
        last = len(clusters.sizes) - 1
        yield Section((replace(CLUSTER, bounds=lambda *_: (0, last, 0)),), partial(_cluster, clusters))
    else:
        yield from words
    yield Text("The files have every row of the corpus and its cluster, −1 for none.", "caption")
    rows = {"row": np.arange(corpus.rows), "cluster": clusters.labels}
    file = f"corpus rows by cluster {method} {opened.name}"
    yield TableFiles(lambda: pd.DataFrame(rows), "corpus_clusters_rows", file)
    yield Explained("corpus_clusters", CLUSTERS_MADE, library_lines(corpora.corpus_clusters, opened, chosen))


def _cluster(clusters: CorpusClusters, opened: CorpusSubject, _: Ask, options: Options) -> Iterator[Part]:
    cluster = int(options.get(CLUSTER.key))
    yield Table(tables.typical_frame(opened.corpus, clusters, cluster), f"The most typical rows of cluster {cluster}")


def profiles_view(opened: CorpusSubject, ask: Ask, options: Options) -> Iterator[Part]:
    """Mean of one measure of every head of the chosen model."""
    chosen = options.only(corpora.SAMPLE, corpora.PART_COLUMN, corpora.READER)
    answer = ask(corpora.head_profiles, chosen)
    names = [part.name for part in answer.result.parts]
    whole = unlike("all", names)

    def profile(_: CorpusSubject, __: Ask, of: Options) -> Iterator[Part]:
        part = "" if of.get(corpora.PART.key, whole) == whole else of.get(corpora.PART.key)
        measure = options.get(corpora.MEASURE.key)
        shown = corpora.profile_of_part(answer, Options(values={corpora.MEASURE.key: measure, corpora.PART.key: part}))
        profiles, reader = answer.result, options.get(corpora.READER.key)
        yield Figure.of(
            figures.profiles_figure,
            shown,
            f"corpus heads {measure} {opened.name} {reader}",
            below=[
                Text(_most(profiles, shown.drawn["profile_part"], shown.drawn["profile_measure"])),
                Text(OTHER_MODEL.format(name=escape_markdown(reader)), "caption"),
                Notices(profiles.notices, "caption"),
            ],
            **explained(HEADS, corpora.head_profiles, opened, chosen),
        )

    yield Section((replace(corpora.PART, values=lambda *_: [whole, *names] if names else []),), profile)


def _most(profiles: HeadProfiles, part: HeadProfile, measure: HeadMeasure) -> str:
    values = part.mean[profiles.measures.index(measure)]
    layer, head = np.unravel_index(int(np.nanargmax(values)), values.shape)
    name, unit = figures.MEASURE_NAMES[measure]
    value = decimals(float(values[layer, head]), 3) + (f" {unit}" if unit != "share" else "")
    head_name = f"layer {layer}, head {head}{tied(values.ravel().tolist())}"
    scope = f"Mean over {counted(part.sentences, 'sentence')}"
    return f"{scope}: of all heads, {name} is largest in {head_name}, with **{value}**."


def probes_view(opened: CorpusSubject, ask: Ask, options: Options) -> Iterator[Part]:
    """Accuracy over the layers of the chosen model."""
    chosen, reader = (
        options.only(corpora.LABELS, corpora.PROBE_TEXTS, corpora.POOLING, corpora.READER),
        options.get(corpora.READER.key),
    )
    if not options.get(corpora.LABELS.key):
        yield Text("No column of this corpus can be taken for labels.", "notice")
        return
    answer = ask(
        corpora.probe_scores, chosen, (figures.corpus_probe_figure, "Layers that are not done yet are missing.")
    )
    scores = answer.result
    yield Figure.of(
        figures.corpus_probe_figure,
        answer,
        f"corpus probes {options.get(corpora.LABELS.key)} {opened.name} {reader}",
        formats=dict.fromkeys(ACCURACIES, "percent"),
        below=[
            Text(_best(scores)),
            Text(OTHER_MODEL.format(name=escape_markdown(reader)), "caption"),
            Notices(scores.notices, "caption"),
        ],
        **explained(PROBES, corpora.probe_scores, opened, chosen),
    )


def _best(scores: ProbeScores) -> str:
    place = scores.best
    return (
        f"Of all hidden states the most accurate: {escape_markdown(most_accurate(scores))}, accuracy "
        f"**{scores.accuracy[place].mean():.1%}**, control task {scores.control_accuracy[place].mean():.1%}; most "
        f"frequent class {scores.majority:.1%}."
    )


def neighbours_view(opened: CorpusSubject, ask: Ask, options: Options) -> Iterator[Part]:
    """How many nearest rows are kept, and the rows that changed most, with their neighbours before and now."""
    chosen = options.only(corpora.NEIGHBOUR_MODEL, corpora.NEIGHBOUR_COUNT, corpora.NEIGHBOUR_ROWS)
    if opened.corpus.manifest.text_column is None:
        yield Text("This corpus keeps no texts (--no-text), so no other model can read them.", "notice")
        return
    if opened.corpus.rows < LEAST_ROWS:
        yield Text(f"Neighbours are compared on at least {LEAST_ROWS} rows.", "notice")
        return
    answer = ask(corpora.neighbour_changes, chosen)
    changes = answer.result
    yield Figure.of(
        figures.neighbours_figure,
        answer,
        f"corpus neighbours {opened.name} {changes.first} {changes.second}",
        formats={"share": "percent"},
        below=[Text(escape_markdown(change_words(changes))), Notices(changes.notices, "caption")],
        **explained(NEIGHBOURS_COMPARED, corpora.neighbour_changes, opened, chosen),
    )
    if changes.changed:
        yield Text("**The rows that changed most**")
        listed = changes_frame(changes)[list(CHANGED_COLUMNS)].head(min(changes.changed, MOST_CHANGED))
        yield Table(listed, "The rows that changed most, with their nearest row before and now", 240)
        yield TableFiles(
            partial(changes_frame, changes), "corpus_neighbours_rows", f"corpus neighbours of rows {opened.name}"
        )
        bounds = 1, len(listed), 1
        yield Section((replace(CHANGED_ROW, bounds=lambda *_: bounds),), partial(_changed_row, changes))


def _changed_row(changes: NeighbourChanges, _: CorpusSubject, __: Ask, options: Options) -> Iterator[Part]:
    """A row with its text, and its nearest rows before and now."""
    number = int(options.get(CHANGED_ROW.key))
    place = int(changes.most_changed[number - 1])
    row = int(changes.rows[place])
    yield Text(f"Row {row:,}: {escape_markdown(changes.texts[place])}")
    yield Table(neighbours_frame(changes, place), f"The nearest rows of row {row:,} before and now")


def about_view(opened: CorpusSubject, _: Ask, options: Options) -> Iterator[Part]:
    """Some rows, the state of the model, the manifest as a table, the columns."""
    corpus, first = opened.corpus, int(options.get(FIRST_ROW.key))
    shown = range(first, min(first + 10, corpus.rows))
    yield Table(tables.row_table(corpus, shown), f"{counted(len(shown), 'row')} of the corpus, from row {first} on")
    yield Text(_model_words(opened))
    yield Text(BRING_YOUR_OWN)
    facts = tables.manifest_frame(corpus)
    yield Table(facts, "The manifest of the corpus", LINE * (len(facts) + 1) + 2)
    yield Text(f"**{counted(len(corpus.columns), 'column')}**")
    yield Table(tables.columns_frame(corpus), "The columns")
    yield Explained("corpus_about", ABOUT, f"{opening_lines(opened)}{PRINTED}")


def _model_words(opened: CorpusSubject) -> str:
    """Whether the corpus' model is on this machine with the same weights, in Markdown."""
    name = escape_markdown(opened.corpus.manifest.model)
    try:
        source = opened.model.source
    except BertvizError as error:
        return f"The model **{name}** is not here, so nothing can be searched for: {escape_markdown(str(error))}"
    if not source.has_weights:
        return f"The weights of **{name}** are not on this machine, so nothing can be searched for."
    if reason := corpora.refusal(opened):
        return f"The model **{name}** is here, but not as it was: {escape_markdown(reason)}"
    return f"The model **{name}** is here, with the weights that made the corpus (SHA-256 compared)."


VIEWS = (
    View("Search", (QUERY, corpora.WHERE, corpora.HITS), search_view),
    View("Map", (corpora.PLACED, corpora.COLOURED), map_view),
    View("Near duplicates", (corpora.ALIKE,), duplicates_view),
    View("Clusters", (corpora.CLUSTERING, corpora.CLUSTERS, corpora.LEAST), clusters_view),
    View(
        "Heads",
        (replace(corpora.MEASURE, values=lambda *_: figures.MEASURE_LABELS), corpora.PART_COLUMN, corpora.SAMPLE),
        profiles_view,
    ),
    View("Probes", (corpora.LABELS, corpora.PROBE_TEXTS, corpora.POOLING), probes_view),
    View("Another model", (corpora.NEIGHBOUR_MODEL, corpora.NEIGHBOUR_COUNT, corpora.NEIGHBOUR_ROWS), neighbours_view),
    View("About", (FIRST_ROW,), about_view),
)
