"""Write any figure of the dashboard, its table, or a report."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.cli.opened import opened_model
from bertviz_core.cli.options import (
    HeadOption,
    JsonOption,
    ModelArgument,
    WordsOption,
    app,
    command_settings,
    print_notices,
    show,
    typed_text,
    write_file,
)
from bertviz_core.cli.parameters import TaskOption
from bertviz_core.errors import TextError
from bertviz_core.figures.base.export import MEDIA, WIDTH, caption_of
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import WIDE, theme_named, width_class
from bertviz_core.models.skeleton import quietly
from bertviz_core.questions.figures import all_figures, drawn_by, no_figure, settings_of, subject_of
from bertviz_core.questions.interventions.effects import REMOVED_FOR
from bertviz_core.questions.interventions.journey_change import CHANGE, drawn_change, journey_caption, journey_page
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import figure_questions
from bertviz_core.questions.report.figure_files import check_file, require_browser
from bertviz_core.questions.report.files import PPTX, drawing_file, figure_file, slides_of_report
from bertviz_core.questions.report.page import report_page
from bertviz_core.questions.report.sections import known_figures, report_of
from bertviz_core.questions.report.slides import require_slides
from bertviz_core.questions.tables.lines import Faces, aligned, records
from bertviz_core.questions.texts.hidden_states import HEAD, KEY, LAYER, QUERY
from bertviz_core.questions.texts.journey import LOOKS
from bertviz_core.questions.texts.tokens import EDITED
from bertviz_core.tables.typeset import readable, without_gaps
from bertviz_core.text import counted, escape_controls, quoted

JOURNEY = "journey"
JOURNEY_SETTINGS = tuple(each.key for each in (QUERY, KEY, *LOOKS, CHANGE, REMOVED_FOR, EDITED))
JOURNEY_SHOWS = "the way of a text through the whole model; --layer and --head open a part"
THEMES = ("light", "dark", "print")
SMALLEST, LARGEST = 200, 4000
FOR_HELP = "Size of an image: slide, 1600 x 900 pixels, or column, 85 mm wide, of a paper."
TEXT_HELP = "What the model reads: one text, or one sentence after the other; for models their names."
SET_HELP = "A setting by its name in the address of the page; `figure --list` names those of each figure."


def _list_names(flag: bool) -> bool:
    if flag:
        figures = all_figures().values()
        rows = [
            (each.name, each.description, " ".join(f"{key}=" for key in settings_of(each.name))) for each in figures
        ]
        rows.append((JOURNEY, JOURNEY_SHOWS, " ".join(f"{key}=" for key in JOURNEY_SETTINGS)))
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in aligned(rows, "lll")))
        raise typer.Exit
    return flag


def _options(name: str, pairs: Sequence[str]) -> dict[str, str]:
    """Parse the values of --set; raises TextError for an unknown setting."""
    listed = JOURNEY_SETTINGS if name == JOURNEY else settings_of(name)
    options, every = {}, {*listed, *(() if name == JOURNEY else (each.key for each in figure_questions()[name].params))}
    for each in pairs:
        setting, equals, value = each.partition("=")
        if not equals or setting not in every:
            known = ", ".join(f"{known}=" for known in listed) or "none"
            raise TextError(f"The figure {name} has no setting {escape_controls(each[:40])!r}; those it has: {known}.")
        options[setting] = value
    return options


@app.command()
def figure(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What is drawn; --list names all there is.")],
    model: ModelArgument,
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="FILE", help="File to write: .png, .svg, .pdf, .html, or .csv, .tex, .md."),
    ],
    texts: Annotated[list[str] | None, typer.Argument(metavar="[TEXT ...]", help=TEXT_HELP)] = None,
    pair: Annotated[str | None, typer.Option("--pair", help="A second text: both become one input.")] = None,
    layer: Annotated[str, typer.Option("--layer", metavar="L", help="Layer; what is the page's by default.")] = "",
    head: HeadOption = "",
    form: Annotated[str, typer.Option("--form", help="Of the parameters: sunburst, treemap or icicle.")] = "",
    depth: Annotated[int | None, typer.Option("--depth", min=1, help="Levels of modules, 3 by default.")] = None,
    first: Annotated[int | None, typer.Option("--first", min=0, help="First dimension of the hidden states.")] = None,
    window: Annotated[
        int | None, typer.Option("--window", min=0, help="Dimensions drawn; the page's by default.")
    ] = None,
    measure: Annotated[str, typer.Option("--map", help="Of the norms: length, change, before or input.")] = "",
    words: WordsOption = False,
    pooling: Annotated[str, typer.Option("--pooling", help="Of sentences; the checkpoint's own by default.")] = "",
    task: TaskOption = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="SETTING=VALUE", help=SET_HELP)] = None,
    theme: Annotated[str, typer.Option("--theme", help="light, dark or print.")] = "light",
    medium: Annotated[str, typer.Option("--for", metavar="MEDIUM", help=FOR_HELP)] = "",
    width: Annotated[
        int | None,
        typer.Option("--width", min=SMALLEST, max=LARGEST, help="Pixels, 1,000 by default; a PNG has at least 1,600."),
    ] = None,
    height: Annotated[
        int | None, typer.Option("--height", min=SMALLEST, max=LARGEST, help="Pixels; the figure's own by default.")
    ] = None,
    names: Annotated[
        bool, typer.Option("--list", is_eager=True, callback=_list_names, help="Print what can be drawn.")
    ] = False,
) -> None:
    """Write the figure of a page as the dashboard draws it, or its table."""
    if name not in (*all_figures(), JOURNEY):
        raise no_figure(name, (*all_figures(), JOURNEY))
    if theme not in THEMES:
        raise TextError(f"There is no theme {escape_controls(theme[:20])!r}; choose {', '.join(THEMES)}.")
    check_file(out)
    pixels = _width(out, medium, width, height)
    common = {"layer": layer, "head": head, "form": form, "depth": depth, "first": first, "window": window}
    common |= {"map": measure, "words": "true" if words else "", "pooling": pooling}
    typed = {key: str(value) for key, value in common.items() if value not in ("", None)}
    options = Options(tuple(texts or ()), pair, task, {**typed, **_options(name, settings or ())})
    if name == JOURNEY:
        _write_journey(model, options, out, theme, pixels, medium)
        return
    with quietly():
        opened = subject_of(name, model, command_settings(), task)
        spec, answer = drawn_by(name, opened, options)
    print_notices(answer.notices)
    chosen = theme_named(theme, width_class(pixels))
    caption = caption_of(spec.drawn(chosen), spec.caption or spec.title, answer.models, answer.texts, spec.remark)
    write_file(out, figure_file(out.suffix.lower(), spec, caption, chosen, pixels, height, medium))
    print_notices((f"{spec.title}: written to {out}.",))


def _width(out: Path, medium: str, width: int | None, height: int | None) -> int:
    """Width of the figure in pixels; raises TextError where --for cannot be what sets it."""
    if not medium:
        return width or WIDTH
    if medium not in MEDIA:
        raise TextError(f"There is no medium {escape_controls(medium[:20])!r}; choose {' or '.join(MEDIA)}.")
    if (width, height) != (None, None):
        raise TextError("--for sets the size; leave out --width and --height.")
    if out.suffix.lower() == ".html":
        raise TextError(f"An .html file has no size for a {medium}; leave out --for, or write an image.")
    return MEDIA[medium]


def _write_journey(model: str, options: Options, out: Path, theme: str, width: int, medium: str) -> None:
    """Write the drawing of a journey, as an interactive page or an image."""
    with quietly():
        opened = OpenedModel(model, command_settings(), options.task)
        change = drawn_change(opened, options)
        page, answer = journey_page(opened, options, theme_named(theme), change=change)
    print_notices(answer.notices)
    below = journey_caption(answer.result, answer.models, change)
    write_file(out, drawing_file(out.suffix.lower(), page, width, theme_named(theme), medium, below))
    print_notices((f"Journey through {opened.name}: written to {out}.",))


TABLE: Faces[FigureSpec] = Faces(
    keys=lambda spec: {"title": spec.title, "rows": records(without_gaps(spec.frame()))},
    frame=lambda spec: readable(spec.frame()),
    above=lambda spec: (escape_controls(spec.title),),
)
"""How the numbers of a figure are printed."""


@app.command("table")
def figure_table(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The figure; figure --list names all.")],
    model: ModelArgument,
    texts: Annotated[list[str] | None, typer.Argument(metavar="[TEXT ...]", help=TEXT_HELP)] = None,
    pair: Annotated[str | None, typer.Option("--pair", help="A second text: both become one input.")] = None,
    layer: Annotated[
        str, typer.Option("--layer", metavar="L", help="Layer; what is the page's by default."), LAYER
    ] = "",
    head: Annotated[HeadOption, HEAD] = "",
    task: TaskOption = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="SETTING=VALUE", help=SET_HELP)] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the numbers of the figure of a page, as the table there."""
    if name not in all_figures():
        raise no_figure(name, all_figures())
    typed = {key: value for key, value in (("layer", layer), ("head", head)) if value}
    options = Options(tuple(texts or ()), pair, task, {**typed, **_options(name, settings or ())})
    with quietly():
        opened = subject_of(name, model, command_settings(), task)
        spec, answer = drawn_by(name, opened, options)
    show(TABLE, spec, answer.notices, as_json)


