"""Write the drawing of a journey to a file: as HTML, or rendered by a local Chrome or Chromium."""

import asyncio
import base64
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bertviz_core.questions.report.image_files import by_browser

HEIGHT, SCALE, SECONDS = 900, 2, 60
MARGINS, PADDING = 24, 32
"""Pixels at both sides of a saved drawing, and of the page that it is drawn on."""
DRAWN = """new Promise((done) => {
  const look = () => {
    if (!document.querySelector(".journey svg")) return requestAnimationFrame(look);
    const svg = document.querySelector(".journey").view.captioned();
    Object.assign(document.body.style, { margin: 0, padding: 0, maxWidth: "none" });
    document.body.replaceChildren(svg);
    const { x, y, width, height } = svg.getBoundingClientRect();
    done({ svg: new XMLSerializer().serializeToString(svg), x, y, width, height });
  };
  look();
})"""


def drawing_content(ending: str, page: str, width: int) -> bytes:
    """Content of a file with the drawing; an image has the model, its revision and the text below it.

    Args:
        ending: ".html", ".svg" or ".png".
        page: the drawing as an HTML page.
        width: width of the drawing in pixels; that of a PNG is twice as large.

    Raises:
        BertvizError: PNG and SVG need a browser, and there is none or it fails.
    """
    if ending == ".html":
        return page.encode("utf-8", "replace")
    return by_browser(ending, lambda: asyncio.wait_for(_shown(ending, page, width), SECONDS))


async def _shown(ending: str, page: str, width: int) -> bytes:
    from choreographer import Browser

    with TemporaryDirectory() as folder:
        file = Path(folder) / "journey.html"
        file.write_text(page, encoding="utf-8")
        async with Browser() as browser:
            tab = await browser.create_tab("about:blank")
            size = {"width": width + PADDING - MARGINS, "height": HEIGHT, "deviceScaleFactor": SCALE, "mobile": False}
            await _sent(tab, "Emulation.setDeviceMetricsOverride", size)
            await _sent(tab, "Page.navigate", {"url": file.as_uri()})
            words = {"expression": DRAWN, "awaitPromise": True, "returnByValue": True}
            drawn = (await _sent(tab, "Runtime.evaluate", words))["result"]["value"]
            if ending == ".svg":
                return str(drawn["svg"]).encode("utf-8", "replace")
            clip = {side: drawn[side] for side in ("x", "y", "width", "height")} | {"scale": 1}
            shot = {"format": "png", "clip": clip, "captureBeyondViewport": True}
            return base64.b64decode((await _sent(tab, "Page.captureScreenshot", shot))["data"])


async def _sent(tab: Any, command: str, params: dict[str, Any]) -> Any:
    """Send a command to the browser and return its answer; raises RuntimeError if it returns an error."""
    answer = await tab.send_command(command, params=params)
    if "result" not in answer:
        raise RuntimeError(str(answer.get("error", answer)))
    return answer["result"]
