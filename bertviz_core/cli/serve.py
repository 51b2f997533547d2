"""`inside-bert serve`: the dashboard, run by Streamlit's own command line."""

import runpy
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.cli.options import app
from bertviz_core.errors import BertvizError

LIBRARY = Path(__file__).parents[1]
PLACES = (LIBRARY / "_dashboard" / "app.py", LIBRARY.parent / "app.py")
"""The server's entry: as installed from a wheel, and beside the library in the source tree."""
NEEDED = ("streamlit", "starlette", "yaml")
"""What the extra `dashboard` brings."""
HANDED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}


@app.command(context_settings=HANDED_ON)
def serve(
    context: typer.Context,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 8501 where none is named.")] = None,
) -> None:
    """Serve the dashboard; further options are Streamlit's, such as --server.address 0.0.0.0."""
    lacking = [name for name in NEEDED if find_spec(name) is None]
    if lacking:
        raise BertvizError(
            f"The dashboard needs packages that are not installed ({', '.join(lacking)}): "
            "pip install 'inside-bert[dashboard]', or '.[dashboard]' in the source folder."
        )
    script = next((place for place in PLACES if place.exists()), PLACES[0])
    own = [] if port is None else ["--server.port", str(port)]
    # Settings that hold for the dashboard stand beside the script, in .streamlit, where Streamlit looks for them.
    sys.argv = ["streamlit", "run", str(script), *own, *context.args]
    runpy.run_module("streamlit", run_name="__main__")
