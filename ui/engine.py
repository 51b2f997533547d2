"""Draw declared views: their controls, whose values are in the address, and what they show."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, singledispatch
from typing import Any

import streamlit as st

from bertviz_core.figures.pages import PAGES
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.view import (
    Ask,
    Beside,
    Button,
    Click,
    ClickedCell,
    Code,
    Columns,
    Download,
    Figure,
    Folded,
    Links,
    Metrics,
    Notices,
    Part,
    Row,
    Section,
    Table,
    Text,
    View,
)
from bertviz_core.text import escape_markdown
from ui.address.registry import TYPED
from ui.address.widgets import choice, keep_among, level, select, toggle, typed, whole, words
from ui.cache.shared_model import SharedModel
from ui.cache.sources import tasks
from ui.components import step_links
from ui.components.cell_click import cell_click
from ui.session import store, stored
from ui.widgets import text_fields
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import chart, download_row, explained, figure_block, folded, numbers_table
from ui.widgets.heading import heading, unshown
from ui.widgets.lists.open_text import open_row, text_select
from ui.widgets.lists.progress import answer
from ui.widgets.models import fields
from ui.widgets.models.second import needs_second, second_name
from ui.widgets.view_and_layer import layer_select, open_view, state_select, view_choice

FLAG = ("false", "true")
Special = Callable[[Any, Ask, Options], Iterable[Part] | None]
"""Draws a view; returns what the engine is to draw below."""
NO_SPECIAL: Mapping[str, Special] = {}
LEVEL_WIDTH, POSITION_WIDTH = 200, 320
"""Pixels of the controls of a number and of a position."""
MOST_STOPS = 100
"""Most stops of a slider; a larger number is typed."""
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
    special: Mapping[str, Special] = NO_SPECIAL,
    texts: Callable[[], Options] | None = None,
    open_model: Callable[[str], SharedModel] = SharedModel,
) -> None:
    """Show a page: its heading, the names of its views, the controls and contents of one of them.

    Args:
        page: name of the page.
        views: its views, the default first.
        about: what is said of the model.
        folded: parameters of all views, whose controls are behind a button.
        special: title of a view -> draws it, for views that show more than parts.
        texts: reads the texts, for a page that has a control of its own for them.
        open_model: opens the model.
    """
    name_model = heading(page)
    name = fields.model_name()

    def ask(question: Any, options: Options, /) -> Any:
        return answer(question, opened, options)

    above, row = st.container(), st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        chosen = view_choice([view.title for view in views]) if len(views) > 1 else views[0].title
    view = next(view for view in views if view.title == chosen)
    with row if texts else above, shown_to_user():
        read = texts() if texts else _read(page)
    with above, shown_to_user():
        opened = open_model(name)
        options = replace(read, task=fields.chosen_task(tasks(name)))
        note, notices = about(opened, ask, options)
        name_model(name, note)
        draw_parts(notices, opened, ask, options)
    if view.second:
        if needs_second(view.second):
            return
        options = replace(options, values={OTHER.key: second_name()})
    with row, shown_to_user():
        options = _with_controls(view.params, opened, options)
        behind = [param for param in (*folded, *view.folded) if _applies(param, opened, options)]
        if behind:
            with st.popover("Options"):
                options = _with_controls(behind, opened, options)
    with shown_to_user():
        show = view.show or special[view.title]
        draw_parts(show(opened, ask, options) or (), opened, ask, options)


def _read(page: str) -> Options:
    """The texts of the sidebar, for a page that reads them."""
    if PAGES[page].views_without_text is None:
        return Options()
    return Options((text_fields.text(),), text_fields.pair())


def _with_controls(params: Sequence[Param], opened: SharedModel, options: Options) -> Options:
    """Draw controls; returns the options with their values."""
    for param in params:
        if not _applies(param, opened, options):
            continue
        options = replace(options, values={**options.values, param.key: _control(param, opened, options)})
    return options


def _applies(param: Param, opened: SharedModel, options: Options) -> bool:
    """Whether there is something to choose."""
    return param.kind == "model" or param.values is None or bool(param.values(opened, options))


def _control(param: Param, opened: SharedModel, options: Options) -> str:
    """Draw the control of a parameter; returns its value as it is written in an address."""
    match param.kind:
        case "choice" if param.options == FLAG:
            return str(toggle(param, param.label, help=_sentence(param))).lower()
        case "choice" | "text" if param.values is not None:
            allowed = param.values(opened, options)
            shown = allowed.__getitem__ if isinstance(allowed, Mapping) else param.shown
            return select(param, param.label, list(allowed), format_func=shown, help=_sentence(param))
        case "choice":
            return choice(param, param.label)
        case "whole" | "layer" | "position" if param.bounds is not None or param.values is not None:
            return _number(param, opened, options)
        case "names":
            return fields.models_control(param, opened.name)
        case "model":
            return fields.model_control(param, list(param.values(opened, options)) if param.values else (), opened.name)
        case _ if param.key in TYPED:
            return typed(param, param.label, placeholder=param.help)
        case _:
            return words(param, param.label, placeholder=param.help)


def _number(param: Param, opened: SharedModel, options: Options) -> str:
    """Draw the control of a number, a text of a list, a layer, or an entry of the hidden states."""
    names = list(param.values(opened, options)) if param.values else []
    least, most, first = param.bounds(opened, options) if param.bounds else (0, len(names) - 1, len(names) - 1)
    match param.kind:
        case "whole" if names:
            return str(text_select(param.key, param.label, names, first))
        case "whole" if most - least > MOST_STOPS:
            label = f"{param.label}, {least} to {most:,}"
            return str(whole(param, label, least, most, first, width=LEVEL_WIDTH, help=_sentence(param)))
        case "whole":
            with st.container(width=LEVEL_WIDTH):
                return str(level(param, param.label, most, first, least, help=_sentence(param)))
        case "layer" if names:
            state = state_select(most, _sentence(param))
            return "" if state == most else str(state)
        case "layer":
            return str(layer_select(most - least + 1, first, _sentence(param)))
        case _:
            keep_among(param.key, range(least, most + 1), first)
            label = f"{param.label}, from {least} to {most}"
            return str(whole(param, label, least, most, first, width=POSITION_WIDTH, help=_sentence(param)))


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
    on_row = partial(open_row, part.key, part.opens) if part.opens else None
    numbers_table(part.frame, part.alt, part.height, part.first, part.formats, part.key or None, on_row)


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


@_draw.register
def _(part: ClickedCell, opened: SharedModel, ask: Ask, options: Options) -> None:
    draw_parts(part.show(cell_click(part.chart)), opened, ask, options)


@_draw.register
def _(part: Row, opened: SharedModel, ask: Ask, options: Options) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_parts(part.parts, opened, ask, options)


@_draw.register
def _(part: Button, *_: Any) -> None:
    st.button(part.label, key=part.key, on_click=_set, args=(part,))


def _set(button: Button) -> None:
    """Set the controls of a button, and open its view."""
    for key, value in button.values.items():
        store(key, value)
    if button.view:
        open_view(button.view)


@_draw.register
def _(part: Links, *_: Any) -> None:
    links = [step_links.Link(each.label, step_links.address(each.page, each.query)) for each in part.links]
    step_links.step_links(links, part.key, part.label)


@_draw.register
def _(part: Download, *_: Any) -> None:
    st.download_button(
        part.label, part.content, part.name, part.media, key=part.key, help=part.help or None, on_click="ignore"
    )


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
