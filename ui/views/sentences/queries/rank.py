"""Texts ranked for a query by a head or by late interaction, beside their order by the cosine of a sentence model."""

from functools import partial

import streamlit as st

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.figures.sentences.ranking import ROWS, moved_words, ranking_figure, scorer
from bertviz_core.predictions.classes import output_names
from bertviz_core.predictions.loading import HeadModel
from bertviz_core.predictions.scoring.ranking import DEFAULT_CLASS
from bertviz_core.predictions.scoring.results import Ranking
from bertviz_core.questions.predictions.ranking import (
    BESIDE,
    BY_HEAD,
    BY_TOKENS,
    LABEL,
    OWN_ENCODER,
    RANKED_BY,
    RANKED_BY_OPTIONS,
    default_beside,
    default_ranking,
    ranked,
    ranking_head,
    ranking_options,
)
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.tables.predictions import ranking_frame
from bertviz_core.text import decimals, escape_markdown
from ui.address.registry import param
from ui.address.widgets import select, whole
from ui.components.step_links import LONGEST_LINKED, Link, address, step_links
from ui.session import settings
from ui.views.sentences import cache, controls
from ui.views.sentences.similarity import SentenceInputs
from ui.widgets.figure_block import explained, figure_block, numbers_table
from ui.widgets.heading import unshown
from ui.widgets.lists.open_text import open_row
from ui.widgets.lists.progress import answer
from ui.widgets.models.fields import complete
from ui.widgets.models.second import names_with_weights

KEY, TABLE, OPENED = "sentences_ranking", "ranking_table", "ranked_text"
WIDTH, CLASS_WIDTH = 245, 190
"""Pixels of the choice of a sentence model, and of a class."""
HEIGHT, FEW = 330, 8
"""Pixels of the table, which is scrolled; most rows without scrolling."""
EXPLANATION = (
    "The head reads the query and each text together, as one input, and gives a logit. A head with one output is a "
    "cross-encoder (Nogueira and Cho 2019): its score is the activation that the checkpoint's settings name, the "
    "sigmoid by default, as in sentence-transformers. Of a head for natural language inference, whose premise is the "
    "query and whose hypothesis is the text, the score is the probability of one class: the softmax "
    "of its logits, or the sigmoid where classes do not exclude each other. "
    "{beside}"
)
TOKENS_EXPLANATION = (
    "The model reads query and text apart, and every token of the query is compared with every token of the text: the "
    "score is the sum, over the tokens of the query, of the largest cosine (ColBERT, Khattab and Zaharia 2020), as "
    "`MultiVectorEncoder` of sentence-transformers computes it. {beside}"
)
BESIDE_EXPLANATION = (
    "The sentence model reads query and text apart, and the cosine compares the two vectors; its height cannot be "
    "compared with the score, only the order can. ▲ is the number of places that the score puts a text higher. Scores "
    "of two queries cannot be compared either, unless the model was trained for it."
)


def rank_view(inputs: SentenceInputs) -> None:
    """The texts by descending score, what moved, and links for one of them."""
    opened, row = cache.SentenceModel(inputs.model), inputs.row
    try:
        head, no_head = ranking_head(opened), ""
    except UnsupportedModelError as error:
        head = None
        no_head = f"{str(error).partition(';')[0]}, so late interaction puts them in order."
    with row:
        query = controls.query_input()
        by = _by_select(default_ranking(opened)) if head is not None else BY_TOKENS
        label = _label_select(head) if head is not None and by == BY_HEAD else ""
        beside = _beside_select(inputs.model, default_beside(opened))
    if not query:
        st.info("Type a query: the texts of the list are put in order for it.", icon=":material/info:")
        return
    options = ranking_options(query, inputs.table.sentences, label, beside, by=by)
    made = answer(ranked, opened, options)
    ranking = made.result
    st.markdown(f"**{escape_markdown(moved_words(ranking))}**")
    models = tuple(dict.fromkeys((ranking.model, ranking.sentence_model)))
    frame = ranking_frame(ranking)
    words = figure_block(
        ranking_figure(ranking), f"ranking {ranking.model}", frame, numbers="in files", texts=made.texts, models=models
    )
    words.caption(
        f"Left the order by {scorer(ranking)}, right that by the cosine of {escape_markdown(ranking.sentence_model)}: "
        f"where a line falls to the right, {scorer(ranking)} puts the text higher."
    )
    if len(frame) > ROWS:
        st.caption(f"The first {ROWS} of {len(frame):,} texts are drawn; the table has all.")
    for notice in filter(None, (no_head, *unshown(made.notices))):
        st.caption(escape_markdown(notice))
    numbers_table(
        frame,
        "The texts by descending score",
        "auto" if len(frame) <= FEW else HEIGHT,
        key=TABLE,
        on_row=partial(open_row, TABLE, OPENED),
    )
    _opened_text(ranking)
    how = TOKENS_EXPLANATION if ranking.by_tokens else EXPLANATION
    explained(KEY, how.format(beside=BESIDE_EXPLANATION), library_lines(ranked, opened, options))


