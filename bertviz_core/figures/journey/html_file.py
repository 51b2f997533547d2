"""The drawing's code and style, and a file that needs nothing else: it opens without a network and still unfolds."""

import base64
import html
import json
from functools import cache
from hashlib import sha256
from pathlib import Path

PARTS = ("data", "layout", "pen", "wide", "opened", "tall", "journey")
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
    """One HTML page with the drawing of this message (payload.journey_payload); no request leaves it.

    The message stands in it as base64, so that no token of a text can be read as markup, and the page's own policy
    lets nothing run or load but the code and the style that it carries.
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
def script() -> str:
    """The drawing's code, its files one behind the other, without lines of comment."""
    return "\n".join(_code(f"js/{part}.js") for part in PARTS)


@cache
def style() -> str:
    """The drawing's style sheet."""
    return _code("journey.css")


def _code(name: str) -> str:
    lines = (line.strip() for line in (_HERE / name).read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))
