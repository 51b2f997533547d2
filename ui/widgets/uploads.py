"""Lists of texts: uploads, the text that is chosen of them, downloads."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from time import perf_counter
from typing import Any

import pandas as pd
import streamlit as st

from bertviz_core.errors import TextError
from bertviz_core.models.catalog import EXAMPLE_RUN, TEXTS_FILE, example_texts
from bertviz_core.predictions.probing import reading
from bertviz_core.predictions.probing.gold import label_places
from bertviz_core.predictions.probing.results import LabelledTexts
from bertviz_core.predictions.probing.table import are_numbered
from bertviz_core.questions.parameters import Param
from bertviz_core.questions.predictions import labelled_texts as questions
from bertviz_core.questions.view import LONG_LIST
from bertviz_core.questions.views import answered
from bertviz_core.questions.views.answered import TextList
from bertviz_core.questions.views.texts import predictions as texts
from bertviz_core.sentences.lists import read_sentences, read_upload, read_vectors_upload
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.sentences.two_models import SECOND_COLUMNS, usual_column
from bertviz_core.tables.decoding import decoded, file_bytes
from bertviz_core.tables.typeset import csv_text
from bertviz_core.tables.vectors import VectorFile
from bertviz_core.text import escape_controls, escape_markdown, repair_surrogates
from ui.address.widgets import choice, keep_among, whole
from ui.cache.figures import cached_by_bytes
from ui.cache.shared_model import SharedModel
from ui.session import settings, store, stored
from ui.widgets.downloads import save_button
from ui.widgets.figure_block import file_name

QUIET_S = 1.0
"""Reading that takes less time shows no progress, so that nothing flickers."""
LONGEST_NAME, BOX = 100, 480
"""Most characters of a file's name, and pixels of a panel with texts."""
TYPED_LIST = "The list"
"""Name of typed texts."""
FROM_FILE, LAST = "file", "last_labelled_file"
"""The value of a choice where texts come from a file; session key: name and digest of the last one with labels."""
LINKED = "list_file"
"""Name in the address of a link, and session key: name of the file from which the view was created."""


class ListFile:
    """The file of a list; the keys of its widgets begin with the list's name."""

    def __init__(
        self, prefix: str, label: str = "CSV, TSV, JSONL, Parquet or text file", source: Param | None = None
    ) -> None:
        """Create the widgets' keys of a list.

        Args:
            source: the choice where its texts come from, one of which is "file", if all lists with one offer the file
                that any of them was given last.
        """
        self._label, self._source = label, source
        self._upload, self._file, self._column = f"{prefix}_upload", f"{prefix}_file", f"{prefix}_column"

    def table(self, words: str) -> SentenceTable | None:
        """The texts of the file; None before an upload."""
        handed = self.handed(words)
        if handed is None:
            return None
        table = _table(handed[1], handed[0], None)
        if len(table.columns) > 1:
            column_select("Column", self._column, table.columns, table.column or "")
        return self.current()

    def current(self) -> SentenceTable:
        """The texts of the file, as `table` has returned them."""
        name, digest = st.session_state[self._file]
        table: SentenceTable = _table(digest, name, None)
        column = st.session_state.get(self._column, table.column) if len(table.columns) > 1 else table.column
        return table if column == table.column else _table(digest, name, column)

    def handed(self, words: str) -> tuple[str, str] | None:
        """Name and digest of the session's file, also after a visit to another page."""
        uploaded: Any = st.file_uploader(
            # No types are passed: for other extensions Streamlit would show its own error.
            self._label,
            key=self._upload,
            on_change=self.forget,
            label_visibility="collapsed",
        )
        if uploaded is not None:
            raw = uploaded.getvalue()
            digest = sha256(raw).hexdigest()
            content(digest, raw)
            st.session_state[self._file] = (short_name(uploaded.name), digest)
            if self._source is not None:
                store(LAST, st.session_state[self._file])
        stored_file: tuple[str, str] | None = st.session_state.get(self._file)
        if stored_file is None:
            st.caption(words)
        elif uploaded is None:
            st.caption(escape_markdown(stored_file[0]))
        return stored_file

    @property
    def in_sight(self) -> bool:
        """Whether the upload widget shows the file with its remove button; not so after a visit to another page."""
        return st.session_state.get(self._upload) is not None

    def forget(self) -> None:
        """Forget the file."""
        st.session_state[self._file] = None

    def button(self, label: str, chosen: str) -> str:
        """The label of the button that opens its panel, with the name of the file whose texts are chosen."""
        own: tuple[str, str] | None = st.session_state.get(self._file)
        named = TEXTS_FILE if chosen == TEXTS_FILE else own[0] if own and chosen == FROM_FILE else ""
        return f"{label}: {escape_markdown(named)}" if named else label

    def offer(self, label: str, chosen: str, button: str) -> None:
        """Offer the file of another view with labelled texts, where this view shows other texts.

        The page is drawn anew where its panel has changed what is chosen since the `button` was named.
        """
        if self.button(label, chosen) != button:
            st.rerun()
        last: tuple[str, str] | None = stored(LAST)
        if last is None or self._source is None:
            return
        if st.session_state.get(self._source.key) != FROM_FILE or st.session_state.get(self._file) != last:
            words = f"Use {escape_markdown(last[0])}"
            st.button(words, key=f"{self._file}_offered", icon=":material/upload_file:", on_click=self._take)

    def _take(self) -> None:
        if self._source is not None:
            st.session_state[self._file], st.session_state[self._source.key] = stored(LAST), FROM_FILE


