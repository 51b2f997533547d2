"""Entry points of the command line."""

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

import typer
from typer.exceptions import TyperException

from bertviz_core.cli.commands import COMMANDS
from bertviz_core.cli.options import app, program
from bertviz_core.errors import BertvizError
from bertviz_core.questions.parameters import COMMON
from bertviz_core.text import escape_controls

OWN_OPTIONS = ("--help", "--version")
"""Options of the program itself; without a command, other options are passed to the server."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells: 128 plus the number of the signal."""


def main() -> None:
    """Run the command line; errors of the user end with one line on stderr and exit code 2."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # for the threads of torch; see app.py
    command = next((word for word in sys.argv[1:] if word in COMMANDS), None)
    try:
        code = _program(command)(standalone_mode=False)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except TyperException as error:
        code = _refused(f"{' '.join(str(error).split()).rstrip('.')}. See --help.")
    except BertvizError as error:
        code = _refused(error.spelled(lambda name: _spelled(command, name)))
    except BrokenPipeError:
        sys.stderr.close()
        code = 1
    except OSError as error:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)  # otherwise Python tries to write the rest again on exit
        what = "The output cannot be written" if error.filename is None else f"{error.filename!r} cannot be used"
        code = _refused(f"{what} ({error.strerror or error}).")
    if code == INTERRUPTED:
        _end_interrupted(command in ("embed", "corpus"))
    sys.exit(code)


def inside_bert() -> None:
    """The entry point `inside-bert`: runs the command line, or serves the dashboard if there is no command."""
    if not sys.argv[1:] or (sys.argv[1].startswith("-") and sys.argv[1] not in OWN_OPTIONS):
        sys.argv.insert(1, "serve")
    main()


def _program(command: str | None) -> typer.Typer:
    """The program with the requested command; without one, all commands by their lines, of which none runs."""
    if command is not None:
        import_module(f"bertviz_core.cli.{COMMANDS[command].module}")
        return app
    listed = program()
    for name, each in COMMANDS.items():
        listed.command(name, help=each.line)(lambda: None)
    return listed


def _spelled(command: str | None, name: str) -> str:
    """Spelling of a parameter for a command: an option, or a setting of a figure."""
    if command == "figure" and name not in (*COMMON, "pair", "task"):
        return f"--set {name}"
    return "--from-layer" if (command, name) == ("word-pairs", "layer") else f"--{name}"


def _refused(sentence: str) -> int:
    sys.stderr.write(f"{escape_controls(sentence)}\n")
    return 2


def _end_interrupted(resumable: bool) -> NoReturn:
    """Exit without waiting for threads of libraries, which would end the process with another signal."""
    more = " The vectors made so far are kept: the same command resumes there." if resumable else ""
    with suppress(OSError):
        sys.stderr.write(f"\nInterrupted.{more}\n")
        sys.stderr.flush()
    os._exit(INTERRUPTED)
