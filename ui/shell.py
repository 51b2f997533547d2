"""The frame of every page: page settings, navigation, and the sidebar with the model and the text."""

from itertools import groupby
from pathlib import Path
from typing import Literal

import streamlit as st

from bertviz_core.figures.base.style import theme_named
from bertviz_core.figures.pages import FIRST, PAGES
from bertviz_core.questions.views.corpus import SIDEBAR
from bertviz_core.text import escape_markdown
from ui import session, share
from ui.address import navigation, registry
from ui.address.registry import TYPED
from ui.cache.figures import logged, noted
from ui.components.frame import LARGER, PageLink, glossary, logo, mark, page_links, page_width, presenter, window_height
from ui.lessons import pinning, pins, tour
from ui.server.access import ABSENT, absent_words, nearest_page
from ui.server.monitoring import model_fact
from ui.session import require_sign_in
from ui.widgets.downloads import PageReport
from ui.widgets.heading import (
    SESSION,
    beside_title,
    keep_texts,
    panel,
    read_tab_texts,
    restore_texts_again,
    text_inputs,
    text_on_page,
)
from ui.widgets.models import model_select, reads_text, second_select
from ui.widgets.run_model import no_such_page, shown_to_user

REPORT = "report_open"
"""Key of the panel of the report."""
FIGURE_ONLY = Path(__file__).parent / "server" / "figure_only.css"
theme = theme_named(session.theme_name())
# A phone that is held sideways is wide enough for the menu, but too low for the page beside it.
menu: Literal["auto", "collapsed"] = "collapsed" if "Mobi" in st.context.headers.get("User-Agent", "") else "auto"
st.set_page_config("Inside BERT", mark(theme), layout="wide", initial_sidebar_state=menu)
if not st.context.is_embedded:
    st.logo(logo(theme), icon_image=mark(theme), size="large")

pages = {
    entry.name: st.Page(
        f"../pages/{entry.name}.py", title=entry.title, icon=f":material/{entry.icon}:", default=entry.name == FIRST
    )
    for entry in PAGES.values()
}
groups = {
    group: [pages[entry.name] for entry in entries]
    for group, entries in groupby(PAGES.values(), lambda entry: entry.group)
}
page = st.navigation(groups, position="hidden")
here = page.url_path or FIRST
require_sign_in()
if SESSION not in st.session_state:
    read_tab_texts(pins.take_tab_texts)
if unread := registry.clean():
    st.toast(escape_markdown(unread))
registry.take_renamed(here)
absent = st.query_params.pop(ABSENT, "") or session.stored(ABSENT, "")
session.store(ABSENT, absent if here == FIRST else "")
again = navigation.arrive(here) or navigation.returning(pages)
if not again:
    restore_texts_again()
    navigation.bring_models_back_again()
is_drawing = session.stored(pins.DRAWING) is not None  # pinned views, one after the other
if is_drawing:
    pins.leave_after_the_last()
step = ""
if navigation.is_returning():  # what the browser sends of the lesson is over
    tour.forget()
elif "lesson" in st.query_params:
    step = tour.follow_address(here, pages)
else:
    session.store(tour.ADDRESS, None)
if any(name in st.query_params for name in share.READ_ONCE):
    share.take_from_address()
report = PageReport(here, page.title, TYPED) if session.stored(REPORT) else None


def model_and_text() -> None:
    """Choose the model, a second one and the text, for every page."""
    # The gap is small, so that the text is in sight in a window 900 pixels high.
    with logged("page", here, if_done=False), st.container(gap="xsmall"):
        model_select()
        second_select()
        if here == "corpus":
            st.caption(SIDEBAR)
        text_inputs(reads_text(here))


def beside() -> None:
    """Offer to pin the view, beside the title of every page; not in a frame."""
    if not (st.context.is_embedded or session.is_presenting()):
        panel(pinned_label, pins.OPEN, lambda: pinning.pin_panel(here), ":material/keep:")


def pinned_label() -> str:
    """The words on the button of the pinned views."""
    views = session.stored(pins.STORED)
    return f"Pin this view ({len(views.pins)})" if views and views.pins else "Pin this view"


def share_panel() -> None:
    """A link to the view, and the view as a step of a lesson."""
    share.share_panel(here, page.title)
    pinning.copy_step(here)


def report_panel() -> None:
    """The report of this run of the page; opening the panel alone draws it without the view."""
    (report or PageReport(here, page.title, TYPED)).panel()


if session.figure_only():  # a frame with the figure only; its model and text are in the address
    st.html(FIGURE_ONLY)
    with st.container(key="figure_only"), shown_to_user():
        model_and_text()
elif st.context.is_embedded:  # a frame on another site: the view, and a link to the dashboard
    with st.container(horizontal=True, gap="xsmall", key="frame_bar"), shown_to_user():
        with st.popover("Model and text" if reads_text(here) else "Model", type="tertiary"):
            model_and_text()
        share.whole_view(here)
        if again:
            page_links([], "pages", again)
else:
    with st.sidebar, shown_to_user():
        page_links(
            [
                (section, [PageLink(each.title, each.url_path, each.icon[10:-1], each is page) for each in entries])
                for section, entries in groups.items()
            ],
            "pages",
            again,
        )
        with st.container(horizontal=True, gap="xsmall"):
            with st.container(width="content"):  # a fragment alone would take all remaining width of its row
                panel(lambda: "Share", "share_open", share_panel)
            with st.container(width="content"):
                panel(lambda: "Report", REPORT, report_panel)
            with st.container(width="content"):
                panel(lambda: "Lessons", tour.PANEL, tour.lessons_panel)
            glossary(here)
        model_and_text()
        keep_texts(pins.tab_texts(), pins.take_tab_texts)
session.store(session.PIXELS, page_width(session.figure_fills(), LARGER if session.is_presenting() else 1.0))
if session.is_presenting():
    presenter()
if session.figure_fills() and not window_height():
    st.stop()  # the browser resends the address at once
if again:
    st.stop()  # the browser now opens the whole address
if session.stored(session.TOUR):
    tour.step_bar(here, pages, step)
else:
    navigation.remember_view()
if absent and here == FIRST:
    titles = {each.title: each for each in pages.values()}
    near = titles.get(nearest_page(absent, titles))
    link = None if near is None else PageLink(f"Open {near.title}", near.url_path, near.icon[10:-1])
    no_such_page(absent_words(absent, titles), link)
if is_drawing:
    pins.drawing_bar()
beside_title.set(beside)
pinned = session.stored(pins.TO_RECORD) or session.stored(session.TOUR)
to_record = pins.token_to_record(here) if pinned else ""
with (
    session.reader_waits(),
    logged("page", here, model_fact),
    text_on_page(),
    report.of_page(bool(to_record)) if report else noted(bool(to_record)) as view,
):
    page.run()
    if to_record:
        pins.record_view(to_record, view)
    if is_drawing:
        pins.draw_next()
navigation.remember_view()  # with what the page has written into its address
navigation.end_return()
session.first_page_sent.set()
