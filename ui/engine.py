"""Draw declared views: their controls, whose values are in the address, and what they show."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, singledispatch
from itertools import count
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.figures.base.axes import text_width
from bertviz_core.figures.base.spec import DeclaredFigure
from bertviz_core.figures.pages import PAGES
from bertviz_core.questions import view as parts
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.parameters import Options, Param, joined_names
from bertviz_core.questions.view import Ask, Part, View
from bertviz_core.text import escape_markdown
from ui.address import registry, widgets
from ui.address.navigation import bring_along
from ui.address.registry import TYPED, put
from ui.cache.figures import noted_if
from ui.cache.models import tasks
from ui.cache.shared_model import SharedModel
from ui.components.chart import cell_of, clicked_cell, clicked_point
from ui.components.frame import PageLink, page_links
from ui.components.links import Link, address, step_links
from ui.session import at_the_end, store, stored
from ui.widgets import models, run_model
from ui.widgets.downloads import save_button
from ui.widgets.figure_block import (
    chart,
    download_row,
    explained,
    figure_block,
    figure_chart,
    folded,
    folded_table,
    numbers_table,
)
from ui.widgets.heading import (
    head_select,
    heading,
    page_pair,
    page_text,
    put_texts,
    put_token,
    several_tokens,
    toggle_token,
    token_select,
    two_texts,
    unshown,
)
from ui.widgets.run_model import answer, later, later_last, shown_to_user
from ui.widgets.uploads import open_row, table_files, text_select, within_upload

Special = Callable[[Any, Ask, Options], Iterable[Part] | None]
"""Draws a view by itself; the parts that it returns are drawn as they come."""
Specials = Mapping[str, Special]
NO_SPECIAL: Specials = {}
SELECT_WIDTH, LEVEL_WIDTH, POSITION_WIDTH, TYPED_WIDTH, TEXTS_HEIGHT = 240, 200, 320, 220, 150
"""Pixels of the controls of one of several values, a number, a position, typed words; height of several texts."""
WIDEST_SELECT, BESIDE_NAME, NAME_SIZE = 480, 64, 16
"""Pixels: most of a list, which is as wide as its names; beside a name in it; font size of a name."""
LONGEST_SLIDER, HALF = 1_000, 0.49
"""Greatest range of a slider; share of a wide page's width of the figure with a section beside it."""
LAST_CELL = "_last_cell"
"""End of the session key of the cell whose click was taken last."""
MARKS = count()
"""Numbers that tell marks of one run apart."""
CLICKS: dict[str, Callable[[int, int], None]] = {}
"""Chart -> what a click on a row and column does, for pages that draw by themselves."""
Subject = Callable[[DeltaGenerator, str], tuple[Any, str, Options]]
"""From a row for its control and the title of the view, what is asked, the model that made it, and first options."""
About = Callable[[Any, Ask, Options], tuple[str, Sequence[Part]]]
"""What stands behind the name of the model, and what is said above the views."""
LEVELS: dict[str, Callable[..., Any]] = {
    "body": st.markdown,
    "caption": st.caption,
    "notice": partial(st.info, icon=":material/info:"),
    "warning": partial(st.warning, icon=":material/warning:"),
    "success": partial(st.success, icon=":material/check_circle:"),
    "error": partial(st.error, icon=":material/error:"),
    "heading": partial(st.header, anchor=False),
}