HTML = ".html"


@app.command()
def report(
    model: ModelArgument,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="File to write: .html, or .pptx, slides.")],
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="What the model reads.", callback=typed_text)
    ] = None,
    pair: Annotated[
        str | None, typer.Option("--pair", help="A second text: both become one input.", callback=typed_text)
    ] = None,
    figures: Annotated[
        list[str] | None,
        typer.Option("--figure", metavar="NAME", help="One that `figure --list` names; can be repeated."),
    ] = None,
    layer: Annotated[str, typer.Option("--layer", metavar="L", help="Layer; what is each page's by default.")] = "",
    head: HeadOption = "",
    task: TaskOption = None,
    theme: Annotated[str, typer.Option("--theme", help="light, dark or print.")] = "light",
    width: Annotated[int, typer.Option("--width", min=SMALLEST, max=LARGEST, help="Pixels of a figure.")] = WIDE,
) -> None:
    """Write a report: figures of a model and a text in one HTML file that needs no network, or on slides, one each."""
    if theme not in THEMES:
        raise TextError(f"There is no theme {escape_controls(theme[:20])!r}; choose {', '.join(THEMES)}.")
    ending = out.suffix.lower()
    if ending not in (HTML, PPTX):
        raise TextError(f"A report is an {HTML} or {PPTX} file, and {quoted(out.name)} has another ending.")
    if not out.absolute().parent.is_dir():
        raise TextError(f"There is no folder {quoted(str(out.parent))}; make it first.")
    if ending == PPTX:
        require_slides()
        require_browser(PPTX)
    texts = () if text is None else (text,)
    typed = {"map": "change", "layer": layer, "head": head}
    options = Options(texts, pair, task, {key: value for key, value in typed.items() if value})
    chosen = theme_named(theme, width_class(width))
    with quietly():
        made = report_of(opened_model(model, task), options, known_figures(figures or ()), chosen)
    slides = ending == PPTX
    write_file(out, slides_of_report(made, chosen) if slides else report_page(made, chosen).encode("utf-8", "replace"))
    left_out = (f"Without {', '.join(names)}: {why}" for why, names in made.left_out.items())
    print_notices((*made.notices, *left_out, f"{counted(len(made.sections), 'figure')} written to {out}."))
