"""A query and a text compared token by token, with the score as the sum of the largest cosine of each row."""

import streamlit as st

from bertviz_core.figures.sentences.late_interaction import late_interaction_figure
from bertviz_core.predictions.scoring.late_interaction.results import LateInteraction
from bertviz_core.questions.predictions.late_interaction import interaction_options, late_interaction, own_interaction
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.tables.sentences import interaction_frame
from bertviz_core.text import decimals, escape_markdown
from ui.components.step_links import LONGEST_LINKED, Link, address, step_links
from ui.views.sentences import cache, controls
from ui.views.sentences.similarity import SentenceInputs
from ui.widgets.figure_block import explained, figure_block, numbers_table
from ui.widgets.heading import unshown
from ui.widgets.lists.progress import answer

TABLE_HEIGHT, SUMMED = 330, 3
EXPLANATION = (
    "Query and text are run apart. Each token of the query is compared with each token of the text by the cosine of "
    "their vectors, and only the largest of a row counts: `score = sum over i of max over j of cos(q_i, d_j)` "
    "(ColBERT, Khattab and Zaharia 2020, equation 3). Of a checkpoint that was trained for it, the vectors are the "
    "last hidden states after its projection; the markers in front, the masks that fill a query up, the tokens of the "
    "text that are left out and the lengths are those of its files, and the numbers are those of `MultiVectorEncoder` "
    "of sentence-transformers. Any other encoder is compared by its last hidden states. A framed cell says where a row "
    "finds its largest cosine, not that the two tokens mean the same: every vector already holds its context. Scores "
    "of two queries cannot be compared, since a query with more tokens has a larger sum."
)


def late_interaction_view(inputs: SentenceInputs) -> None:
    """The map of the cosines, its sum, and the largest of each row as a table."""
    sentences = inputs.table.sentences
    with inputs.row:
        query = controls.query_input()
        document = sentences[controls.document_select(sentences)]
    if not query:
        st.info("Type a query: its tokens are compared with those of a text.", icon=":material/info:")
        return
    opened, options = cache.SentenceModel(inputs.model), interaction_options(query, document)
    plan, made = own_interaction(opened), answer(late_interaction, opened, options)
    result = made.result
    frame = interaction_frame(result)
    block = figure_block(
        late_interaction_figure(result), f"late interaction {result.model}", frame, numbers="in files", texts=made.texts
    )
    block.markdown(_sum_words(result))
    if result.skipped:
        block.caption(f"Not scored: {escape_markdown(' '.join(result.skipped))}")
    if others := [notice for notice in unshown(made.notices) if notice != plan.reason]:
        block.caption(escape_markdown(" ".join(others)))
    if plan.trained:
        _causes_links(result)
    numbers_table(frame, "The tokens of the query and their largest cosines", TABLE_HEIGHT)
    explained("sentences_late_interaction", EXPLANATION, library_lines(late_interaction, opened, options))


def _causes_links(result: LateInteraction) -> None:
    """Links to what the score depends on, where query and document are short enough for an address."""
    if len(result.query) + len(result.document) > LONGEST_LINKED:
        return
    both = [("text", result.document), ("pair", result.query), ("target", "late-interaction")]
    links = [
        Link(f"{what} that matter for this score", address(to, [("model", result.model), *both]))
        for what, to in (("Words of the text", "words"), ("Heads", "causes"))
    ]
    step_links(links, "sentences_interaction_causes", "Open what this score depends on")


def _sum_words(result: LateInteraction) -> str:
    """The score as a sum: its largest terms, and the rest as one."""
    largest, count = result.largest, len(result.query_tokens)
    terms = sorted(range(count), key=lambda place: -float(largest[place]))[:SUMMED]
    words = [
        f"{decimals(float(largest[place]))} :gray[({escape_markdown(result.query_tokens[place])} · "
        f"{escape_markdown(result.document_tokens[result.best[place]])})]"
        for place in terms
    ]
    if count > len(terms):
        # Computed from the printed numbers, so that the line adds up.
        total = round(result.score * (count if result.mean else 1), 4)
        rest = total - sum(round(float(largest[place]), 4) for place in terms)
        words.append(f"{decimals(rest)} :gray[(the other {count - len(terms):,} tokens of the query)]")
    summed = " + ".join(words)
    return f"**{decimals(result.score)}** = {f'({summed}) / {count:,}' if result.mean else summed}"
