"""Similarity of sentences: every pair, blocks of long lists, and the nearest to a query."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.figures.base.axes import MEASURE_WORDS
from bertviz_core.figures.sentences.similarity import (
    EVERY_PAIR,
    NEIGHBOURS,
    blocks_figure,
    pairs_figure,
    query_figure,
)
from bertviz_core.hidden_states.results import state_name
from bertviz_core.questions.report.library_lines import opening_lines
from bertviz_core.questions.texts.sentences import closest, every_pair, sentence_blocks
from bertviz_core.sentences.results import (
    BlockSummary,
    Measure,
    ScoredPairs,
    SentenceDtype,
    SentencePlan,
    SentenceTable,
    SentenceVectors,
)
from bertviz_core.sentences.similarity import nearest
from bertviz_core.text import escape_markdown
from ui.cache import models
from ui.cache.shared_model import SharedModel
from ui.components.cell_click import cell_click
from ui.views.sentences import cache, controls
from ui.views.sentences.input import VectorOptions
from ui.views.sentences.texts import SIMILARITY, Origin, nearest_code, similarity_code
from ui.widgets import reproduction
from ui.widgets.figure_block import explained, figure_block, numbers_table
from ui.widgets.heading import unshown

LISTED_PAIRS = 20
SEARCHED_AT_ONCE = 4_000
"""Most sentences whose closest pairs are found at once."""


@dataclass(frozen=True, slots=True, eq=False)
class SentenceInputs:
    """The sentences and the options of a view."""

    model: str
    """Name of the model."""
    table: SentenceTable
    """The sentences."""
    options: VectorOptions
    """The options of the view."""

    @property
    def plan(self) -> SentencePlan:
        """How sentences become vectors."""
        return self.options.plan

    @property
    def origin(self) -> Origin:
        """The first lines of the Python code."""
        return self.origin_of(self.table.sentences)

    def origin_of(self, sentences: Sequence[str]) -> Origin:
        """The first lines of the Python code for other sentences."""
        tokens, model = models.tokens(self.model, sentences[0], None), models.loaded(self.model).model
        limit = min(filter(None, (self.plan.max_seq_length, tokens.limit)), default=None)
        input_lines, opening = reproduction.reading(tokens, model, limit), opening_lines(SharedModel(self.model))
        return Origin(reproduction.reader_lines(self.model), opening, input_lines, tuple(sentences))

    @property
    def measure(self) -> Measure:
        """The measure of similarity."""
        return self.options.measure

    @property
    def dtype(self) -> SentenceDtype:
        """Number format of the run."""
        return self.options.dtype

    @property
    def row(self) -> DeltaGenerator:
        """The row for the view's own widgets."""
        return self.options.row or st.container(horizontal=True, vertical_alignment="bottom")

    @property
    def key(self) -> str:
        """Cache key of the vectors."""
        return cache.job_key(self.model, self.table.sentences, self.plan, self.dtype)

    def vectors(self) -> SentenceVectors:
        """Vectors of the sentences; the page ends here while they are computed."""
        sentence_vectors = cache.vectors(self.model, self.table.sentences, self.plan, self.dtype)
        for notice in unshown(sentence_vectors.notices):
            st.caption(escape_markdown(notice))
        return sentence_vectors


def made_by(vectors: SentenceVectors) -> str:
    """Pooling, hidden state and model, as part of a file name."""
    return f"{vectors.pooling} {state_name(vectors.layer)} {vectors.model}"


def similarity_view(inputs: SentenceInputs) -> SentenceVectors:
    """Show the similarity of all sentences, in blocks for long lists; returns their vectors."""
    vectors = inputs.vectors()
    (_blocks if len(vectors.sentences) > EVERY_PAIR else _every_pair)(inputs, vectors)
    _closest(inputs, vectors)
    explained(
        "sentences_similarity", SIMILARITY[inputs.measure], similarity_code(inputs.origin, inputs.plan, inputs.measure)
    )
    return vectors


def _every_pair(inputs: SentenceInputs, vectors: SentenceVectors) -> None:
    cells, clusters = every_pair(vectors, inputs.measure, inputs.options.clustered)
    order = np.arange(len(cells)) if clusters is None else clusters.order
    word = MEASURE_WORDS[inputs.measure]
    ordered = cells[np.ix_(order, order)]
    frame = pd.DataFrame(ordered, columns=[f"{number + 1}" for number in order.tolist()])
    frame.insert(0, "sentence", [vectors.sentences[number] for number in order.tolist()])
    frame.insert(0, "number", [number + 1 for number in order.tolist()])
    spec = pairs_figure(cells, vectors, inputs.measure, clusters)
    filename = f"sentence {word} {made_by(vectors)}"
    with figure_block(spec, filename, frame, texts=vectors.sentences):
        cell = cell_click(spec.chart)
        if cell and max(cell) < len(order):
            _one_cell(int(order[cell[0]]), int(order[cell[1]]), cells, vectors, word)
        else:
            st.caption("Click a cell for its exact value and the two sentences.")


