"""The command line: numbers of a model without the dashboard, as a table or as one JSON object."""

import sys

from typer.exceptions import TyperException

from bertviz_core import (  # noqa: F401  # a command registers itself when its module is imported
    cli_app,
    cli_attention,
    cli_compare,
    cli_figure,
    cli_heads,
    cli_load_report,
    cli_parameters,
    cli_sentences,
    cli_text,
)
from bertviz_core.errors import BertvizError


def main() -> None:
    """Run the command line; what a user can cause ends in one line on stderr and exit code 2."""
    try:
        sys.exit(cli_app.app(standalone_mode=False))
    except TyperException as error:
        sys.stderr.write(f"{' '.join(str(error).split()).rstrip('.')}. See --help.\n")
        raise SystemExit(2) from None
    except BertvizError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(2) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(1) from None
