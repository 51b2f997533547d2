"""Draw declared views: their controls, whose values are in the address, and what they show."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, singledispatch
from typing import Any

import streamlit as st

from bertviz_core.figures.pages import PAGES
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.view import (
    Ask,
    Beside,
    Click,
    Code,
    Columns,
    Explained,
    Figure,
    Folded,
    Metrics,
    Notices,
    OtherModel,
    Part,
    PutTexts,
    Run,
    SecondModel,
    Section,
    Table,
    Text,
    View,
)
from bertviz_core.text import escape_markdown
from ui.address.registry import TYPED
from ui.address.widgets import choice, edited, keep_among, level, select, toggle, typed, whole, words
from ui.cache.shared_model import SharedModel
from ui.cache.sources import tasks
from ui.components.cell_click import cell_click
from ui.session import store, stored
from ui.widgets import text_fields
from ui.widgets.cell_controls import put_token, several_tokens, toggle_token, token_select
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import chart, download_row, explained, figure_block, folded, numbers_table
from ui.widgets.heading import heading, unshown
from ui.widgets.lists.progress import answer
from ui.widgets.models import fields
from ui.widgets.models.beside import beside
from ui.widgets.models.run_model import agreed_cost
from ui.widgets.view_and_layer import layer_select, state_select, store_state, view_choice

FLAG = ("false", "true")
NO_SPECIAL: Mapping[str, Callable[[SharedModel, Ask, Options], None]] = {}
LEVEL_WIDTH, POSITION_WIDTH, TYPED_WIDTH = 200, 320, 220
"""Pixels of the controls of a number, of a position and of words that are typed."""
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
    special: Mapping[str, Callable[[SharedModel, Ask, Options], None]] = NO_SPECIAL,
    offered: Callable[[SharedModel], Sequence[View]] | None = None,
) -> None:
    """Show a page: its heading, the names of its views, the controls and contents of one of them.

    Args:
        page: name of the page.
        views: its views, the default first.
        about: what is said of the model.
        folded: parameters of all views, whose controls are behind a button.
        special: title of a view -> draws it, for views that show more than parts.
        offered: the views of a model, where they depend on it.
    """
    name_model = heading(page)
    name = fields.model_name()
    opened = SharedModel(name)
    ask = _ask(opened)
    with shown_to_user():
        options = replace(_read(page), task=fields.chosen_task(tasks(name)))
        note, notices = about(opened, ask, options)
        views = views if offered is None else offered(opened)
    name_model(name, note)
    draw_parts(notices, opened, ask, options)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = view_choice([view.title for view in views]) if len(views) > 1 else views[0].title
        view = next(view for view in views if view.title == chosen)
        with shown_to_user():
            options = _with_controls(view.params, opened, options)
        if folded:
            with st.popover("Options"):
                _with_controls(folded, opened, options)
    with shown_to_user():
        if view.show is None:
            special[view.title](opened, ask, options)
        else:
            draw_parts(view.show(opened, ask, options), opened, ask, options)


def _ask(opened: SharedModel) -> Ask:
    def ask(question: Any, options: Options, /) -> Any:
        return answer(question, opened, options)

    return ask


def _read(page: str) -> Options:
    """The texts of the sidebar, for a page that reads them."""
    if PAGES[page].views_without_text is None:
        return Options()
    return Options((text_fields.text(),), text_fields.pair())


def _with_controls(params: Sequence[Param], opened: SharedModel, options: Options) -> Options:
    """Draw controls; returns the options with their values."""
    for param in params:
        value = _control(param, opened, options)
        if value is not None:
            options = replace(options, values={**options.values, param.key: value})
    return options


def _control(param: Param, opened: SharedModel, options: Options) -> str | None:
    """Draw the control of a parameter; returns its value as it is written in an address, None without a control."""
    match param.kind:
        case "choice" if param.options == FLAG:
            return str(toggle(param, param.label, help=_sentence(param))).lower()
        case "choice" if param.values is not None:
            allowed = param.values(opened, options)
            return select(param, param.label, allowed, format_func=param.shown, help=_sentence(param))
        case "choice":
            return choice(param, param.label)
        case "whole" if param.bounds is not None:
            least, most, first = param.bounds(opened, options)
            with st.container(width=LEVEL_WIDTH):
                return str(level(param, param.label, most, first, least, help=_sentence(param)))
        case "layer" if param.bounds is not None:
            least, most, first = param.bounds(opened, options)
            return str(layer_select(most - least + 1, first, _sentence(param)))
        case "position" if param.bounds is not None and not param.listed:
            least, most, first = param.bounds(opened, options)
            keep_among(param.key, range(least, most + 1), first)
            label = f"{param.label}, from {least} to {most}"
            return str(whole(param, label, least, most, first, width=POSITION_WIDTH, help=_sentence(param)))
        case "names":
            return fields.models_control(param, opened.name)
        case "model":
            return fields.model_control(param, param.values(opened, options) if param.values else (), opened.name)
        case _:
            return _chosen_or_typed(param, opened, options)


def _chosen_or_typed(param: Param, opened: SharedModel, options: Options) -> str | None:
    """Draw the control of tokens of the text, of a hidden state, or of words."""
    values = () if param.values is None else param.values(opened, options)
    match param.kind:
        case "position" if param.bounds is not None:
            tokens = opened.tokens(options.text(), options.pair)
            return str(token_select(param.label, tokens, param.key, param.bounds(opened, options)[2], _sentence(param)))
        case "layer":
            return str(state_select(len(values) - 1, _sentence(param)))
        case "text" if param.bounds is not None:
            tokens, (first, *allowed) = opened.tokens(options.text(), options.pair), values
            most = param.bounds(opened, options)[1]
            return several_tokens(param.label, tokens, param.key, first, tuple(map(int, allowed)), most)
        case "text" if param.values is not None:
            return edited(param, param.label, values[0], help=_sentence(param)) if values else None
        case "text" if param.key in TYPED:
            return typed(param, param.label, help=_sentence(param), width=TYPED_WIDTH)
        case _:
            return words(param, param.label, placeholder=param.help)


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
    )
    with below:
        draw_parts(part.below, opened, ask, options)
    if part.cells is not None:
        _take_cell(part.spec.chart, part.cells)


@_draw.register
@st.fragment
def _section(part: Section, opened: SharedModel, ask: Ask, options: Options) -> None:
    with shown_to_user():
        if part.example:
            first, second = text_fields.two_texts(part.example)
            options = replace(options, texts=(first,), pair=second)
        above = st.container() if part.above is not None else None
        with st.container(horizontal=True, vertical_alignment="bottom"):
            options = _with_controls(part.params, opened, options)
        draw_parts(part.show(opened, ask, options), opened, ask, options)
        if part.above is not None and above is not None:
            with above:
                draw_parts(part.above(opened, ask, options), opened, ask, options)


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


@_draw.register
def _(part: Explained, *_: Any) -> None:
    explained(part.key, part.words, part.code)


@_draw.register
def _(part: OtherModel, _: SharedModel, __: Ask, options: Options) -> None:
    other = SharedModel(part.name)
    draw_parts(part.show(other, _ask(other), options), other, _ask(other), options)


@_draw.register
def _(part: PutTexts, *_: Any) -> None:
    st.button(part.label, key=part.key, on_click=text_fields.put_texts, args=(part.text, part.pair))


@_draw.register
def _(part: Run, opened: SharedModel, _: Ask, options: Options) -> None:
    agreed_cost(opened.head(part.task).base, opened.tokens(options.text(), options.pair))


@_draw.register
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
        for param in (click.param, *click.also):
            _put(param, value)


def _take_cell(chart_key: str, params: tuple[Param, Param]) -> None:
    """Select a newly clicked cell; an old click does not undo a later choice."""
    key, cell = f"{chart_key}_last_cell", cell_click(chart_key)
    if cell is not None and cell != stored(key):
        store(key, cell)
        for param, place in zip(params, cell, strict=True):
            _put(param, place)


def _put(param: Param, value: Any) -> None:
    """Select a value, as its control does."""
    match param.kind:
        case "text" if param.bounds is not None:
            toggle_token(param.key, int(value))
        case "position" if param.listed:
            put_token(param.key, int(value))
        case "layer" if param.values is not None:
            store_state(int(value))
        case _:
            store(param.key, value)
