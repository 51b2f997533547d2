"""Files of figures, and their captions."""

import base64
import html
import json
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio
from plotly.offline import get_plotlyjs

from bertviz_core.figures.base.axes import plain, text_width, wrapped
from bertviz_core.figures.base.style import (
    FAMILY,
    FONT,
    TITLE_SIZE,
    TITLE_TOP,
    TITLE_WEIGHT,
    WIDE,
    Theme,
    scale_words,
    spacing,
)
from bertviz_core.text import digits, escape_controls

LONGEST_TEXT, SHORT_TEXT = 120, 60
"""Maximum length of a text in a caption, in characters; the shorter one where it then is a single line."""
HASH = re.compile("[0-9a-f]{40,64}")
CAPTION_SIZE, LINE, EDGE = 14, 20, 16
"""Pixels: font size and line height of a caption, margin around it."""
SPELLED = 2
"""Maximum number of texts quoted in full; of more, the first and their number."""


@dataclass(frozen=True, slots=True)
class Caption:
    """Sources of a figure, as plain text."""

    words: str
    """Description; may be empty."""
    models: tuple[tuple[str, str], ...]
    """(name, revision) of every model; "" for an unknown revision."""
    texts: tuple[str, ...] = ()
    """Texts that the figure depends on."""
    colours: str = ""
    """Unit and range of numeric colours."""
    remark: str = ""
    """What of the texts was not read."""

    @property
    def line(self) -> str:
        """Return the caption as one line."""
        words = spelled(self.words).rstrip(". ")
        named = [
            f"{spelled(name)}, revision {spelled(revision)}" if revision else spelled(name)
            for name, revision in self.models
        ]
        models = f"Model{'s' if len(named) > 1 else ''}: {'; '.join(named)}" if named else ""
        colours = f"Colours: {self.colours}" if self.colours else ""
        parts = (words, models, texts_words(self.texts), self.remark.removesuffix("."), colours)
        return " ".join(part if part.endswith((".”", "?”", "!”")) else f"{part}." for part in parts if part)


NO_LIGATURES = "text{font-variant-ligatures:none}"
"""In a PDF a ligature is one glyph, whose letters a search does not find."""
NO_CAPTION = Caption("", ())
"""Of a picture beside whose title and sources stand as text."""


def one_line(caption: Caption, pixels: float, size: float = CAPTION_SIZE) -> str:
    """The caption in a line of this width, for which revisions, the description and texts are cut in turn.

    Where that is not enough, the texts stay whole and go on in a second line.
    """
    models = tuple((name, revision[:12] if HASH.fullmatch(revision) else revision) for name, revision in caption.models)
    known = replace(caption, models=models)
    bare = replace(known, words="" if known.models or known.texts else known.words)
    cut = replace(bare, texts=tuple(quoted_text(each, SHORT_TEXT)[1:-1] for each in bare.texts))
    lines = (each.line for each in (caption, known, bare, cut))
    return next((line for line in lines if text_width(line, size) <= pixels), bare.line)


def caption_of(
    figure: go.Figure, words: str, models: Sequence[tuple[str, str]], texts: Sequence[str | None] = (), remark: str = ""
) -> Caption:
    """Build the caption of a figure; the colour range is read from the figure.

    The title of the figure and the names of the models are removed from the words; empty texts and None are left out.
    """
    description = _beyond(words, _unescaped(figure.layout.title.text or ""), [name for name, _ in models])
    return Caption(description, tuple(models), tuple(text for text in texts if text), colour_range(figure), remark)


def _beyond(words: str, title: str, models: Sequence[str]) -> str:
    """Remove title and models from a description."""
    bare, end = "".join(title.split()), 0
    for letter in bare:
        end += len(words[end:]) - len(words[end:].lstrip())
        if words[end : end + 1] != letter:
            break
        end += 1
    else:
        if bare and not words[end:]:
            return ""
        if bare and words[end] in ".:;":
            words = words[end:].lstrip(".:; ")
            words = words[:1].upper() + words[1:]
    for name in models:
        words = re.sub(rf" — {re.escape(name)}(?=[.,:;]?(?:\s|$))", "", words)
    return words


def colour_range(figure: go.Figure) -> str:
    """Return the range of every colour scale of a figure, "cosine, −1 to 1"; "" without one."""
    ranges = [
        scale_words(" ".join(_unescaped(unit).split()), low, high, how) for unit, low, high, how in _scales(figure)
    ]
    return "; ".join(dict.fromkeys(ranges))


