"""Help names every command in its own words, and a command imports no library that it has no use for."""

import subprocess
import sys
from importlib import import_module
from inspect import getdoc

import pytest

from bertviz_core.cli.app import COMMANDS
from bertviz_core.cli.options import app
from tests.cli.conftest import Command, alone

MODEL = "all-MiniLM-L6-v2"
LARGE = ("numpy", "pandas", "plotly", "pyarrow", "streamlit", "torch", "transformers")
PROGRAM = """
import atexit, sys
from bertviz_core.cli.app import main

atexit.register(lambda: sys.stderr.write(" ".join(name for name, module in sys.modules.items() if module is not None)))
main()
"""


def imported(*arguments: str) -> set[str]:
    """The libraries among LARGE that a command has imported when it ends well."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    names = done.stderr.splitlines()[-1].split()
    assert "typer" in names
    return set(LARGE).intersection(names)


def test_the_line_of_a_command_is_what_its_own_help_begins_with() -> None:
    for each in COMMANDS.values():
        import_module(f"bertviz_core.cli.{each.module}")
    functions = {each.name or each.callback.__name__: each.callback for each in app.registered_commands}
    lines = {name: getdoc(function).partition("\n\n")[0].replace("\n", " ") for name, function in functions.items()}
    lines |= {group.name: getdoc(group.typer_instance.registered_callback.callback) for group in app.registered_groups}
    assert {name: each.line for name, each in COMMANDS.items()} == lines


def test_help_lists_every_command_and_runs_none(command: Command) -> None:
    done = command("--help")
    assert (done.returncode, done.stderr) == (0, "")
    words = done.stdout.split()
    assert set(COMMANDS) <= set(words)


def test_an_unknown_command_is_one_line(command: Command) -> None:
    done = command("tokns", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "tokns" in line


def test_help_needs_no_library_of_arrays_tables_or_models() -> None:
    assert imported("--help") == set()
    assert imported("--version") == set()


def test_a_header_is_listed_without_any_of_them() -> None:
    assert imported("parameters", MODEL) == set()


def test_tokens_need_transformers_alone_and_say_nothing_of_torch() -> None:
    assert imported("tokens", MODEL, "a river") == {"numpy", "transformers"}
    assert alone("tokens", MODEL, "a river").stderr == ""


@pytest.mark.slow
def test_this_guard_sees_what_a_run_needs() -> None:
    assert imported("hidden", MODEL, "a river", "--layer", "1") >= {"numpy", "torch", "transformers"}
