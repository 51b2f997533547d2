"""`inside-bert` and `inside-bert serve`: start of the dashboard by Streamlit, or a message about what is missing."""

import os
import runpy
import sys
from pathlib import Path

import pytest

from bertviz_core import __version__
from bertviz_core.cli import app, serve
from tests.cli.conftest import Command

ENTRY = str(Path(__file__).parents[2] / "app.py")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    monkeypatch.setenv("INSIDE_BERT_ALLOWED_HOSTS", "")  # restored afterwards
    monkeypatch.delenv("INSIDE_BERT_ALLOWED_HOSTS")
    """Arguments of the calls of Streamlit's command line."""
    calls: list[list[str]] = []
    monkeypatch.setattr(runpy, "run_module", lambda name, run_name: calls.append([name, run_name, *sys.argv]))
    return calls


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([], []),
        (["serve"], []),
        (["--port", "8600"], ["--server.port", "8600"]),
        (["serve", "--port", "8600"], ["--server.port", "8600"]),
        (
            ["--server.address", "0.0.0.0", "--port", "8600", "--server.baseUrlPath=bert"],
            ["--server.port", "8600", "--server.address", "0.0.0.0", "--server.baseUrlPath=bert"],
        ),
    ],
)
def test_it_serves_with_the_options_of_the_server(
    words: list[str], options: list[str], started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["inside-bert", *words])
    with pytest.raises(SystemExit) as end:
        app.inside_bert()
    assert not end.value.code
    assert started == [["streamlit", "__main__", "streamlit", "run", ENTRY, *options]]


def test_another_command_is_that_of_the_library(
    monkeypatch: pytest.MonkeyPatch, started: list[list[str]], capsys
) -> None:
    monkeypatch.setattr(sys, "argv", ["inside-bert", "parameters", "bert-tiny"])
    with pytest.raises(SystemExit) as end:
        app.inside_bert()
    assert not end.value.code
    assert "4,385,920" in capsys.readouterr().out
    assert started == []


def test_without_its_packages_one_sentence_says_what_to_install(
    command: Command, started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda name: None if name == "streamlit" else name)
    done = command("serve")
    assert (done.returncode, done.stdout, started) == (2, "", [])
    assert "(streamlit): pip install 'inside-bert[dashboard]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("port", ["eight", "0", "65536"])
def test_a_port_is_a_number_that_a_port_can_have(port: str, command: Command, started: list[list[str]]) -> None:
    done = command("serve", "--port", port)
    assert (done.returncode, len(done.stderr.splitlines()), started) == (2, 1, [])


@pytest.mark.parametrize("option", ["--install-completion", "--verison", "-x", "--port=8600x"])
def test_an_option_that_is_nobody_s_is_one_sentence_and_nothing_is_served(
    option: str, started: list[list[str]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["inside-bert", option])
    with pytest.raises(SystemExit) as end:
        app.inside_bert()
    assert (end.value.code, started) == (2, [])
    message = capfd.readouterr().err
    assert message.count("\n") == 1
    assert message.rstrip().endswith("See --help.")


def test_the_version_is_that_of_the_package(
    started: list[list[str]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["inside-bert", "--version"])
    with pytest.raises(SystemExit) as end:
        app.inside_bert()
    assert (end.value.code or 0, started) == (0, [])
    assert capfd.readouterr().out == f"inside-bert {__version__}\n"


def test_it_answers_under_loopback_names_alone_unless_others_are_allowed(
    started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `make run`; a page elsewhere whose name points here is refused, its websocket too (DNS rebinding)."""
    serve.serve()
    assert os.environ["INSIDE_BERT_ALLOWED_HOSTS"] == "localhost"
    for chosen in ("bert.example.org", ""):
        monkeypatch.setenv("INSIDE_BERT_ALLOWED_HOSTS", chosen)
        serve.serve()
        assert os.environ["INSIDE_BERT_ALLOWED_HOSTS"] == chosen
    assert len(started) == 3
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    assert "${INSIDE_BERT_ALLOWED_HOSTS-localhost}" in makefile
