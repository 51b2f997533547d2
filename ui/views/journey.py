"""The drawing of the Journey: its selection and change in the address, its ending, its files, and the edited text."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.errors import BertvizError, UnsupportedModelError
from bertviz_core.figures.base.export import MEDIA, SLIDE, WIDTH, quoted_text
from bertviz_core.figures.base.style import Theme, theme_named
from bertviz_core.figures.journey.payload import DrawnChange, Ending, Path, colours, journey_payload, parts_payload
from bertviz_core.journey.results import EmbeddingOpening, HeadOpening, Journey, LayerOpening
from bertviz_core.questions.interventions.attributions import word_attributions
from bertviz_core.questions.interventions.effects import REMOVED_FOR, zero_effects
from bertviz_core.questions.interventions.journey_change import (
    CHANGE,
    EMBEDDINGS,
    FORMS,
    TEXT,
    changed_model,
    changed_number,
    changed_or_refused,
    journey_caption,
    journey_page,
)
from bertviz_core.questions.interventions.targets import MEASURE, TARGET
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.texts.hidden_states import HEAD, KEY, LAYER, QUERY
from bertviz_core.questions.texts.journey import LOOKS, RIBBON, journey, next_openings
from bertviz_core.questions.texts.tokens import EDITED
from bertviz_core.questions.view import Ask, Download, Links
from bertviz_core.questions.views import journey as views
from bertviz_core.text import escape_markdown
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import longest_piece
from bertviz_core.trace.two_tokenizers import unchanged_positions
from ui import session
from ui.address.navigation import drawing_links, keep_token, remember_journey, remember_view
from ui.address.registry import put, put_all, whole
from ui.address.widgets import toggle
from ui.cache.models import source
from ui.cache.shared_model import SharedModel
from ui.components.frame import figure_download
from ui.components.journey import browser_message, chosen_path, journey_parts, journey_view, serial
from ui.engine import Specials, draw, draw_parts
from ui.session import store, stored
from ui.widgets import downloads
from ui.widgets.figure_block import file_name
from ui.widgets.heading import page_pair, page_text, place_for_text
from ui.widgets.models import model_name
from ui.widgets.run_model import shown_to_user, ways_on
from ui.widgets.target_controls import folded_row, target_options, target_row

DRAWING = "journey"
FIELD, PHONE_PIXELS = 100, 680
"""Pixels of the field with the reader's text, and of the widest page that has it."""
EDITS = "journey_edits"
"""How often an edited text was compared, or the text replaced, in this session. It names the popover and its field:
under a new name the browser closes it, and has no old text to send for it."""
SHOWN = "journey_tokens"
"""The tokens that the drawing shows, of the text or of its edited version."""
SAME = "norms"
"""Name of the figure with the numbers of the drawing's cells, in `figure --list`."""
EDIT_HELP = "Change, add or remove words: the drawing then shows this text, and its cells the difference from the text."
ENDING_HELP = (
    "Picks one number that the model gives for the text and colours the drawing by what it depends on: how much the "
    "number changes without each layer and head, and without the word of each token."
)
FILE_HELP = "One file in which the layers and heads of the chosen token still open; it needs no network."
Openings = Sequence[EmbeddingOpening | LayerOpening | HeadOpening]


def text_and_ending(alone: bool) -> Options:
    """Show the button that edits the text, and the number at the end.

    On a phone, whose sidebar is folded, a page that stands `alone` has the text's field.
    """
    name = model_name()
    if alone and session.page_pixels() <= PHONE_PIXELS:
        place_for_text(FIELD)
    if not source(name).has_weights:
        return Options((page_text(),), page_pair())
    with st.container():
        with st.container(horizontal=True, vertical_alignment="center", key="journey_ending"):
            edit_button(name)
            if not toggle(views.RESTS, views.RESTS.label, help=ENDING_HELP):
                return Options((page_text(),), page_pair())
            row = folded_row()
        return target_options(target_row(name, row))


def show_journey(opened: SharedModel, ask: Ask, options: Options) -> None:
    """The drawing; while the number at the end is computed, it is without."""
    above, way = st.container(), ask(journey, views.way_options(options)).result
    target = options.only(TARGET, MEASURE) if TARGET.key in options.values else None
    if target is None or _is_computed(opened, target):
        _drawing(opened, ask, way, target, None if target is None else _ending(opened, ask, target, way))
        return
    _drawing(opened, ask, way, target, None)
    with above:  # the page ends here while this is computed, below the question whether to and its progress
        ending = _ending(opened, ask, target, way)
    if ending is not None and _is_computed(opened, target):
        st.rerun()


