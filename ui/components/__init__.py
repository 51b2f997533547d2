"""Views drawn by code in the browser."""

import gzip
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response


def file_text(beside: str, name: str) -> str:
    """The text of a file of a component, which is beside its module."""
    return Path(beside).with_name(name).read_text(encoding="utf-8")


SCRIPTS: dict[str, Callable[[], bytes]] = {}
"""Name of a script of the server -> its content. A name has the digest or version of what it names."""
OF_COMPONENTS: list[str] = []
"""Paths of the scripts of components below the dashboard's own address."""
FOLDER = "scripts"
"""The folder of the scripts below the dashboard's own address."""
LOADER = """
const where = window.__streamlit?.BACKEND_BASE_URL ?? new URL(".", window.location.href).href.replace(/\\/$/, "");
const script = import(`${where}/PATH`);

export default function (component) {
  let end = null, ended = false;
  script.then(({ default: draw }) => { end = ended ? null : draw(component); });
  return () => {
    ended = true;
    end?.();
  };
}
"""
"""What is sent of a component with each run; the browser keeps the script itself."""


def component(name: str, js: str, **how: Any) -> Any:
    """A component of Streamlit whose script is fetched once."""
    path = script_path(f"{name}-{sha256(js.encode()).hexdigest()[:12]}.js", js.encode)
    OF_COMPONENTS.append(path)
    return st.components.v2.component(name, js=LOADER.replace("PATH", path), **how)


def script_path(name: str, content: Callable[[], bytes]) -> str:
    """Path of a new script below the dashboard's own address; its content is made when it is first requested."""
    SCRIPTS[name] = content
    return f"{FOLDER}/{name}"


async def script(request: Request) -> Response:
    """The answer to the request of a script, which browsers keep."""
    name = request.path_params["name"]
    if name not in SCRIPTS:
        return PlainTextResponse("There is no such script.", 404)
    headers = {"cache-control": "public, max-age=31536000, immutable", "vary": "accept-encoding"}
    plain, small = _both(name)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(small, media_type="text/javascript", headers={**headers, "content-encoding": "gzip"})
    return Response(plain, media_type="text/javascript", headers=headers)


@cache
def _both(name: str) -> tuple[bytes, bytes]:
    plain = SCRIPTS[name]()
    return plain, gzip.compress(plain, mtime=0)