def _one_cell(row: int, column: int, cells: np.ndarray, vectors: SentenceVectors, word: str) -> None:
    """The clicked cell, and a link to its explanation."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"{word[0].upper()}{word[1:]} **{cells[row, column]:.7f}**: {row + 1} "
            f"*{escape_markdown(vectors.sentences[row][:200])}* and {column + 1} "
            f"*{escape_markdown(vectors.sentences[column][:200])}*"
        )
        st.button("Token contributions", key="explain_pair", on_click=controls.explain_pair, args=(row, column))


def _blocks(inputs: SentenceInputs, vectors: SentenceVectors) -> None:
    summary = sentence_blocks(SharedModel(inputs.model), inputs.key, vectors)
    st.caption(
        f"More than {EVERY_PAIR} sentences are not drawn cell by cell: similar ones are put into {len(summary.sizes)} "
        "blocks, each named by the sentence nearest to its middle and its size. Click a cell to list its sentences."
    )
    frame = pd.DataFrame(summary.similarity, columns=[f"block {block + 1}" for block in range(len(summary.sizes))])
    frame.insert(0, "sentences", summary.sizes)
    frame.insert(0, "nearest to its middle", [vectors.sentences[index] for index in summary.examples.tolist()])
    spec = blocks_figure(summary, vectors)
    filename = f"sentence blocks {made_by(vectors)}"
    with figure_block(spec, filename, frame, texts=vectors.sentences):
        cell = cell_click(spec.chart)
        if cell and max(cell) < len(summary.sizes):
            _clicked_block(cell, summary, vectors)


def _clicked_block(cell: tuple[int, int], summary: BlockSummary, vectors: SentenceVectors) -> None:
    """The sentences of the two blocks of a clicked cell."""
    st.markdown(f"Block {cell[0] + 1} with block {cell[1] + 1}: mean cosine **{summary.similarity[cell]:.7f}**")
    members = [(block, index) for block in dict.fromkeys(cell) for index in _members(summary, block)]
    rows = [(block + 1, index + 1, vectors.sentences[index]) for block, index in members]
    numbers_table(pd.DataFrame(rows, columns=["block", "number", "sentence"]), "Sentences of the blocks", 240)


def _members(summary: BlockSummary, block: int) -> list[int]:
    """Indices of the sentences of a block."""
    start, size = int(summary.starts[block]), int(summary.sizes[block])
    return [int(index) for index in summary.order[start : start + size]]


def _closest(inputs: SentenceInputs, vectors: SentenceVectors) -> None:
    if len(vectors.sentences) < 2:
        st.caption("One sentence has no pairs: add another to compare it with.")
        return
    st.markdown("**Closest pairs**")
    place = st.empty()

    def progress(done: int, total: int) -> None:
        if len(vectors.sentences) > SEARCHED_AT_ONCE:
            place.progress(done / total, text="Comparing every sentence with every other")

    pairs = closest(SharedModel(inputs.model), inputs.key, vectors, LISTED_PAIRS, inputs.measure, progress)
    place.empty()
    numbers_table(_pair_frame(pairs, vectors), "The closest pairs, the most alike first", 240)


def _pair_frame(pairs: ScoredPairs, vectors: SentenceVectors) -> pd.DataFrame:
    rows = zip(pairs.score.tolist(), pairs.first.tolist(), pairs.second.tolist(), strict=True)
    return pd.DataFrame(
        [(score, one + 1, vectors.sentences[one], other + 1, vectors.sentences[other]) for score, one, other in rows],
        columns=[MEASURE_WORDS[pairs.measure], "first", "first sentence", "second", "second sentence"],
    )


def query_view(inputs: SentenceInputs) -> None:
    """The sentences of the list nearest to a query."""
    with inputs.row:
        query = controls.query_input()
    prompts, prompt = cache.prompts(inputs.plan), inputs.plan.prompt
    if prompts and inputs.options.more is not None:
        with inputs.options.more:
            prompt = controls.query_prompt_select(prompts, prompt)
    vectors = inputs.vectors()
    if not query:
        st.info("Type a query: the nearest sentences of the list are shown here with their scores.")
        return
    one = cache.vectors(inputs.model, (query,), dataclasses.replace(inputs.plan, prompt=prompt), "float32")
    near = nearest(one.vectors[0], vectors.vectors, min(NEIGHBOURS, len(vectors.sentences)), inputs.measure)
    rows = zip(near.score.tolist(), near.index.tolist(), strict=True)
    frame = pd.DataFrame(
        [(score, index + 1, vectors.sentences[index]) for score, index in rows],
        columns=[MEASURE_WORDS[near.measure], "number", "sentence"],
    )
    filename = f"nearest sentences {made_by(vectors)}"
    figure_block(
        query_figure(near, vectors, query),
        filename,
        frame,
        numbers="open",
        texts=vectors.sentences,
        explanation=(
            "The query becomes a vector as the sentences do and is compared with each of them. A high score says that "
            "they are alike to the model, which need not be what a reader means: try the example on negation.",
            nearest_code(inputs.origin, inputs.plan, inputs.measure, query, prompt),
        ),
    )