SPECIAL: Specials = {views.VIEWS[0].title: show_journey}


def _is_computed(opened: SharedModel, target: Options) -> bool:
    return all(opened.cached(each.key(target)) is not None for each in (zero_effects, word_attributions))


def _ending(opened: SharedModel, ask: Ask, target: Options, way: Journey) -> Ending | None:
    """What the drawing ends with; where the model does not allow it, a message says why."""
    try:
        return views.ending_of(opened, ask, target, way)
    except UnsupportedModelError as error:
        st.warning(escape_markdown(str(error)), icon=":material/block:")
        return None


@draw.register
def _ways_on(part: views.WaysOn, opened: SharedModel, *_: object) -> None:
    ways_on(opened.name)


@st.fragment
@shown_to_user()
def _drawing(opened: SharedModel, ask: Ask, way: Journey, target: Options | None, ending: Ending | None) -> None:
    """The drawing, its files and numbers; a change, and the content of a part, are computed when they are asked for."""
    change, longest = page_change(opened, way), first_token(way)
    both = None if change is None else change.both
    drawn = way if both is None else both.before
    keep_token(drawn.labels)
    path = path_of(drawn)
    store(SHOWN, drawn.tokens)
    remember_journey(path, way.layers, longest, "".join(drawn.labels[path.token : path.token + 1]))
    remember_view()
    ending = with_change(opened, target, ending, change)
    run = opened if drawn.tokens is None else changed_model(opened, _options(drawn.tokens), change)
    openings = () if way.missing else _openings(run, drawn, path)
    embedded = st.context.is_embedded
    payload = journey_payload(
        drawn,
        theme=theme_named(session.theme_name()),
        path=path,
        openings=openings,
        ending=ending,
        change=change,
        answered=serial(DRAWING),
        links=[] if embedded or session.is_presenting() else drawing_links(way.layers, longest),
        controls=not session.figure_fills(),
        looks={param.key: option(param) for param in LOOKS},
    )
    journey_view(payload, DRAWING, take_path)
    if openings and path.open != EMBEDDINGS:
        journey_parts(parts_payload(drawn, _next_openings(run, drawn, path), change), f"{DRAWING}_parts")
    if stored(session.TOUR) is None and not embedded:
        made, changed = way if both is None else both.after, st.query_params.get(CHANGE.key)
        links = views.first_links(opened, made, path.token, path.open, changed, ending is not None)
        if links:
            with st.container(horizontal=True, vertical_alignment="center", gap="small", key="journey_first_steps"):
                st.markdown("**Try**", width="content")
                draw(Links("journey_try", "Things to try", links), opened, ask, Options())
    if way.turn is not None:
        _files(opened, ask, drawn, path, ending, change)
        numbers = views.number_parts(opened, way, path.token, change, change_values(), ending, target)
        draw_parts(numbers, opened, ask, Options())
    if openings and path.head is None:  # last, since the reader may not open it
        journey_parts(parts_payload(drawn, _next_layer(run, drawn, path), change), f"{DRAWING}_next")


def _files(
    opened: SharedModel, ask: Ask, way: Journey, path: Path, ending: Ending | None, change: DrawnChange | None
) -> None:
    """The drawing as an interactive HTML page."""
    tokens = way.tokens
    if tokens is None:
        return
    change = change if change is not None and change.both is not None else None
    filename = file_name(DRAWING, f"journey {way.model}{f' {change.name}' if change else ''}")
    options = _options(tokens, path, **{param.key: option(param) for param in LOOKS})

    def page(theme: Theme) -> str:
        return journey_page(opened, options, theme, ending, change)[0]

    title = f"Journey of {quoted_text(tokens.text)} through {way.model}"
    caption = journey_caption(way, downloads.shown_models(), change)
    downloads.note_drawing(DRAWING, title, page, (SAME,), caption)

    def files() -> None:
        theme, medium = theme_named(downloads.chosen_theme() or session.theme_name()), downloads.chosen_medium()

        def image(**more: Any) -> None:
            look = colours(theme)
            figure_download(DRAWING, filename, title, caption, theme, title, look=look, **{"medium": medium, **more})

        def drawn(ending: str, size: str = "") -> None:
            def prepare() -> Callable[[], bytes]:
                from bertviz_core.questions.report.files import drawing_file  # which imports every figure

                return partial(drawing_file, ending, page(theme), MEDIA.get(size, WIDTH), theme, size, caption)

            made_from = repr((caption, options, ending_of, theme.name, size))
            downloads.drawn_download(ending, DRAWING, f"{filename}{size and f'-{size}'}", made_from, prepare)

        ending_of = "" if ending is None else repr(ending)
        with downloads.file_row("Slide 16:9"):
            image(medium=SLIDE, formats={"Slide (PNG)": "png"})
            drawn(".pptx")
        with downloads.file_row("Picture"):
            image()
            drawn(downloads.PDF, medium)
            html = Download("HTML", f"{DRAWING}_html", f"{filename}.html", "text/html", partial(page, theme), FILE_HELP)
            draw(html, opened, ask, options)

    downloads.download_menu(DRAWING, files)


