"""Widgets of the sentences page; keys are names in the address, where no sentence is ever written."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from bertviz_core.figures.sentences.poolings import pooling_word
from bertviz_core.figures.sentences.token_pairs import Unit
from bertviz_core.questions.texts.sentences import METHODS, ORDER, UNITS
from bertviz_core.sentences.plan import NO_PROMPT
from bertviz_core.sentences.results import MEASURES, MapMethod, Measure, Pooling
from bertviz_core.text import escape_controls
from ui.address.bounds import keep_among
from ui.examples import EXAMPLES, QUERIES
from ui.widgets.controls import BOUND, choice
from ui.widgets.formatting import escape_markdown
from ui.widgets.view_and_layer import open_view, state_select

TYPED_KEY, FILE_KEY = "typed", "file"
OWN = "recommended"
"""Option that stands for the model's own pooling, whichever that is."""
NARROW, BOX = 190, 480
"""Widths in pixels: of a control, and of what is inside the place of the sentences."""
AS_LIST = "as the list"
MEASURE_WORDS = {"cosine": "cosine", "dot": "dot product", "euclidean": "Euclidean"}
VIEWS = ("Similarity", "Poolings", "Token contributions", "Query", "Map", "Vectors")


def source_choice() -> str:
    """Where the sentences come from: typed, or a file."""
    return choice("Sentences", (TYPED_KEY, FILE_KEY), "source", label_visibility="collapsed")


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
    """A worked set of sentences; choosing one fills the box."""
    return str(
        st.selectbox(
            "Example",
            list(EXAMPLES),
            key="example",
            label_visibility="collapsed",
            on_change=_take_example,
            help="Fills the box with a worked set.",
            **BOUND,
        )
    )


def _take_example() -> None:
    st.session_state["sentences"] = EXAMPLES[str(st.session_state["example"])][1]


def pooling_select(offered: Sequence[Pooling], own: Pooling, recommended: bool, first_token: str | None) -> Pooling:
    """How many vectors become one; the model's own way comes first.

    Args:
        offered: the poolings that this model has.
        own: the checkpoint's own, or the mean where it names none.
        recommended: whether the checkpoint names its own.
        first_token: the special token in front of every sentence.
    """
    names: dict[str, str] = {each: pooling_word(each, first_token) for each in offered}
    names_shown: dict[str, str] = {OWN: f"{names[own]} (recommended)" if recommended else names[own]}
    names_shown.update(names)
    options = [OWN, *(each for each in offered if each != own)]
    keep_among("pooling", options, OWN)
    pooling = st.selectbox(
        "Pooling",
        options,
        key="pooling",
        format_func=lambda each: names_shown[each],
        help="How the vectors of a sentence's tokens become one.",
        width=NARROW,
        **BOUND,
    )
    return next((each for each in offered if each == pooling), own)


def prompt_select(prompts: Mapping[str, str], own: str) -> str:
    """The text in front of every sentence, by its name in the checkpoint; the checkpoint's own comes first.

    Args:
        prompts: texts by name, none of them empty.
        own: the text that the checkpoint puts in front unless another is asked for; "" for none.
    """
    texts = {**prompts, NO_PROMPT: prompts.get(NO_PROMPT, "")}
    names = sorted(texts, key=lambda name: texts[name] != own)
    keep_among("prompt", names, names[0])
    words = "A text that the checkpoint was trained with in front of every sentence. Offered: "
    words += "; ".join(f"{escape_markdown(name)}: {escape_markdown(text)}" for name, text in prompts.items())
    return texts[str(st.selectbox("Prompt", names, key="prompt", help=words, width=150, **BOUND))]


def query_prompt_select(prompts: Mapping[str, str], same: str) -> str:
    """The text in front of the query alone; that of the list to begin with."""
    texts = {AS_LIST: same, **prompts, NO_PROMPT: prompts.get(NO_PROMPT, "")}
    keep_among("query_prompt", texts, AS_LIST)
    words = "Models that look for answers often want one prompt in front of the question and another in front of texts."
    return texts[str(st.selectbox("Prompt of the query", list(texts), key="query_prompt", help=words, **BOUND))]


def layer_slider(layers: int, fixed: bool) -> int | None:
    """The entry of the hidden states that is pooled; None for the last, which a pooler always reads."""
    if fixed:
        return None
    state = state_select(layers, "The hidden states that are pooled: the embeddings, or what a layer hands on.")
    return None if state == layers else state


def measure_select() -> Measure:
    """What alike means."""
    measure = st.selectbox(
        "Measure", MEASURES, key="measure", format_func=lambda each: MEASURE_WORDS[each], width=NARROW, **BOUND
    )
    return next((each for each in MEASURES if each == measure), MEASURES[0])


