"""Widgets of the sentences page; no sentence is ever in the address."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from bertviz_core.figures.sentences.poolings import pooling_word
from bertviz_core.figures.sentences.token_pairs import Unit
from bertviz_core.questions.texts.sentences import (
    CELLS,
    FIRST_ROW,
    MEASURE,
    METHODS,
    ORDER,
    PLACED,
    POOLING,
    PROMPT,
    QUERY,
    UNITS,
)
from bertviz_core.sentences.plan import NO_PROMPT
from bertviz_core.sentences.results import MEASURES, MapMethod, Measure, Pooling
from bertviz_core.sentences.store.export import VECTOR_DTYPES, VectorDtype
from bertviz_core.text import escape_controls, escape_markdown
from ui.address.following import write_brought
from ui.address.registry import param
from ui.address.widgets import BOUND, choice, keep_among, select, toggle, typed
from ui.examples import EXAMPLES, QUERIES
from ui.widgets.view_and_layer import open_view, state_select

TYPED_KEY, FILE_KEY = "typed", "file"
OWN = "recommended"
"""Option for the model's own pooling."""
NARROW, BOX = 190, 480
"""Pixels of a widget, of the panel of the sentences, and of the second model."""
LISTED = 500
"""Most sentences in a list; longer lists have number fields."""
AS_LIST = "as the list"
MEASURE_WORDS = {"cosine": "cosine", "dot": "dot product", "euclidean": "Euclidean"}


def source_choice() -> str:
    """Whether the sentences are typed or in a file."""
    return choice(param("source"), "Sentences", label_visibility="collapsed")


def typed_sentences() -> str:
    """Sentences typed, pasted or taken from an example, one per line."""
    if "sentences" not in st.session_state:
        example = st.query_params.get("example", "")
        st.session_state["sentences"] = EXAMPLES.get(example, next(iter(EXAMPLES.values())))[1]
    return str(
        st.text_area(
            "Sentences, one per line",
            key="sentences",
            height=220,
            width=BOX,
            persist_state="session",
            label_visibility="collapsed",
            placeholder="One sentence per line",
        )
        or ""
    )


def example_select() -> str:
    """A worked set of sentences; selecting one fills the box."""
    return select(
        param("example"),
        "Example",
        list(EXAMPLES),
        label_visibility="collapsed",
        on_change=_take_example,
        help="Fills the box with a worked set.",
    )


def _take_example() -> None:
    st.session_state["sentences"] = EXAMPLES[str(st.session_state["example"])][1]


def pooling_select(offered: Sequence[Pooling], own: Pooling, recommended: bool, first_token: str | None) -> Pooling:
    """How token vectors are pooled; the model's own pooling comes first.

    Args:
        offered: the poolings of this model.
        own: the checkpoint's own pooling, or the mean if it names none.
        recommended: whether the checkpoint names a pooling.
        first_token: the special token before every sentence.
    """
    names: dict[str, str] = {each: pooling_word(each, first_token) for each in offered}
    names_shown: dict[str, str] = {OWN: f"{names[own]} (recommended)" if recommended else names[own]}
    names_shown.update(names)
    options = [OWN, *(each for each in offered if each != own)]
    pooling = select(
        POOLING,
        "Pooling",
        options,
        format_func=lambda each: names_shown[each],
        help="How the vectors of a sentence's tokens become one.",
        width=NARROW,
    )
    return next((each for each in offered if each == pooling), own)


def prompt_select(prompts: Mapping[str, str], own: str) -> str:
    """The prompt before every sentence, by its name in the checkpoint; the checkpoint's default comes first.

    Args:
        prompts: non-empty texts by name.
        own: the checkpoint's default prompt; "" for none.
    """
    texts = {**prompts, NO_PROMPT: prompts.get(NO_PROMPT, "")}
    names = sorted(texts, key=lambda name: texts[name] != own)
    words = "A text that the checkpoint was trained with in front of every sentence. Offered: "
    words += "; ".join(f"{escape_markdown(name)}: {escape_markdown(text)}" for name, text in prompts.items())
    return texts[select(PROMPT, "Prompt", names, help=words, width=150)]


def query_prompt_select(prompts: Mapping[str, str], same: str) -> str:
    """The prompt before the query only; by default that of the list."""
    texts = {AS_LIST: same, **prompts, NO_PROMPT: prompts.get(NO_PROMPT, "")}
    words = "Models that look for answers often want one prompt in front of the question and another in front of texts."
    return texts[select(param("query_prompt"), "Prompt of the query", list(texts), help=words)]


def layer_slider(layers: int, fixed: bool) -> int | None:
    """The entry of the hidden states that is pooled; None for the last, which a pooler always uses."""
    if fixed:
        return None
    state = state_select(layers, "The hidden states that are pooled: the embeddings, or the output of a layer.")
    return None if state == layers else state


def chosen_vectors(reason: str, instead: str, values: Mapping[str, str]) -> None:
    """Say that the vectors are not the model's own, and offer the way back.

    Args:
        reason: how they are made.
        instead: how the model's own are made.
        values: key of a widget -> its value for the model's own.
    """
    with st.container(horizontal=True, vertical_alignment="center", key="chosen_vectors"):
        st.info(escape_markdown(f"{reason} The model's own vectors: {instead}"), icon=":material/info:")
        st.button("Take the model's own", on_click=st.session_state.update, args=(values,), key="own_vectors")


def measure_select() -> Measure:
    """The measure of similarity."""
    return select(MEASURE, "Measure", MEASURES, format_func=MEASURE_WORDS.__getitem__, width=NARROW)