def column_select(label: str, key: str, columns: Sequence[str], first: str, none: str = "") -> str:
    """A column of a file; its name is the reader's data and not in the address.

    With a label `none` no column may be chosen, which is "".
    """
    options = [*([""] if none else []), *columns]
    keep_among(key, options, first)
    chosen = st.selectbox(
        label,
        options,
        index=options.index(first),
        key=key,
        persist_state="session",
        format_func=lambda name: escape_controls(name) or none,
    )
    return str(chosen or "")


def table_texts(table: SentenceTable, gold: str, second: str, no_second: str = "none: single texts") -> TextList:
    """The texts of a table, with the columns of gold labels and second texts that the reader chooses by these keys."""
    names = [str(name) for name in table.frame.columns]
    usual, usual_second = usual_column(names, reading.LABEL_COLUMNS), usual_column(names, SECOND_COLUMNS)
    labels = column_select("Gold labels", gold, names, usual, "none: no gold labels") if names else ""
    others = column_select("Second text or context", second, names, usual_second, no_second) if names else ""
    first, pairs = (reading.gold_column(table, name) if name else None for name in (labels, others))
    return TextList(f"of {table.name}", table.sentences, first, pairs, table.notices, table)


def text_panel(
    source: Param,
    key: str,
    file: ListFile,
    words: str,
    columns: Sequence[str],
    own: Mapping[str, Callable[[], TextList | None]],
) -> TextList | None:
    """The texts of this session, behind a button that opens their panel; None before they are written or uploaded.

    They come from an entry of `own`, the example run, or a file, of which `words` say what is accepted; `columns` are
    arguments of `table_texts`.
    """
    button = file.button("Texts", str(stored(source.key, source.options[0])))
    with st.popover(button, icon=":material/edit_note:", key=key), st.container(width=BOX):
        chosen = choice(source, "Texts", source.options, label_visibility="collapsed")
        if chosen in own:
            listed = own[chosen]()
        else:
            most = f"at most {settings().max_sentences:,} texts and {most_megabytes()} MB."
            table = example_table() if chosen == TEXTS_FILE else file.table(f"{words}; {most} It stays on this server.")
            listed = None if table is None else table_texts(table, *columns)
    file.offer("Texts", str(chosen), button)
    return listed


def typed_lines(label: str, key: str, placeholder: str) -> SentenceTable | None:
    """A box for texts, one a line, which are never in the address; None while it is empty."""
    text = st.text_area(label, key=key, height=220, persist_state="session", placeholder=placeholder)
    st.caption("A click or tap outside the box applies it, and so does Ctrl + Enter.")
    return _typed_list(str(text)) if (text or "").strip() else None


@cached_by_bytes()
def _typed_list(text: str) -> SentenceTable:
    return read_sentences("The list", within_upload(text), settings())


def example_table() -> SentenceTable:
    """The labelled texts of the example run, which are on every server."""
    raw = example_texts()
    digest = sha256(raw).hexdigest()
    content(digest, raw)
    table = _table(digest, TEXTS_FILE, None)
    st.caption(f"{len(table.sentences)} sentences, good or bad, half of them with a negation: those of {EXAMPLE_RUN}.")
    return table


def wait_for_file(place: str) -> None:
    """Request the file of a view, by its name in the link that led here, under the button that opens the upload."""
    name = st.session_state.get(LINKED)
    reason = f"This view was made from the file {escape_markdown(str(name))}" if name else "This view reads a file"
    st.info(
        f"{reason}, which is not part of a link. Choose it under **{place}** above; all other settings come from the "
        "link.",
        icon=":material/upload:",
    )


