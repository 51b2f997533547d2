"""Controls that pages share. A control's key is its name in the address, so that a link restores the view."""

from collections.abc import Sequence
from typing import Any, TypeVar

import streamlit as st

from bertviz_core.settings import DEFAULT_MODEL
from bertviz_core.text import shortened
from ui.address.bounds import keep_among
from ui.session import DEFAULT_TEXT, TEACHING_SIZES, model_names, settings
from ui.widgets.formatting import escape_markdown

AS_IT_IS = "none: as in the checkpoint"

PAIR_HELP = (
    "Makes a pair: both texts in one input, with a separator between them. A model that was trained on pairs needs "
    "both: a premise, then its hypothesis."
)
T = TypeVar("T", bound=str)
TEXT_ON_PAGE, TEXT_PLACE = "text_on_page", "text_place"
"""Keys of the field that a page has for the session's text, and of the place that the page has kept for it."""
MOST_QUOTED = 60
"""Characters of a text that stand on a button which puts it in."""
BOUND: dict[str, Any] = {"bind": "query-params", "persist_state": "session"}


def text_inputs(shown: bool = True) -> None:
    """The text of the whole session, and its partner, in the sidebar; never written into the address.

    Args:
        shown: whether the view reads them; what they hold is kept where it does not.
    """
    st.session_state.setdefault("text", DEFAULT_TEXT)
    st.session_state.setdefault("pair", "")
    if not shown:
        return
    st.text_area("Text", key="text", height=100, persist_state="session", help="What the model reads.")
    # Leaving a field applies its text, so the button has nothing to do: it shows where to click, and is there to tap.
    # It stands here, since below the second text it would be out of sight in a window 768 pixels high.
    st.button("Apply the text", key="apply_text", width="stretch", help="Ctrl + Enter in the field does the same.")
    st.text_area(
        "Second text",
        key="pair",
        height=68,
        persist_state="session",
        placeholder="none",
        help=PAIR_HELP,
    )


def place_for_text() -> None:
    """Keep a place on the page for a field of the session's text, where the sidebar has none."""
    st.session_state[TEXT_PLACE] = st.container()


def text_in_place(label: str) -> None:
    """The field in the place that the page has kept; nothing where it has kept none.

    The frame draws it and no page: what is typed in a page's own field is lost where a link to another page is clicked
    at once.

    Args:
        label: what it is called.
    """
    place = st.session_state.pop(TEXT_PLACE, None)
    if place is None:
        return
    st.session_state[TEXT_ON_PAGE] = text()
    place.text_area(label, key=TEXT_ON_PAGE, height=68, on_change=_take_text_on_page)


def _take_text_on_page() -> None:
    # Not one field under the key "text": the sidebar's is another widget, which would begin empty.
    st.session_state["text"] = st.session_state[TEXT_ON_PAGE]


def text() -> str:
    """The text of the session."""
    return str(st.session_state.get("text", DEFAULT_TEXT))


def pair() -> str | None:
    """The second text; None where there is none."""
    second = str(st.session_state.get("pair", ""))
    return second if second.strip() else None


def needs_pair(what: str, *examples: tuple[str | None, str]) -> bool:
    """Whether there is no second text; then it is said, and examples are offered.

    Args:
        what: what asks for two texts, the beginning of a sentence.
        examples: a first and a second text each; None for a first one that keeps the reader's own.
    """
    if pair() is not None:
        return False
    way = ", or put in an example" if examples else ""
    st.info(f"{what}: write a second text in the sidebar{way}.", icon=":material/info:")
    for place, (first, second) in enumerate(examples):
        put_text_button(second, first, f"put_example_{place}" if place else "put_example")
    return True


def put_text_button(second: str, first: str | None = None, key: str = "put_example") -> None:
    """A button that puts texts into the sidebar, and shows them.

    Args:
        second: the second text.
        first: the text; None to leave the reader's own.
        key: of the button.
    """
    label = f"Second text: {_quoted(second)}" if first is None else f"Texts: {_quoted(first)} and {_quoted(second)}"
    st.button(label, key=key, on_click=put_texts, args=(first, second))


def put_texts(first: str | None, second: str) -> None:
    """Put texts into the fields of the sidebar.

    Args:
        first: the text; None to leave the reader's own.
        second: the second text.
    """
    if first is not None:
        st.session_state["text"] = first
    st.session_state["pair"] = second


def _quoted(words: str) -> str:
    return f"“{escape_markdown(shortened(words, MOST_QUOTED))}”"


def model_name() -> str:
    """The model that the sidebar names."""
    return str(st.session_state.get("model") or DEFAULT_MODEL)


def choice(label: str, options: Sequence[T], key: str, **more: Any) -> T:
    """One of a few options, all visible; never none."""
    option: T | None = st.segmented_control(label, options, default=options[0], required=True, key=key, **BOUND, **more)
    return option or options[0]


def level(label: str, most: int, default: int, key: str, help_text: str) -> int:
    """A whole number from 1; without a choice where there is only one."""
    if most <= 1:
        return 1
    return int(st.slider(label, 1, most, min(default, most), key=key, help=help_text, **BOUND))


def clicked(chart_key: str) -> str | None:
    """Id of the sector that was clicked last in a tree figure; None for none."""
    event = st.session_state.get(chart_key)
    points = event["selection"]["points"] if event else []
    return str(points[0].get("id") or "") or None if points else None


def module_select(modules: Sequence[str]) -> str:
    """The module whose rows are shown, also set by a click in the tree; "" for all."""
    options = ["", *modules]
    keep_among("module", options, "")
    module = st.selectbox("Module", options, key="module", format_func=lambda each: each or "all modules", **BOUND)
    return str(module or "")


def take_click(chart_key: str, root_id: str) -> None:
    """Make the clicked sector the chosen module; the centre is the whole model."""
    sector = clicked(chart_key)
    if sector is not None:
        st.session_state["module"] = "" if sector == root_id or sector.endswith("/folded") else sector


def chosen_task(tasks: Sequence[str]) -> str | None:
    """The task whose class is counted, wherever on the page it is chosen; None for what the checkpoint holds."""
    task = st.session_state.get("task") or st.query_params.get("task") or AS_IT_IS
    return str(task) if task in tasks else None


def task_select(tasks: Sequence[str]) -> None:
    """Choose the task whose class is counted."""
    options = [AS_IT_IS, *tasks]
    keep_among("task", options, AS_IT_IS)
    st.selectbox(
        "Task head",
        options,
        key="task",
        help="Count the model with the head of a task, as transformers builds it from the config.",
        **BOUND,
    )


def search(label: str, key: str) -> str:
    """A word to search for."""
    return str(st.text_input(label, key=key, placeholder="part of a name", **BOUND) or "").strip()


def models_select(first: str) -> list[str]:
    """Models to compare, the chosen one to begin with."""
    allowed = settings().allowed_models
    default = [name for name in dict.fromkeys([first, *TEACHING_SIZES]) if not allowed or name in allowed]
    options = list(dict.fromkeys([*default, *model_names()]))
    return [str(name) for name in st.multiselect("Models", options, default=default, key="models", **BOUND)]
