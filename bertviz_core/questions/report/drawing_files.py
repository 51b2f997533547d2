"""Write drawings that code in a page makes, such as a journey, to files: as HTML, or by a local Chrome or Chromium."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bertviz_core.figures.base.export import FONT_FILE, MEDIA, SLIDE, WIDTH, Caption, captioned_svg
from bertviz_core.figures.base.style import FAMILY, FONT, Theme
from bertviz_core.questions.report.figure_files import Renderer, browser, by_browser, image_of, sent

WIDE, HEIGHT = 1000, 900
"""Pixels of the window in which a drawing is made by default."""
MARGINS, PADDING = 24, 32
"""Pixels at both sides of a saved drawing, and of the page that it is drawn on."""
PICTURE = """async ({ family, font, file, slide }) => {
  const bytes = Uint8Array.from(atob(file), (letter) => letter.charCodeAt(0));
  document.fonts.add(await new FontFace(family, bytes, { weight: "200 900" }).load());
  while (!document.picture) await new Promise((done) => setTimeout(done, 20));
  const caption = document.querySelector("body > p").textContent;
  return { svg: document.picture(font, slide), title: document.title, caption };
}"""
"""Asks a page of `bertviz_core.figures.base.export.offline_page` for its drawing, once the typeface is there."""


@dataclass(frozen=True, slots=True)
class PageDrawing:
    """The drawing of a page."""

    svg: str
    """The current drawing, which names the typeface but does not contain it."""
    title: str
    caption: str
    """The text below it on its page."""

    def captioned(self, theme: Theme, below: Caption | None = None, medium: str = "") -> str:
        """The drawing with its typeface and its texts inside, as figures have them.

        Args:
            below: its caption; None for that of its page.
        """
        words = Caption(self.caption, ()) if below is None else below
        return captioned_svg(self.svg, self.title, words, theme, self.caption, medium, MEDIA.get(medium, WIDTH))


def drawing_content(
    ending: str, page: str, width: int, theme: Theme, medium: str = "", below: Caption | None = None
) -> bytes:
    """Content of a file with the drawing; an image has the model, its revision and the text below it.

    Args:
        ending: ".html", ".svg", ".png" or ".pdf".
        page: the drawing as an HTML page.
        width: width of the drawing in pixels; that of a PNG is twice as large, at least LEAST.
        medium: "slide" or "column", whose size an image has; "" for that of the drawing.
        below: caption of an image; None for that of the page.
    """
    if ending == ".html":
        return page.encode("utf-8", "replace")

    async def content() -> bytes:
        async with browser() as started:
            drawing = await page_drawing(started, page, width, medium == SLIDE)
            svg = drawing.captioned(theme, below, medium)
            return await image_of(started, ending, svg, theme, drawing.caption, medium)

    return by_browser(ending, content)


async def page_drawing(started: Renderer, page: str, width: int = WIDE, slide: bool = False) -> PageDrawing:
    """Open a page in a browser, and return its drawing.

    Args:
        started: a browser, of `figure_files.browser`.
        page: a page of `bertviz_core.figures.base.export.offline_page`.
        width: pixels of the window.
        slide: whether the drawing, where it can, takes the shape of a slide.
    """
    with TemporaryDirectory() as folder:
        file = Path(folder) / "drawing.html"
        file.write_bytes(page.encode("utf-8", "replace"))
        tab = await started.create_tab("about:blank")
        try:
            size = {"width": width + PADDING - MARGINS, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
            await sent(tab, "Emulation.setDeviceMetricsOverride", size)
            await sent(tab, "Emulation.setScrollbarsHidden", {"hidden": True})
            await sent(tab, "Page.navigate", {"url": file.as_uri()})
            typeface = base64.b64encode(FONT_FILE.read_bytes()).decode("ascii")
            arguments = json.dumps({"family": FAMILY, "font": FONT, "file": typeface, "slide": slide})
            call = {"expression": f"({PICTURE})({arguments})", "awaitPromise": True, "returnByValue": True}
            answer = await sent(tab, "Runtime.evaluate", call)
            drawn = answer["result"].get("value") or {}
            if not drawn.get("svg"):
                raise RuntimeError(str(answer.get("exceptionDetails", "the page has no drawing")))
            return PageDrawing(drawn["svg"], drawn["title"], drawn["caption"])
        finally:
            await started.close_tab(tab.target_id)