def most_megabytes() -> int:
    """Largest upload that this server accepts, in megabytes (.streamlit/config.toml)."""
    return int(st.get_option("server.maxUploadSize"))


def short_name(name: str) -> str:
    """Shorten a file's name for display; its extension is kept."""
    whole = name.encode("utf-8", "replace").decode()
    return whole if len(whole) <= LONGEST_NAME else f"{whole[: LONGEST_NAME - 30]}...{whole[-27:]}"


def within_upload(text: str) -> str:
    """Return the text unchanged if it is not larger than an upload may be."""
    most = most_megabytes()
    if len(text) > most * 1024**2:
        raise TextError(
            f"The list has {len(text):,} characters; at most {most * 1024**2:,} are taken. Give a part of it."
        )
    return text


@cached_by_bytes()
def content(digest: str, _content: bytes | None = None) -> bytes:
    """Cache the bytes of an uploaded file; the least recently used are dropped."""
    if _content is None:
        raise TextError("The file is no longer on this server; upload it again.")
    return _content


@cached_by_bytes()
def _table(digest: str, name: str, column: str | None) -> SentenceTable:
    """Read an uploaded file as a table; the reading ends when the reader leaves."""
    place, started = st.empty(), perf_counter()

    def is_needed() -> bool:
        # Writing to the page lets Streamlit end the script of a reader who has left or clicked on something else.
        words = f"Reading the file ({perf_counter() - started:.0f} s)" if perf_counter() - started > QUIET_S else ""
        place.caption(words)
        return True

    table = read_upload(name, content(digest), settings(), column, is_needed)
    place.empty()
    return table


@cached_by_bytes()
def _vectors(digest: str, name: str, texts: tuple[str, ...]) -> VectorFile:
    """Read the vectors of an uploaded file."""
    return read_vectors_upload(name, content(digest), settings(), texts)


def vectors_of_file(name: str, digest: str, texts: Sequence[str]) -> VectorFile:
    """The vectors of an uploaded file, with the texts of its own or else these."""
    try:
        return _vectors(digest, name, ())
    except TextError:
        return _vectors(digest, name, tuple(texts))


def text_of_file(name: str, digest: str) -> str:
    """The whole text of an uploaded file."""
    return decoded(name, file_bytes(name, content(digest)))


PARQUET = "application/vnd.apache.parquet"


def table_files(table: Callable[[], pd.DataFrame], key: str, filename: str) -> None:
    """Show a row of download buttons; the table is computed when one of them is clicked."""
    name = file_name(key, filename)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        save_button("CSV", lambda: csv_text(table()), f"{name}.csv", "text/csv", f"{key}_csv")
        save_button("Parquet", lambda: parquet_bytes(table()), f"{name}.parquet", PARQUET, f"{key}_parquet")


def parquet_bytes(table: pd.DataFrame) -> bytes:
    """Encode the table as Parquet; lone surrogates, which cannot be encoded, are replaced."""
    plain = table.map(lambda cell: repair_surrogates(cell) if isinstance(cell, str) else cell)
    target = io.BytesIO()
    plain.to_parquet(target, index=False)
    return target.getvalue()


NARROW, SHOWN = 190, 90
"""Pixels of the number of a text of a long list, and most characters of a text of a short one."""


def open_row(table: str, opened: str) -> None:
    """Open the text of the selected row; a callback of `numbers_table`."""
    event = st.session_state.get(table)
    rows = event["selection"]["rows"] if event else []
    if rows:
        st.session_state[opened] = int(rows[0]) + 1


def text_select(key: str, label: str, names: Sequence[str], first: int) -> int:
    """Index of a text of a list, kept in the session, since an address has no text; a number in a long list."""
    count, at, of = len(names), int(st.session_state.get(key, -1)), hash(tuple(names))
    if not 0 <= at < count or stored(f"{key}_of") != of:
        store(f"{key}_of", of)
        st.session_state[key] = at if 0 <= at < count else first  # set anew, or the browser keeps the text before
    if count > LONG_LIST:
        place = int(st.session_state[key]) + 1
        return int(st.number_input(label, 1, count, place, step=1, key=f"{key}_number", width=NARROW)) - 1
    shown = [f"{place + 1}  {text[:SHOWN]}" for place, text in enumerate(names)]
    chosen = st.selectbox(label, range(count), key=key, persist_state="session", format_func=shown.__getitem__)
    return int(chosen or 0)