def clustered() -> bool:
    """Whether similar sentences are grouped."""
    words = "Clustered: similar sentences are grouped, with their tree."
    return select(ORDER, "Order", help=words, width=150) == ORDER.options[1]


def options_popover() -> Any:
    """A popover for options that few readers need."""
    return st.popover("Options", icon=":material/tune:", key="sentence_options")


def sentences_popover() -> Any:
    """A popover in which the sentences are typed, pasted or uploaded."""
    return st.popover("Sentences", icon=":material/edit_note:", key="sentence_box")


def bfloat16_toggle() -> bool:
    """Whether vectors are computed in bfloat16, which is faster."""
    help_text = "Runs the model in 16-bit numbers: about twice as fast here, vectors equal to about three digits."
    return toggle(param("bfloat16"), "Faster, in bfloat16", help=help_text)


def pair_select(sentences: Sequence[str]) -> tuple[int, int]:
    """Two sentences of the list; their indices are kept in the session, since links contain no text."""
    count = len(sentences)
    for key, default in (("first_sentence", 0), ("second_sentence", min(1, count - 1))):
        if not 0 <= int(st.session_state.get(key, -1)) < count:
            st.session_state[key] = default
    names = [f"{place + 1}  {text[:90]}" for place, text in enumerate(sentences)]
    arguments: dict[str, Any] = {"format_func": names.__getitem__, "persist_state": "session"}
    first = st.selectbox("First sentence", range(count), key="first_sentence", **arguments)
    second = st.selectbox("Second sentence", range(count), key="second_sentence", **arguments)
    return int(first or 0), int(second or 0)


def pair_numbers(count: int) -> tuple[int, int]:
    """Like pair_select, with number fields for long lists."""
    for key, default in (("first_sentence", 1), ("second_sentence", 2)):
        if not 0 <= int(st.session_state.get(key, -1)) < count:
            st.session_state[key] = default - 1
    numbers = [
        st.number_input(label, 1, count, int(st.session_state[key]) + 1, step=1, key=f"{key}_number", width=NARROW)
        for label, key in (("First sentence", "first_sentence"), ("Second sentence", "second_sentence"))
    ]
    return int(numbers[0]) - 1, int(numbers[1]) - 1


def document_select(sentences: Sequence[str]) -> int:
    """Index of the text of the list that is compared with a query; a number field for long lists."""
    count = len(sentences)
    if not 0 <= int(st.session_state.get("second_sentence", -1)) < count:
        st.session_state["second_sentence"] = min(1, count - 1)
    if count > LISTED:
        place = int(st.session_state["second_sentence"]) + 1
        return int(st.number_input("Text", 1, count, place, step=1, key="second_sentence_number", width=NARROW)) - 1
    names = [f"{place + 1}  {text[:90]}" for place, text in enumerate(sentences)]
    arguments: dict[str, Any] = {"format_func": names.__getitem__, "persist_state": "session"}
    return int(st.selectbox("Text", range(count), key="second_sentence", **arguments) or 0)


def unit_select() -> Unit:
    """Whether a cell is a pair of tokens or of words."""
    return select(CELLS, "Cells", UNITS, width=120)


def explain_pair(first: int, second: int) -> None:
    """Open the view that explains the similarity of two sentences."""
    st.session_state.update(first_sentence=first, second_sentence=second)
    open_view("Token contributions")
    st.session_state.update(first_sentence_number=first + 1, second_sentence_number=second + 1)


def query_input() -> str:
    """The query; by default one that suits the example."""
    example = str(st.session_state.get("example", ""))
    if QUERY.key not in st.session_state:
        st.session_state[QUERY.key] = QUERIES.get(example, next(iter(QUERIES.values())))
    return typed(QUERY, "Query", placeholder="Type a sentence and press Enter")


def map_method(with_umap: bool) -> MapMethod:
    """The method of projection; no widget where only one is installed."""
    if not with_umap:
        return "pca"
    return select(PLACED, "Projection", METHODS, format_func=str.upper, width=120)


def colour_column(columns: Sequence[str]) -> str:
    """The column of the file that colours the points; "" for none."""
    if not columns:
        return ""
    options = ["", *columns]
    keep_among("colour_column", options, "")
    words = {each: escape_controls(each) or "one colour" for each in options}
    return str(
        st.selectbox(
            "Colour",
            options,
            key="colour_column",
            persist_state="session",
            format_func=lambda each: words[each],
            width=NARROW,
        )
    )


def vectors_toggle() -> bool:
    """Whether the vectors are drawn, and what they keep in fewer dimensions."""
    words = "Draws the vectors as rows of numbers, and what remains of the similarities in fewer dimensions."
    return toggle(param("vectors_shown"), "Show the vectors", help=words)


def downloaded_dtype() -> VectorDtype:
    """Number format of the vectors in the files."""
    words = "float16 halves the files and keeps about three digits."
    return choice(param("vectors_in"), "Numbers", VECTOR_DTYPES, label_visibility="collapsed", help=words)


def first_row(count: int, shown: int) -> int:
    """Index of the first sentence drawn; no widget where all are drawn."""
    if count <= shown:
        return 0
    most = count - shown + 1
    key, label = FIRST_ROW.key, f"First sentence, 1 to {most:,}"
    keep_among(key, range(1, most + 1), 1)
    stored = st.session_state.get(key, 1)
    write_brought(key, None if stored == 1 else str(stored))
    return int(st.number_input(label, 1, most, 1, step=shown, key=key, width=NARROW, **BOUND)) - 1
