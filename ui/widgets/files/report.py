"""The report that a reader takes away: chosen figures of the model and text at hand in one HTML file."""

import re

import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.figures.base.style import WIDE
from ui import session
from ui.widgets import controls
from ui.widgets.files.theme import chosen_theme
from ui.widgets.formatting import escape_markdown

FIGURES, MADE = "report_figures", "report_made"
LONGEST_NAME = 80


@st.fragment
def report_button() -> None:
    """The button; behind it the choice of figures, and the file once it is made."""
    with st.popover("Report", type="tertiary", key="report_open", on_change="rerun") as place:
        if place.open:
            _panel()


def _panel() -> None:
    # Here, since it imports every figure and what they are made of, which the first page must not wait for.
    from ui.cache.report import offered, report_file

    st.markdown("Figures of this model and text in one HTML file, which opens without a network.")
    name, text, pair = controls.model_name(), controls.text(), controls.pair()
    place = st.empty()
    try:
        titles = offered(name, text, pair)
        given = st.multiselect(
            "Figures",
            list(titles),
            key=FIGURES,
            format_func=titles.__getitem__,
            placeholder="the usual ones",
            help="Without a choice: from the parameters to the heads, as far as the model and the text have them.",
        )
        asked = (name, text, pair, tuple(given), chosen_theme() or session.theme_name())
        if st.button("Make the report", key="report_make", icon=":material/description:"):
            session.store(MADE, asked)
        if session.stored(MADE) != asked:
            return

        def tell(done: int, total: int) -> None:
            place.progress(done / total, text=f"{done} of {total} figures")

        file = report_file(*asked, pixels=WIDE, tell=tell)
    except BertvizError as error:
        st.error(escape_markdown(str(error)), icon=":material/block:")
        return
    finally:
        place.empty()
    named = re.sub(r"[^\w.-]+", "-", name)[:LONGEST_NAME]
    st.download_button(
        f"Save the report, {len(file) / 2**20:.1f} MiB",
        file,
        f"report-{named}.html",
        "text/html",
        on_click="ignore",
        key="report_save",
        icon=":material/download:",
        type="primary",
    )
