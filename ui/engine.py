"""Draw declared views: their controls, whose values are in the address, and what they show."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, singledispatch
from typing import Any

import streamlit as st

from bertviz_core.figures.base.spec import DeclaredFigure
from bertviz_core.figures.pages import PAGES
from bertviz_core.questions.parameters import Options, Param, joined_names
from bertviz_core.questions.view import (
    Ask,
    Beside,
    Cell,
    Click,
    Code,
    Columns,
    Figure,
    Folded,
    Jump,
    Link,
    Metrics,
    Notices,
    Part,
    Row,
    SecondModel,
    Section,
    Table,
    Text,
    View,
)
from bertviz_core.text import escape_markdown
from ui.address.values import put
from ui.address.widgets import choice, keep_among, level, select, several, toggle, whole, words
from ui.cache.shared_model import SharedModel
from ui.cache.sources import tasks
from ui.components.cell_click import cell_click
from ui.components.navigation import PageLink, page_links
from ui.components.step_links import address
from ui.session import store, stored
from ui.widgets import text_fields
from ui.widgets.cell_controls import head_select, put_token, token_select
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import chart, download_row, explained, figure_block, folded, folded_table, numbers_table
from ui.widgets.heading import heading, unshown
from ui.widgets.lists.progress import answer
from ui.widgets.models import fields, run_model
from ui.widgets.models.beside import beside
from ui.widgets.models.select import bundled_instead
from ui.widgets.view_and_layer import layer_select, open_view, view_choice

FLAG = ("false", "true")
Specials = Mapping[str, Callable[[SharedModel, Ask, Options], None]]
NO_SPECIAL: Specials = {}
LEVEL_WIDTH, POSITION_WIDTH = 200, 320
"""Pixels of the controls of a number and of a position."""
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
    "heading": partial(st.header, anchor=False),
}


def show_page(
    page: str,
    views: Sequence[View],
    about: About,
    folded: Sequence[Param] = (),
    special: Specials = NO_SPECIAL,
    question_of: Callable[[SharedModel], str] = lambda opened: "",
    open_model: Callable[[str], SharedModel] = SharedModel,
) -> None:
    """Show a page: its heading, the names of its views, the controls and contents of one of them.

    Args:
        page: name of the page.
        views: its views, the default first.
        about: what is said of the model.
        folded: parameters of all views, whose controls are behind a button.
        special: title of a view -> draws it, for views that show more than parts.
        question_of: the question in the heading, where it depends on the model; "" for that of the page.
        open_model: opens a model by its name.
    """
    name = fields.model_name()
    with shown_to_user():
        opened = open_model(name)
    name_model = heading(page, question_of(opened))

    def ask(question: Any, options: Options, so_far: tuple[DeclaredFigure[...], str] | None = None, /) -> Any:
        return answer(question, opened, options, partial(_so_far, *so_far) if so_far else None)

    with shown_to_user():
        options = replace(_read(page), task=fields.chosen_task(tasks(name)))
        note, notices = about(opened, ask, options)
    name_model(name, note)
    draw_parts(notices, opened, ask, options)
    with shown_to_user():
        lacks = {view.title: lack for view in views if (lack := view.lacks(opened)) is not None}
    offered = [view for view in views if view.title not in lacks]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = view_choice([view.title for view in offered]) if len(views) > 1 else views[0].title
        view = next(view for view in offered if view.title == chosen)
        with shown_to_user():
            options = with_controls(view.params, opened, options)
        if folded:
            with st.popover("Options"):
                with_controls(folded, opened, options)
    with shown_to_user():
        if view.runs:
            with st.spinner("Running the model"):
                opened = SharedModel(name, run_model.traced(name, options.text(), options.pair))
        show_view(view, special, opened, ask, options)
    for lack in dict.fromkeys(lacks.values()):
        bundled_instead(f"{page}_lack_{lack.bundled}", f"{escape_markdown(name)} {lack.words}", lack.bundled)


def show_view(view: View, special: Specials, opened: SharedModel, ask: Ask, options: Options) -> None:
    """Draw a view by its own function, or its parts."""
    if view.title in special:
        special[view.title](opened, ask, options)
    elif view.show is not None:
        draw_parts(view.show(opened, ask, options), opened, ask, options)


def _so_far(figure: DeclaredFigure[...], words: str, known: Any) -> None:
    """The figure of an intermediate answer."""
    spec = figure.of(known.drawn)
    chart(spec, f"{spec.chart}_so_far")
    st.caption(words)


def _read(page: str) -> Options:
    """The texts of the sidebar, for a page that reads them."""
    if PAGES[page].views_without_text is None:
        return Options()
    return Options((text_fields.text(),), text_fields.pair())


def with_controls(params: Sequence[Param], opened: SharedModel, options: Options) -> Options:
    """Draw controls; returns the options with their values."""
    for param in params:
        if param.applies(opened, options):
            options = replace(options, values={**options.values, param.key: _control(param, opened, options)})
    return options


def _control(param: Param, opened: SharedModel, options: Options) -> str:
    """Draw the control of a parameter; returns its value as it is written in an address."""
    match param.kind:
        case "choice" if param.options == FLAG:
            return str(toggle(param, param.label, help=_sentence(param))).lower()
        case "choice" if param.values is not None:
            allowed = param.values(opened, options)
            return select(param, param.label, allowed, format_func=param.shown, help=_sentence(param))
        case "choice":
            return choice(param, param.label, help=_sentence(param))
        case "whole" | "layer" | "head" | "position" if param.bounds is not None:
            return str(_number(param, opened, options, *param.bounds(opened, options)))
        case "text" if param.values is not None:
            return joined_names(several(param, param.label, param.values(opened, options), help=_sentence(param)))
        case "names":
            return fields.models_control(param, opened.name)
        case "model":
            return fields.model_control(param, param.values(opened, options) if param.values else (), opened.name)
        case _:
            return words(param, param.label, placeholder=param.help)


def _number(param: Param, opened: SharedModel, options: Options, least: int, most: int, first: int) -> int:
    """Draw the control of a number."""
    if param.kind == "layer":
        return layer_select(most - least + 1, first, _sentence(param))
    if param.kind == "head":
        return head_select(most - least + 1)
    if param.listed:
        tokens = opened.tokens(options.text(), options.pair)
        return token_select(param.label, tokens, param.key, first, _sentence(param))
    if param.kind == "position":
        keep_among(param.key, range(least, most + 1), first)
        label = f"{param.label}, from {least} to {most}"
        return whole(param, label, least, most, first, width=POSITION_WIDTH, help=_sentence(param))
    with st.container(width=LEVEL_WIDTH):
        return level(param, param.label, most, first, least, help=_sentence(param))


def _sentence(param: Param) -> str:
    return f"{param.help[0].upper()}{param.help[1:]}."


def draw_parts(parts: Iterable[Part], opened: SharedModel, ask: Ask, options: Options) -> None:
    """Draw parts one below the other."""
    for part in parts:
        draw(part, opened, ask, options)


@singledispatch
def draw(part: Part, opened: SharedModel, ask: Ask, options: Options) -> None:
    """Draw a part; a page registers a function for a part of its own."""
    raise TypeError(type(part))


@draw.register
def _(part: Text, *_: Any) -> None:
    LEVELS[part.level](part.markdown)


@draw.register
def _(part: Notices, *_: Any) -> None:
    for notice in unshown(part.notices):
        LEVELS[part.level](escape_markdown(f"{part.before}{notice}"))


@draw.register
def _(part: Metrics, *_: Any) -> None:
    with st.container(horizontal=True):
        for each in part.metrics:
            st.metric(each.label, each.value, help=each.help or None)


@draw.register
def _(part: Table, *_: Any) -> None:
    if part.folded:
        folded_table(part.folded, part.frame, part.alt, part.formats)
    else:
        numbers_table(part.frame, part.alt, part.height, part.first, part.formats)


@draw.register
def _(part: Code, *_: Any) -> None:
    st.code(part.text, language=part.language, wrap_lines=True, height=part.height)


@draw.register
def _(part: Columns, opened: SharedModel, ask: Ask, options: Options) -> None:
    with st.container(key=f"halves_{part.key}"):
        places = st.columns([1, 1], gap="medium")
    for place, parts in zip(places, (part.left, part.right), strict=True):
        with place:
            draw_parts(parts, opened, ask, options)


@draw.register
def _(part: Folded, opened: SharedModel, ask: Ask, options: Options) -> None:
    with folded(part.label, part.key) as place:
        if place.open:
            draw_parts(part.show(), opened, ask, options)


@draw.register
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
    )
    with below:
        draw_parts(part.below, opened, ask, options)


@draw.register
@st.fragment
def _section(part: Section, opened: SharedModel, ask: Ask, options: Options) -> None:
    with shown_to_user():
        with st.container(horizontal=True, vertical_alignment="bottom"):
            options = with_controls(part.params, opened, options)
        draw_parts(part.show(opened, ask, options), opened, ask, options)


@draw.register
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


@draw.register
def _(part: Cell, opened: SharedModel, ask: Ask, options: Options) -> None:
    draw_parts(part.show(cell_click(part.chart, partial(_take_cell, part))), opened, ask, options)


def _take_cell(part: Cell, row: int, column: int) -> None:
    if part.param is not None and (value := part.value(row, column)) is not None:
        store(part.param.key, value)


@draw.register
def _(part: Jump, *_: Any) -> None:
    st.button(part.label, on_click=_jump, args=(part,), key=f"open_{part.view.replace(' ', '_')}")


def _jump(part: Jump) -> None:
    """Open a view; a new widget does not write its value into the address, so it is written here."""
    open_view(part.view)
    for key, value in part.values.items():
        store(key, value)
        if value != "":
            put(key, str(value) if value not in (0, "0") else None)


@draw.register
def _(part: Link, *_: Any) -> None:
    link = PageLink(part.label, address(part.page, [(key, str(each)) for key, each in part.values.items()]), "hub")
    page_links([("", [link])], part.key, label=part.description, width="content")


@draw.register
def _(part: Row, opened: SharedModel, ask: Ask, options: Options) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_parts(part.parts, opened, ask, options)


@draw.register
def _(part: SecondModel, opened: SharedModel, ask: Ask, options: Options) -> None:
    beside(part.key, lambda name: draw_parts(part.show(name), opened, ask, options))


def _on_click(part: Figure) -> Callable[[], None] | None:
    """The callback that selects what is clicked."""
    return None if part.click is None else partial(take_click, part.spec.chart, part.click)


def take_click(chart_key: str, click: Click) -> None:
    """Select what was clicked last in a chart."""
    event = stored(chart_key)
    points = event["selection"]["points"] if event else []
    value = click.value(points[0]) if points else None
    if value is not None:
        choose: Callable[[str, Any], None] = put_token if click.param.listed else store
        choose(click.param.key, value)
