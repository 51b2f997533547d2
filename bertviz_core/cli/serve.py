"""The `serve` command, which runs the dashboard with Streamlit."""

import os
import re
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.cli.options import app
from bertviz_core.errors import BertvizError, TextError
from bertviz_core.text import escape_controls, quoted

LIBRARY = Path(__file__).parents[1]
PLACES = (LIBRARY / "_dashboard" / "app.py", LIBRARY.parent / "app.py")
"""Scripts of the dashboard: in an installed wheel, and in the source tree."""
NEEDED = ("streamlit", "starlette", "yaml")
"""Packages of the extra `dashboard`."""
SERVER_OPTION = re.compile(r"(?!-)|--[a-z]+\.[A-Za-z]")
"""An option of the Streamlit server, or its value."""
ALLOWED_HOSTS = "INSIDE_BERT_ALLOWED_HOSTS"
OPTIONS_HELP = "Handed on to Streamlit's server, such as --server.address 0.0.0.0."


@app.command(context_settings={"ignore_unknown_options": True})
def serve(
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port to listen on, if not 8501.")] = None,
    options: Annotated[list[str] | None, typer.Argument(metavar="[OPTIONS OF STREAMLIT]", help=OPTIONS_HELP)] = None,
) -> None:
    """Serve the dashboard."""
    unknown = next((each for each in options or () if not SERVER_OPTION.match(each)), None)
    if unknown is not None:
        raise TextError(
            f"There is no option {quoted(escape_controls(unknown), 40)}; those of Streamlit's server have a section "
            "and a name, such as --server.address 0.0.0.0. See --help."
        )
    lacking = [name for name in NEEDED if find_spec(name) is None]
    if lacking:
        raise BertvizError(
            f"The dashboard needs packages that are not installed ({', '.join(lacking)}): "
            "pip install 'inside-bert[dashboard]', or '.[dashboard]' in the source folder, which "
            "uvx --from '.[dashboard]' inside-bert does by itself."
        )
    script = next((place for place in PLACES if place.exists()), PLACES[0])
    own = [] if port is None else ["--server.port", str(port)]
    os.environ.setdefault(ALLOWED_HOSTS, "localhost")
    # Streamlit reads the settings of the dashboard from .streamlit next to the script.
    sys.argv = ["streamlit", "run", str(script), *own, *(options or ())]
    runpy.run_module("streamlit", run_name="__main__")
