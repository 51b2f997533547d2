"""Probes by layer: how well a column can be predicted from the vectors of each layer."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.figures.corpus.layers import corpus_probe_figure
from bertviz_core.predictions.probing.reading import MAX_TEXTS
from bertviz_core.predictions.probing.results import ProbeScores
from bertviz_core.predictions.probing.scores import most_accurate
from bertviz_core.predictions.tables import accuracy_table
from bertviz_core.questions.corpora import LABELS as LABELS_OF
from bertviz_core.questions.corpora import POOLING, PROBE_TEXTS, READER, probe_scores
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.sentences.encoding import edge_tokens
from bertviz_core.sentences.pooling import offered_poolings
from bertviz_core.sentences.results import Pooling
from bertviz_core.text import escape_markdown
from ui.cache import models
from ui.cache.folders import SharedCorpus
from ui.views.corpus import controls, texts
from ui.widgets.figure_block import chart, figure_block
from ui.widgets.heading import unshown
from ui.widgets.lists.progress import answer
from ui.widgets.models import fields

LABELS = ("label", "topic", "class", "category")
"""Names of columns that are the labels by default."""


def probes_view(named: SharedCorpus, row: DeltaGenerator) -> None:
    """Accuracy over the layers of the chosen model."""
    name, columns = fields.model_name(), named.corpus.columns
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
    scores = answer(probe_scores, named, options, _so_far).result
    best = scores.layers[scores.best]
    table = accuracy_table(scores)
    words = figure_block(
        corpus_probe_figure(scores, best),
        f"corpus probes {column} {named.name} {name}",
        table,
        formats=dict.fromkeys(table.columns[1:], "percent"),
        models=(name,),
        explanation=(texts.PROBES, library_lines(probe_scores, named, options)),
    )
    words.markdown(_best(scores))
    words.caption(texts.OTHER_MODEL.format(name=escape_markdown(name)))
    for notice in unshown(scores.notices):
        words.caption(escape_markdown(notice))


def _so_far(known: Answer[ProbeScores]) -> None:
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