def spelled(text: str) -> str:
    """Format user text on one line, with unprintable characters escaped."""
    return escape_controls(" ".join(text.split()))


def texts_words(texts: Sequence[str]) -> str:
    """Format the texts of a figure, 'Text: “...”'; "" if it depends on none."""
    if not texts:
        return ""
    if len(texts) > SPELLED:
        return f"{len(texts):,} texts, the first {quoted_text(texts[0])}"
    return f"Text{'s' if len(texts) > 1 else ''}: {' and '.join(map(quoted_text, texts))}"


def quoted_text(text: str, longest: int = LONGEST_TEXT) -> str:
    """A text in quotation marks on one line; a long one is cut, behind a word where one ends in its second half."""
    text = spelled(text)
    if len(text) > longest:
        word_end = text.rfind(" ", longest // 2, longest)
        text = text[: longest - 1 if word_end < 0 else word_end].rstrip() + "…"
    return f"“{text}”"


def _scales(figure: go.Figure) -> Iterator[tuple[str, str, str, str]]:
    """Yield (unit, low, high, spacing) of every visible colour bar."""
    layout = figure.layout.to_plotly_json()
    for name, axis in layout.items():
        if name.startswith("coloraxis") and axis.get("colorbar"):
            yield _ends(axis["colorbar"], axis.get("cmin"), axis.get("cmax"), None)
    for trace in figure.data:
        if "colorbar" in trace and _shows(trace):
            yield _ends(trace.colorbar.to_plotly_json(), trace.zmin, trace.zmax, trace.z)
        elif "marker" in trace and "colorbar" in trace.marker and _shows(trace.marker):
            marker = trace.marker
            yield _ends(marker.colorbar.to_plotly_json(), marker.cmin, marker.cmax, marker.color)


def _shows(scale: Any) -> bool:
    return bool(scale.colorbar.to_plotly_json()) and scale.showscale is not False


def _ends(bar: dict[str, Any], low: float | None, high: float | None, values: Any) -> tuple[str, str, str, str]:
    """Return the ends of a scale, from the ticks of its bar or as numbers."""
    title = bar.get("title") or {}
    unit = ((title.get("text") if isinstance(title, dict) else str(title)) or "value").strip()
    ticks = bar.get("ticktext")
    if ticks is not None and len(ticks) > 1:
        first, last, how = _ends_of_ticks(ticks, bar.get("tickvals"), low, high)
        return unit.removesuffix(f", {how}"), first, last, how
    if (low is None or high is None) and values is not None:
        numbers = np.asarray(values, dtype=np.float64)
        low = float(np.nanmin(numbers)) if low is None else low
        high = float(np.nanmax(numbers)) if high is None else high
    return unit, _end(low), _end(high), ""


def _ends_of_ticks(words: Sequence[str], places: Any, low: float | None, high: float | None) -> tuple[str, str, str]:
    """Return the ends of a bar from its tick labels, which may be inside the range and may not be numbers."""
    first, last = _minus(words[0]), _minus(words[-1])
    if low is None or high is None or places is None or places[0] == places[-1]:
        return first, last, ""
    if spaced := spacing(words, places):
        how, number = spaced
        return _end(number(low)), _end(number(high)), how
    if np.allclose(sorted((places[0], places[-1])), (low, high), rtol=0, atol=1e-6 * (high - low)):
        return first, last, ""
    return f"less than {first}", f"more than {last}", ""  # uneven ticks do not determine the ends


def _end(number: float | None) -> str:
    if number is None:
        return "?"
    return _minus(f"{number:,.0f}") if 1000 <= abs(number) < 1e9 else digits(number)


def _minus(number: str) -> str:
    return str(number).replace("-", "−")


def _unescaped(text: str) -> str:
    """Return the visible text of a label; W<sub>q</sub> becomes W_q."""
    return plain(text.replace("<sub>", "_").replace("<br>", " ").replace("\u2068", "").replace("\u2069", ""))


HEADING_SIZE, HEADING_LINE = 20, 28
"""Pixels: font size and line height of the title of a file."""
MOST_HIGH = 0.75
"""Most height of a drawing that fills a width, as a share of it."""
FONT_FILE = Path(__file__).with_name("fonts") / "source_sans.woff2"
STATIC_FONTS = {"200 500": "inside_sans_400.woff2", "501 900": "inside_sans_600.woff2"}
"""Weights -> the same typeface in one weight: of a variable one Chrome writes Type 3 fonts to a PDF, which publishers
refuse, and of these TrueType fonts."""
WIDTH, SCALE, LEAST = 1000, 2, 1600
"""Default width of a figure, pixels of a PNG per pixel of the figure, minimum width of a PNG."""
SLIDE, COLUMN = "slide", "column"
MEDIA = {SLIDE: WIDTH, COLUMN: 480}
"""Medium of a file -> width of its figure in pixels."""
SLIDE_PIXELS = 1600, 900
DECK_WIDE, DECK_HIGH, DECK_NOTED = 12 + 1 / 3, 5.25, 4.5
"""Inches: width of a picture on a slide of a PPTX file, and its height without and with a note above it."""
COLUMN_MM = 85
"""Millimetres: width of a column of a paper; the smallest text, of 14 pixels, is then 7 points high."""
SELECTION = "selection"
"""Name of shapes and meta of traces that mark a selection on the page; files omit them."""


OFFLINE_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<style>{style}</style></head>
<body><h1>{title}</h1>
{view}
<p>{caption}</p>
<script type="text/plain" id="data">{data}</script>
<script type="module">{script}</script>
</body></html>
"""
OFFLINE_STYLE = """
body {{ max-width: 1280px; margin: 16px auto; padding: 0 16px; color: {text}; background: {paper};
  font-family: "Source Sans", "Helvetica Neue", Arial, sans-serif; }}
h1 {{ font-size: 20px; font-weight: 600; margin: 0 0 12px; }}
p {{ color: {muted}; }}
"""


def offline_page(payload: bytes, view: str, style: str, script: str, title: str, caption: str) -> str:
    """Build one HTML page with the drawing of a message; it makes no request.

    The script defines `startAlone()`, which also sets `document.picture`: `document.picture(font, slide)` returns the
    current drawing as SVG. The message begins with the length of its header in four bytes; the header as JSON with the
    colours as `look`; the numbers follow.

    The message is embedded as base64, so that no token of a text is read as markup, and the content security policy of
    the page allows only its own code and style.
    """
    length = int.from_bytes(payload[:4], "little")
    look = json.loads(payload[4 : 4 + length])["look"]
    sheet = font_face() + style + OFFLINE_STYLE.format(text=look["text"], paper=look["paper"], muted=look["muted"])
    code = f"{script}\ndocument.fonts.load(\"16px 'Source Sans'\").finally(startAlone);"  # which measures words
    policy = (
        f"default-src 'none'; script-src '{_digest(code)}'; style-src '{_digest(sheet)}'; img-src data:; "
        "font-src data:; base-uri 'none'; form-action 'none'"
    )
    return OFFLINE_PAGE.format(
        title=html.escape(title),
        caption=html.escape(caption),
        policy=policy,
        style=sheet,
        view=view,
        data=base64.b64encode(payload).decode("ascii"),
        script=code,
    )


def packed(header: Mapping[str, Any], arrays: Iterable[np.ndarray]) -> bytes:
    """A message for the browser: u32 length of the header, JSON header, then raw arrays."""
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
    return b"".join([struct.pack("<I", len(text)), text, *(np.ascontiguousarray(each).tobytes() for each in arrays)])


def notebook_module(draw: str, view: str, style: str, script: str, looks: Mapping[str, Mapping[str, Any]]) -> str:
    """Build the module of JavaScript that draws in a notebook, as anywidget loads it.

    Args:
        draw: name of the script's function that draws a message.
        looks: colours of the drawing in the themes "light" and "dark".
    """
    host = without_comments(Path(__file__).with_name("notebook.js"))
    constants = ", ".join(json.dumps(each) for each in (view, style, looks))
    return f"{script}\n{host}\nexport default inNotebook({draw}, {constants});\n"


def without_comments(file: Path) -> str:
    """Return a JavaScript or CSS file without indentation and comment lines, since it is sent with every message."""
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}"


def figure_json(figure: go.Figure) -> bytes:
    """The figure as JSON for plotly.js."""
    return (pio.to_json(figure, validate=False) or "").encode("utf-8", "replace")


def plotly_module() -> bytes:
    """The script of plotly's package as a module of JavaScript."""
    return f"const module = {{ exports: {{}} }};\n{get_plotlyjs()}\nexport default module.exports;\n".encode()


def standalone_html(figure: go.Figure, title: str, caption: Caption, theme: Theme, alt: str = "") -> str:
    """Build one HTML page with the figure, its caption and plotly's code; it makes no request."""
    config = {"showSendToCloud": False, "displaylogo": False, "responsive": True}
    config |= {"staticPlot": True, "displayModeBar": False} if theme.name == "print" else {}
    body = without_selection(figure).to_html(
        full_html=False, include_plotlyjs=True, include_mathjax=False, config=config
    )
    style = f"background:{theme.paper};color:{theme.text};font-family:{FONT};margin:1.5rem;line-height:1.5"
    title, label = html.escape(spelled(title)), html.escape(description(alt or title, caption))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{font_face()}</style></head>\n"
        f'<body style="{style}"><div role="img" aria-label="{label}">{body}</div>'
        f'<p style="color:{theme.muted}">{html.escape(caption.line)}</p></body></html>\n'
    )


