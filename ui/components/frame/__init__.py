"""Components around every page: navigation, glossary, widths, kept texts, presenter, links to share, saved pictures."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import streamlit as st

from bertviz_core.figures.base import export
from bertviz_core.figures.base.style import FAMILY, FONT, TITLE_SIZE, TITLE_TOP, WIDE, WIDTHS, Theme, width_class
from bertviz_core.figures.pages import ENTRIES, FIRST, PAGES
from ui.components import component, file_text
from ui.session import PRESENT, TEXT_STORE, WINDOW_WIDTH, stored

_text = partial(file_text, __file__)

ARRIVE, LINK, EXACT = "arrive", "link", "exact"
"""Parameter of a page that is being opened, and two of its values: LINK keeps the session's choices, EXACT belongs to a
complete address. Any other value is the query with which the view was left."""
CARRIED = ("model", PRESENT)
"""Names that a link to a page copies from the address; a link to a view copies all."""
HISTORY_JS = f'const ARRIVE = "{ARRIVE}", LINK = "{LINK}", EXACT = "{EXACT}";\n' + _text("history.js")
"""Functions of links in the browser: `stamp`, `tell`, `follow`, `later` and `root`."""
_navigation = component(
    "navigation", html="<nav></nav>", css=_text("navigation.css"), js=HISTORY_JS + _text("navigation.js")
)


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link to a page."""

    label: str
    address: str
    """Path below the dashboard's own address, and query; "" for the first page."""
    icon: str
    """Name of a Material Symbol."""
    current: bool = False


def page_links(
    groups: Sequence[tuple[str, Sequence[PageLink]]],
    key: str,
    again: str = "",
    label: str = "Pages",
    width: Literal["stretch", "content"] = "stretch",
) -> None:
    """Show links to pages in groups; the browser at once opens the query `again` of the current page, "" for none."""
    shown = [{"name": name, "links": [asdict(link) for link in links]} for name, links in groups]
    data = {"groups": shown, "again": again, "carried": list(CARRIED), "label": label}
    if again:
        data["asked"] = uuid4().hex  # the component runs where its data is new
    _navigation(key=key, data=data, width=width, height="content")


def view_links(views: Sequence[str], current: str, name: str, key: str) -> None:
    """Show links to the views of a page; `name` is that of the view in the address."""
    data = {"views": list(views), "current": current, "name": name, "carried": list(CARRIED)}
    _navigation(key=key, data=data, height="content")


PAGE_WIDTH = "page_width"
"""Key of the component; its stylesheet makes it take no space."""
_page_width = component(PAGE_WIDTH, html='<div class="images"></div>', js=_text("page_width.js"))


MOST_PIXELS = 10_000
"""Steps of a window's height in pixels."""
MARGINS, PHONE_MARGINS, SIDEBAR = 80, 32, 300
"""Pixels beside the figures, on a phone, and of the sidebar."""
FOLDED, PHONE = 768, 640
"""Windows narrower than these have a folded sidebar and narrow margins, respectively (see ui/server/frame.css)."""


def page_width(tall: bool = False, enlarged: float = 1.0) -> int:
    """The page's width, one of WIDTHS, derived from the window's width until the browser reports another.

    The browser reports only a different width, or one that changes with the window or the sidebar, so that no page
    runs twice; `tall`: also the height for a figure that fills the window. The page has room for narrower figures where
    they are enlarged.
    """
    usual = first_width(str(st.context.cookies.get(WINDOW_WIDTH, "")))
    state = _page_width(
        key=PAGE_WIDTH,
        data={"widths": list(WIDTHS), "usual": usual, "tall": tall, "enlarged": enlarged},
        default={"pixels": None, "height": None, "theme": None},
        on_pixels_change=lambda: None,
        on_height_change=lambda: None,
        on_theme_change=lambda: None,
        height="content",
    )
    return state.pixels if state.pixels in WIDTHS else usual


def window_height() -> int:
    """The height in pixels for a figure that fills the window; 0 before the browser has reported it."""
    height = getattr(stored(PAGE_WIDTH), "height", None)
    return height if isinstance(height, int) and 0 < height <= MOST_PIXELS else 0


def first_width(window: str) -> int:
    """The width for figures, one of WIDTHS, for the window width in a cookie; that of a desktop without a cookie."""
    if not (window.isascii() and window.isdigit() and len(window) < 6):
        return WIDE
    pixels = int(window)
    beside = (PHONE_MARGINS if pixels <= PHONE else MARGINS) + (SIDEBAR if pixels >= FOLDED else 0)
    return width_class(pixels - beside)


TAB_TEXTS, FOUND_TEXTS = "tab_texts", "found"
MOST_CHARACTERS = 1_000_000
"""Most characters of all texts together; browsers store about five times as many."""
_tab_texts = component("tab_texts", html="<span></span>", js=f'const NAME = "{TEXT_STORE}";\n' + _text("tab_texts.js"))


