"""The `report` command, which writes figures of a model and a text to an HTML file, or to slides."""

from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.cli.checkpoints.header import TaskOption
from bertviz_core.cli.figure.command import LARGEST, SMALLEST, THEMES
from bertviz_core.cli.opened import opened_model
from bertviz_core.cli.options import HeadOption, ModelArgument, app, typed_text
from bertviz_core.cli.output import print_notices, write_file
from bertviz_core.errors import TextError
from bertviz_core.figures.base.style import WIDE, theme_named, width_class
from bertviz_core.models.skeleton import quietly
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.files import PPTX, slides_of_report
from bertviz_core.questions.report.image_files import require_browser
from bertviz_core.questions.report.page import report_page
from bertviz_core.questions.report.sections import known_figures, report_of
from bertviz_core.questions.report.slides import require_slides
from bertviz_core.text import counted, escape_controls, quoted

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
