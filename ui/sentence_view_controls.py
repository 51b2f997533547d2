"""Widgets of single views of the sentences page; what names a sentence is kept in the session, never in the address."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import Bool, Float

from bertviz_core.results.sentences import MapMethod
from ui.controls import BOUND, choice

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
        found = [
            st.number_input(label, 1, count, int(st.session_state[key]) + 1, step=1, key=f"{key}_number")
            for label, key in (("One sentence", "first_sentence"), ("The other", "second_sentence"))
        ]
    return int(found[0]) - 1, int(found[1]) - 1


def explain_pair(first: int, second: int) -> None:
    """Open the view that says why these two are alike."""
    st.session_state.update(first_sentence=first, second_sentence=second, compare="Why alike?")
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
    return choice("Placed by", MAP_METHODS, "placed", format_func=str.upper) if with_umap else "pca"


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


def encircled(
    event: Any, points: Float[np.ndarray, "sentences 2"], in_link: Sequence[Sequence[float]] = ()
) -> list[int]:
    """Places in the list of all points inside what was drawn, also of those that are not drawn themselves.

    Args:
        event: what the chart says of a selection.
        points: all of them.
        in_link: lines that a link brought, x and y by turns.
    """
    selection = event["selection"] if event else {}
    inside = np.zeros(len(points), dtype=bool)
    for line in in_link:
        inside |= within(points, np.array(line, dtype=np.float64).reshape(-1, 2))
    for lasso in selection.get("lasso", ()):
        inside |= within(points, np.array([lasso["x"], lasso["y"]], dtype=np.float64).T)
    for box in selection.get("box", ()):
        (left, right), (low, high) = sorted(box["x"]), sorted(box["y"])
        x, y = points.T
        inside |= (x >= left) & (x <= right) & (y >= low) & (y <= high)
    if not (selection.get("lasso") or selection.get("box")):
        inside[[place for place in map(_place, selection.get("points", ())) if 0 <= place < len(points)]] = True
    return [int(place) for place in np.flatnonzero(inside)]


def within(
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
    found = point.get("customdata")
    return int(found[0] if isinstance(found, list) else found) if found is not None else -1


def first_row(count: int, shown: int) -> int:
    """Place of the first sentence drawn; without a choice where all are."""
    if count <= shown:
        return 0
    most = count - shown + 1
    if not 1 <= int(st.session_state.get("first_row", 1)) <= most:
        st.session_state["first_row"] = 1
    return int(st.number_input(f"First sentence, 1 to {most:,}", 1, most, 1, step=shown, key="first_row", **BOUND)) - 1
