"""The command line: numbers of a model without the dashboard, as a table or as one JSON object."""

import sys
from importlib import import_module

from typer.exceptions import TyperException

from bertviz_core.cli.options import app
from bertviz_core.errors import BertvizError

COMMANDS = {
    "parameters": "parameters",
    "load-report": "load_report",
    "tokens": "text",
    "hidden": "text",
    "attention": "attention",
    "heads": "heads",
    "similarity": "sentences",
    "embed": "sentences",
    "compare": "compare",
    "predict": "predict",
    "figure": "figure.command",
}
"""Name of a command -> the module that registers it when imported; only the one asked for is, for speed."""


def main() -> None:
    """Run the command line; what a user can cause ends in one line on stderr and exit code 2."""
    command = next((word for word in sys.argv[1:] if word in COMMANDS), None)
    for module in dict.fromkeys([COMMANDS[command]] if command else COMMANDS.values()):
        import_module(f"bertviz_core.cli.{module}")
    try:
        sys.exit(app(standalone_mode=False))
    except TyperException as error:
        sys.stderr.write(f"{' '.join(str(error).split()).rstrip('.')}. See --help.\n")
        raise SystemExit(2) from None
    except BertvizError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(2) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(1) from None