def without_selection(figure: go.Figure) -> go.Figure:
    """Return the figure without the marks of a selection on the page."""
    still = go.Figure(figure)
    still.data = [trace for trace in still.data if trace.meta != SELECTION]
    still.layout.shapes = [shape for shape in still.layout.shapes if shape.name != SELECTION]
    return still


def png_scale(width: float) -> float:
    """Return the pixels of a PNG per pixel of the figure, for a sharp slide."""
    return max(SCALE, LEAST / width)


@lru_cache
def font_face() -> str:
    """Return the CSS rule that embeds the typeface."""
    return _face("200 900", FONT_FILE)


def with_static_fonts(svg: str) -> str:
    """Return a captioned drawing with the typeface in single weights, for a PDF."""
    faces = "".join(_face(weights, FONT_FILE.with_name(file)) for weights, file in STATIC_FONTS.items())
    return svg.replace(font_face(), faces)


def _face(weights: str, file: Path) -> str:
    content = base64.b64encode(file.read_bytes()).decode("ascii")
    source = f"url(data:font/woff2;base64,{content}) format('woff2')"
    return f"@font-face{{font-family:'{FAMILY}';font-weight:{weights};src:{source}}}"


def captioned_svg(
    drawing: str, title: str, caption: Caption, theme: Theme, alt: str = "", medium: str = "", wide: float = 0
) -> str:
    """Lay a drawing out as every file has it: its title in bold, the picture, and one grey line of its sources.

    A slide is 16:9, with the title at its top, the line at its bottom, and the picture as large as fits between. A file
    is as wide as its drawing, or as `wide`, which the drawing then fills; outside of columns it is at most three
    quarters of it high. A title by plotly gives way to that of the file; all text is escaped. The medium is "slide",
    "column", or "" for none.
    """
    drawing, cut = _without_title(drawing)
    own_width, own_height = _size(drawing)
    width = MEDIA[SLIDE] if medium == SLIDE else wide or own_width
    heads, lines = _heads_and_lines(title, caption, width)
    top, bottom = _heights(heads, lines)
    if medium == SLIDE:
        whole = width * SLIDE_PIXELS[1] / SLIDE_PIXELS[0]
        scale = min(width / own_width, (whole - top - bottom) / (own_height - cut))
    else:
        most = MOST_HIGH * wide if medium != COLUMN else float("inf")
        scale = min(width / own_width, most / (own_height - cut)) if wide else 1.0
        whole = top + scale * (own_height - cut) + bottom
    left = (width - scale * own_width) / 2
    above = top + (whole - top - bottom - scale * (own_height - cut)) / 2 - scale * cut
    sized = "" if scale == 1 else f" scale({scale:g})"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{whole:g}" '
        f'viewBox="0 0 {width:g} {whole:g}" role="img"><title>{html.escape(title)}</title>'
        f"<desc>{html.escape(description(alt, caption))}</desc><style>{font_face()}{NO_LIGATURES}</style>"
        f'<rect width="{width:g}" height="{whole:g}" fill="{theme.paper}"/>'
        f'<g transform="translate({left:g} {above:g}){sized}">{drawing}</g>'
        f"{_text(heads, HEADING_SIZE, HEADING_LINE, 0, theme.text, TITLE_WEIGHT)}"
        f"{_text(lines, CAPTION_SIZE, LINE, whole - bottom - 6, theme.muted)}</svg>\n"
    )


