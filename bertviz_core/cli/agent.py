"""The `mcp` command: the commands that answer with `--json`, as tools of an agent (Model Context Protocol).

A tool's name, description and arguments are those of the command; the parameter of the question, or the values that are
permitted, stand in the annotation of an option. A command without `--json` writes files and is no tool.
"""

import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from inspect import getdoc, signature
from pathlib import Path
from threading import Event, Lock
from types import NoneType
from typing import Any, get_args, get_type_hints

import orjson
import typer
from typer.models import ParameterInfo

from bertviz_core.checkpoints.training.folder import run_names
from bertviz_core.cli.app import COMMANDS, spelled, unusable
from bertviz_core.cli.figure import figure_table
from bertviz_core.cli.options import AGENT, Agent, app, command_settings
from bertviz_core.errors import BertvizError, OutOfMemoryError, SupersededError, TextError, is_out_of_memory
from bertviz_core.isolation.regular_files import readable_path
from bertviz_core.lazy_imports import optional
from bertviz_core.models.sources import offers
from bertviz_core.questions.figures import all_figures
from bertviz_core.questions.parameters import Param
from bertviz_core.questions.tables.lines import json_bytes
from bertviz_core.settings import Settings
from bertviz_core.text import counted, escape_controls, json_escaped, quoted, with_notices
from bertviz_core.version import __version__

