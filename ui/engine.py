"""Draw declared views: their controls, whose values are in the address, and what they show."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, singledispatch
from typing import Any

import streamlit as st

from bertviz_core.figures.pages import PAGES
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.parameters import Options, Param, joined_names
from bertviz_core.questions.view import (
    Ask,
    Beside,
    Cell,
    Click,
    Code,
    Columns,
    Explained,
    Figure,
    Folded,
    Metrics,
    Notices,
    Part,
    Section,
    Table,
    Text,
    View,
)
from bertviz_core.text import escape_markdown
from ui.address.registry import TYPED
from ui.address.widgets import choice, field, keep_among, level, listed, select, several, toggle, whole, words
from ui.cache.shared_model import SharedModel
from ui.cache.sources import tasks
from ui.components.cell_click import cell_click
from ui.session import store, stored
from ui.widgets import text_fields
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import chart, download_row, explained, figure_block, folded, numbers_table
from ui.widgets.heading import heading, unshown
from ui.widgets.lists.progress import answer
from ui.widgets.lists.uploads import within_upload
from ui.widgets.models import fields
from ui.widgets.models.second import needs_second, second_name
from ui.widgets.view_and_layer import layer_select, view_choice

FLAG = ("false", "true")
Special = Callable[[SharedModel, Ask, Options], Iterable[Part] | None]
"""Draws a view by itself; the parts that it returns are drawn as they come."""
NO_SPECIAL: Mapping[str, Special] = {}
LEVEL_WIDTH, POSITION_WIDTH = 200, 320
"""Pixels of the controls of a number and of a position."""
LONGEST_SLIDER = 1_000
"""Greatest range of a slider; a field has more."""
TEXTS_HEIGHT = 150
"""Pixels of a field for several texts."""
HALF = 0.49
"""Share of a wide page's width of the figure with a section beside it."""
About = Callable[[Any, Ask, Options], tuple[str, Sequence[Part]]]
"""What stands behind the name of the model, and what is said above the views."""
LEVELS: dict[str, Callable[..., Any]] = {
    "body": st.markdown,
    "caption": st.caption,
    "notice": partial(st.info, icon=":material/info:"),
    "warning": partial(st.warning, icon=":material/warning:"),
    "success": partial(st.success, icon=":material/check_circle:"),
    "error": partial(st.error, icon=":material/warning:"),
    "heading": partial(st.header, anchor=False),
}


def show_page(
    page: str,
    views: Sequence[View],
    about: About,
    folded: Sequence[Param] = (),
    special: Mapping[str, Special] = NO_SPECIAL,
) -> None:
    """Show a page: its heading, the names of its views, the controls and contents of one of them.

    Args:
        page: name of the page.
        views: its views, the default first.
        about: what is said of the model.
        folded: parameters of all views, whose controls are behind a button.
        special: title of a view -> draws it, for views that show more than parts.
    """
    name_model = heading(page)
    name = fields.model_name()
    opened = SharedModel(name)

    def ask(question: Any, options: Options, /) -> Any:
        return answer(question, opened, options)

    with shown_to_user():
        options = replace(_read(page), task=fields.chosen_task(tasks(name)))
        note, notices = about(opened, ask, options)
    name_model(name, note)
    draw_parts(notices, opened, ask, options)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = view_choice([view.title for view in views]) if len(views) > 1 else views[0].title
        view = next(view for view in views if view.title == chosen)
        with shown_to_user():
            if view.second:
                options = replace(options, values={OTHER.key: second_name()})
            options = _with_controls(view.params if not view.second or second_name() else (), opened, options)
        if folded:
            with st.popover("Options"):
                _with_controls(folded, opened, options)
    with shown_to_user():
        if view.second and needs_second(view.second):
            return
        show = special[view.title] if view.show is None else view.show
        draw_parts(show(opened, ask, options) or (), opened, ask, options)


def _read(page: str) -> Options:
    """The texts of the sidebar, for a page that reads them."""
    if PAGES[page].views_without_text is None:
        return Options()
    return Options((text_fields.text(),), text_fields.pair())


def _with_controls(params: Sequence[Param], opened: SharedModel, options: Options) -> Options:
    """Draw controls; returns the options with their values."""
    for param in params:
        options = replace(options, values={**options.values, param.key: _control(param, opened, options)})
    return options


def _control(param: Param, opened: SharedModel, options: Options) -> str:
    """Draw the control of a parameter; returns its value as it is written in an address."""
    if param.bounds is not None:
        return str(_number(param, *param.bounds(opened, options)))
    allowed = () if param.values is None else param.values(opened, options)
    match param.kind:
        case "choice" if param.options == FLAG:
            return str(toggle(param, param.label, help=_sentence(param))).lower()
        case "choice" if param.options:
            few = allowed or param.options
            return choice(param, param.label, few, help=_sentence(param)) if len(few) > 1 else few[0]
        case "choice" | "text" if allowed:
            return select(param, param.label, allowed, format_func=param.shown, help=_sentence(param))
        case "text" if param.key in TYPED:
            return within_upload(listed(param, param.label, TEXTS_HEIGHT))
        case "names" if allowed:
            with st.popover(param.label):
                return joined_names(several(param, param.label, param.options, allowed))
        case "names":
            return fields.models_control(param, opened.name)
        case "model":
            return fields.model_control(param, allowed, opened.name)
        case _:
            return "" if param.values else words(param, param.label, placeholder=param.help)