TYPED, LABEL, COPIED = questions.LABELLED_TEXTS.key, "label_column", "labelled_copied"
"""Session keys of the typed list, of the column of a file, and of the list of Several texts that was taken over."""
SOURCES = ("example set", TEXTS_FILE, "typed", "file")
FILE = ListFile("labelled", source=questions.LABELLED)
FIRST = (
    "praise\tWhat a lovely surprise.\npraise\tThe room was spotless.\npraise\tI would come here again.\n"
    "complaint\tThe tap dripped all night.\ncomplaint\tNobody answered the bell.\ncomplaint\tMy soup was cold."
)
"""Default list."""


def labelled_texts(
    opened: SharedModel, check: reading.Check = reading.checked, label: str = "Texts"
) -> tuple[LabelledTexts | None, int]:
    """Return the checked labelled texts, None before an upload, and the seed, behind a button that opens them.

    By default they are those whose labels are the classes of the model's head, else the example set.
    """
    fitting = reading.fitting_set(reading.config_classes(opened.source.config))
    first = fitting.name if fitting is not None and fitting.name in SOURCES else SOURCES[0]
    sources = sorted(SOURCES, key=lambda each: each != first)
    button = FILE.button(label, str(stored(questions.LABELLED.key, first)))
    with st.popover(button, icon=":material/label:", key="labelled_box"), st.container(width=BOX):
        source = choice(questions.LABELLED, questions.LABELLED.label, sources, label_visibility="collapsed")
        words = "Another seed cuts the texts into other parts and shuffles the labels of the control task differently."
        seed = whole(questions.SEED, "Seed", 0, questions.MOST_SEEDS - 1, 0, help=words, width=110)
        if source in SOURCES[:2]:
            listed: LabelledTexts | None = _examples(source, check)
        else:
            listed = _typed(check) if source == SOURCES[2] else _from_file(check)
    FILE.offer(label, source, button)
    return listed, seed


def _examples(source: str, check: reading.Check) -> LabelledTexts:
    if source == TEXTS_FILE:
        return reading.column_labels(example_table(), "label", check)
    topics = reading.example_set()
    st.caption(
        f"{len(topics.texts)} short English sentences about {', '.join(topics.classes[:-1])} and "
        f"{topics.classes[-1]}, written for this dashboard (*{reading.EXAMPLE_SET}*)."
    )
    return topics


def _typed(check: reading.Check) -> LabelledTexts:
    if st.session_state.get(TYPED) in (None, FIRST, stored(COPIED)):  # untouched
        store(COPIED, _typed_in_several_texts())
        st.session_state[TYPED] = stored(COPIED) or FIRST
    table = typed_lines("Label, tab, text", TYPED, "label<tab>text")
    st.caption("A label, a tab and a text on each line. Copied from two columns of a spreadsheet it has that form.")
    if table is None:
        raise TextError("The list of labelled texts is empty. Write a label, a tab and a text on each line.")
    return reading.typed_labels(table, check)


def _typed_in_several_texts() -> str:
    """The reader's own list of Several texts, where it has labels; "" for none."""
    lines = str(st.session_state.get(questions.MANY_TEXTS.key) or "")
    shipped = [_beginning(answered.PROBE, each.classes, "") for each in reading.example_sets()]
    labelled = lines not in shipped and all("\t" in line for line in filter(str.strip, lines.splitlines()))
    return lines if labelled and lines.strip() else ""


def _from_file(check: reading.Check) -> LabelledTexts | None:
    most = reading.MAX_TEXTS if check is reading.checked else settings().max_sentences
    table = FILE.table(
        "A table with a column of texts and one of labels, or a text file with label, tab and text on each line; at "
        f"most {most:,} texts and {reading.MAX_CLASSES} classes. It stays on this server."
    )
    if table is None:
        return None
    first = reading.label_column(table)
    if first is None:
        return reading.typed_labels(table, check)
    column = column_select("Labels", LABEL, list(map(str, table.frame.columns)), first)
    return reading.column_labels(table, column, check)


COLUMNS, OF_PAIRS = ("gold_column", "second_column"), ("question-answering", "next-sentence")
"""Keys of the columns of an uploaded table; tasks that need a second text, without such a column that of the page."""
MANY_FILE = ListFile("many", source=questions.TEXTS_FROM)
NAME_CLASSES, MOST_NAMED = "Name the classes", 10
"""Button with the classes of a head that has no names for them; most such classes."""
TOPICS = (
    "sport\tThe match was called off at half-time.\n"
    "weather\tA warm wind melted the snow.\n"
    "cooking\tThe sauce needs a little more salt.\n"
    "music\tThe pianist played two encores.\n"
    "travel\tOur train crossed the border at night.\n"
    "sport\tHe ran the last lap in the rain.\n"
    "travel\tWe ate on the platform and waited.\n"
    "music\tThe band played on the beach."
)
"""Default list for classes that the labels of the example set are among; two texts are ambiguous."""
SENTENCES = (
    "The film was wonderful.\n"
    "The film was a waste of time.\n"
    "The parcel arrived on Tuesday.\n"
    "I would like my money back.\n"
    "When does the shop open?\n"
    "Thank you for your help.\n"
    "The bank raised its interest rates.\n"
    "Nobody answered the phone."
)
"""Default list for any other head."""
QUESTIONS = "Who is it about?\nWhere does it happen?\nWhat is done?"
"""Default list for a head that answers questions about the second text."""


