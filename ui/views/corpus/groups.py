"""Groups of a corpus: clusters, near duplicates, profiles of heads, probes."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.attention.results import HeadMeasure
from bertviz_core.corpus.analysis.clusters import FEW_CLUSTERS, MAX_CLUSTERS
from bertviz_core.corpus.analysis.profiles import MAX_SENTENCES
from bertviz_core.corpus.analysis.results import CorpusClusters, DuplicateGroups, HeadProfile, HeadProfiles
from bertviz_core.corpus.corpora_folder import EXAMPLE
from bertviz_core.corpus.folder import TEXT_COLUMN
from bertviz_core.figures.corpus import (
    MEASURE_NAMES,
    clusters_figure,
    corpus_probe_figure,
    duplicates_figure,
    profiles_figure,
)
from bertviz_core.predictions.probing.reading import MAX_TEXTS
from bertviz_core.predictions.probing.results import ProbeScores
from bertviz_core.predictions.probing.scores import most_accurate
from bertviz_core.predictions.tables import accuracy_table
from bertviz_core.questions.corpora import (
    ALIKE,
    CLUSTERING,
    CLUSTERS,
    PART_COLUMN,
    POOLING,
    PROBE_TEXTS,
    READER,
    SAMPLE,
    corpus_clusters,
    duplicate_groups,
    head_profiles,
    probe_scores,
)
from bertviz_core.questions.corpora import LABELS as LABELS_OF
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.sentences.encoding import edge_tokens
from bertviz_core.sentences.pooling import offered_poolings
from bertviz_core.sentences.results import Pooling
from bertviz_core.text import counted, decimals, escape_markdown, tied
from ui.address.registry import param
from ui.address.widgets import whole
from ui.cache import models
from ui.cache.folders import SharedCorpus
from ui.views.corpus import controls
from ui.views.corpus.search import plain_cell, row_table
from ui.widgets.figure_block import chart, explained, figure_block, numbers_table
from ui.widgets.heading import unshown
from ui.widgets.lists import answer, table_files
from ui.widgets.models import model_name

KEY = "corpus_clusters"
TYPICAL = ("most typical", "second", "third")
"""Columns of the typical texts of a cluster."""


def clusters_view(named: SharedCorpus, row: DeltaGenerator) -> None:
    """Clusters with their most typical rows."""
    corpus = named.corpus
    with row:
        method = controls.cluster_method()
        most = max(min(MAX_CLUSTERS, corpus.rows), 2)
        few = min(FEW_CLUSTERS, most)
        count = whole(CLUSTERS, "Clusters", 2, most, few, width=controls.NARROW) if method == "k-means" else few
    options = Options(values={CLUSTERING.key: method, CLUSTERS.key: str(count)})
    clusters = answer(corpus_clusters, named, options).result
    none = int((clusters.labels < 0).sum())
    summary = f"**{counted(len(clusters.sizes), 'cluster')}** of {counted(corpus.rows, 'row')}"
    summary += f"; {counted(none, 'row')} outside them." if none else "."
    words = st.container()
    if len(clusters.sizes):
        frame = _listed(named, clusters)
        words = figure_block(
            clusters_figure(clusters, [str(each) for each in frame.get(TYPICAL[0], [""] * len(frame))], named.name),
            f"corpus clusters {method} {named.name} {corpus.manifest.model}",
            frame,
            numbers="open",
            height=240,
            formats={"share": "percent"},
            models=(corpus.manifest.model,),
        )
        chosen = whole(param("cluster"), "Open cluster", 0, len(clusters.sizes) - 1, 0, width=controls.NARROW)
        typical = clusters.typical[chosen]
        there = typical >= 0
        frame = row_table(named, typical[there].tolist())
        frame.insert(1, "cosine to the centre", clusters.typical_scores[chosen][there].astype(float))
        numbers_table(frame, f"The most typical rows of cluster {chosen}")
    words.markdown(summary)
    words.caption(escape_markdown(clusters.note))
    st.caption("The files have every row of the corpus and its cluster, −1 for none.")
    name = f"corpus rows by cluster {method} {named.name}"
    table_files(lambda: pd.DataFrame({"row": np.arange(corpus.rows), "cluster": clusters.labels}), f"{KEY}_rows", name)
    explained(KEY, controls.CLUSTERS, library_lines(corpus_clusters, named, options))


def _listed(named: SharedCorpus, clusters: CorpusClusters) -> pd.DataFrame:
    """Size, share of all rows, and the three most typical texts of each cluster."""
    rows = clusters.typical[:, :3]
    frame = pd.DataFrame(
        {
            "cluster": np.arange(len(clusters.sizes)),
            "rows": clusters.sizes,
            "share": clusters.sizes / len(clusters.labels),
        }
    )
    if TEXT_COLUMN not in named.corpus.columns:
        return frame
    flat = rows[rows >= 0]
    texts = dict(zip(flat.tolist(), named.corpus.read(flat.tolist(), [TEXT_COLUMN]).column(0).to_pylist(), strict=True))
    for place, name in enumerate(TYPICAL):
        if place < rows.shape[1]:
            frame[name] = pd.Series([plain_cell(texts.get(row)) for row in rows[:, place].tolist()])
    return frame


DUPLICATES_KEY = "corpus_duplicates"
LISTED, OPENED = 100, 200
"""Most groups that are listed, and most rows of the open one."""


def duplicates_view(named: SharedCorpus, row: DeltaGenerator) -> None:
    """Groups of near duplicates above a threshold."""
    with row:
        threshold = controls.threshold_select(named.name == EXAMPLE)
    options = Options(values={ALIKE.key: str(threshold)})
    groups = answer(duplicate_groups, named, options, partial(_so_far, named)).result
    model = named.corpus.manifest.model
    extra = len(groups.rows) - len(groups.sizes)
    if not len(groups.sizes):
        st.info(controls.no_duplicates(groups, threshold > controls.LEAST_THRESHOLD), icon=":material/info:")
    else:
        words = figure_block(
            duplicates_figure(groups, named.name),
            f"corpus near duplicates {threshold:g} {named.name} {model}",
            _sizes(groups),
            models=(model,),
        )
        words.markdown(
            f"**{counted(len(groups.sizes), 'group')}** with {counted(len(groups.rows), 'row')}: "
            f"{counted(groups.pairs, 'pair')} of the {groups.searched:,} rows have a cosine of at least {threshold:g}. "
            f"Keeping one row of each group would leave out {counted(extra, 'row')}."
        )
        st.markdown("**The groups, the largest first**")
        numbers_table(_duplicates_listed(named, groups), "The groups, the largest first", 240)
        listed = f"The {LISTED:,} largest are listed. " if len(groups.sizes) > LISTED else ""
        st.caption(f"{listed}The files have every row of every group.")
        table_files(
            lambda: _members(named, groups),
            f"{DUPLICATES_KEY}_rows",
            f"corpus near duplicate rows {threshold:g} {named.name}",
        )
        chosen = whole(param("group"), "Open group", 1, len(groups.sizes), 1, width=controls.NARROW)
        members = groups.group(chosen - 1)
        numbers_table(row_table(named, members[:OPENED].tolist()), f"The rows of group {chosen}", 240)
    explained(DUPLICATES_KEY, controls.DUPLICATES, library_lines(duplicate_groups, named, options))


def _so_far(named: SharedCorpus, known: Answer[DuplicateGroups]) -> None:
    """The groups of the rows that are compared."""
    if len(known.result.sizes):
        chart(duplicates_figure(known.result, named.name), f"{DUPLICATES_KEY}_so_far")
    st.caption("Pairs that are not compared yet are missing.")


def _sizes(groups: DuplicateGroups) -> pd.DataFrame:
    """Number of groups of each size."""
    sizes, counts = np.unique(groups.sizes, return_counts=True)
    return pd.DataFrame({"rows in a group": sizes, "groups": counts})


def _duplicates_listed(named: SharedCorpus, groups: DuplicateGroups) -> pd.DataFrame:
    """Size and first row of the largest groups."""
    firsts = groups.rows[groups.starts[:LISTED]].tolist()
    frame = row_table(named, firsts).rename(columns={"row": "first row"})
    frame.insert(0, "rows in it", groups.sizes[:LISTED])
    frame.insert(0, "group", range(1, len(firsts) + 1))
    return frame


def _members(named: SharedCorpus, groups: DuplicateGroups) -> pd.DataFrame:
    """Every row of every group, with the number of its group."""
    frame = row_table(named, groups.rows.tolist(), whole=True)
    frame.insert(0, "group", np.repeat(np.arange(1, len(groups.sizes) + 1), groups.sizes))
    return frame


NAMES = {
    measure: f"{name} ({unit})" if unit in ("nats", "tokens") else name
    for measure, (name, unit) in MEASURE_NAMES.items()
}
"""Measure -> label."""


def profiles_view(named: SharedCorpus, row: DeltaGenerator) -> None:
    """Mean of one measure of every head of the chosen model."""
    name = model_name()
    with row:
        measure = controls.measure_select(NAMES)
        column = controls.column_select(
            PART_COLUMN, "Group by", named.corpus.columns, "no groups", width=controls.PART_WIDTH
        )
        count = controls.sample_select(SAMPLE, "Sentences", (50, 200, 1_000, MAX_SENTENCES), 50)
    options = Options(values={SAMPLE.key: str(count), PART_COLUMN.key: column, READER.key: name})
    profiles = answer(head_profiles, named, options).result
    parts = (profiles.overall, *profiles.parts)
    with row:
        part = parts[controls.part_select([each.name for each in profiles.parts]) if profiles.parts else 0]
    words = figure_block(
        profiles_figure(profiles, part, measure),
        f"corpus heads {measure} {named.name} {name}",
        _table(profiles),
        models=(name,),
        explanation=(controls.HEADS, library_lines(head_profiles, named, options)),
    )
    words.markdown(_most(profiles, part, measure))
    words.caption(controls.OTHER_MODEL.format(name=escape_markdown(name)))
    for notice in unshown(profiles.notices):
        words.caption(escape_markdown(notice))


def _most(profiles: HeadProfiles, part: HeadProfile, measure: HeadMeasure) -> str:
    """The head with the largest mean."""
    values = part.mean[profiles.measures.index(measure)]
    layer, head = np.unravel_index(int(np.nanargmax(values)), values.shape)
    name, unit = MEASURE_NAMES[measure]
    value = decimals(float(values[layer, head]), 3) + (f" {unit}" if unit != "share" else "")
    scope = f"Mean over {counted(part.sentences, 'sentence')}"
    head_name = f"layer {layer}, head {head}{tied(values.ravel().tolist())}"
    return f"{scope}: of all heads, {name} is largest in {head_name}, with **{value}**."


def _table(profiles: HeadProfiles) -> pd.DataFrame:
    """A row for every head of every part: mean and spread of each measure."""
    frames = []
    for part in (profiles.overall, *profiles.parts):
        layers, heads = part.mean.shape[1:]
        columns: dict[str, object] = {
            "part": part.name or "all",
            "sentences": part.sentences,
            "layer": np.repeat(np.arange(layers), heads),
            "head": np.tile(np.arange(heads), layers),
        }
        for place, measure in enumerate(profiles.measures):
            columns[NAMES[measure]] = part.mean[place].ravel().astype(float)
            columns[f"{NAMES[measure]}, spread"] = part.spread[place].ravel().astype(float)
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


LABELS = ("label", "topic", "class", "category")
"""Names of columns that are the labels by default."""


def probes_view(named: SharedCorpus, row: DeltaGenerator) -> None:
    """Accuracy over the layers of the chosen model."""
    name, columns = model_name(), named.corpus.columns
    first = next((each for each in LABELS if each in columns), "")
    with row:
        column = controls.column_select(LABELS_OF, "Labels", columns, first=first)
        count = controls.sample_select(PROBE_TEXTS, "Texts", (200, 500, 1_000, MAX_TEXTS), 500)
        pooling = controls.pooling_select(_poolings(name))
    if not column:
        st.info("No column of this corpus can be taken for labels.", icon=":material/info:")
        return
    values = {LABELS_OF.key: column, POOLING.key: pooling, PROBE_TEXTS.key: str(count), READER.key: name}
    options = Options(values=values)
    scores = answer(probe_scores, named, options, _probes_so_far).result
    best = scores.layers[scores.best]
    table = accuracy_table(scores)
    words = figure_block(
        corpus_probe_figure(scores, best),
        f"corpus probes {column} {named.name} {name}",
        table,
        formats=dict.fromkeys(table.columns[1:], "percent"),
        models=(name,),
        explanation=(controls.PROBES, library_lines(probe_scores, named, options)),
    )
    words.markdown(_best(scores))
    words.caption(controls.OTHER_MODEL.format(name=escape_markdown(name)))
    for notice in unshown(scores.notices):
        words.caption(escape_markdown(notice))


def _probes_so_far(known: Answer[ProbeScores]) -> None:
    """The layers that are done."""
    scores = known.result
    chart(corpus_probe_figure(scores, scores.layers[scores.best]), "corpus_probe_so_far")
    st.caption("Layers that are not done yet are missing.")


def _poolings(name: str) -> tuple[Pooling, ...]:
    """Poolings of a model, the mean first."""
    first = edge_tokens(models.tokenizer(name)).first
    offered = offered_poolings(first, models.loaded(name).has_pooler, "mean")
    return tuple(sorted(offered, key=lambda each: each != "mean"))


def _best(scores: ProbeScores) -> str:
    """The hidden state with the most accurate probe, in Markdown."""
    place = scores.best
    return (
        f"Of all hidden states the most accurate: {escape_markdown(most_accurate(scores))}, accuracy "
        f"**{scores.accuracy[place].mean():.1%}**, control task {scores.control_accuracy[place].mean():.1%}; most "
        f"frequent class {scores.majority:.1%}."
    )