def clustered() -> bool:
    """Whether similar sentences stand together."""
    words = "Clustered: similar sentences stand together, with the tree that joins them."
    return bool(st.selectbox("Order", ORDER.options, key=ORDER.key, help=words, width=150, **BOUND) == ORDER.options[1])


def options_popover() -> Any:
    """Where options stand that few need."""
    return st.popover("Options", icon=":material/tune:", key="sentence_options")


def sentences_popover() -> Any:
    """Where the sentences are typed, pasted or handed over."""
    return st.popover("Sentences", icon=":material/edit_note:", key="sentence_box")


def bfloat16_toggle() -> bool:
    """Whether the reader takes vectors of shorter numbers for the sake of time."""
    return st.toggle(
        "Faster, in bfloat16",
        key="bfloat16",
        help="Runs the model in 16-bit numbers: about twice as fast here, vectors equal to about three digits.",
        **BOUND,
    )


def job_allowed(job: str) -> bool:
    """Whether the reader has asked for this long job."""
    return job in st.session_state.get("sentence_jobs", ())


def allow_job(job: str) -> None:
    """Remember that the reader asked for this long job."""
    st.session_state["sentence_jobs"] = {*st.session_state.get("sentence_jobs", ()), job}


def pair_select(sentences: Sequence[str]) -> tuple[int, int]:
    """Two sentences of the list; their places are kept in the session, since a link carries no text."""
    count = len(sentences)
    for key, default in (("first_sentence", 0), ("second_sentence", min(1, count - 1))):
        if not 0 <= int(st.session_state.get(key, -1)) < count:
            st.session_state[key] = default
    names = [f"{place + 1}  {text[:90]}" for place, text in enumerate(sentences)]
    given: dict[str, Any] = {"format_func": names.__getitem__, "persist_state": "session"}
    first = st.selectbox("First sentence", range(count), key="first_sentence", **given)
    second = st.selectbox("Second sentence", range(count), key="second_sentence", **given)
    return int(first or 0), int(second or 0)


def pair_numbers(count: int) -> tuple[int, int]:
    """As pair_select, by number, for lists too long for a menu."""
    for key, default in (("first_sentence", 1), ("second_sentence", 2)):
        if not 0 <= int(st.session_state.get(key, -1)) < count:
            st.session_state[key] = default - 1
    numbers = [
        st.number_input(label, 1, count, int(st.session_state[key]) + 1, step=1, key=f"{key}_number", width=NARROW)
        for label, key in (("First sentence", "first_sentence"), ("Second sentence", "second_sentence"))
    ]
    return int(numbers[0]) - 1, int(numbers[1]) - 1


def unit_select() -> Unit:
    """Whether a cell is a pair of tokens or of words."""
    unit = st.selectbox("Cells", UNITS, key="cells", width=120, **BOUND)
    return next((each for each in UNITS if each == unit), UNITS[0])


def explain_pair(first: int, second: int) -> None:
    """Open the view that says why these two are alike."""
    st.session_state.update(first_sentence=first, second_sentence=second)
    open_view("Token contributions")
    st.session_state.update(first_sentence_number=first + 1, second_sentence_number=second + 1)


def query_input() -> str:
    """A sentence whose nearest are looked for; to begin with one that suits the worked example."""
    example = str(st.session_state.get("example", ""))
    if "query_sentence" not in st.session_state:
        st.session_state["query_sentence"] = QUERIES.get(example, next(iter(QUERIES.values())))
    return str(
        st.text_input(
            "Query", key="query_sentence", persist_state="session", placeholder="Type a sentence and press Enter"
        )
        or ""
    ).strip()


def map_method(with_umap: bool) -> MapMethod:
    """How points are placed; nothing to choose where only one way is installed."""
    if not with_umap:
        return "pca"
    method = st.selectbox("Projection", METHODS, key="placed", format_func=str.upper, width=120, **BOUND)
    return next((each for each in METHODS if each == method), METHODS[0])


def colour_column(columns: Sequence[str]) -> str:
    """The column of the file that the points are coloured by; "" for none."""
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


def first_row(count: int, shown: int) -> int:
    """Place of the first sentence drawn; without a choice where all are."""
    if count <= shown:
        return 0
    most = count - shown + 1
    keep_among("first_row", range(1, most + 1), 1)
    return (
        int(
            st.number_input(
                f"First sentence, 1 to {most:,}", 1, most, 1, step=shown, key="first_row", width=NARROW, **BOUND
            )
        )
        - 1
    )
