"""The command that writes a page's figure as a file, without a dashboard."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.cli_app import ModelArgument, TaskOption, app
from bertviz_core.cli_figure_asked import Asked
from bertviz_core.cli_figure_file import check_file, file_content, write_file
from bertviz_core.cli_figure_names import NAMES
from bertviz_core.cli_table import table, tell
from bertviz_core.errors import TextError
from bertviz_core.visible import visible

THEMES = ("light", "dark", "print")
SMALLEST, LARGEST = 200, 4000
TEXT_HELP = "What the model reads: one text, or one sentence after the other; for models their names."
SET_HELP = "A setting by its name in the address of the page; --list names those of each figure. Can be repeated."


def _list_names(wanted: bool) -> None:
    """Print what can be drawn, and end."""
    if wanted:
        rows = [(name, entry.words, " ".join(f"{each}=" for each in entry.settings)) for name, entry in NAMES.items()]
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in table(rows, "lll")))
        raise typer.Exit


def _settings(name: str, given: Sequence[str]) -> dict[str, str]:
    """What --set said.

    Raises:
        TextError: this figure has no such setting.
    """
    found = {}
    for each in given:
        setting, equals, value = each.partition("=")
        if not equals or setting not in NAMES[name].settings:
            known = ", ".join(f"{known}=" for known in NAMES[name].settings) or "none"
            raise TextError(f"The figure {name} has no setting {visible(each[:40])!r}; those it has: {known}.")
        found[setting] = value
    return found


@app.command()
def figure(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What is drawn; --list names all there is.")],
    model: ModelArgument,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="File to write: .png, .svg or .html.")],
    texts: Annotated[list[str] | None, typer.Argument(metavar="[TEXT ...]", help=TEXT_HELP)] = None,
    pair: Annotated[str | None, typer.Option("--pair", help="A second text: both become one input.")] = None,
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
    width: Annotated[int, typer.Option("--width", min=SMALLEST, max=LARGEST, help="Pixels, half of a PNG's.")] = 1000,
    height: Annotated[
        int | None, typer.Option("--height", min=SMALLEST, max=LARGEST, help="Pixels; the figure's own by default.")
    ] = None,
    names: Annotated[
        bool, typer.Option("--list", is_eager=True, callback=_list_names, help="Print what can be drawn.")
    ] = False,
) -> None:
    """Write the figure of a page as PNG, SVG or HTML, as the dashboard draws it."""
    from figures.caption import caption_of
    from figures.style import THEMES as LOOKS

    if name not in NAMES:
        raise TextError(f"There is no figure {visible(name[:30])!r}; choose {', '.join(NAMES)}.")
    if theme not in THEMES:
        raise TextError(f"There is no theme {visible(theme[:20])!r}; choose {', '.join(THEMES)}.")
    check_file(out)
    asked = Asked(
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
        _settings(name, given or ()),
    )
    found = NAMES[name].make(asked)
    tell(found.notices)
    look = LOOKS[theme]
    caption = caption_of(found.picture.drawn(look), found.words, found.models, found.texts)
    write_file(out, file_content(out.suffix.lower(), found.picture, caption, look, width, height))
    tell((f"{found.picture.title}: written to {out}.",))