def slide_room(title: str, caption: Caption) -> float:
    """Height in pixels that a figure with a title of its own has on a slide as wide as a figure."""
    width = MEDIA[SLIDE]
    used = sum(_heights(*_heads_and_lines(title, caption, width))) - TITLE_TOP - 1.3 * TITLE_SIZE
    return float(width * SLIDE_PIXELS[1] / SLIDE_PIXELS[0] - used)


def slide_width(figure: go.Figure, room: float) -> int:
    """Width in pixels with which a figure fills a slide, on which it has this room in height, if as wide as a file."""
    if figure.layout.width:  # narrower, and enlarged
        return round(MEDIA[SLIDE] * int(figure.layout.width) / WIDE)
    return round(MEDIA[SLIDE] * max(1.0, (figure.layout.height or 450) / room))


def deck_tall(noted: bool = False) -> int:
    """Height in pixels of a figure, as wide as a file, with a title of its own, that fills its place in a PPTX file."""
    return round(WIDTH * (DECK_NOTED if noted else DECK_HIGH) / DECK_WIDE + TITLE_TOP + 1.3 * TITLE_SIZE)


def _heads_and_lines(title: str, caption: Caption, width: float) -> tuple[list[str], list[str]]:
    """The lines of the title and of the caption; none of the title where it is on a slide as text."""
    room = width - 2 * EDGE
    heads = wrapped(spelled(title), room, HEADING_SIZE) if caption is not NO_CAPTION else []
    return heads, wrapped(one_line(caption, room), room, CAPTION_SIZE) if caption.line else []