def store_tab_texts(texts: Mapping[str, str], visit: str, take: Callable[[], None]) -> None:
    """Store texts in the browser by the keys of their fields, after it has sent those of an earlier session."""
    total = sum(map(len, texts.values()))
    data = {"texts": dict(texts) if total <= MOST_CHARACTERS else None, "visit": visit, "always_answer": False}
    _tab_texts(key=TAB_TEXTS, data=data, on_found_change=take, height="content")


def request_tab_texts(visit: str, take: Callable[[], None]) -> None:
    """Ask the browser for its texts without storing any; it always answers, so that the script runs again."""
    _tab_texts(
        key=TAB_TEXTS,
        data={"texts": None, "visit": visit, "always_answer": True},
        on_found_change=take,
        height="content",
    )


def found_texts(state: Any) -> dict[str, str]:
    """The texts in a state of the component; none where it is malformed."""
    found = (state or {}).get(FOUND_TEXTS)
    if not isinstance(found, dict) or len(found) > 20:
        return {}
    return {name: text for name, text in found.items() if isinstance(text, str) and len(text) <= MOST_CHARACTERS}


OTHER_SENSE = {
    "checkpoint": ("head", "position"),
    "predictions": ("head",),
    "representations": ("component",),
    "sentences": ("component", "embedding", "position"),
}
"""Page -> words of the glossary that have another meaning there, such as a task's head or a principal component."""

WORDS = json.dumps([{"word": each.word, "meaning": each.meaning, "forms": each.forms} for each in ENTRIES])
_glossary = component(
    "glossary",
    html='<button class="glossary-open" type="button">Glossary</button><div class="glossary-list" popover>'
    '<input class="glossary-search" type="search" aria-label="Search the glossary" placeholder="Search" />'
    '<p class="glossary-count" role="status"></p><div class="glossary-found"></div></div>'
    '<div class="glossary-meaning" popover="manual" role="tooltip"></div>',
    css=_text("glossary.css"),
    js=f"const WORDS = {WORDS};\n" + _text("glossary.js"),
    isolate_styles=False,  # it marks words outside of the component
)


def glossary(here: str) -> None:
    """Show the button that opens the list, and mark the words on the page."""
    data = {"unlike": list(OTHER_SENSE.get(here, ()))}
    _glossary(key="glossary_words", data=data, width="content", height="content")


PRESENTER = "presenter"
"""Key of the frame's container."""
LARGER = 1.3
"""How many times a figure is enlarged at 1280 x 720, so that its usual text has 18 pixels; the same in presenter.js."""
PAGE = Path(__file__).with_name("page.css")
"""Stylesheet of a page in the frame."""
_presenter = component(
    "presenter",
    html="<p hidden><kbd>←</kbd> <kbd>→</kbd> <span></span></p>"
    '<a href="#" role="button" aria-keyshortcuts="Escape">Leave <kbd>Esc</kbd></a>',
    css=_text("presenter.css"),
    js=f'const PRESENT = "{PRESENT}";\n{HISTORY_JS}' + _text("presenter.js"),
)


def presenter() -> None:
    """Show the way out of the presenter's frame, and one picture as large as fits."""
    st.html(PAGE)
    with st.container(key=PRESENTER):
        _presenter(key="presenter_way_out", height="content", width="content")


_FIELDS = (
    '<div class="share"><label>Link to this view<input readonly spellcheck="false"></label>'
    '<button type="button">Copy</button></div>'
    '<div class="share"><label>Code of a frame with this view<input readonly spellcheck="false"></label>'
    '<button type="button" aria-label="Copy the code">Copy</button></div>'
    '<div class="share"><label>Code of a frame with the figure alone<input readonly spellcheck="false"></label>'
    '<button type="button" aria-label="Copy the code of the figure">Copy</button></div>'
    '<div class="share"><label>Badge for a model card, in Markdown<input readonly spellcheck="false"></label>'
    '<button type="button" aria-label="Copy the badge">Copy</button></div><p role="status"></p>'
)
_LINK_CSS = """
a { font-size: 0.875rem; line-height: 2.5rem; color: var(--st-link-color); white-space: nowrap; }
a:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; border-radius: 2px; }
"""
_ADDRESS_JS = _text("address.js")
_fields = component("share_link", html=_FIELDS, css=_text("share_link.css"), js=_ADDRESS_JS + _text("share_link.js"))
_link = component(
    "whole_view",
    html='<a target="_blank" rel="noopener">Open in Inside BERT ↗</a>',
    css=_LINK_CSS,
    js=_ADDRESS_JS + _text("whole_view.js"),
)


def share_link(carried: Sequence[tuple[str, str]], title: str, model: str, key: str) -> None:
    """Show the link, the HTML of frames with the view and with its figure only, and the badge of the model.

    Each has a button to copy it.
    """
    data = {"carried": [list(each) for each in carried], "title": title, "model": model}
    _fields(key=key, data=data, height="content")


def whole_view_link(carried: Sequence[tuple[str, str]], key: str) -> None:
    """Show a link from a frame to the view in a window of its own."""
    _link(key=key, data={"carried": [list(each) for each in carried]}, width="content", height="content")


