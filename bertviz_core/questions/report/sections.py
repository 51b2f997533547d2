"""What a report consists of: facts of the model, and the figures that can be drawn of it, each with its caption."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version

import pandas as pd
import plotly.graph_objects as go

from bertviz_core.errors import BertvizError, Progress, TextError
from bertviz_core.figures.base.caption import Caption, caption_of
from bertviz_core.figures.base.style import Theme
from bertviz_core.models.local_files import weights_folder
from bertviz_core.models.safetensors.folder import weights_sha256
from bertviz_core.questions.figures import drawn_by, no_figure
from bertviz_core.questions.models.parameters import parameters
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
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
"""What a report shows unless it is told otherwise: from the outside in, and only what the model and its texts have."""
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
"""Figures that no text changes."""
MANY_RUNS = frozenset(("surprise", "effects", "word-shares", "word-bars"))
"""Figures that take a run of the model for each head or word."""
REPORTED = (
    *USUAL,
    *("components", "design", "layer", "cost", "memory", "load-report", "weights", "tokenizers", "nearest", "input"),
    *("paths", "matrix", "products", "cell", "mix", "lines", "long", "next-sentence", "answers", "answer-map"),
    *("masked-text", "terms", "term-score", "surprise", "word-bars"),
)
"""What a report may hold: figures of one model and its text, and of nothing else. Others read names of models, files or
lists where these read a text, or take minutes; a new figure is no part of a report until it is named here."""


@dataclass(frozen=True, slots=True, eq=False)
class ReportSection:
    """One figure of a report, or one table."""

    name: str
    """As `figure --list` has it; any other word for what is no figure of that list."""
    title: str
    alt: str
    """What is seen, for a reader who does not see it."""
    figure: go.Figure | None
    """Drawn in the report's theme; None where there is a table alone."""
    caption: Caption
    code: str
    """What makes the same figure; may be empty."""
    code_title: str = "The command that draws it"
    table: pd.DataFrame | None = None
    """Numbers that stand where there is no figure."""


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """Facts and figures of one model and one text."""

    model: str
    facts: Mapping[str, str]
    """What it was made of and with -> the value, in the order in which they stand."""
    sections: tuple[ReportSection, ...]
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Why figures cannot be drawn, in one sentence -> their names."""
    notices: tuple[str, ...] = ()
    """What a reader must know about the numbers."""


def known_figures(names: Sequence[str]) -> tuple[str, ...]:
    """The figures of these names, or the usual ones where none is named.

    Raises:
        TextError: no report holds such a figure.
    """
    for name in names:
        if name not in REPORTED:
            raise no_figure(name, REPORTED, " for a report")
    return tuple(dict.fromkeys(names)) or USUAL


def report_of(
    opened: Opened,
    options: Options,
    names: Sequence[str],
    theme: Theme,
    progress: Progress | None = None,
    first: Sequence[ReportSection] = (),
) -> Report:
    """A report of these figures; the model runs once, whatever the number of figures.

    A figure that the model or its texts cannot have, such as classes of a model without a head, is left out,
    and the report says why.

    Args:
        opened: the model.
        options: what it reads, and options of the figures.
        names: as `figure --list` has them.
        theme: colours, and the width for which figures are drawn.
        progress: called with figures drawn and their number.
        first: what stands in front of these figures, such as those of the view that a reader is on.

    Raises:
        TextError: there is nothing in front, and not one figure can be drawn, with the reason of the first.
    """
    sections = list(first)
    notices: list[str] = []
    left_out: dict[str, tuple[str, ...]] = {}
    for place, name in enumerate(names):
        if progress is not None:
            progress(place, len(names))
        try:
            section, said = _section(opened, options, name, theme)
        except BertvizError as error:
            left_out[str(error)] = (*left_out.get(str(error), ()), name)
        else:
            sections.append(section)
            notices += said
    if not sections:
        raise TextError(next(iter(left_out), "A report of no figure was asked for; choose one at least."))
    if progress is not None:
        progress(len(names), len(names))
    return Report(
        opened.source.name, report_facts(opened, options), tuple(sections), left_out, tuple(dict.fromkeys(notices))
    )


def report_facts(opened: Opened, options: Options) -> dict[str, str]:
    """Model, its size, its weights' digest, what it read, and the versions of what computed; all as words."""
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
    facts["Made"] = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    made_with = ", ".join(f"{package} {version(package)}" for package in ("torch", "transformers", "plotly"))
    facts["Made with"] = f"Inside BERT {__version__}, {made_with}"
    return {name: value for name, value in facts.items() if value}


def _section(opened: Opened, options: Options, name: str, theme: Theme) -> tuple[ReportSection, tuple[str, ...]]:
    """One figure, and what a reader must know about it."""
    spec, answer = drawn_by(name, opened, options)
    figure = spec.drawn(theme)
    texts = () if name in OF_WEIGHTS else answer.texts
    caption = caption_of(figure, spec.caption or spec.title, answer.models, texts)
    command = _command(opened.name, options, name, theme)
    return ReportSection(name, spec.title, spec.alt or spec.title, figure, caption, command), answer.notices


def _command(model: str, asked: Options, name: str, theme: Theme) -> str:
    options = [
        *(("--map", asked.get("map")) if name == "norms" and asked.get("map") else ()),
        *(("--theme", theme.name) if theme.name != "light" else ()),
        *(("--pair", asked.pair) if asked.pair else ()),
        *(("--layer", asked.get("layer")) if asked.get("layer") else ()),
        *(("--head", asked.get("head")) if asked.get("head") else ()),
        *(("--task", asked.task) if asked.task else ()),
    ]
    given, out = (name, model, *asked.texts), ("-o", f"{name}.html")
    # Behind "--" a text that begins with a dash is no option.
    words = (*options, *out, "--", *given) if any(each.startswith("-") for each in given) else (*given, *options, *out)
    return shlex.join(("python", "-m", "bertviz_core", "figure", *words))
