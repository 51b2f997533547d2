"""The content of a report: facts about the model, and figures with captions."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version

import plotly.graph_objects as go

from bertviz_core.errors import BertvizError, Progress, TextError
from bertviz_core.figures.base.export import Caption, caption_of
from bertviz_core.figures.base.style import Theme
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.models.local_files import weights_folder
from bertviz_core.models.safetensors.folder import weights_sha256
from bertviz_core.questions.figures import all_figures, drawn_by, no_figure
from bertviz_core.questions.models.architecture import parameters
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import figure_questions
from bertviz_core.version import __version__

USUAL = (
    "overview",
    "parameters",
    "layers",
    "tokens",
    "norms",
    "hidden",
    "similarity",
    "pooler",
    "heads",
    "attention",
    "atlas",
    "classes",
    "tags",
    "masked-words",
    "lens",
    "effects",
    "word-shares",
)
"""Figures of a report by default, from the outside in; those that do not apply to the model or text are omitted."""
OF_WEIGHTS = frozenset(
    [
        "overview",
        "parameters",
        "components",
        "layers",
        "models",
        "design",
        "memory",
        "load-report",
        "task-head",
        "values",
        "weights",
        "heads",
        "matrix",
        "change",
        "changes",
    ]
)
"""Figures that do not depend on the text."""


@dataclass(frozen=True, slots=True, eq=False)
class ReportSection:
    """A figure or table of a report."""

    name: str
    """Name of the figure in `figure --list`, or another word for other sections."""
    title: str
    alt: str
    """Text alternative for screen readers."""
    figure: go.Figure | None
    """The figure in the theme of the report; None for a table alone."""
    caption: Caption
    code: str
    """Code that reproduces the figure; may be empty."""
    code_title: str = "The command that draws it"
    table: "pd.DataFrame | None" = None
    """Table to show in place of a figure."""
    note: str = ""
    """A text below the title; a section with neither figure nor table is this text alone."""
    page: str = ""
    """A self-contained HTML page with a drawing, to show in place of a figure; it has its own title and caption."""

    slide: go.Figure | None = None
    """The figure as high as its place on a slide with a note; None for the figure itself."""

    @property
    def is_drawn(self) -> bool:
        """Whether it has a figure or a drawing, which only a browser makes a picture of."""
        return self.figure is not None or bool(self.page)


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """Facts and figures of a model and a text."""

    model: str
    facts: Mapping[str, str]
    """Label -> value of the facts at the head of the report, in order."""
    sections: tuple[ReportSection, ...]
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Reason why figures cannot be drawn, one sentence -> their names."""
    notices: tuple[str, ...] = ()
    """Remarks on the data."""
    title: str = ""
    """The title; "" for the name of the model and what follows from it."""
    about: str = "What is in this model, and what it does with a text."
    """One sentence below the title."""


def reported_figures() -> tuple[str, ...]:
    """Figures that a report supports, the usual ones first: those declared with `reported=True`."""
    return tuple(dict.fromkeys((*USUAL, *(each.name for each in all_figures().values() if each.reported))))


def needs_many_runs(name: str) -> bool:
    """Whether a figure needs a run of the model for each head or word."""
    return figure_questions()[name].cost is not None


def known_figures(names: Sequence[str]) -> tuple[str, ...]:
    """Validate names of figures; defaults to the usual ones."""
    for name in names:
        if name not in reported_figures():
            raise no_figure(name, reported_figures(), " for a report")
    return tuple(dict.fromkeys(names)) or USUAL


def report_of(
    opened: Opened,
    options: Options,
    names: Sequence[str],
    theme: Theme,
    progress: Progress | None = None,
    first: Sequence[ReportSection] = (),
) -> Report:
    """Create a report with these figures; the model is run once for all of them.

    Figures that do not apply to the model or its texts, such as classes for a model without a head, are omitted, with
    the reason stated in the report.

    Args:
        options: texts, and options of the figures.
        first: sections before these figures, such as those of the current page.
    """
    sections = list(first)
    notices = list(opened.notices)
    left_out: dict[str, tuple[str, ...]] = {}
    for place, name in enumerate(names):
        if progress is not None:
            progress(place, len(names))
        try:
            section, remarks = _section(opened, options, name, theme)
        except BertvizError as error:
            left_out[str(error)] = (*left_out.get(str(error), ()), name)
        else:
            sections.append(section)
            notices += remarks
    if not sections:
        raise TextError(next(iter(left_out), "The report has no figure; choose one at least."))
    if progress is not None:
        progress(len(names), len(names))
    return Report(
        opened.source.name, report_facts(opened, options), tuple(sections), left_out, tuple(dict.fromkeys(notices))
    )


def report_facts(opened: Opened, options: Options) -> dict[str, str]:
    """Model, size, digest of the weights, input texts and versions of the software, as texts."""
    source, ledger = opened.source, parameters(opened, options).result
    facts = {
        "Model": source.name,
        "Class": ledger.architecture,
        "Parameters": f"{ledger.total:,}",
        "Revision": source.revision,
    }
    try:
        facts["SHA-256 of the weights"] = weights_sha256(weights_folder(source, opened.settings))
    except BertvizError:
        facts["Weights"] = "not on this machine; counts come from the config"
    for name, text in (("Text", options.texts[0] if options.texts else ""), ("Second text", options.pair)):
        if text:
            facts[name] = text
    return {name: value for name, value in (facts | made_facts()).items() if value}


def made_facts() -> dict[str, str]:
    """When a report was made, and with which versions of the software."""
    made_with = ", ".join(f"{package} {version(package)}" for package in ("torch", "transformers", "plotly"))
    return {"Made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", "Made with": f"Inside BERT {__version__}, {made_with}"}


def _section(opened: Opened, options: Options, name: str, theme: Theme) -> tuple[ReportSection, tuple[str, ...]]:
    spec, answer = drawn_by(name, opened, options)
    figure = spec.drawn(theme)
    texts = () if name in OF_WEIGHTS else answer.texts
    caption = caption_of(figure, spec.caption or spec.title, answer.models, texts, spec.remark)
    command = _command(opened.name, options, name, theme)
    return ReportSection(name, spec.title, spec.alt or spec.title, figure, caption, command), answer.notices


def _command(model: str, options: Options, name: str, theme: Theme) -> str:
    flags = [
        *(("--map", options.get("map")) if name == "norms" and options.get("map") else ()),
        *(("--theme", theme.name) if theme.name != "light" else ()),
        *(("--pair", options.pair) if options.pair else ()),
        *(("--layer", options.get("layer")) if options.get("layer") else ()),
        *(("--head", options.get("head")) if options.get("head") else ()),
        *(("--task", options.task) if options.task else ()),
    ]
    inputs, out = (name, model, *options.texts), ("-o", f"{name}.html")
    # After "--" a text that begins with a dash is not an option.
    words = (*flags, *out, "--", *inputs) if any(each.startswith("-") for each in inputs) else (*inputs, *flags, *out)
    return shlex.join(("python", "-m", "bertviz_core", "figure", *words))