def _by_select(default: str) -> str:
    """What scores the texts."""
    return select(
        RANKED_BY,
        "Ranked by",
        RANKED_BY_OPTIONS if default == BY_HEAD else RANKED_BY_OPTIONS[::-1],
        default,
        help="A head reads query and text together; late interaction compares their tokens one by one.",
        width=CLASS_WIDTH,
    )


def _label_select(head: HeadModel) -> str:
    """The class that ranks, entailment first; "" for a head with one output, which has no widget."""
    count = int(head.model.config.num_labels)
    if count == 1:
        return ""
    labels, _ = output_names(head, count)
    first = next((each for each in labels if each.lower() == DEFAULT_CLASS), labels[0])
    help_text = "The class whose probability orders the texts."
    return select(LABEL, "Class that ranks", labels, first, help=help_text, width=CLASS_WIDTH)


def _beside_select(first: str, default: str) -> str:
    """The sentence model of the cosines."""
    names = dict.fromkeys((default, OWN_ENCODER, *(name for name in names_with_weights(first) if name != first)))
    return select(
        BESIDE,
        "Beside the cosine of",
        list(names),
        default,
        on_change=complete,
        args=(BESIDE.key, list(names)),
        accept_new_options=not settings().allowed_models,
        format_func=lambda name: "its own encoder" if name == OWN_ENCODER else name,
        help="The sentence model whose order is shown beside that of the head: it reads query and text apart.",
        width=WIDTH,
    )


def _opened_text(ranking: Ranking) -> None:
    """One text with its numbers, and links to views of it with the query."""
    count = len(ranking.texts)
    help_text = "Its place by the score. A click on a row of the table opens it, too."
    place = whole(param(OPENED), f"Open text, 1 to {count:,}", 1, count, 1, width=CLASS_WIDTH, help=help_text) - 1
    index = int(ranking.order[place])
    text = ranking.texts[index]
    st.markdown(escape_markdown(text))
    st.markdown(
        f"score **{decimals(float(ranking.scores[index]))}**, place {place + 1}; cosine "
        f"**{decimals(float(ranking.cosines[index]))}**, place {int(ranking.cosine_rank[index]):,}"
    )
    if len(text) + len(ranking.query) > LONGEST_LINKED:
        st.caption(f"Query and text have more than {LONGEST_LINKED:,} characters, too many for a link: copy them.")
        return
    both = [("text", ranking.query), ("pair", text)]
    target = [("target", "class"), *([("target_class", ranking.label)] if ranking.label else [])]
    line = [("source", "typed"), ("sentences", " ".join(text.split())), ("query_sentence", ranking.query)]
    links = [
        Link(
            "Late interaction, token by token",
            address("sentences", [("model", ranking.model), ("view", "Late interaction"), *line]),
        )
        if ranking.by_tokens
        else Link("Words that matter for the score", address("words", [("model", ranking.model), *both, *target])),
        Link(
            "Word pairs of the cosine",
            address("words", [("model", ranking.sentence_model), ("view", "Pairs"), *both]),
        ),
    ]
    step_links(links, f"{KEY}_open", "Open this text with the query in another view")