def _number(param: Param, least: int, most: int, first: int) -> int:
    """Draw the control of a number between two bounds; a number that is the only one has none."""
    match param.kind:
        case "layer":
            return layer_select(most - least + 1, first, _sentence(param))
        case "whole" if most - least <= LONGEST_SLIDER:
            with st.container(width=LEVEL_WIDTH):
                return level(param, param.label, most, first, least, help=_sentence(param))
        case "whole":
            return field(param, param.label, least, most, first, width=LEVEL_WIDTH, help=_sentence(param))
        case _:
            keep_among(param.key, range(least, most + 1), first)
            label = f"{param.label}, from {least} to {most}"
            return whole(param, label, least, most, first, width=POSITION_WIDTH, help=_sentence(param))


def _sentence(param: Param) -> str:
    return f"{param.help[0].upper()}{param.help[1:]}."


def draw_parts(parts: Iterable[Part], opened: SharedModel, ask: Ask, options: Options) -> None:
    """Draw parts one below the other."""
    for part in parts:
        _draw(part, opened, ask, options)


@singledispatch
def _draw(part: Part, opened: SharedModel, ask: Ask, options: Options) -> None:
    raise TypeError(type(part))


@_draw.register
def _(part: Text, *_: Any) -> None:
    LEVELS[part.level](part.markdown)


@_draw.register
def _(part: Notices, *_: Any) -> None:
    for notice in unshown(part.notices):
        LEVELS[part.level](escape_markdown(f"{part.before}{notice}"))


@_draw.register
def _(part: Metrics, *_: Any) -> None:
    with st.container(horizontal=True):
        for each in part.metrics:
            st.metric(each.label, each.value, help=each.help or None)


@_draw.register
def _(part: Table, *_: Any) -> None:
    numbers_table(part.frame, part.alt, part.height, part.first, part.formats)


@_draw.register
def _(part: Code, *_: Any) -> None:
    st.code(part.text, language=part.language, wrap_lines=True, height=part.height)


@_draw.register
def _(part: Cell, opened: SharedModel, ask: Ask, options: Options) -> None:
    cell, last = cell_click(part.chart), f"{part.chart}_last_cell"
    if part.param is not None and cell != stored(last):  # an old click does not undo a later choice
        store(last, cell)
        value = None if cell is None else part.value(*cell)
        if value is not None:
            store(part.param.key, value)
    draw_parts(part.show(cell), opened, ask, options)


@_draw.register
def _(part: Explained, *_: Any) -> None:
    explained(part.key, part.words, part.code)


@_draw.register
def _(part: Columns, opened: SharedModel, ask: Ask, options: Options) -> None:
    with st.container(key=f"halves_{part.key}"):
        places = st.columns([1, 1], gap="medium")
    for place, parts in zip(places, (part.left, part.right), strict=True):
        with place:
            draw_parts(parts, opened, ask, options)


@_draw.register
def _(part: Folded, opened: SharedModel, ask: Ask, options: Options) -> None:
    with folded(part.label, part.key) as place:
        if place.open:
            draw_parts(part.show(), opened, ask, options)


@_draw.register
def _(part: Figure, opened: SharedModel, ask: Ask, options: Options) -> None:
    below = figure_block(
        part.spec,
        part.file,
        alt=part.alt,
        numbers=part.numbers,
        height=part.height,
        texts=part.texts,
        models=part.models,
        explanation=(part.explanation, part.code) if part.explanation else None,
        on_select=_on_click(part),
        formats=part.formats,
        share=part.share,
        scrolled=part.scrolled,
        caption=part.caption,
    )
    with below:
        draw_parts(part.below, opened, ask, options)


@_draw.register
@st.fragment
def _section(part: Section, opened: SharedModel, ask: Ask, options: Options) -> None:
    with shown_to_user():
        with st.container(horizontal=True, vertical_alignment="bottom"):
            options = _with_controls(part.params, opened, options)
        draw_parts(part.show(opened, ask, options), opened, ask, options)


@_draw.register
@st.fragment
def _beside(part: Beside, opened: SharedModel, ask: Ask, options: Options) -> None:
    figure = part.figure
    key = figure.spec.chart
    with st.container(key=f"halves_{key}"):
        picture, rows = st.columns([1, 1], gap="medium")
    with picture:
        chart(figure.spec, key, on_select=_on_click(figure), share=HALF)
    with rows:
        draw_parts([part.section], opened, ask, options)
    download_row(figure.spec, key, figure.file, figure.spec.caption, texts=figure.texts)
    draw_parts(part.below, opened, ask, options)
    if figure.explanation:
        explained(key, figure.explanation, figure.code)


def _on_click(part: Figure) -> Callable[[], None] | None:
    """The callback that selects what is clicked."""
    return None if part.click is None else partial(take_click, part.spec.chart, part.click)


def take_click(chart_key: str, click: Click) -> None:
    """Select what was clicked last in a chart."""
    event = stored(chart_key)
    points = event["selection"]["points"] if event else []
    value = click.value(points[0]) if points else None
    if value is not None:
        store(click.param.key, value)
