"""The `mcp` command, asked by the protocol's own client over standard input and output: the commands' own numbers.

Covers `bertviz_core/cli/agent.py`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import anyio.from_thread
import jsonschema
import numpy as np
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import CallToolResult

from bertviz_core.cli import agent, opened
from bertviz_core.cli.agent import MOST_NBYTES, MOST_TEXTS, answered, refusal, tools
from bertviz_core.cli.app import COMMANDS
from bertviz_core.errors import BertvizError, SupersededError
from tests.cli.conftest import Command
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.tiny_models import save_tiny

MODEL, TEXT, OTHER = "all-MiniLM-L6-v2", "A kitten's nap \u00e9", "--pair of a text"
Ask = Callable[..., CallToolResult]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the models folder and the corpora folder, and files beside them."""
    root = tmp_path_factory.mktemp("agent")
    save_tiny_head("bert", "masked-lm", root / "models" / "mine")
    save_tiny("bert", root / "elsewhere")
    (root / "corpora").mkdir()
    for file in (root / "corpora" / "list.txt", root / "secret.txt"):
        file.write_text("one line\nand another\n", encoding="utf-8")
    np.save(root / "secret.npy", np.ones(3))
    (root / "corpora" / "link.txt").symlink_to(root / "secret.txt")
    return root