_BUTTONS_CSS = """
div { display: flex; gap: 0.5rem; }
button {
  font: inherit; font-size: 0.875rem; line-height: 1.6; min-height: 2.5rem; padding: 0.25rem 0.75rem; cursor: pointer;
  color: var(--st-text-color); background: var(--st-background-color);
  border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius, 0.5rem);
}
button:hover, button:focus-visible {
  border-color: var(--st-primary-color); color: var(--st-primary-color); outline: none;
}
button:focus-visible { box-shadow: 0 0 0 2px var(--st-primary-color); }
"""
IMAGES: Mapping[str, str] = {"PNG": "png", "SVG": "svg"}
"""Label of a button -> format of the image that it saves."""
_figure_download = component(
    "figure_download", html='<div class="images"></div>', css=_BUTTONS_CSS, js=_text("figure_download.js")
)


def figure_download(
    chart_key: str,
    filename: str,
    title: str,
    caption: export.Caption,
    theme: Theme,
    alt: str = "",
    again: Any = None,
    look: dict[str, Any] | None = None,
    medium: str = "",
    formats: Mapping[str, str] = IMAGES,
    width: int = 0,
) -> None:
    """Show the buttons of a chart's images; `formats` has their labels.

    Without the figure `again`, in the theme of the files, the chart is saved as it is on the page; a component that
    draws its own file (on "attention:draw") has a `look`. The medium is "slide", "column", or "" for the size of the
    page.
    """
    drawn = width or export.MEDIA.get(medium, export.WIDTH)
    sizes: dict[str, Any] = {
        "letters": export.CAPTION_SIZE,
        "line": export.LINE,
        "edge": export.EDGE,
        "scale": export.SCALE,
        "png": export.LEAST,
    }
    sizes |= {
        "heading": export.HEADING_SIZE,
        "high": export.HEADING_LINE,
        "slide": export.SLIDE_PIXELS,
        "wide": export.MEDIA[export.SLIDE],
        "most": export.MOST_HIGH,
        "title": TITLE_SIZE,
        "above": TITLE_TOP,
        "column": export.COLUMN_MM,
    }
    data = {
        "chart": chart_key,
        "filename": filename,
        "title": title,
        "caption": export.one_line(caption, drawn - 2 * export.EDGE),
        "medium": medium,
        "alt": alt,
        "figure": again.to_json() if again is not None else None,
        "look": look,
        "theme": theme.name if again is not None else "",
        "paper": theme.paper,
        "text": theme.text,
        "muted": theme.muted,
        "font": FONT,
        "family": FAMILY,
        "width": drawn,
        "formats": dict(formats),
        "least": WIDE,
        "sizes": sizes,
        "selection": export.SELECTION,
    }
    _figure_download(key=f"{chart_key}_images{medium and f'_{medium}'}", data=data, width="content", height="content")


JOURNEY = "journey"
"""Name of the page."""
PLACES_JS = _text("places.js")
_JOURNEY_CSS = """
a {
  display: inline-flex; align-items: center; gap: 0.3rem; color: var(--st-link-color); font-family: var(--st-font);
  font-size: 0.9rem; line-height: 2rem; white-space: nowrap; text-decoration: none;
}
a:hover { text-decoration: underline; }
a:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; border-radius: 2px; }
span { font-family: "Material Symbols Rounded"; font-size: 1.1rem; width: 1.1rem; overflow: hidden; user-select: none; }
@media (max-width: 640px), (pointer: coarse) { a { line-height: 2.75rem; } }
@media print { a { display: none; } }
"""
_journey_link = component(
    "show_in_journey",
    html=f'<a><span aria-hidden="true">{PAGES[JOURNEY].icon}</span>Show in Journey</a>',
    css=_JOURNEY_CSS,
    js=HISTORY_JS + PLACES_JS + _text("show.js"),
)


def show_link(place: Mapping[str, str], **more: Sequence[Any]) -> None:
    """Show the link to the Journey as it was `left`; `place` names a field of its selection in its address.

    What it opens is that of one of the `views` of the page, with the values that the page has of the names `shared`.
    """
    data = {"page": "" if JOURNEY == FIRST else JOURNEY, "place": dict(place), **more}
    _journey_link(key="show_in_journey", data=data, width="content", height="content")


_BARS = (("pooler", 2), ("feed_forward", 9), ("attention", 16), ("embeddings", 23))


def mark(theme: Theme) -> str:
    """The logo without the name, as SVG, for the browser's tab and the folded sidebar."""
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" width="64" height="64">{_bars(theme)}</svg>'


def logo(theme: Theme) -> str:
    """The logo with the name, as SVG."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 150 32" width="300" height="64">{_bars(theme)}'
        f'<text x="40" y="23" font-family="Helvetica, Arial, sans-serif" font-size="19" font-weight="600" '
        f'fill="{theme.text}">Inside BERT</text></svg>'
    )


def _bars(theme: Theme) -> str:
    return "".join(
        f'<rect x="2" y="{top}" width="28" height="6" rx="2" fill="{theme.colours[name]}"/>' for name, top in _BARS
    )