def _options(tokens: Tokens, path: Path | None = None, **more: str) -> Options:
    """The text of a drawing, with the parts that are open as values."""
    return Options((tokens.text,), tokens.pair, values={**({} if path is None else _values(path)), **more})


def _values(path: Path) -> dict[str, str]:
    parts = {QUERY.key: path.token, LAYER.key: path.open or None, HEAD.key: path.head, KEY.key: path.key}
    return {name: str(each) for name, each in parts.items() if each is not None}


def _openings(opened: Opened, way: Journey, path: Path) -> Openings:
    """Compute the open parts; for a part that this model does not have, a message is shown below the drawing."""
    found: list[EmbeddingOpening | LayerOpening | HeadOpening] = []
    try:
        for each in () if way.tokens is None else views.open_parts(opened, _options(way.tokens, path)):
            found.append(each)
    except UnsupportedModelError as error:
        st.caption(escape_markdown(str(error)))
    return found


def _next_layer(opened: Opened, way: Journey, path: Path) -> Openings:
    """Compute the layer after the open one and its heads, so that stepping through the layers does not wait."""
    layer = int(path.open) + 1 if path.open.isdecimal() else way.layers
    if layer >= way.layers:
        return ()
    following = Path(path.token, str(layer))
    return (*_openings(opened, way, following), *_next_openings(opened, way, following))


def _next_openings(opened: Opened, way: Journey, path: Path) -> Sequence[HeadOpening]:
    """Compute what can be opened in the open part; nothing where this model has no such parts."""
    if way.tokens is not None:
        with suppress(UnsupportedModelError):
            options = _options(way.tokens, replace(path, key=None), **{RIBBON.key: option(RIBBON)})
            return next_openings(opened, options).result
    return ()


def take_path() -> None:
    """Write the reader's selection, open parts and change of the run into the address."""
    path, words = chosen_path(DRAWING), browser_message(DRAWING)
    if path is None:
        return
    values = {**dict.fromkeys((QUERY.key, LAYER.key, HEAD.key, KEY.key)), **_values(path)}
    for each in LOOKS:
        value = words.get(each.key)
        values[each.key] = value if value in each.options[1:] else None
    change = words.get(CHANGE.key)
    values[CHANGE.key] = change if isinstance(change, str) and FORMS.fullmatch(change) else None
    values[REMOVED_FOR.key] = REMOVED_FOR.options[1] if words.get("mean") is True else None
    put_all(values)


def path_of(way: Journey) -> Path:
    """Return the selection and open parts in the address, limited to those that this model and text have."""
    count = max(len(way.labels), 1)
    token = _within(QUERY.key, count)
    if token is None:
        token = first_token(way)
    opened = _named_layer(st.query_params.get(LAYER.key, ""), way, token)
    number = whole(opened)
    if opened != EMBEDDINGS and (number is None or number >= way.layers):
        return Path(token)
    head = _within(HEAD.key, way.heads) if opened != EMBEDDINGS else None
    return Path(token, opened, head, None if head is None else _within(KEY.key, count))