def show_page(
    page: str,
    views: Sequence[View],
    about: About,
    params: Sequence[Param] = (),
    special: Specials = NO_SPECIAL,
    texts: Callable[[], Options] | None = None,
    open_model: Callable[[str], SharedModel] = SharedModel,
    question_of: Callable[[SharedModel], str] = lambda opened: "",
    views_of: Callable[[SharedModel], Sequence[View]] | None = None,
    subject: Subject | None = None,
) -> None:
    """Show a page: its heading, the names of its views, the controls and contents of one of them.

    Args:
        views: its views, the default first; those that a model lacks are named below the others.
        about: what is said of the model.
        params: parameters of all views, whose controls are behind a button.
        special: title of a view -> draws it, for views that show more than parts.
        texts: reads the texts, for a page that has a control of its own for them.
        open_model: opens a model by its name.
        question_of: the question in the heading, where it depends on the model; "" for that of the page.
        views_of: the views of a model, where they depend on it.
        subject: chooses what the page is about in place of a model.
    """
    name = models.model_name()
    with shown_to_user():
        name_model = heading(page, question_of(SharedModel(name)))
        opened = open_model(name)
        views = views if views_of is None else views_of(opened)
        lacks = {view.title: lack for view in views if view.lacks is not None and (lack := view.lacks(opened))}
    offered = [view for view in views if view.title not in lacks]
    switching, above = st.empty(), st.container()
    row = st.container(horizontal=True, vertical_alignment="bottom", key="view_row")
    changing = st.empty()  # below the controls, of which one may have the focus
    with row:
        chosen = models.view_choice([view.title for view in offered]) if len(views) > 1 else views[0].title
    view = next(view for view in offered if view.title == chosen)
    deciding, of = _deciding((*view.params, *registry.params(page))), (page, chosen, name)
    with at_once(switching, "view", (), *of), at_once(changing, "parts", deciding, *of):
        if subject is not None:
            with shown_to_user():
                opened, name, options = subject(row, chosen)
        else:
            with row if texts else above, shown_to_user():
                options = replace(texts() if texts else _read(page), task=models.chosen_task(tasks(name)))
        ask = _ask(opened)
        with above, shown_to_user():
            note, notices = about(opened, ask, options)
            name_model(name, note)
            draw_parts(notices, opened, ask, options)
        if view.second:
            options = replace(options, values={OTHER.key: models.second_or_example()})
        with row, shown_to_user():
            options = with_controls(view.params, opened, options)
            behind = [param for param in (*params, *view.folded) if _applies(param, opened, options)]
            if behind:
                options = _behind_button("Options", behind, opened, options)
        with shown_to_user():
            if view.runs:
                with st.spinner("Running the model"):
                    opened = SharedModel(name, run_model.traced(name, options.text(), options.pair))
            show = special.get(view.title) or view.show
            with later_last():
                draw_parts((show(opened, ask, options) if show else None) or (), opened, ask, options)
        for lack in dict.fromkeys(lacks.values()):
            models.bundled_instead(f"{page}_lack_{lack.bundled}", f"{escape_markdown(name)} {lack.words}", lack.bundled)


@contextmanager
def at_once(place: DeltaGenerator, name: str, deciding: Iterable[str], *of: str) -> Iterator[None]:
    """Show what the block draws only when it is whole, where page, view and model or what decides the parts changed.

    Parts of the last view that are left would move with each new part. What reports progress is shown at once (see
    frame.css).
    """
    key, now = f"shown_{name}", [*of, *map(stored, deciding)]
    shown, times = stored(key, (None, 0))
    if is_other := shown not in (None, now):  # nothing is left of another where there was none
        _mark(place, "switching")
    if shown != now:
        store(key, ([], times))  # where the page ends before the end of the block, it is not shown yet

    def show() -> None:
        if is_other:  # an animation begins anew under another name only
            _mark(place, ("switched", "switched_again")[times % 2])

    before = at_the_end.set((*at_the_end.get(), show))
    try:
        yield
    finally:
        at_the_end.reset(before)
        show()
    store(key, ([*of, *map(stored, deciding)], times + is_other))


def _mark(place: DeltaGenerator, state: str) -> None:
    """Say in the page what frame.css hides or shows; what a browser loads first, as st.html, would come too late."""
    place.container(key=f"{state}_{next(MARKS)}").empty()


def _deciding(params: Iterable[Param]) -> list[str]:
    """Keys of the parameters that decide which parts there are."""
    return [param.key for param in params if param.parts]


def with_run(name: str) -> SharedModel:
    """A model with its run on the texts of the sidebar, which the reader confirms where it takes long."""
    with st.spinner("Running the model"):
        return SharedModel(name, run_model.traced(name, page_text(), page_pair()))


def _ask(opened: SharedModel) -> Ask:
    def ask(question: Any, options: Options, so_far: tuple[DeclaredFigure[...], str] | None = None, /) -> Any:
        return answer(question, opened, options, partial(_so_far, *so_far) if so_far else None)

    return ask


def _so_far(figure: DeclaredFigure[...], sentence: str, known: Any) -> None:
    """The figure of an intermediate answer."""
    spec = figure.of(known.drawn)
    chart(spec, f"{spec.chart}_so_far")
    st.caption(sentence)


def _read(page: str) -> Options:
    """The texts of the sidebar, for a page that reads them."""
    if PAGES[page].views_without_text is None:
        return Options()
    return Options((page_text(),), page_pair())


def with_controls(params: Sequence[Param], opened: SharedModel, options: Options) -> Options:
    """Draw controls; returns the options with their values."""
    for param in params:
        value = _control(param, opened, options) if _applies(param, opened, options) else None
        if value is not None:
            options = replace(options, values={**options.values, param.key: value})
    return options