MOST_TEXTS = 256
"""Most texts of a call."""
MOST_NBYTES = 60_000
"""Most bytes of an answer as JSON; some clients refuse answers of twice as many."""
FEWER = (1000, 300, 100, 30, 10, 3, 1)
"""Items of a list that are shown, the first number with which an answer is short enough."""
CHARACTERS_PER_ITEM = 40
"""Characters of a text that are shown for each item of a list."""
MOST_NAMED = 60
"""Most models that the agent is told of."""
WRITING = ("--out", "--index")
"""Options that write files."""
JSON_TYPES = {bool: "boolean", int: "integer", float: "number"}
NOUNS = {bool: "true or false", int: "a whole number", float: "a number"}
COUNTED = ("layer", "head", "position", "whole")
"""Kinds of parameters that are whole numbers from 0."""
OF_TERMINAL = re.compile(r"[;,]?(?: or)?(?: |^)- (?:reads|stands|for)\b[^.;]*")
"""The part of a description that is about the standard input."""
_ONE_AT_A_TIME = Lock()


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a tool."""

    key: str
    """Its name in the function of the command."""
    option: str
    """Its option; "" for an argument by position."""
    kind: type
    """Type of its value, or of each of several."""
    many: bool
    required: bool
    schema: Mapping[str, Any]
    """JSON schema of its value."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A command as a tool."""

    name: str
    command: str
    """The name in COMMANDS."""
    description: str
    function: Callable[..., None]
    arguments: Mapping[str, Argument]

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the arguments."""
        return {
            "type": "object",
            "properties": {name: dict(each.schema) for name, each in self.arguments.items()},
            "required": [name for name, each in self.arguments.items() if each.required],
            "additionalProperties": False,
        }


@cache
def tools() -> Mapping[str, Tool]:
    """Name -> tool for every command with `--json`, in the order of `--help`."""
    for each in COMMANDS.values():
        import_module(f"bertviz_core.cli.{each.module}")
    places = {name: place for place, name in enumerate(COMMANDS)}
    made = [_tool(function, words) for words, function in _commands(app)]
    sorted_tools = sorted((each for each in made if each is not None), key=lambda tool: places[tool.command])
    return {each.name: each for each in sorted_tools}


def _commands(group: typer.Typer, *words: str) -> Iterator[tuple[tuple[str, ...], Callable[..., None]]]:
    for command in group.registered_commands:
        if command.callback is not None:
            yield (*words, command.name or command.callback.__name__.replace("_", "-")), command.callback
    for each in group.registered_groups:
        if each.typer_instance is not None:
            yield from _commands(each.typer_instance, *words, str(each.name))


def _tool(function: Callable[..., None], words: Sequence[str]) -> Tool | None:
    hints = get_type_hints(function, include_extras=True)
    if "as_json" not in hints:
        return None
    about = {key: _argument(key, hints[key], each.default) for key, each in signature(function).parameters.items()}
    arguments = {name: each for name, each in about.values() if each.option not in WRITING and each.key != "as_json"}
    if function is figure_table:
        figures = all_figures()
        listed = "; ".join(f"{name}: {each.description}" for name, each in figures.items())
        described = f"The figure. For a setting that it does not have, those it has are named. {listed}."
        arguments["name"] = replace(
            arguments["name"], schema={"type": "string", "enum": list(figures), "description": described}
        )
    options = {each.option: name for name, each in arguments.items() if each.option}
    for name, each in arguments.items():
        described = _by_name(each.schema["description"], options)
        arguments[name] = replace(each, schema={**each.schema, "description": described})
    line = (getdoc(function) or "").partition("\n")[0]
    return Tool("_".join(words).replace("-", "_"), words[0], line, function, arguments)


def _by_name(sentence: str, options: Mapping[str, str]) -> str:
    """A sentence about options, with the names of arguments instead."""
    return re.sub(r"--[a-z][a-z-]*", lambda match: options.get(match[0], match[0]), sentence)


def _argument(key: str, hint: Any, default: Any) -> tuple[str, Argument]:
    """The name of an argument in a tool, and the argument."""
    annotated, *about = get_args(hint)
    info = next(each for each in about if isinstance(each, ParameterInfo))
    param = next((each for each in about if isinstance(each, Param | tuple)), ())
    spellings = (info.default, *(info.param_decls or ()))  # the first stands where a default would
    option = next((each for each in map(str, spellings) if each.startswith("--")), "")
    whole = next(each for each in get_args(annotated) or (annotated,) if each is not NoneType)
    many = whole == list[str]
    kind = str if many else whole
    value: dict[str, Any] = {"type": JSON_TYPES.get(kind, "string")}
    for bound, number in (("minimum", info.min), ("maximum", info.max)):
        value |= {} if number is None else {bound: number}
    if isinstance(param, Param) and param.kind in COUNTED:
        value = {"type": "integer", "minimum": 0}
    if permitted := param.options if isinstance(param, Param) else param:
        value["enum"] = list(permitted)
    schema = {"type": "array", "items": value, "maxItems": MOST_TEXTS} if many else value
    description = OF_TERMINAL.sub("", info.help or "").strip()
    required = default is signature(_argument).empty
    known = {"default": default} if not required and default not in ("", None) else {}
    name = (option.removeprefix("--") or key).replace("-", "_")
    return name, Argument(key, option, kind, many, required, {**schema, "description": description, **known})


def answered(name: str, values: Mapping[str, Any], stopped: Event | None = None) -> dict[str, Any]:
    """The JSON object that the command of a tool prints, cut to a length that an agent can read.

    Args:
        name: the tool.
        values: those of its arguments.
        stopped: set where nobody waits any more.
    """
    tool = tools().get(name)
    if tool is None:
        raise TextError(f"There is no tool {quoted(escape_controls(name), 40)}; choose {', '.join(tools())}.")
    agent = Agent(stopped=stopped or Event())
    token = AGENT.set(agent)
    try:
        with _ONE_AT_A_TIME, suppress(typer.Exit):  # which a check ends with
            if agent.stopped.is_set():
                raise SupersededError
            tool.function(**_values(tool, values, command_settings()), as_json=True)
    finally:
        AGENT.reset(token)
    return _cut_to_fit({**agent.answer, "notices": with_notices(agent.notices, agent.answer.get("notices", ()))})


def _values(tool: Tool, values: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """The values of the arguments for the function of the command."""
    unknown = next((name for name in values if name not in tool.arguments), None)
    if unknown is not None:
        known = ", ".join(tool.arguments)
        raise TextError(f"{tool.name} has no argument {quoted(escape_controls(unknown), 40)}; it has {known}.")
    missing = next((name for name, each in tool.arguments.items() if each.required and values.get(name) is None), None)
    if missing is not None:
        raise TextError(f"{tool.name} needs the argument {missing}; give it.")
    _check_lengths(values, settings)
    chosen = {name: value for name, value in values.items() if value is not None}
    return {
        tool.arguments[name].key: _value(name, tool.arguments[name], value, settings) for name, value in chosen.items()
    }


def _check_lengths(values: Mapping[str, Any], settings: Settings) -> None:
    """Refuse too many texts, or too long ones."""
    for name, value in values.items():
        if isinstance(value, list) and len(value) > MOST_TEXTS:
            raise TextError(f"{name} has {len(value):,} texts; give at most {MOST_TEXTS} in a call.")
    length = sum(
        len(text)
        for value in values.values()
        for text in (value if isinstance(value, list) else [value])
        if isinstance(text, str)
    )
    if length > settings.max_characters:
        raise TextError(f"The texts have {length:,} characters; give at most {settings.max_characters:,} in a call.")


def _value(name: str, argument: Argument, value: Any, settings: Settings) -> Any:
    if argument.many:
        if not isinstance(value, list):
            raise TextError(f"{name} is a list of texts; give it as [...].")
        return [_text(name, each) for each in value]
    if argument.kind in (str, Path):
        text = _text(name, value)
        if argument.kind is str:
            return text
        return Path(text) if text in run_names(settings) else readable_path(Path(text), settings)
    kinds = (int, float) if argument.kind is float else argument.kind
    if not isinstance(value, kinds) or (isinstance(value, bool) and argument.kind is not bool):
        raise TextError(f"{name} is {_shown(value)}; give {NOUNS[argument.kind]}.")
    least, most = argument.schema.get("minimum", value), argument.schema.get("maximum", value)
    if not least <= value <= most:
        upper = f" to {most}" if most != value else ""
        raise TextError(f"{name} is {value}; give a number from {least}{upper}.")
    return value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise TextError(f"{name} is {_shown(value)}; give a text.")
    return str(value)


def _shown(value: Any) -> str:
    return quoted(escape_controls(str(value)[:60]), 40)


def _cut_to_fit(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer with as many items of its lists as make it short enough, and a notice of what was cut."""
    for most in FEWER:
        cut: dict[str, int] = {}
        shown = {key: _cut(value, most, key, cut) for key, value in answer.items()}
        if cut:
            longest = sorted(cut.items(), key=lambda each: -each[1])[:5]
            lists = ", ".join(f"{name} has {length:,}" for name, length in longest)
            first = counted(most, "item")
            notice = f"Cut to the first {first} of each list, to be short enough ({lists}); ask about less."
            shown["notices"] = [*shown["notices"], notice]
        raw = json_bytes(shown)
        if len(raw) <= MOST_NBYTES:
            plain: dict[str, Any] = orjson.loads(raw)
            return plain
    raise TextError("The answer is too long to be given; ask about fewer or shorter texts.")


