"""Where the sentences come from: typed, pasted, a worked example, or a column of a file."""

from hashlib import sha256
from time import perf_counter

import streamlit as st

from bertviz_core.errors import TextError
from bertviz_core.sentences.encoding import fast_bfloat16
from bertviz_core.sentences.plan import adapted
from bertviz_core.sentences.reading.files import read_sentences, read_upload
from bertviz_core.sentences.results import Measure, SentenceDtype, SentencePlan, SentenceTable
from ui.cache import models
from ui.cache.decorator import cached_by_bytes
from ui.examples import EXAMPLES
from ui.session import settings
from ui.views.sentences import cache, controls
from ui.widgets.formatting import escape_markdown

TYPED_NAME = "The list"
QUIET_S = 1.0
"""A reading shorter than this writes nothing, so that nothing flickers."""


def sentence_input() -> SentenceTable:
    """The sentences of this session.

    Raises:
        BertvizError: as bertviz_core.sentences.reading.files.read_sentences.
    """
    with st.container(horizontal=True, vertical_alignment="center"):
        source = controls.source_choice()
        example = controls.example_select() if source == controls.TYPED_KEY else ""
    if source == controls.FILE_KEY:
        return _from_file()
    text = controls.typed_sentences()
    if text == EXAMPLES[example][1]:
        st.caption(EXAMPLES[example][0])
    return read_sentences(TYPED_NAME, _within_upload(text), settings())


def table_summary(table: SentenceTable) -> None:
    """How many sentences there are and what was done to them, in one line."""
    count = len(table.sentences)
    st.caption(f"{count:,} sentence{'s' if count != 1 else ''}. {escape_markdown(' '.join(table.notices))}")


def _from_file() -> SentenceTable:
    handed = controls.upload()
    if handed is not None:
        content = handed.getvalue()
        digest = sha256(content).hexdigest()
        _content(digest, content)
        controls.keep_file(controls.short_name(handed.name), digest)
    kept_file = controls.kept_file()
    if kept_file is None:
        st.caption(
            "A table with its column names in the first row, or a text with one sentence per line; at most "
            f"{settings().max_sentences:,} sentences and {controls.most_megabytes()} MB. Larger files: `python -m "
            "bertviz_core embed`. It stays on this server."
        )
        st.stop()
    name, digest = kept_file
    if handed is None:
        st.caption(escape_markdown(name))
    table = _table(digest, name, None)
    column = controls.column_select(table.columns, table.column or "")
    return table if column in (None, table.column) else _table(digest, name, column)


def _within_upload(text: str) -> str:
    """The typed text.

    Raises:
        TextError: it is larger than a file may be.
    """
    most = controls.most_megabytes()
    if len(text) > most * 1024**2:
        raise TextError(
            f"The list has {len(text):,} characters; at most {most * 1024**2:,} are taken. Give a part of it."
        )
    return text


@cached_by_bytes()
def _content(digest: str, _content: bytes | None) -> bytes:
    """The bytes of a file handed over before; those used longest ago make room."""
    if _content is None:
        raise TextError("The file is no longer kept on this server; hand it over again.")
    return _content


@cached_by_bytes()
def _table(digest: str, name: str, column: str | None) -> SentenceTable:
    """A stranger's file as a table; the reading ends with its reader."""
    place, started = st.empty(), perf_counter()

    def still_wanted() -> bool:
        # Written again and again: at each word Streamlit ends the page of a reader who has left or clicked on.
        words = f"Reading the file ({perf_counter() - started:.0f} s)" if perf_counter() - started > QUIET_S else ""
        place.caption(words)
        return True

    table = read_upload(name, _content(digest, None), settings(), column, still_wanted)
    place.empty()
    return table


LONG_LIST = 2_000
"""Above so many sentences shorter numbers are offered."""


def vector_options(name: str, count: int) -> tuple[SentencePlan, Measure, bool, SentenceDtype]:
    """Plan, measure, whether clustered, and number format, from widgets in two rows.

    Raises:
        BertvizError: as load_model and recommended.
    """
    own = cache.plan(name)
    model = models.loaded(name)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        pooling = controls.pooling_choice(own.pooling, model.has_pooler) or own.pooling
        layer = controls.layer_slider(model.num_hidden_layers, pooling == "pooler")
        prompts = cache.prompts(own)
        prompt = controls.prompt_select(prompts, own.prompt) if prompts else own.prompt
    with st.container(horizontal=True, vertical_alignment="bottom"):
        measure = controls.measure_choice()
        clustered = controls.clustered()
        fast = count > LONG_LIST and fast_bfloat16(model.device) and controls.bfloat16_toggle()
    return adapted(own, pooling, layer, prompt), measure, clustered, "bfloat16" if fast else "float32"