def _behind_button(label: str, params: Sequence[Param], opened: SharedModel, options: Options) -> Options:
    """Draw controls behind a button; returns the options with their values."""
    with st.popover(label):
        return with_controls(params, opened, options)


def _applies(param: Param, opened: SharedModel, options: Options) -> bool:
    """Whether there is something to choose."""
    known = param.control == "model" or param.values is None or bool(param.values(opened, options))
    return known and param.applies(opened, options)


def _control(param: Param, opened: SharedModel, options: Options) -> str | None:
    """Draw the control of a parameter; returns its value as it is written in an address."""
    allowed = () if param.values is None else param.values(opened, options)
    shown = allowed.__getitem__ if isinstance(allowed, Mapping) else param.shown
    match param.kind:
        case "choice" if param.options == ("false", "true"):
            return str(widgets.toggle(param, param.label, help=_sentence(param))).lower()
        case "choice" if param.values is None or param.control == "few":
            few = list(allowed or param.options)
            return (
                widgets.choice(param, param.label, few, format_func=shown, help=_sentence(param)) if few[1:] else few[0]
            )
        case "choice":
            return _select(param, list(allowed), shown)
        case "text":
            return _text(param, opened, options, list(allowed))
        case _:
            return _number(param, opened, options, list(allowed))


def _select(param: Param, allowed: Sequence[str], shown: Callable[[str], str]) -> str:
    """Draw a list, as wide as its longest name needs."""
    longest = max(text_width(str(shown(each)), NAME_SIZE) for each in allowed)
    width = round(min(max(SELECT_WIDTH, longest + BESIDE_NAME), WIDEST_SELECT))
    return widgets.select(param, param.label, allowed, format_func=shown, width=width, help=_sentence(param))


def _text(param: Param, opened: SharedModel, options: Options, allowed: Sequence[str]) -> str:
    """Draw the control of words, of one or several values, or of tokens of the text."""
    match param.control:
        case "several":
            first = allowed[: param.first]
            return joined_names(widgets.several(param, param.label, allowed, first, help=_sentence(param)))
        case "names":
            with st.popover(param.label):
                return joined_names(widgets.several(param, param.label, param.options, allowed))
        case "models":
            return models.models_control(param, opened.name)
        case "model":
            return models.model_control(param, allowed, opened.name)
        case "edited":
            return widgets.edited(param, param.label, allowed[0], help=_sentence(param))
        case "lines":
            return within_upload(widgets.listed(param, param.label, TEXTS_HEIGHT))
        case _:
            return _words(param, opened, options, allowed)


def _words(param: Param, opened: SharedModel, options: Options, allowed: Sequence[str]) -> str:
    """Draw the control of tokens of the text, of one of some words, or of any words."""
    if param.bounds is not None:
        tokens, (first, *places) = opened.tokens(options.text(), options.pair), allowed
        most = param.bounds(opened, options)[1]
        return several_tokens(param.label, tokens, param.key, first, tuple(map(int, places)), most)
    if param.key in TYPED:
        return widgets.typed(param, param.label, *allowed, help=_sentence(param), width=TYPED_WIDTH)
    if allowed:
        return _select(param, allowed, param.shown)
    return widgets.words(param, param.label, placeholder=param.help)


def _number(param: Param, opened: SharedModel, options: Options, names: Sequence[str]) -> str | None:
    """Draw the control of a number, a layer or state, a head, a position, or a text of a list."""
    last = len(names) - 1
    least, most, first = param.bounds(opened, options) if param.bounds else (0, last, last)
    match param.kind:
        case "layer" if names:
            return str(models.state_select(most, _sentence(param)))
        case "layer":
            return str(models.layer_select(most - least + 1, first, _sentence(param)))
        case "head":
            return str(head_select(most - least + 1))
        case "position" if param.listed:
            tokens = opened.tokens(options.text(), options.pair)
            return str(token_select(param.label, tokens, param.key, first, _sentence(param)))
        case "span":
            start, end = widgets.span(param, param.label, most + 1, (0, most))
            return f"{start}:{end}"
        case "position":
            bring_along(param.key)
            widgets.keep_among(param.key, range(least, most + 1), first)
            label = f"{param.label}, from {least} to {most}"
            return str(widgets.whole(param, label, least, most, first, width=POSITION_WIDTH, help=_sentence(param)))
        case "whole" if names:
            return str(text_select(param.key, param.label, names, first))
        case "whole" if most - least <= LONGEST_SLIDER:
            with st.container(width=LEVEL_WIDTH):
                return str(widgets.level(param, param.label, most, first, least, help=_sentence(param)))
        case _:
            return str(widgets.field(param, param.label, least, most, first, width=LEVEL_WIDTH, help=_sentence(param)))


