"""Widgets of the sentences page; keys are names in the address, where no sentence is ever written."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from bertviz_core.results.sentences import MEASURES, POOLINGS, Measure, Pooling
from bertviz_core.sentence_config import NO_PROMPT
from figures.sentence_poolings import POOLING_WORDS
from ui.controls import BOUND, choice
from ui.errors import plain
from ui.sentence_examples import EXAMPLES

TYPED, FILE = "typed", "file"
RECOMMENDED = "recommended"
AS_LIST = "as the list"
MEASURE_WORDS = {"cosine": "cosine", "dot": "dot product", "euclidean": "Euclidean"}
LONGEST_NAME = 100
VIEWS = ("Similarity", "Poolings", "Why alike?", "Query", "Map", "Vectors")


def source_choice() -> str:
    """Where the sentences come from: typed, or a file."""
    return choice("Sentences", (TYPED, FILE), "source", label_visibility="collapsed")


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
    found: Any = st.file_uploader(
        "CSV, TSV, Parquet or text file",
        key="sentence_upload",
        on_change=_forget_file,
        label_visibility="collapsed",
    )
    return found


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
    found: tuple[str, str] | None = st.session_state.get("sentence_file")
    return found


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
    found = choice("Pooling", [RECOMMENDED, *others], "pooling", format_func=lambda each: words[each])
    return next((each for each in others if each == found), None)


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
    words += "; ".join(f"{plain(name)}: {plain(text)}" for name, text in prompts.items())
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
    found = int(
        st.slider("Layer", 0, layers, layers, key="pooled_layer", help=words, disabled=fixed, width=160, **BOUND)
    )
    return None if fixed or found == layers else found


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
