"""Pairs of sentences with a gold similarity: correlations of both models, cosine against gold, and the worst pairs."""

import streamlit as st

from bertviz_core.figures.sentences.gold import gold_cosines_figure
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.tables.two_models.sentences import gold_frame, gold_words
from bertviz_core.questions.texts.two_models import gold_options, gold_pairs
from bertviz_core.sentences.reading.lists import read_sentences
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.sentences.two_models.gold import SCORE_COLUMNS, SECOND_COLUMNS, table_pairs, typed_pairs, usual_column
from bertviz_core.sentences.two_models.results import GoldPairs
from bertviz_core.text import escape_markdown
from ui.address.registry import param
from ui.address.widgets import choice
from ui.session import settings
from ui.views.sentences import cache
from ui.views.sentences.two_models.texts import GOLD, NO_PAIRS
from ui.widgets.figure_block import figure_block, numbers_table
from ui.widgets.heading import unshown
from ui.widgets.lists.progress import answer
from ui.widgets.lists.uploads import ListFile, column_select, most_megabytes, wait_for_file, within_upload

FILE, BOX, TYPED = ListFile("gold"), 480, "gold_pairs"
WORST = 20
"""Number of pairs in the table."""
HEIGHT = 330
"""Pixels of the table, which is scrolled."""


def pairs_box(values: dict[str, str]) -> Options | None:
    """The pairs of this session, behind a button that opens their panel; None before they are written or uploaded.

    Args:
        values: the other model, pooling, layer and prompt.

    Raises:
        BertvizError: the pairs cannot be read.
    """
    with st.popover("Pairs", icon=":material/edit_note:", key="gold_box"), st.container(width=BOX):
        source = param("gold_from")
        if choice(source, "Pairs", label_visibility="collapsed") == source.options[0]:
            return _typed(values)
        table = FILE.table(
            "A table with two columns of sentences and one of numbers, such as sentence1, sentence2 and score, its "
            f"column names in the first row; at most {most_megabytes()} MB. It stays on this server."
        )
        return None if table is None else _of_table(table, values)


def _typed(values: dict[str, str]) -> Options | None:
    typed = st.text_area(
        "Pairs, one a line",
        key=TYPED,
        height=220,
        persist_state="session",
        placeholder="first sentence<tab>second sentence<tab>similarity",
    )
    if not (typed or "").strip():
        return None
    return gold_options(typed_pairs(read_sentences("The list", within_upload(str(typed)), settings())), values)


def _of_table(table: SentenceTable, values: dict[str, str]) -> Options | None:
    names = [str(name) for name in table.frame.columns]
    if len(names) < 2:
        st.caption("The file needs two more columns beside this one: second sentences, and numbers.")
        return None
    second = column_select("Second sentence", "gold_second", names, usual_column(names, SECOND_COLUMNS) or names[0])
    score = column_select("Gold similarity", "gold_score", names, usual_column(names, SCORE_COLUMNS) or names[-1])
    firsts, seconds, gold, notices = table_pairs(table, second, score)
    for notice in unshown(notices):
        st.caption(escape_markdown(notice))
    return gold_options((firsts, seconds, gold), values)


def gold_view(model: str, options: Options | None) -> None:
    """Both correlations in one sentence, cosine against gold for each model, and the worst pairs.

    Args:
        model: name of the first model.
        options: the pairs; None before they are written or uploaded.
    """
    if options is None:
        if st.session_state.get("gold_from") == "file":
            wait_for_file("Pairs")
        else:
            st.info(NO_PAIRS, icon=":material/info:")
        return
    opened = cache.SentenceModel(model)
    made = answer(gold_pairs, opened, options)
    pairs = made.result
    models = tuple(dict.fromkeys(each.model for each in pairs.models))
    st.markdown(f"**{escape_markdown(gold_words(pairs))}**")
    figure_block(
        gold_cosines_figure(pairs),
        f"gold similarity {' '.join(models)}",
        gold_frame(pairs),
        numbers="in files",
        texts=made.texts,
        models=models,
        explanation=(GOLD, library_lines(gold_pairs, opened, options)),
    )
    for notice in unshown(made.notices):
        st.caption(escape_markdown(notice))
    _worst(pairs)


def _worst(pairs: GoldPairs) -> None:
    of = "" if len(pairs.models) == 1 else " of the second model"
    st.markdown(f"**Pairs with the largest rank errors{of}**")
    numbers_table(gold_frame(pairs).iloc[:WORST], "The worst pairs, the largest rank error first", HEIGHT)
