"""Widgets of the sentences page; keys are names in the address, where no sentence is ever written."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import Bool, Float

from bertviz_core.figures.sentences.poolings import POOLING_WORDS
from bertviz_core.sentences.plan import NO_PROMPT
from bertviz_core.sentences.results import MEASURES, POOLINGS, MapMethod, Measure, Pooling
from ui.examples import EXAMPLES
from ui.widgets.controls import BOUND, choice
from ui.widgets.formatting import escape_markdown

TYPED_KEY, FILE_KEY = "typed", "file"
RECOMMENDED = "recommended"
AS_LIST = "as the list"
MEASURE_WORDS = {"cosine": "cosine", "dot": "dot product", "euclidean": "Euclidean"}
LONGEST_NAME = 100
VIEWS = ("Similarity", "Poolings", "Token contributions", "Query", "Map", "Vectors")


def source_choice() -> str:
    """Where the sentences come from: typed, or a file."""
    return choice("Sentences", (TYPED_KEY, FILE_KEY), "source", label_visibility="collapsed")


def typed_sentences() -> str:
    """Sentences typed, pasted or taken from an example, one per line."""
    if "sentences" not in st.session_state:
        example = st.query_params.get("example", "")
        start = EXAMPLES.get(example, next(iter(EXAMPLES.values())))[1]
        st.session_state["sentences"] = st.query_params.get("sentences", start)
    if "sentences" in st.query_params:
        del st.query_params["sentences"]
    return str(
        st.text_area(
            "Sentences, one per line",
            key="sentences",
            height=124,
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


def upload() -> Any:
    """A file handed over in this run, whatever its name; None where none was, or where it was taken away.

    Streamlit is told no types: for a name of another ending it would show an error of its own.
    """
    uploaded: Any = st.file_uploader(
        "CSV, TSV, Parquet or text file",
        key="sentence_upload",
        on_change=_forget_file,
        label_visibility="collapsed",
    )
    return uploaded


def most_megabytes() -> int:
    """The largest upload that this server takes (.streamlit/config.toml)."""
    return int(st.get_option("server.maxUploadSize"))


def short_name(name: str) -> str:
    """A file's name at a length that can be shown, with its ending, and without half characters."""
    whole = name.encode("utf-8", "replace").decode()
    return whole if len(whole) <= LONGEST_NAME else f"{whole[: LONGEST_NAME - 30]}...{whole[-27:]}"


def _forget_file() -> None:
    st.session_state["sentence_file"] = None


def kept_file() -> tuple[str, str] | None:
    """(name, digest) of the file that this session handed over, also after a visit to another page."""
    kept: tuple[str, str] | None = st.session_state.get("sentence_file")
    return kept


def keep_file(name: str, digest: str) -> None:
    """Remember a file for the whole session."""
    st.session_state["sentence_file"] = (name, digest)


def column_select(columns: Sequence[str], chosen: str) -> str | None:
    """The column that holds the sentences; nothing to choose where there is one."""
    if len(columns) < 2:
        return None
    if st.session_state.get("sentence_column", chosen) not in columns:
        st.session_state["sentence_column"] = chosen
    return str(
        st.selectbox("Column", columns, index=columns.index(chosen), key="sentence_column", persist_state="session")
    )


def pooling_choice(own: Pooling, has_pooler: bool) -> Pooling | None:
    """How many vectors become one; None for the model's own way, which is preselected and named."""
    others = [each for each in POOLINGS if each != own and (has_pooler or each != "pooler")]
    words = {**POOLING_WORDS, RECOMMENDED: f"{POOLING_WORDS[own]} (recommended)"}
    pooling = choice("Pooling", [RECOMMENDED, *others], "pooling", format_func=lambda each: words[each])
    return next((each for each in others if each == pooling), None)


def prompt_select(prompts: Mapping[str, str], own: str) -> str:
    """The text in front of every sentence, by its name in the checkpoint; the checkpoint's own comes first.

    Args:
        prompts: texts by name, none of them empty.
        own: the text that the checkpoint puts in front unless another is asked for; "" for none.
    """
    texts = {**prompts, NO_PROMPT: prompts.get(NO_PROMPT, "")}
    names = sorted(texts, key=lambda name: texts[name] != own)
    if st.session_state.get("prompt", names[0]) not in names:
        st.session_state["prompt"] = names[0]
    words = "A text that the checkpoint was trained with in front of every sentence. Offered: "
    words += "; ".join(f"{escape_markdown(name)}: {escape_markdown(text)}" for name, text in prompts.items())
    return texts[str(st.selectbox("Prompt", names, key="prompt", help=words, width=150, **BOUND))]


def query_prompt_select(prompts: Mapping[str, str], same: str) -> str:
    """The text in front of the query alone; that of the list to begin with."""
    texts = {AS_LIST: same, **prompts, NO_PROMPT: prompts.get(NO_PROMPT, "")}
    if st.session_state.get("query_prompt", AS_LIST) not in texts:
        st.session_state["query_prompt"] = AS_LIST
    words = "Models that look for answers often want one prompt in front of the question and another in front of texts."
    return texts[str(st.selectbox("Prompt of the query", list(texts), key="query_prompt", help=words, **BOUND))]


def layer_slider(layers: int, fixed: bool) -> int | None:
    """The entry of the hidden states that is pooled; None for the last, which a pooler always reads."""
    if st.session_state.get("pooled_layer", 0) > layers:
        st.session_state["pooled_layer"] = layers
    words = "0 is the embedding output. The pooler output is made from the last."
    layer = int(
        st.slider("Layer", 0, layers, layers, key="pooled_layer", help=words, disabled=fixed, width=160, **BOUND)
    )
    return None if fixed or layer == layers else layer


