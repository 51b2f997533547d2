"""Write a figure to a file: HTML directly, SVG and PNG with a local Chrome or Chromium."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from bertviz_core.errors import BertvizError, TextError
from bertviz_core.figures.base.caption import Caption
from bertviz_core.figures.base.export import (
    SLIDE,
    captioned_svg,
    described_png,
    description,
    for_medium,
    framed,
    png_scale,
    standalone_html,
    without_selection,
)
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import Theme
from bertviz_core.lazy_imports import optional
from bertviz_core.text import escape_controls

Drawn = TypeVar("Drawn")
Renderer = Any
"""The browser of `browser`."""
ENDINGS = (".png", ".svg", ".html")
SECONDS = 90
NOWHERE = "127.0.0.1:9"
"""Proxy for requests of the browser, an address where no server listens."""
NO_BROWSER = (
    "A {ending} file is drawn by Chrome or Chromium, and there is none on the PATH or at BROWSER_PATH: install one, "
    "such as the package chromium, or write an .html file, which needs no browser."
)


def check_file(out: Path) -> None:
    """Check the name of an output file before a model is run.

    Raises:
        TextError: the suffix is not supported, or the folder does not exist.
    """
    if out.suffix.lower() not in ENDINGS:
        raise TextError(
            f"{escape_controls(out.name)!r} has no ending that is written; name a file {', '.join(ENDINGS)}."
        )
    if not out.absolute().parent.is_dir():
        raise TextError(f"There is no folder {escape_controls(str(out.parent))!r}; make it first.")


def file_content(
    ending: str,
    picture: "FigureSpec",
    caption: "Caption",
    theme: "Theme",
    width: int,
    height: int | None = None,
    medium: str = "",
) -> bytes:
    """Content of a file with a figure and, below it, its caption.

    Args:
        ending: one of ENDINGS.
        picture: the figure.
        caption: its caption.
        theme: colours and typeface.
        width: width of the figure in pixels; that of a PNG is twice as large, at least LEAST.
        height: height of the figure without the caption; defaults to that of the figure.
        medium: "slide" or "column", whose size an image has; "" for the size of the figure.

    Raises:
        BertvizError: PNG and SVG need a browser, and there is none or it fails.
    """
    figure = without_selection(picture.drawn(theme))
    if height is not None:
        figure.update_layout(height=height)
    if ending == ".html":
        return standalone_html(figure, picture.title, caption, theme, picture.alt).encode("utf-8", "replace")
    figure.update_layout(width=width)
    return by_browser(ending, lambda: _drawn(ending, picture, caption, theme, figure, medium))


def by_browser(ending: str, draw: Callable[[], Coroutine[Any, Any, Drawn]]) -> Drawn:
    """What a browser draws: the content of a file, or several.

    Args:
        ending: ending of the file, for messages.
        draw: gives the coroutine that draws it, which runs in a thread of its own: a caller that has an event loop,
            such as a notebook, cannot start another one in its thread.

    Raises:
        BertvizError: there is no browser, or it fails.
    """
    with optional("images", "kaleido", f"A {ending} file", "An .html file needs no more."):
        from kaleido.errors import ChromeNotFoundError, KaleidoError
    try:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: asyncio.run(draw())).result()
    except ChromeNotFoundError as error:
        raise BertvizError(NO_BROWSER.format(ending=ending)) from error
    except (KaleidoError, TimeoutError, OSError, RuntimeError) as error:
        detail = escape_controls(" ".join(str(error).split())[:200]) or type(error).__name__
        raise BertvizError(
            f"The browser that draws {ending} files failed ({detail}); try again, or write an .html file."
        ) from error


async def _drawn(
    ending: str, picture: "FigureSpec", caption: "Caption", theme: "Theme", figure: Any, medium: str
) -> bytes:
    async with browser() as started:
        return await image_content(started, ending, picture, caption, theme, figure, medium)


def browser() -> Renderer:
    """A browser that draws figures, to be used as an asynchronous context manager; it makes no request."""
    import kaleido

    page = kaleido.PageGenerator(mathjax=False)
    return kaleido.Kaleido(n=1, timeout=SECONDS, page_generator=page, proxy_server=NOWHERE)


async def image_content(
    started: Renderer,
    ending: str,
    picture: "FigureSpec",
    caption: "Caption",
    theme: "Theme",
    figure: Any,
    medium: str = "",
) -> bytes:
    """Content of an image file with a figure and, below it, its caption.

    Args:
        started: a browser, of `browser`.
        ending: ".svg" or ".png".
        picture: the figure's title and alternative text.
        caption: its caption.
        theme: theme of the figure.
        figure: the drawn figure, whose layout has a width in pixels.
        medium: "slide" or "column", whose size the image has; "" for the size of the figure.
    """
    size = {"width": figure.layout.width, "height": figure.layout.height or 450}
    drawing = await started.calc_fig(figure, opts={"format": "svg", "scale": 1, **size})
    svg = captioned_svg(drawing.decode(), picture.title, caption, theme, picture.alt, medium)
    return await image_of(started, ending, svg, theme, description(picture.alt, caption), medium)


async def image_of(
    started: Renderer, ending: str, svg: str, theme: "Theme", alt: str, medium: str = "", scale: int = 1
) -> bytes:
    """Content of an image file with a captioned drawing.

    Args:
        started: a browser, of `browser`.
        ending: ".svg" or ".png".
        svg: drawing by captioned_svg.
        theme: theme of the drawing.
        alt: text alternative, which a PNG contains.
        medium: "slide" or "column", whose size the image has; "" for the size of the drawing.
        scale: pixels of a PNG for a slide per pixel of the slide.
    """
    if medium and (ending == ".svg" or medium == SLIDE):
        svg = for_medium(svg, medium, theme)
    if ending == ".svg":
        return svg.encode("utf-8", "replace")
    whole, width, height = framed(svg, theme)
    opts = {"format": "png", "scale": scale if medium == SLIDE else png_scale(width), "width": width, "height": height}
    return described_png(await started.calc_fig(whole, opts=opts), alt)
