"""Write a figure to a file: HTML directly, SVG, PNG and PDF with a local Chrome or Chromium."""

import asyncio
import base64
import html
import re
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from bertviz_core.errors import BertvizError, TextError
from bertviz_core.figures.base.export import (
    SLIDE,
    Caption,
    captioned_svg,
    described_png,
    description,
    for_medium,
    framed,
    png_scale,
    slide_room,
    slide_width,
    standalone_html,
    with_static_fonts,
    without_selection,
)
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import Theme
from bertviz_core.lazy_imports import optional
from bertviz_core.tables.typeset import WRITERS
from bertviz_core.text import escape_controls, quoted

Drawn = TypeVar("Drawn")
Renderer = Any
"""The browser of `browser`."""
PPTX = ".pptx"
ENDINGS = (".png", ".svg", ".pdf", PPTX, ".html", *WRITERS)
VECTORS = (".svg", ".pdf")
SECONDS = 90
NOWHERE = "127.0.0.1:9"
"""Proxy for requests of the browser, an address where no server listens."""
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<style>@page {{ size: {size}; margin: 0 }} * {{ margin: 0 }} body {{ height: {height}; overflow: hidden }}
img {{ display: block; width: {width}; height: {height} }}</style></head>
<body><img alt="{alt}" src="data:image/svg+xml;base64,{source}"></body></html>
"""
"""What is printed to a PDF: the drawing alone, as an image, in which no code runs."""
NO_BROWSER = (
    "A {ending} file is drawn by Chrome or Chromium, and there is none on the PATH or at BROWSER_PATH: install one, "
    "such as the package chromium, or write an .html file, which needs no browser."
)


def check_file(out: Path) -> None:
    """Check the name of an output file before a model is run."""
    if out.suffix.lower() not in ENDINGS:
        raise TextError(f"{quoted(out.name)} has no ending that is written; name a file {', '.join(ENDINGS)}.")
    if not out.absolute().parent.is_dir():
        raise TextError(f"There is no folder {quoted(str(out.parent))}; make it first.")


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
        ending: one of ENDINGS but PPTX, which `files.figure_file` writes.
        width: width of the figure in pixels; that of a PNG is twice as large, at least LEAST.
        height: height of the figure without the caption; defaults to that of the figure.
        medium: "slide" or "column", whose size an image has; "" for the size of the figure.
    """
    if ending in WRITERS:
        return WRITERS[ending](picture.frame(), picture.title).encode("utf-8", "replace")
    if medium == SLIDE:
        theme = theme.on_slide(slide_room(picture.title, caption))
    figure = without_selection(picture.drawn(theme))
    if height is not None:
        figure.update_layout(height=height)
    if ending == ".html":
        return standalone_html(figure, picture.title, caption, theme, picture.alt).encode("utf-8", "replace")
    figure.update_layout(width=slide_width(figure, theme.tall) if medium == SLIDE else width)
    return by_browser(ending, lambda: _drawn(ending, picture, caption, theme, figure, medium))


def by_browser(ending: str, draw: Callable[[], Coroutine[Any, Any, Drawn]]) -> Drawn:
    """What a browser draws: the content of a file, or several.

    Args:
        draw: gives the coroutine that draws it, which runs in a thread of its own: a caller that has an event loop,
            such as a notebook, cannot start another one in its thread.
    """
    with _kaleido(ending):
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


def require_browser(ending: str) -> None:
    """Look for a browser, so that a missing one is reported before figures are computed; none is started."""
    with _kaleido(ending):
        from choreographer.browsers import Chromium
    path = Chromium.find_browser(skip_local=False)
    if not path or not Path(path).is_file():
        raise BertvizError(NO_BROWSER.format(ending=ending))


def _kaleido(ending: str) -> AbstractContextManager[None]:
    """For imports of kaleido and of what it brings along."""
    return optional("images", "kaleido", f"A {ending} file", "An .html file needs no more.")


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
        picture: the figure's title and alternative text.
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
        svg: drawing by captioned_svg.
        theme: theme of the drawing.
        alt: text alternative, which a PNG contains.
        medium: "slide" or "column", whose size the image has; "" for the size of the drawing.
        scale: pixels of a PNG for a slide per pixel of the slide.
    """
    if medium and (ending in VECTORS or medium == SLIDE):
        svg = for_medium(svg, medium)
    if ending == ".svg":
        return svg.encode("utf-8", "replace")
    if ending == ".pdf":
        return await _pdf(started, with_static_fonts(svg), alt)
    whole, width, height = framed(svg, theme)
    opts = {"format": "png", "scale": scale if medium == SLIDE else png_scale(width), "width": width, "height": height}
    return described_png(await started.calc_fig(whole, opts=opts), alt)


async def _pdf(started: Renderer, svg: str, alt: str) -> bytes:
    """A PDF of one page, as large as the drawing, which stays a drawing, with its fonts inside."""
    width, height = re.findall(r'(?:width|height)="([\d.]+(?:mm)?)"', svg)[:2]
    sides = [side if side.endswith("mm") else f"{side}px" for side in (width, height)]
    source = base64.b64encode(svg.encode("utf-8", "replace")).decode("ascii")
    page = PAGE.format(
        title=re.findall("<title>(.*?)</title>", svg)[0],
        size=" ".join(sides),
        width=sides[0],
        height=sides[1],
        source=source,
        alt=html.escape(alt),
    )
    tab = await started.create_tab("about:blank")
    try:
        tree = await sent(tab, "Page.getFrameTree", {})
        await sent(tab, "Page.setDocumentContent", {"frameId": tree["frameTree"]["frame"]["id"], "html": page})
        drawn = {"expression": "document.images[0].decode().then(() => true)", "awaitPromise": True}
        await sent(tab, "Runtime.evaluate", drawn)
        settings = {"preferCSSPageSize": True, "printBackground": True, "generateTaggedPDF": True}
        return base64.b64decode((await sent(tab, "Page.printToPDF", settings))["data"])
    finally:
        await started.close_tab(tab.target_id)


async def sent(tab: Any, command: str, params: dict[str, Any]) -> Any:
    """Send a command to a tab of the browser and return its answer."""
    answer = await tab.send_command(command, params=params)
    if "result" not in answer:
        raise RuntimeError(str(answer.get("error", answer)))
    return answer["result"]