def measure_choice() -> Measure:
    """What alike means."""
    return choice("Measure", MEASURES, "measure", format_func=lambda each: MEASURE_WORDS[each])


def clustered() -> bool:
    """Whether similar sentences stand together."""
    return choice("Order", ("as typed", "clustered"), "order") == "clustered"


def view_choice() -> str:
    """What is asked of the sentences."""
    return choice("View", VIEWS, "compare", label_visibility="collapsed")


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


MAP_METHODS: tuple[MapMethod, ...] = ("pca", "umap")


def pair_select(sentences: Sequence[str]) -> tuple[int, int]:
    """Two sentences of the list; their places are kept in the session, since a link carries no text."""
    count = len(sentences)
    for key, default in (("first_sentence", 0), ("second_sentence", min(1, count - 1))):
        if not 0 <= int(st.session_state.get(key, -1)) < count:
            st.session_state[key] = default
    names = [f"{place + 1}  {text[:90]}" for place, text in enumerate(sentences)]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        first = st.selectbox(
            "One sentence", range(count), key="first_sentence", format_func=names.__getitem__, persist_state="session"
        )
        second = st.selectbox(
            "The other", range(count), key="second_sentence", format_func=names.__getitem__, persist_state="session"
        )
    return int(first or 0), int(second or 0)


def pair_numbers(count: int) -> tuple[int, int]:
    """As pair_select, by number, for lists too long for a menu."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for key, default in (("first_sentence", 1), ("second_sentence", 2)):
            if not 0 <= int(st.session_state.get(key, -1)) < count:
                st.session_state[key] = default - 1
        numbers = [
            st.number_input(label, 1, count, int(st.session_state[key]) + 1, step=1, key=f"{key}_number")
            for label, key in (("One sentence", "first_sentence"), ("The other", "second_sentence"))
        ]
    return int(numbers[0]) - 1, int(numbers[1]) - 1


def explain_pair(first: int, second: int) -> None:
    """Open the view that says why these two are alike."""
    st.session_state.update(first_sentence=first, second_sentence=second, compare="Token contributions")
    st.session_state.update(first_sentence_number=first + 1, second_sentence_number=second + 1)


def query_input() -> str:
    """A sentence whose nearest are looked for."""
    return str(
        st.text_input(
            "Query", key="query_sentence", persist_state="session", placeholder="Type a sentence and press Enter"
        )
        or ""
    ).strip()


def map_method(with_umap: bool) -> MapMethod:
    """How points are placed; nothing to choose where only one way is installed."""
    return choice("Projection", MAP_METHODS, "placed", format_func=str.upper) if with_umap else "pca"


def colour_column(columns: Sequence[str]) -> str:
    """The column of the file that the points are coloured by; "" for none."""
    if not columns:
        return ""
    if st.session_state.get("colour_column", "") not in ("", *columns):
        st.session_state["colour_column"] = ""
    options = ["", *columns]
    words = {each: each or "one colour" for each in options}
    return str(
        st.selectbox(
            "Colour", options, key="colour_column", persist_state="session", format_func=lambda each: words[each]
        )
    )


def selected_points(event: Any, points: Float[np.ndarray, "sentences 2"]) -> list[int]:
    """Places in the list of all points inside what was drawn, also of those that are not drawn themselves.

    Args:
        event: what the chart says of a selection.
        points: all of them.
    """
    selection = event["selection"] if event else {}
    inside = np.zeros(len(points), dtype=bool)
    for lasso in selection.get("lasso", ()):
        inside |= inside_polygon(points, np.array([lasso["x"], lasso["y"]], dtype=np.float64).T)
    for box in selection.get("box", ()):
        (left, right), (low, high) = sorted(box["x"]), sorted(box["y"])
        x, y = points.T
        inside |= (x >= left) & (x <= right) & (y >= low) & (y <= high)
    if not (selection.get("lasso") or selection.get("box")):
        inside[[place for place in map(_place, selection.get("points", ())) if 0 <= place < len(points)]] = True
    return [int(place) for place in np.flatnonzero(inside)]


def inside_polygon(
    points: Float[np.ndarray, "sentences 2"], corners: Float[np.ndarray, "corners 2"]
) -> Bool[np.ndarray, " sentences"]:
    """Whether each point is inside a closed line: a ray from it to the right meets the line an odd number of times."""
    x, y = points.astype(np.float64).T
    inside = np.zeros(len(points), dtype=bool)
    for (x1, y1), (x2, y2) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if y1 != y2:
            crosses = (y1 > y) != (y2 > y)
            inside ^= crosses & (x < x1 + (y - y1) * (x2 - x1) / (y2 - y1))
    return inside


def _place(point: Any) -> int:
    """A point's place in the list, which travels along with it."""
    place = point.get("customdata")
    return int(place[0] if isinstance(place, list) else place) if place is not None else -1


def first_row(count: int, shown: int) -> int:
    """Place of the first sentence drawn; without a choice where all are."""
    if count <= shown:
        return 0
    most = count - shown + 1
    if not 1 <= int(st.session_state.get("first_row", 1)) <= most:
        st.session_state["first_row"] = 1
    return int(st.number_input(f"First sentence, 1 to {most:,}", 1, most, 1, step=shown, key="first_row", **BOUND)) - 1