def _sentence(param: Param) -> str:
    return f"{param.help[0].upper()}{param.help[1:]}."


def draw_parts(shown: Iterable[Part], opened: SharedModel, ask: Ask, options: Options) -> None:
    """Draw parts one below the other."""
    for part in shown:
        draw(part, opened, ask, options)


@singledispatch
def draw(part: Part, opened: SharedModel, ask: Ask, options: Options) -> None:
    """Draw a part; a page registers a function for a part of its own."""
    raise TypeError(type(part))


@draw.register
def _(part: parts.Text, *_: Any) -> None:
    LEVELS[part.level](part.markdown)


@draw.register
def _(part: parts.Notices, *_: Any) -> None:
    for notice in unshown(part.notices):
        LEVELS[part.level](escape_markdown(f"{part.before}{notice}"))


@draw.register
def _(part: parts.Metrics, *_: Any) -> None:
    with st.container(horizontal=True):
        for each in part.metrics:
            st.metric(each.label, each.value, help=each.help or None)


@draw.register
def _(part: parts.Table, *_: Any) -> None:
    if part.folded:
        folded_table(part.folded, lambda: part.frame, part.alt, part.formats)
        return
    on_row = partial(open_row, part.key, part.opens) if part.opens else None
    numbers_table(part.frame, part.alt, part.height, part.first, part.formats, part.key or None, on_row, part.rows)


@draw.register
def _(part: parts.Code, *_: Any) -> None:
    st.code(part.text, language=part.language, wrap_lines=True, height=part.height)


@draw.register
def _(part: parts.Columns, opened: SharedModel, ask: Ask, options: Options) -> None:
    with st.container(key=f"halves_{part.key}"):
        places = st.columns([1, 1], gap="medium")
    for place, shown in zip(places, (part.left, part.right), strict=True):
        with place:
            draw_parts(shown, opened, ask, options)


@draw.register
def _(part: parts.Folded, opened: SharedModel, ask: Ask, options: Options) -> None:
    with folded(part.label, part.key) as place:
        if place.open:
            draw_parts(part.show(), opened, ask, options)


@draw.register
def _(part: parts.Later, opened: SharedModel, ask: Ask, options: Options) -> None:
    later(lambda: draw_parts(part.show(), opened, ask, options))


@draw.register
def _(part: parts.Figure, opened: SharedModel, ask: Ask, options: Options) -> None:
    with noted_if(part.named_by is None or part.named_by.key in st.query_params):
        below = figure_block(replace(part, explanation="") if part.rows else part, _on_click(part))
        draw_parts(part.rows, opened, ask, options)
        if part.rows and part.explanation:
            explained(part.spec.chart, part.explanation, part.code)
    with below:
        draw_parts(part.below, opened, ask, options)
    if part.cells is not None and (cell := clicked_cell(part.spec.chart)) is not None:
        _take_cell(part, cell)


@draw.register
@st.fragment
def _section(part: parts.Section, opened: SharedModel, ask: Ask, options: Options) -> None:
    with shown_to_user():
        if part.example:
            first, second = two_texts(part.example)
            options = replace(options, texts=(first,), pair=second)
        above = st.container() if part.above is not None else None
        with st.container(horizontal=True, vertical_alignment="bottom"):
            options = with_controls(part.params, opened, options)
            if part.folded:
                options = _behind_button(part.button, part.folded, opened, options)
        deciding = _deciding(part.params)
        with at_once(st.empty(), "_".join(("section", *deciding)), deciding):
            draw_parts(part.show(opened, ask, options), opened, ask, options)
        if part.above is not None and above is not None:
            with above:
                draw_parts(part.above(opened, ask, options), opened, ask, options)


@draw.register
def _(part: parts.Controls, opened: SharedModel, ask: Ask, options: Options) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        options = with_controls(part.params, opened, options)
    draw_parts(part.show(opened, ask, options), opened, ask, options)


@draw.register
@st.fragment
def _beside(part: parts.Beside, opened: SharedModel, ask: Ask, options: Options) -> None:
    figure = part.figure
    key = figure.spec.chart
    with st.container(key=f"halves_{key}"):
        picture, rows = st.columns([1, 1], gap="medium")
    with picture:
        figure_chart(figure, _on_click(figure), HALF)
    with rows:
        draw_parts([part.section], opened, ask, options)
    download_row(figure.spec, key, figure.file, figure.spec.caption, texts=figure.texts)
    draw_parts(part.below, opened, ask, options)
    if figure.explanation:
        explained(key, figure.explanation, figure.code)