def _cut(value: Any, most: int, name: str, cut: dict[str, int]) -> Any:
    """A value with the first items of each list and array, and the beginning of long texts.

    Args:
        name: the keys that lead to it.
        cut: name -> greatest length of what was cut.
    """
    if isinstance(value, str):
        if len(value) <= CHARACTERS_PER_ITEM * most:
            return value
        cut[name] = max(cut.get(name, 0), len(value))
        return f"{value[: CHARACTERS_PER_ITEM * most]}…"
    shape = getattr(value, "shape", None)
    if shape is not None:
        longest = max(shape, default=0)
        if longest > most:
            cut[name] = max(cut.get(name, 0), longest)
        return value[tuple(slice(most) for _ in shape)] if shape else value
    if not isinstance(value, Mapping | list | tuple):
        return value
    if len(value) > most:
        cut[name] = max(cut.get(name, 0), len(value))
    if isinstance(value, Mapping):
        return {key: _cut(each, most, f"{name}.{key}", cut) for key, each in list(value.items())[:most]}
    return [_cut(each, most, name, cut) for each in value[:most]]


def refusal(name: str, error: Exception) -> str:
    """One sentence about an error, with the arguments of the tool by their names."""
    tool = tools().get(name)
    if isinstance(error, BertvizError):
        sentence = error.spelled(partial(spelled, tool.command if tool else None))
    elif isinstance(error, SupersededError):
        sentence = "The call was cancelled."
    elif isinstance(error, OSError):
        sentence = unusable(error)
    elif is_out_of_memory(error):
        sentence = str(OutOfMemoryError("There is not enough memory for this; ask about fewer or shorter texts."))
    else:
        traceback.print_exception(error, file=sys.stderr)
        sentence = f"This is an error of Inside BERT itself ({type(error).__name__}), which its log describes."
    options = {each.option: argument for argument, each in (tool.arguments.items() if tool else ()) if each.option}
    return escape_controls(_by_name(sentence, options))


def instructions(settings: Settings) -> str:
    """What the agent is told of the whole server: what it is for, and which models are on this machine."""
    names = [each.name for each in offers(settings) if each.readiness == "ready"]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    hub = ", or a Hub id, which is downloaded" if settings.allow_hub and not settings.allowed_models else ""
    return (
        "Looks inside encoder models (BERT and its family) with exact numbers: tokens, attention, hidden states, "
        "predictions, similarities, parameters, and why. Nothing is written. Layers and heads are counted from 0. "
        f"`model` is one of {', '.join(names[:MOST_NAMED])}{more}{hub}. Files, corpora and training runs are named by "
        "their path in the models folder or the corpora folder. The tool `table` has the numbers of every figure."
    )


@app.command("mcp")
def mcp_command() -> None:
    """Answer an agent over standard input and output: the commands with --json, as tools of the protocol MCP."""
    settings = Settings.from_environment()
    with optional("mcp", "mcp", "The command mcp"):
        import anyio
        from mcp import types
        from mcp.server.lowlevel import Server
        from mcp.server.stdio import stdio_server

    about = types.ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=settings.allow_hub
    )

    def _listed() -> types.ListToolsResult:
        listed = [
            types.Tool(name=each.name, description=each.description, input_schema=each.schema, annotations=about)
            for each in tools().values()
        ]
        return types.ListToolsResult(tools=listed)

    def _called(name: str, values: Mapping[str, Any], stopped: Event) -> types.CallToolResult:
        try:
            answer = answered(name, values, stopped)
        except Exception as error:  # an agent goes on after any of them
            sentence = refusal(name, error)
            return types.CallToolResult(content=[types.TextContent(type="text", text=sentence)], is_error=True)
        text = json_escaped(json_bytes(answer).decode())
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=answer)

    async def on_list(_: Any, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return await anyio.to_thread.run_sync(_listed)

    async def on_call(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        stopped = Event()
        try:
            call = partial(_called, params.name, params.arguments or {}, stopped)
            return await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
        finally:
            stopped.set()

    server = Server(
        "inside-bert",
        version=__version__,
        title="Inside BERT",
        instructions=instructions(settings),
        on_list_tools=on_list,
        on_call_tool=on_call,
    )

    async def _serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(_serve)
