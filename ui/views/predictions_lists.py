"""Lists that views of Predictions read: questions with contexts, words with gold tags, pairs of words and templates."""

from collections.abc import Iterable, Iterator, Sequence

import streamlit as st

from bertviz_core.errors import TextError
from bertviz_core.predictions.probing.reading import gold_column
from bertviz_core.predictions.probing.swaps import SETS, pair_lines, template_lines
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.predictions import answer_list as asked
from bertviz_core.questions.predictions import gold_tags as tags
from bertviz_core.questions.predictions import swaps
from bertviz_core.questions.view import Ask, Part
from bertviz_core.questions.views import answered
from bertviz_core.questions.views.labelled import answer_list, gold_tags
from bertviz_core.sentences.lists import read_tagged_upload
from bertviz_core.sentences.two_models import usual_column
from bertviz_core.tables.tagged_words import TaggedWords, read_tagged
from bertviz_core.text import quoted
from ui.address.widgets import choice
from ui.cache.figures import cached_by_bytes
from ui.cache.shared_model import SharedModel
from ui.engine import with_controls
from ui.session import end_page, settings
from ui.widgets.uploads import (
    BOX,
    TYPED_LIST,
    ListFile,
    column_select,
    content,
    most_megabytes,
    typed_lines,
    wait_for_file,
    within_upload,
)

ASKED_FILE = ListFile("asked")


def answer_list_view(opened: SharedModel, ask: Ask, options: Options) -> Iterable[Part]:
    """A list of questions answered: of the example, of typed lines or of a file."""
    source = options.choice(answer_list.ASKED_FROM)
    if source == answer_list.EXAMPLE:
        return answer_list.asked_parts(Options(task=asked.TASK), opened, ask, options)
    from_file = source == answer_list.FILE
    with st.popover("Questions", icon=":material/edit_note:", key="asked_box"), st.container(width=BOX):
        rows = _asked_of_file() if from_file else _typed_questions()
    if rows is not None:
        return answer_list.asked_parts(asked.answer_options(*rows), opened, ask, options)
    if from_file:
        wait_for_file("Questions")
    else:
        st.info(answer_list.NO_QUESTIONS, icon=":material/info:")
    return ()


def _typed_questions() -> answer_list.AskedRows | None:
    table = typed_lines("Questions", answer_list.TYPED_QUESTIONS.key, "question<tab>context<tab>gold answer")
    return None if table is None else answer_list.typed_questions(table)


def _asked_of_file() -> answer_list.AskedRows | None:
    table = ASKED_FILE.table(
        "A .json of SQuAD, or a table with columns of questions, contexts and, if you like, gold answers, blank where "
        f"there is none; at most {settings().max_sentences:,} questions and {most_megabytes()} MB. It stays on this "
        "server."
    )
    if table is None:
        return None
    names = [str(name) for name in table.frame.columns]
    if not names:
        raise TextError(f"{quoted(table.name)} has questions alone; give a table with a column of contexts, too.")
    about = column_select("Context", "asked_context", names, usual_column(names, asked.CONTEXT_COLUMNS) or names[0])
    usual = usual_column(names, asked.ANSWER_COLUMNS)
    gold = column_select("Gold answers", "asked_gold", names, usual, "none: no gold answers")
    columns = [gold_column(table, name) if name else None for name in (about, gold)]
    return answer_list.AskedRows(table.sentences, columns[0] or (), columns[1])


SWAP_FILES = ListFile("swap_pairs", "A file with pairs of words"), ListFile("swap_templates", "A file with templates")


def swaps_view(opened: SharedModel, ask: Ask, options: Options) -> Iterator[Part]:
    """What the model answers to templates with exchanged words, of this project or the reader's own."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row, st.popover("Texts", icon=":material/edit_note:", key="swaps_box"), st.container(width=BOX):
        source = choice(swaps.SWAP_SET, "Pairs and templates", swaps.SWAP_SET.options, label_visibility="collapsed")
        lines = _swap_lines(source)
    with row:
        listed = with_controls((swaps.COMPARED,), opened, Options())
    if lines is None:
        wait_for_file("Texts")
        end_page()
    shipped = {swaps.SWAP_SET.key: source} if source in SETS else {}
    yield from answered.swap_parts(opened, ask, swaps.swap_options(*lines, None, **{**shipped, **listed.values}))


def _swap_lines(source: str) -> tuple[Sequence[str] | None, Sequence[str] | None] | None:
    """Lines of pairs and templates, None for those of a set; None before the uploads."""
    if source in SETS:
        st.caption(f"Pairs: {', '.join(SETS[source].pairs)}. Templates, written for this dashboard:")
        st.text("\n".join(SETS[source].templates))
        return None, None
    if source == swaps.TYPED:
        usual = next(iter(SETS.values()))
        return _typed_swaps(swaps.WORD_PAIRS, usual.pairs), _typed_swaps(swaps.TEMPLATES, usual.templates)
    pairs = SWAP_FILES[0].table("Pairs: lines such as he / she, or a table with two columns.")
    templates = SWAP_FILES[1].table(
        "Templates with {} in place of the word: lines, or a table; of two texts with a "
        "column second for the second text."
    )
    return None if pairs is None or templates is None else (pair_lines(pairs), template_lines(templates))


def _typed_swaps(param: Param, first: Sequence[str]) -> Sequence[str]:
    st.session_state.setdefault(param.key, "\n".join(first))
    st.caption(f"{param.help[0].upper()}{param.help[1:]}.")
    table = typed_lines(param.label, param.key, "One on each line")
    return () if table is None else table.sentences


TAGGED_FILE = ListFile("tagged", "Words with their tags")
TAGGED_LINES = "Maria B-PER\nCurie I-PER\nlives O\nin O\nParis B-LOC"


def gold_tags_view(opened: SharedModel, ask: Ask, options: Options) -> Iterator[Part]:
    """How well the head finds the entities of sentences with gold tags, each error, and the labels of a sentence."""
    with st.popover("Sentences", icon=":material/label:", key="tagged_box"), st.container(width=BOX):
        source = choice(tags.TAGS_FROM, "Sentences", tags.TAGS_FROM.options, label_visibility="collapsed")
        if source == "example":
            tagged = tags.example(opened)
            st.caption("Four short English sentences about persons, places and organizations.")
        else:
            tagged = _typed_tags() if source == "typed" else _tags_of_file()
    if tagged is not None:
        yield from gold_tags.gold_tag_parts(tagged, opened, ask)
    elif source == "file":
        wait_for_file("Sentences")
    else:
        yield gold_tags.nothing_yet(opened, source)


def _typed_tags() -> TaggedWords | None:
    words = "A word and its tag on each line, a blank line between sentences; or JSON lines with tokens and tags."
    text = st.text_area(words, key=tags.TAGGED.key, height=220, persist_state="session", placeholder=TAGGED_LINES)
    return read_tagged(TYPED_LIST, within_upload(text).encode("utf-8", "replace")) if (text or "").strip() else None


def _tags_of_file() -> TaggedWords | None:
    handed = TAGGED_FILE.handed(
        "A file with a word and its tag on each line and a blank line between sentences (CoNLL), or JSON lines with "
        "tokens and ner_tags, or with text and entities (start, end, label). It stays on this server."
    )
    return None if handed is None else tagged_upload(*handed)


@cached_by_bytes()
def tagged_upload(name: str, digest: str) -> TaggedWords:
    """Read an uploaded file of words with tags."""
    return read_tagged_upload(name, content(digest), settings())