@draw.register
def _(part: parts.Explained, *_: Any) -> None:
    explained(part.key, part.words, part.code)


@draw.register
def _(part: parts.OtherModel, _: SharedModel, __: Ask, options: Options) -> None:
    other = SharedModel(part.name)
    draw_parts(part.show(other, _ask(other), options), other, _ask(other), options)


@draw.register
def _(part: parts.PutTexts, *_: Any) -> None:
    st.button(part.label, key=part.key, on_click=put_texts, args=(part.text, part.pair))


@draw.register
def _(part: parts.Run, opened: SharedModel, _: Ask, options: Options) -> None:
    run_model.agreed_cost(opened.head(part.task).base, opened.tokens(options.text(), options.pair))


@draw.register
def _(part: parts.SecondModel, opened: SharedModel, ask: Ask, options: Options) -> None:
    def show(name: str) -> None:
        draw_parts(part.show(name), opened, ask, replace(options, values={**options.values, OTHER.key: name}))

    models.beside(part.key, show)


@draw.register
def _(part: parts.Cell, opened: SharedModel, ask: Ask, options: Options) -> None:
    cell = clicked_cell(part.chart)
    if cell is not None and cell != stored(f"{part.chart}{LAST_CELL}"):  # of an address, or of a browser that came back
        _choose(part, cell)
    draw_parts(part.show(cell), opened, ask, options)


def _choose(part: parts.Cell, cell: tuple[int, int]) -> None:
    """Select what a clicked cell stands for."""
    store(f"{part.chart}{LAST_CELL}", cell)
    if part.param is not None and (value := part.value(*cell)) is not None:
        _put(part.param, value)


@draw.register
def _(part: parts.Row, opened: SharedModel, ask: Ask, options: Options) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_parts(part.parts, opened, ask, options)


@draw.register
def _(part: parts.Button, *_: Any) -> None:
    st.button(part.label, key=part.key, on_click=_press, args=(part,))


def _press(button: parts.Button) -> None:
    """Set controls, and open a view; a new widget does not write its value into the address, so it is written here."""
    if button.view:
        models.open_view(button.view)
    for key, value in button.values.items():
        store(key, value)
        if button.view and value != "":
            put(key, str(value) if value not in (0, "0") else None)


@draw.register
def _(part: parts.Links, *_: Any) -> None:
    links = [Link(each.label, address(each.page, each.query)) for each in part.links]
    step_links(links, part.key, part.label)


@draw.register
def _(part: parts.Download, *_: Any) -> None:
    save_button(part.label, part.content, part.name, part.media, part.key, part.help or None)


@draw.register
def _(part: parts.TableFiles, *_: Any) -> None:
    table_files(part.frame, part.key, part.file)


@draw.register
def _(part: parts.PageLinks, *_: Any) -> None:
    links = [PageLink(PAGES[name].label, name, PAGES[name].icon) for name in part.pages]
    page_links([("", links)], part.key, label=part.label)


def _on_click(part: parts.Figure) -> Callable[[], None] | None:
    """The callback that selects what is clicked."""
    cells = [each for each in part.below if isinstance(each, parts.Cell)]
    heard = part.click or part.cells or cells or part.spec.chart in CLICKS
    return partial(take_click, part, cells) if heard else None


def take_click(part: parts.Figure, cells: Sequence[parts.Cell] = ()) -> None:
    """Select what was clicked in a chart; a callback, so that controls above it change, too."""
    chart_key = part.spec.chart
    if (point := clicked_point(chart_key)) is None:
        return
    if part.click is not None and (value := part.click.value(point)) is not None:
        for param in (part.click.param, *part.click.also):
            _put(param, value)
    if part.cells is not None:
        _take_cell(part, cell_of(point), again=True)
    for each in cells:
        _choose(each, cell_of(point))
    if chart_key in CLICKS:
        CLICKS[chart_key](*cell_of(point))


def _take_cell(part: parts.Figure, cell: tuple[int, int], again: bool = False) -> None:
    """Select the row and column of a clicked cell; one of an earlier run undoes no later choice."""
    last = f"{part.spec.chart}{LAST_CELL}"
    if again or cell != stored(last):
        store(last, cell)
        for param, place in zip(part.cells or (), cell, strict=True):
            _put(param, place)


def _put(param: Param, value: Any) -> None:
    """Select a value, as its control does."""
    match param.kind:
        case "text" if param.bounds is not None:
            toggle_token(param.key, int(value))
        case "position" if param.listed:
            put_token(param.key, int(value))
        case "layer" if param.values is not None:
            models.store_state(int(value))
        case _:
            store(param.key, value)