def _heights(heads: Sequence[str], lines: Sequence[str]) -> tuple[float, float]:
    """Pixels above and below the picture."""
    return (HEADING_LINE * len(heads) + EDGE / 2) if heads else 0, (LINE * len(lines) + EDGE) if lines else 0


def _without_title(drawing: str) -> tuple[str, float]:
    """A drawing by plotly without its title, and the pixels at its top that are then empty; 0 for other drawings."""
    title = re.search(r'<g class="g-gtitle">.*?</g>', drawing, re.DOTALL)
    if title is None or "<text" not in title[0]:
        return drawing, 0.0
    lines = max(title[0].count('class="line"'), 1)
    return drawing[: title.start()] + drawing[title.end() :], TITLE_TOP + 1.3 * TITLE_SIZE * lines


def _text(lines: Sequence[str], size: int, high: int, top: float, colour: str, weight: int = 400) -> str:
    if not lines:
        return ""
    spans = "".join(
        f'<tspan x="{EDGE}" y="{top + high * (index + 1):g}">{html.escape(line)}</tspan>'
        for index, line in enumerate(lines)
    )
    return f'<text font-family="{FONT}" font-size="{size}" font-weight="{weight}" fill="{colour}">{spans}</text>'


def for_medium(svg: str, medium: str) -> str:
    """Set the size of a captioned drawing: 1600 x 900 pixels for a slide, 85 mm wide for a column of a paper."""
    width, height = _size(svg)
    wide, high = SLIDE_PIXELS if medium == SLIDE else (f"{COLUMN_MM}mm", f"{COLUMN_MM * height / width:g}mm")
    return re.sub(r'width="[\d.]+" height="[\d.]+"', f'width="{wide}" height="{high}"', svg, count=1)


def description(alt: str, caption: Caption) -> str:
    """Combine alternative text and caption in one line."""
    return f"{spelled(alt).rstrip('.')}. {caption.line}".rstrip() if alt else caption.line


def framed(svg: str, theme: Theme) -> tuple[go.Figure, int, int]:
    """Return a figure that contains only this SVG, so that plotly can render it; also its width and height."""
    width, height = _size(svg)
    source = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
    whole = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "sizex": 1, "sizey": 1, "sizing": "stretch"}
    figure = go.Figure(
        layout=go.Layout(
            template=go.layout.Template(),
            margin={"l": 0, "r": 0, "t": 0, "b": 0, "pad": 0},
            xaxis={"visible": False},
            yaxis={"visible": False},
            paper_bgcolor=theme.paper,
            plot_bgcolor=theme.paper,
            images=[{"source": source, "layer": "above", **whole}],
        )
    )
    return figure, round(width), round(height)


def _size(svg: str) -> tuple[float, float]:
    size = re.match(r"<svg\b[^>]*?\bwidth=\"([\d.]+)\"[^>]*?\bheight=\"([\d.]+)\"", svg)
    if size is None:
        raise ValueError("the drawing is no SVG that states its width and height")
    return float(size[1]), float(size[2])


def described_png(png: bytes, words: str) -> bytes:
    """Add an iTXt chunk "Description" to a PNG after its header (PNG specification, 11.3.4.5)."""
    if not png.startswith(b"\x89PNG\r\n\x1a\n"):
        raise ValueError("these bytes are no PNG")
    content = b"iTXt" + b"Description\0\0\0\0\0" + words.encode("utf-8", "replace")
    chunk = struct.pack(">I", len(content) - 4) + content + struct.pack(">I", zlib.crc32(content))
    header_end = 8 + 25
    return png[:header_end] + chunk + png[header_end:]