@pytest.fixture
def here(folders: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folders for this process."""
    for name in ("models", "corpora"):
        monkeypatch.setenv(f"INSIDE_BERT_{name.upper()}_DIR", str(folders / name))
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")
    return folders


@pytest.fixture(scope="module")
def ask(folders: Path) -> Iterator[Ask]:
    """Call a tool of a server in a process of its own."""
    own = {"MODELS_DIR": str(folders / "models"), "CORPORA_DIR": str(folders / "corpora")}
    own |= {"ALLOW_HUB": "0", "ISOLATE_MODELS": "0"}
    environment = {**os.environ, **{f"INSIDE_BERT_{name}": value for name, value in own.items()}}
    server = StdioServerParameters(command=sys.executable, args=["-m", "bertviz_core", "mcp"], env=environment)
    client = Client(stdio_client(server))
    with anyio.from_thread.start_blocking_portal() as portal, portal.wrap_async_context_manager(client):

        def call(name: str, /, **given: Any) -> CallToolResult:
            if name == "tools/list":
                return portal.call(client.list_tools)
            return portal.call(client.call_tool, name, given)

        yield call


def said(result: CallToolResult) -> str:
    """The sentence of an error."""
    assert result.is_error
    (content,) = result.content
    assert "\n" not in content.text
    assert "Traceback" not in content.text
    return content.text


@pytest.mark.slow
def test_a_client_is_told_of_every_tool_with_a_description_and_a_schema(ask: Ask) -> None:
    listed = ask("tools/list").tools
    assert [each.name for each in listed] == list(tools())
    for each in listed:
        assert each.description
        assert each.annotations.read_only_hint
        jsonschema.Draft202012Validator.check_schema(each.input_schema)
        assert all(one["description"] for one in each.input_schema["properties"].values()), each.name
        assert "- reads" not in str(each.input_schema)
        assert "standard input" not in str(each.input_schema)


QUESTIONS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "tokens": ({"text": TEXT, "pair": OTHER}, (TEXT, f"--pair={OTHER}")),
    "parameters": ({"task": "masked-lm"}, ("--task", "masked-lm")),
    "hidden": ({"text": TEXT, "layer": 2}, (TEXT, "--layer", "2")),
    "attention": ({"text": TEXT, "layer": 1, "head": 1, "words": True}, (TEXT, "--layer=1", "--head=1", "--words")),
    "similarity": ({"sentences": [TEXT, OTHER, "-"], "pooling": "max"}, ("--pooling=max", "--", TEXT, OTHER, "-")),
    "word_pairs": ({"text": TEXT, "pair": OTHER, "from_layer": 5}, ("--from-layer=5", "--", TEXT, OTHER)),
    "words": ({"text": TEXT, "pair": "another"}, (TEXT, "--pair", "another")),
    "table": ({"name": "nearest", "texts": [TEXT], "set": ["token=1"]}, (TEXT, "--set", "token=1")),
    "vocabulary": ({"file": "list.txt"}, ("{corpora}/list.txt",)),
}
"""Tool -> its arguments, and those of the command after the model."""


@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTIONS)
def test_an_answer_is_what_the_command_prints(name: str, ask: Ask, command: Command, folders: Path) -> None:
    given, words = QUESTIONS[name]
    answer = ask(name, model=MODEL, **given)
    assert not answer.is_error, answer.content
    assert json.loads(answer.content[0].text) == answer.structured_content
    figure = (given["name"],) if name == "table" else ()
    typed = [word.format(corpora=folders / "corpora") for word in words]
    if name == "similarity":
        typed.remove("-")  # which a terminal takes for its standard input
        answer = ask(name, model=MODEL, **{**given, "sentences": [TEXT, OTHER]})
    done = command(name.replace("_", "-"), *figure, MODEL, "--json", *typed)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert {**answer.structured_content, "notices": []} == {**printed, "notices": []}
    assert set(printed["notices"]) <= set(answer.structured_content["notices"])


@pytest.mark.slow
def test_a_head_in_the_models_folder_answers_by_its_name(ask: Ask, command: Command, folders: Path) -> None:
    text = "the cat [MASK]"
    answer = ask("predict", model="mine", text=text, top=3)
    done = command("predict", str(folders / "models" / "mine"), text, "--top", "3", "--json")
    printed = json.loads(done.stdout)
    assert answer.structured_content["positions"] == printed["positions"]
    assert len(printed["positions"][0]["top"]) == 3


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "an unknown model": ("tokens", {"model": "nonesuch", "text": TEXT}, "No model 'nonesuch' found"),
    "a folder outside": ("tokens", {"model": "{root}/elsewhere", "text": TEXT}, "outside the models folder"),
    "a second model outside": (
        "similarity",
        {"sentences": ["a", "b", "c"], "other": "../elsewhere"},
        "outside the models",
    ),
    "a file outside": ("vocabulary", {"file": "{root}/secret.txt"}, "is outside the models folder and the corpora"),
    "a way out": ("vocabulary", {"file": "../secret.txt"}, "is outside the models folder and the corpora"),
    "a link out": ("vocabulary", {"file": "link.txt"}, "'link.txt' cannot be read"),
    "no path at all": ("vocabulary", {"file": "a\0b"}, "is outside the models folder and the corpora"),
    "a probe": ("words", {"text": TEXT, "target": "probe:{root}/secret.txt"}, "is outside the models folder and"),
    "a direction": ("words", {"text": TEXT, "target": "direction:1,1,{root}/secret.npy"}, "is outside the models"),
    "a corpus": ("corpus_info", {"folder": "{root}"}, "is outside the models folder and the corpora"),
    "a training run": ("training", {"folder": "mine"}, "There is no training run 'mine'"),
    "a corpus as a table": ("table", {"name": "corpus-map", "model": "{root}"}, "is outside the models folder and"),
    "too many texts": ("similarity", {"sentences": ["a"] * (MOST_TEXTS + 1)}, f"give at most {MOST_TEXTS} in a call."),
    "too long texts": (
        "similarity",
        {"sentences": ["a" * 70_000] * 3},
        "have 210,016 characters; give at most 200,000",
    ),
    "an unknown tool": ("nonesuch", {}, "There is no tool 'nonesuch'; choose parameters, "),
    "an unknown argument": ("tokens", {"text": TEXT, "colour": "red"}, "has no argument 'colour'; it has model, text"),
    "a missing argument": ("tokens", {}, "tokens needs the argument text; give it."),
    "no number": ("predict", {"text": TEXT, "top": "three"}, "top is 'three'; give a whole number."),
    "no switch": ("attention", {"text": TEXT, "words": 1}, "words is '1'; give true or false."),
    "no list": ("similarity", {"sentences": TEXT}, "sentences is a list of texts; give it as [...]."),
    "no text": ("tokens", {"text": ["a"]}, "text is \"['a']\"; give a text."),
    "no such layer": ("attention", {"text": TEXT, "layer": 6, "head": 0}, "There is no layer '6' in"),
    "no such choice": ("causes", {"text": TEXT, "kind": "odd"}, "There is no kind"),
    "no column": ("similarity", {"sentences": ["a", "b"], "gold": "c"}, "gold names a column of a file"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", REFUSED)
def test_a_refusal_is_one_sentence_and_the_server_goes_on(what: str, ask: Ask, folders: Path) -> None:
    name, given, sentence = REFUSED[what]
    filled = {key: value.format(root=folders) if isinstance(value, str) else value for key, value in given.items()}
    model = {} if name in ("corpus_info", "training") else {"model": MODEL}
    assert sentence in said(ask(name, **{**model, **filled}))
    assert not ask("tokens", model=MODEL, text="still there").is_error


@pytest.mark.slow
def test_nothing_but_the_protocol_is_written_and_a_damaged_line_ends_nothing(folders: Path) -> None:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    call = {"name": "predict", "arguments": {"model": str(folders / "models"), "text": TEXT}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    sent = [json.dumps(each) for each in lines]
    command = [sys.executable, "-m", "bertviz_core", "mcp"]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, encoding="utf-8") as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("\n".join([*sent[:2], '{"odd', '{"a": "\\ud800"}', sent[2]]) + "\n")
        server.stdin.flush()
        answers: list[dict[str, Any]] = []
        while not any(each.get("id") == 2 for each in answers):
            answers.append(json.loads(server.stdout.readline()))
        rest, _ = server.communicate()
    assert rest == ""
    (last,) = [each for each in answers if each.get("id") == 2]
    assert last["result"]["isError"]
    assert server.returncode == 0


@pytest.mark.slow
def test_the_list_of_tools_needs_no_torch() -> None:
    code = "import sys; from bertviz_core.cli.agent import tools; print(len(tools()), 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=False)
    assert done.stdout == f"{len(tools())} False\n", done.stderr


def test_tools_are_the_commands_that_answer_and_none_writes() -> None:
    commands = {each.command for each in tools().values()}
    assert set(COMMANDS) - commands == {"embed", "figure", "report", "serve", "mcp"}
    assert {"corpus_embed", "canary_write"}.isdisjoint(tools())
    assert [name for name, each in tools().items() if {"out", "index", "indexed"}.intersection(each.arguments)] == []


def test_a_schema_has_what_the_parameter_of_the_question_permits() -> None:
    attention, predict, similarity = (
        tools()[name].schema["properties"] for name in ("attention", "predict", "similarity")
    )
    assert attention["layer"] == {"type": "integer", "minimum": 0, "description": "Layer, counted from 0."}
    assert attention["words"]["default"] is False
    assert predict["view"]["enum"] == ["words", "surprise", "lens", "terms"]
    assert predict["view"]["default"] == "words"
    assert predict["top"] == {
        "type": "integer",
        "description": "Words, terms or answers that are listed.",
        "default": 5,
    }
    assert similarity["pooling"]["enum"] == ["mean", "cls", "max", "pooler", "lasttoken"]
    assert similarity["sentences"]["items"] == {"type": "string"}
    assert tools()["attention"].schema["required"] == ["model", "text"]
    assert "attention" in tools()["table"].schema["properties"]["name"]["enum"]


def test_a_long_answer_is_cut_and_says_so(here: Path, models_in_memory: None) -> None:
    answer = answered("hidden", {"model": MODEL, "text": "A kitten naps. " * 60, "layer": 1})
    assert len(json.dumps(answer)) < 1.2 * MOST_NBYTES  # json.dumps writes a blank after each comma
    assert len(answer["hidden"]) == len(answer["tokens"]) == len(answer["hidden"][0]) < 384
    assert answer["notices"][-1].startswith(f"Cut to the first {len(answer['tokens'])} items of each list")
    assert "hidden has 384" in answer["notices"][-1]
    short = answered("hidden", {"model": MODEL, "text": "A kitten", "layer": 1})
    assert len(short["hidden"][0]) == 384
    assert not any(each.startswith("Cut") for each in short["notices"])


def test_a_model_stays_until_its_files_change(here: Path) -> None:
    opened._kept_model.cache_clear()
    given = {"model": "mine", "text": "the cat [MASK]"}
    first = answered("predict", given)
    assert answered("predict", given) == first
    assert opened._kept_model.cache_info().hits == 1
    config = here / "models" / "mine" / "config.json"
    config.write_text(config.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    answered("predict", given)
    assert opened._kept_model.cache_info().misses == 2


def test_the_allow_list_holds_for_an_agent(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_ALLOWED_MODELS", MODEL)
    with pytest.raises(BertvizError, match="may not be opened on this instance"):
        answered("tokens", {"model": "mine", "text": TEXT})


def test_a_question_that_nobody_waits_for_stops(here: Path) -> None:
    stopped = Event()
    stopped.set()
    with pytest.raises(SupersededError):
        answered("similarity", {"model": MODEL, "sentences": ["a", "b"]}, stopped)
    token = agent.AGENT.set(agent.Agent(stopped=stopped))
    try:
        with pytest.raises(SupersededError), opened.progress_bar(2, "Texts") as bar:
            bar(1, 2)
    finally:
        agent.AGENT.reset(token)


def test_an_error_of_ours_is_a_sentence_and_its_traceback_goes_to_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    sentence = refusal("tokens", ZeroDivisionError("--text"))
    assert sentence == "This is an error of Inside BERT itself (ZeroDivisionError), which its log describes."
    out, err = capsys.readouterr()
    assert out == ""
    assert "ZeroDivisionError" in err


def test_a_person_still_opens_any_folder(command: Command, folders: Path) -> None:
    done = command("tokens", str(folders / "elsewhere"), "the cat", "--json")
    assert done.returncode == 0, done.stderr
