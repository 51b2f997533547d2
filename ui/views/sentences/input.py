"""The source of the sentences: typed, pasted, a worked example, or a column of a file."""

import dataclasses
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.errors import BertvizError, TextError
from bertviz_core.models.device import fast_formats
from bertviz_core.questions.predictions.late_interaction import own_interaction
from bertviz_core.questions.texts.sentences import POOLING, PROMPT, own_plan
from bertviz_core.sentences.plan import adapted
from bertviz_core.sentences.pooling import offered_poolings
from bertviz_core.sentences.reading.lists import read_sentences
from bertviz_core.sentences.results import MEASURES, Measure, SentenceDtype, SentencePlan, SentenceTable
from bertviz_core.text import counted, escape_markdown
from ui.cache import models
from ui.cache.shared_model import SharedModel
from ui.examples import EXAMPLES
from ui.session import settings
from ui.views.sentences import cache, controls
from ui.views.sentences.texts import prompt_name
from ui.widgets.lists.uploads import ListFile, most_megabytes, wait_for_file, within_upload
from ui.widgets.view_and_layer import LAYER

TYPED_NAME = "The list"
FILE = ListFile("sentence")


def sentence_input() -> SentenceTable:
    """Return the sentences of this session, behind a button that opens their panel; the page ends here without a file.

    Raises:
        BertvizError: the list cannot be read.
    """
    table, refused = None, None
    with controls.sentences_popover(), st.container(width=controls.BOX):
        try:
            table = _read()
        except BertvizError as error:
            refused = error
        if table is not None:
            _summary(table)
    if refused is not None:
        raise refused
    if table is None:
        wait_for_file("Sentences")
        st.stop()
    return table


def _read() -> SentenceTable | None:
    """The sentences; None before an upload."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = controls.source_choice()
        example = controls.example_select() if source == controls.TYPED_KEY else ""
    if source == controls.FILE_KEY:
        return FILE.table(
            "A table with its column names in the first row, or a text with one sentence per line; at most "
            f"{settings().max_sentences:,} sentences and {most_megabytes()} MB. Larger files: `python -m "
            "bertviz_core embed`. It stays on this server."
        )
    text = controls.typed_sentences()
    if text == EXAMPLES[example][1]:
        st.caption(EXAMPLES[example][0])
    if not text.strip():
        raise TextError("The list is empty. Write at least one sentence under Sentences, one per line.")
    return read_sentences(TYPED_NAME, within_upload(text), settings())


def _summary(table: SentenceTable) -> None:
    """Number of sentences and how they were processed, in one line."""
    st.caption(f"{counted(len(table.sentences), 'sentence')}. {escape_markdown(' '.join(table.notices))}")


LONG_LIST = 2_000
"""bfloat16 is offered for longer lists."""
FOLDED = ("Token contributions", "Query", "Two models")
"""Views whose own widgets fill the row, so that pooling and layer are in the popover."""
READ_TOGETHER = "The query is scored with each text."
"""Description of the view Rank, in which the model computes no vectors of sentences."""
MEASURED = ("Similarity", "Query")
"""Views that depend on the measure."""


@dataclass(frozen=True, slots=True, eq=False)
class VectorOptions:
    """The options of a view."""

    plan: SentencePlan
    """How sentences become vectors."""
    measure: Measure
    """The measure of similarity."""
    clustered: bool
    """Whether similar sentences are grouped."""
    dtype: SentenceDtype
    """Number format of the run."""
    device: str
    """Where the model runs."""
    row: DeltaGenerator | None = None
    """The row for the view's own widgets."""
    more: DeltaGenerator | None = None
    """Container for rarely used options."""


def vector_options(view: str, name: str, count: int) -> VectorOptions:
    """Return the options of a view: common ones in its row, rarely used ones behind a button.

    Options without an effect on a view have no widget there; their values are kept.

    Args:
        view: name of the view.
        name: name of the model.
        count: number of sentences.

    Raises:
        BertvizError: the model cannot be loaded, or its recommended pooling cannot be read.
    """
    own, model = own_plan(SharedModel(name)), models.loaded(name)
    pooling, layer, measure, prompt, order, fast = own.pooling, None, MEASURES[0], own.prompt, False, False
    prompts = cache.prompts(own)
    long_list = count > LONG_LIST and "bfloat16" in fast_formats(model.device)
    row = st.container(horizontal=True, vertical_alignment="bottom", width="stretch")
    if view == "Rank":
        read_together = dataclasses.replace(own, reason=READ_TOGETHER, notices=())
        return VectorOptions(read_together, measure, order, "float32", model.device, row)
    if view == "Late interaction":
        by_tokens = dataclasses.replace(own, reason=own_interaction(SharedModel(name)).reason, notices=())
        return VectorOptions(by_tokens, measure, order, "float32", model.device, row)
    if view == "Poolings":
        return VectorOptions(own, measure, order, "float32", model.device)
    folded = view in FOLDED or view in MEASURED or bool(prompts) or long_list
    more = controls.options_popover() if folded else None
    with more if more is not None and view in FOLDED else row:
        edges = cache.edges(name)
        offered = offered_poolings(edges.first, model.has_pooler, own.pooling)
        pooling = controls.pooling_select(offered, own.pooling, own.from_checkpoint, edges.first)
        layer = controls.layer_slider(model.num_hidden_layers, pooling == "pooler")
    if view == "Similarity":
        with row:
            order = controls.clustered()
    if more is not None:
        with more:
            if view in MEASURED:
                measure = controls.measure_select()
            prompt = controls.prompt_select(prompts, own.prompt) if prompts else own.prompt
            fast = long_list and controls.bfloat16_toggle()
    plan = adapted(own, pooling, layer, prompt)
    return VectorOptions(plan, measure, order, "bfloat16" if fast else "float32", model.device, row, more)


def note_chosen_vectors(name: str, plan: SentencePlan) -> None:
    """Say in sight where the vectors are not those that the model is made for, and offer the way back."""
    own = own_plan(SharedModel(name))
    if (plan.pooling, plan.layer, plan.prompt) == (own.pooling, own.layer, own.prompt):
        return
    values = {POOLING.key: controls.OWN, LAYER: str(models.loaded(name).num_hidden_layers - 1)}
    values |= {PROMPT.key: prompt_name(own, own.prompt)} if cache.prompts(own) else {}
    controls.chosen_vectors(plan.reason, own.reason, values)
