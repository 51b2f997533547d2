"""The command `figure`: any figure of the dashboard, written to a file."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.cli.figure.files import check_file, file_content
from bertviz_core.cli.figure.inputs import FigureInputs
from bertviz_core.cli.figure.registry import all_figures, no_figure
from bertviz_core.cli.figure.request import FigureRequest
from bertviz_core.cli.options import ModelArgument, TaskOption, app, typed_text, typed_texts
from bertviz_core.cli.output import print_notices, table, write_file
from bertviz_core.errors import TextError
from bertviz_core.figures.base.caption import caption_of
from bertviz_core.figures.base.style import theme_named, width_class
from bertviz_core.text import escape_controls

THEMES = ("light", "dark", "print")
SMALLEST, LARGEST = 200, 4000
TEXT_HELP = "What the model reads: one text, or one sentence after the other; for models their names."
SET_HELP = "A setting by its name in the address of the page; --list names those of each figure. Can be repeated."


def _list_names(wanted: bool) -> bool:
    """Print what can be drawn, and end."""
    if wanted:
        figures = all_figures().values()
        rows = [(each.name, each.description, " ".join(f"{name}=" for name in each.settings)) for each in figures]
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in table(rows, "lll")))
        raise typer.Exit
    return wanted


def _options(name: str, given: Sequence[str]) -> dict[str, str]:
    """What --set said.

    Raises:
        TextError: this figure has no such setting.
    """
    options = {}
    for each in given:
        setting, equals, value = each.partition("=")
        if not equals or setting not in all_figures()[name].settings:
            known = ", ".join(f"{known}=" for known in all_figures()[name].settings) or "none"
            raise TextError(f"The figure {name} has no setting {escape_controls(each[:40])!r}; those it has: {known}.")
        options[setting] = value
    return options


@app.command()
def figure(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What is drawn; --list names all there is.")],
    model: ModelArgument,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="File to write: .png, .svg or .html.")],
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT ...]", help=TEXT_HELP, callback=typed_texts)
    ] = None,
    pair: Annotated[
        str | None, typer.Option("--pair", help="A second text: both become one input.", callback=typed_text)
    ] = None,
    layer: Annotated[str, typer.Option("--layer", metavar="L", help="Layer; what is the page's by default.")] = "",
    head: Annotated[str, typer.Option("--head", metavar="H", help="Head of the layer, counted from 0.")] = "",
    form: Annotated[str, typer.Option("--form", help="Of the parameters: sunburst, treemap or icicle.")] = "sunburst",
    depth: Annotated[int, typer.Option("--depth", min=1, help="Levels of modules that are drawn.")] = 3,
    first: Annotated[int, typer.Option("--first", min=0, help="First dimension of the hidden states.")] = 0,
    window: Annotated[int, typer.Option("--window", min=0, help="Dimensions drawn; the page's by default.")] = 0,
    measure: Annotated[str, typer.Option("--map", help="Of the norms: length, before or input.")] = "length",
    words: Annotated[bool, typer.Option("--words", help="Merge pieces to words in a map of attention.")] = False,
    pooling: Annotated[str, typer.Option("--pooling", help="Of sentences; the checkpoint's own by default.")] = "",
    task: TaskOption = None,
    given: Annotated[list[str] | None, typer.Option("--set", metavar="SETTING=VALUE", help=SET_HELP)] = None,
    theme: Annotated[str, typer.Option("--theme", help="light, dark or print.")] = "light",
    width: Annotated[
        int, typer.Option("--width", min=SMALLEST, max=LARGEST, help="Pixels; a PNG has twice as many, at least 1,600.")
    ] = 1000,
    height: Annotated[
        int | None, typer.Option("--height", min=SMALLEST, max=LARGEST, help="Pixels; the figure's own by default.")
    ] = None,
    names: Annotated[
        bool, typer.Option("--list", is_eager=True, callback=_list_names, help="Print what can be drawn.")
    ] = False,
) -> None:
    """Write the figure of a page as PNG, SVG or HTML, as the dashboard draws it."""
    if name not in all_figures():
        raise no_figure(name, all_figures())
    if theme not in THEMES:
        raise TextError(f"There is no theme {escape_controls(theme[:20])!r}; choose {', '.join(THEMES)}.")
    check_file(out)
    asked = FigureRequest(
        model,
        tuple(texts or ()),
        pair,
        layer,
        head,
        form,
        depth,
        first,
        window,
        measure,
        words,
        pooling,
        task,
        _options(name, given or ()),
    )
    inputs = FigureInputs(asked)
    spec = all_figures()[name](*(getattr(inputs, each) for each in all_figures()[name].inputs))
    print_notices(inputs.notices)
    chosen = theme_named(theme, width_class(width))
    caption = caption_of(spec.drawn(chosen), spec.caption or spec.title, inputs.models, inputs.texts)
    write_file(out, file_content(out.suffix.lower(), spec, caption, chosen, width, height))
    print_notices((f"{spec.title}: written to {out}.",))