def _named_layer(name: str, way: Journey, token: int) -> str:
    """The number of a layer that the address names in words: the middle one, the last, or that which turned most."""
    match name:
        case "middle":
            return str(way.layers // 2)
        case "last":
            return str(way.layers - 1)
        case "most":  # of a model that was not run, the first
            return "0" if way.turn is None else str(np.nan_to_num(way.turn[:, token]).argmax())
    return name


def first_token(way: Journey) -> int:
    """Position of the token that is selected by default: the first that an edit brought, or the longest."""
    if way.turn is not None and np.isnan(way.turn).any():
        return int(np.isnan(way.turn).any(axis=0).argmax())
    return 0 if way.tokens is None else longest_piece(way.tokens)


def _within(name: str, count: int) -> int | None:
    """A number in the address that is below a count; None for anything else."""
    number = whole(st.query_params.get(name))
    return number if number is not None and number < count else None


def option(param: Param) -> str:
    """The option of a parameter that is in the address; the first by default."""
    named = st.query_params.get(param.key, "")
    return named if named in param.options else param.options[0]


def edit_button(name: str) -> None:
    """Show a button that opens a field for the edited text, with which the drawing of a model is compared."""
    text, of = page_text(), f"{EDITED.key}_of"
    if stored(of, text) != text:  # another text: nothing that was typed for the one before is an edit of it
        store(EDITED.key, text)
        store(EDITS, stored(EDITS, 0) + 1)
        if st.query_params.get(CHANGE.key, "").partition("-")[0] in (TEXT, "mask"):  # made for the text before
            put(CHANGE.key, None)
    store(of, text)
    key = f"{EDITS}_{stored(EDITS, 0)}"
    label = "Compare with an edited text"
    with (
        st.popover(label, type="tertiary", icon=":material/edit:", key=key, on_change="rerun"),
        st.form(f"{key}_form", border=False),
    ):
        st.text_area("The edited text", stored(EDITED.key, text), key=f"{key}_text", height=68, help=EDIT_HELP)
        st.form_submit_button("Compare", on_click=_compare, args=(name, f"{key}_text"))


def _compare(name: str, field: str) -> None:
    edit, text, shown = str(stored(field) or ""), page_text(), stored(SHOWN)
    store(EDITED.key, edit)
    if edit != text or st.query_params.get(CHANGE.key) == TEXT:  # an unchanged text undoes no other change
        put(CHANGE.key, TEXT if edit != text else None)
    if shown is not None:
        token = whole(st.query_params.get(QUERY.key))
        try:
            after = SharedModel(name).tokens(edit or text, shown.pair)
            put(QUERY.key, _followed(shown, longest_piece(shown) if token is None else token, after))
            store(SHOWN, after)
        except BertvizError:  # which the drawing shows
            put(QUERY.key, None)
    store(EDITS, stored(EDITS, 0) + 1)


def _followed(before: Tokens, token: int, after: Tokens) -> str | None:
    """Position of a token after an edit; if it is gone that of the first new token, None if there is none."""
    unchanged = unchanged_positions(before, after)
    fresh = set(range(len(after))) - set(unchanged.values())
    return str(unchanged[token]) if token in unchanged else str(min(fresh)) if fresh else None


def change_values() -> dict[str, str]:
    """The change in the address and its edited text, as values of parameters; {} for none."""
    named = {param.key: st.query_params.get(param.key, "") for param in (CHANGE, REMOVED_FOR)}
    if named[CHANGE.key] == TEXT:
        named[EDITED.key] = str(stored(EDITED.key) or "")
    return {key: value for key, value in named.items() if value} if named[CHANGE.key] else {}


def page_change(opened: SharedModel, way: Journey) -> DrawnChange | None:
    """Run the text with the change in the address; None if it has none, or if the model was not run.

    A change that is not possible is refused in one sentence, and the drawing stays.
    """
    values = change_values()
    if not values or way.missing or way.tokens is None:
        return None
    with st.spinner("Running the model with the change"):
        return changed_or_refused(opened, _options(way.tokens, None, **values))


def with_change(
    opened: SharedModel, target: Options | None, ending: Ending | None, change: DrawnChange | None
) -> Ending | None:
    """Add the number in the changed run to the end of the drawing; if it cannot be computed, a caption says why."""
    if target is None or ending is None or change is None or change.both is None:
        return ending
    if change.both.origin is not None:
        ending = replace(ending, tokens=None)  # of the tokens before
    try:
        changed = changed_number(opened, replace(target, values={**target.values, **change_values()}))
    except BertvizError as error:
        st.caption(escape_markdown(str(error)))
        return ending
    return replace(ending, changed=changed.result)
