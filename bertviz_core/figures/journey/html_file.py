"""Code and style of the drawing, and a self-contained file of it that works offline."""

import base64
import html
import json
from functools import cache
from hashlib import sha256
from pathlib import Path

PARTS = (
    "data",
    "layout",
    "lanes",
    "pen",
    "change",
    "wide",
    "opened",
    "steps",
    "tall",
    "focus",
    "words",
    "journey",
)
HTML = (
    '<div class="journey"><div class="bar"></div><div class="sheet"></div>'
    '<div class="live" aria-live="polite"></div></div>'
)
_HERE = Path(__file__).parent
_PAGE = """<!DOCTYPE html>
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
_BODY = """
body {{ max-width: 1280px; margin: 16px auto; padding: 0 16px; color: {text}; background: {paper};
  font-family: "Source Sans", "Helvetica Neue", Arial, sans-serif; }}
h1 {{ font-size: 20px; font-weight: 600; margin: 0 0 12px; }}
p {{ color: {muted}; }}
"""


def journey_html(payload: bytes, title: str, caption: str) -> str:
    """Build one HTML page with the drawing of a message (payload.journey_payload); it makes no request.

    The message is embedded as base64, so that no token is read as markup, and the content security policy of the page
    allows only its own code and style.
    """
    length = int.from_bytes(payload[:4], "little")
    look = json.loads(payload[4 : 4 + length])["look"]
    sheet = style() + _BODY.format(text=look["text"], paper=look["paper"], muted=look["muted"])
    code = f"{script()}\nstartAlone();"
    policy = (
        f"default-src 'none'; script-src '{_digest(code)}'; style-src '{_digest(sheet)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return _PAGE.format(
        title=html.escape(title),
        caption=html.escape(caption),
        policy=policy,
        style=sheet,
        view=HTML,
        data=base64.b64encode(payload).decode("ascii"),
        script=code,
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def script(parts: tuple[str, ...] = PARTS) -> str:
    """Return the drawing's code, or some of its files: concatenated, without comment lines."""
    return "\n".join(_code(f"js/{part}.js") for part in parts)


@cache
def style() -> str:
    """Return the drawing's style sheet."""
    return _code("journey.css")


def _code(name: str) -> str:
    lines = (line.strip() for line in (_HERE / name).read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))