def text_list(answered_by: str, classes: Sequence[str], mask: str, pair: str | None) -> answered.TextList | None:
    """The texts of this session, behind a button that opens their panel; None before an upload."""
    own = {questions.TEXTS_FROM.options[0]: partial(_typed_texts, answered_by, classes, mask)}
    words = (
        "A table with its column names in the first row, or a text file with a text on each line (many more: `python "
        "-m bertviz_core predict --file`)"
    )
    columns = (*COLUMNS, *(["none: the second text of the page"] if answered_by in OF_PAIRS else []))
    listed = text_panel(questions.TEXTS_FROM, "many_box", MANY_FILE, words, columns, own)
    if listed is not None:
        listed = replace(listed, class_names=class_names(listed.gold, classes))
    if listed is None or not pair or listed.pairs is not None:
        return listed
    if answered_by in OF_PAIRS:
        return replace(listed, pairs=(pair,) * len(listed.texts))
    return replace(listed, notices=(*listed.notices, texts.PAIR_NOT_READ))


def unnamed(gold: Sequence[str] | None, classes: Sequence[str]) -> list[str]:
    """The gold labels, where a head only numbers its classes, as transformers does, and none of them is a class."""
    labels = sorted({label for each in gold or () if (label := each.strip())})
    few = 1 < len(classes) <= MOST_NAMED and len(labels) <= len(classes)
    return labels if few and are_numbered(classes) and not label_places(labels, classes) else []


def class_names(gold: Sequence[str] | None, classes: Sequence[str]) -> tuple[str, ...]:
    """Gold labels as names of the classes, where those have none and the reader says which is which; () for none."""
    labels = unnamed(gold, classes)
    if not labels:
        return ()
    with st.popover(NAME_CLASSES, icon=":material/label:", key="named_box"):
        st.caption("For this list. For every page, name them as id2label in the model's config.json.")
        chosen = {name: column_select(f"{name} is", f"{name}_is", labels, "", "not said") for name in classes}
    named = {label: name for name, label in chosen.items() if label}
    if len(named) == 1 and len(classes) == len(labels) == 2:  # the other class is the other label
        (one,), (name,) = named, named.values()
        named |= {label: other for label in labels for other in classes if label != one and other != name}
    label_of = {name: label for label, name in named.items()}
    return tuple(label_of.get(name, name) for name in classes) if named else ()


def _typed_texts(answered_by: str, classes: Sequence[str], mask: str) -> answered.TextList:
    kinds = [(kind, ()) for kind in ("masked-lm", "question-answering", answered.PROBE)]
    others = [
        _beginning(*each, mask)
        for each in (*kinds, *((answered.PROBE, each.classes) for each in reading.example_sets()))
    ]
    if st.session_state.get(questions.MANY_TEXTS.key) in (None, *others):  # untouched, of whatever head
        st.session_state[questions.MANY_TEXTS.key] = _beginning(answered_by, classes, mask)
    table = typed_lines("Texts, one per line", questions.MANY_TEXTS.key, "One text per line")
    st.caption("One text per line. Where each line is a label, a tab and a text, answers are compared with the labels.")
    if table is None:
        raise TextError("The list of texts is empty. Write at least one under Texts, one per line.")
    return answered.text_lines("", table)


def _beginning(answered_by: str, classes: Sequence[str], mask: str) -> str:
    """The default list; labelled texts only where their labels are classes of the head or probe."""
    if answered_by == "masked-lm":
        return f"The capital of France is {mask}.\nShe plays the {mask}.\nWater turns to {mask} in the cold."
    if answered_by == "question-answering":
        return QUESTIONS
    fitting = reading.fitting_set(classes)
    if fitting is None:
        return SENTENCES
    lines = zip(fitting.labels, fitting.texts, strict=True)
    return TOPICS if fitting.name == reading.EXAMPLE_SET else "\n".join(f"{label}\t{text}" for label, text in lines)
