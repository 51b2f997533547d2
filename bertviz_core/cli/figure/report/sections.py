"""What a report consists of: facts of the model, and the figures that can be drawn of it, each with its caption."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version

import plotly.graph_objects as go

from bertviz_core.cli.figure.inputs import FigureInputs
from bertviz_core.cli.figure.registry import all_figures, no_figure
from bertviz_core.errors import BertvizError, Progress, TextError
from bertviz_core.figures.base.caption import Caption, caption_of
from bertviz_core.figures.base.style import Theme
from bertviz_core.models.files import weights_folder
from bertviz_core.models.safetensors.folder import weights_sha256
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
    """One figure of a report."""

    name: str
    """As `figure --list` has it."""
    title: str
    alt: str
    """What is seen, for a reader who does not see it."""
    figure: go.Figure
    """Drawn in the report's theme."""
    caption: Caption
    command: str
    """What writes the same figure."""


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


def report_of(inputs: FigureInputs, names: Sequence[str], theme: Theme, tell: Progress | None = None) -> Report:
    """A report of these figures; the model runs once, whatever the number of figures.

    A figure that the model or its texts cannot have, such as classes of a model without a head, is left out,
    and the report says why.

    Args:
        inputs: what figures are made of, on one request.
        names: as `figure --list` has them.
        theme: colours, and the width for which figures are drawn.
        tell: called with figures drawn and their number.

    Raises:
        TextError: not one figure can be drawn, with the reason of the first.
    """
    sections: list[ReportSection] = []
    left_out: dict[str, tuple[str, ...]] = {}
    for place, name in enumerate(names):
        if tell is not None:
            tell(place, len(names))
        try:
            sections.append(_section(inputs, name, theme))
        except BertvizError as error:
            left_out[str(error)] = (*left_out.get(str(error), ()), name)
    if not sections:
        raise TextError(next(iter(left_out)))
    if tell is not None:
        tell(len(names), len(names))
    notices = tuple(dict.fromkeys(inputs.notices))
    return Report(inputs.source.name, report_facts(inputs), tuple(sections), left_out, notices)


def report_facts(inputs: FigureInputs) -> dict[str, str]:
    """Model, its size, its weights' digest, what it read, and the versions of what computed; all as words."""
    source, ledger = inputs.source, inputs.ledger
    facts = {
        "Model": source.name,
        "Class": ledger.architecture,
        "Parameters": f"{ledger.total:,}",
        "Revision": source.revision,
    }
    try:
        facts["SHA-256 of the weights"] = weights_sha256(weights_folder(source, inputs.settings))
    except BertvizError:
        facts["Weights"] = "not on this machine; counts come from the config"
    for name, text in (
        ("Text", inputs.asked.texts[0] if inputs.asked.texts else ""),
        ("Second text", inputs.asked.pair),
    ):
        if text:
            facts[name] = text
    facts["Made"] = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    made_with = ", ".join(f"{package} {version(package)}" for package in ("torch", "transformers", "plotly"))
    facts["Made with"] = f"Inside BERT {__version__}, {made_with}"
    return {name: value for name, value in facts.items() if value}


def _section(inputs: FigureInputs, name: str, theme: Theme) -> ReportSection:
    declared = all_figures()[name]
    spec = declared(*(getattr(inputs, each) for each in declared.inputs))
    figure = spec.drawn(theme)
    texts = () if name in OF_WEIGHTS else inputs.texts
    caption = caption_of(figure, spec.caption or spec.title, inputs.models, texts)
    return ReportSection(name, spec.title, spec.alt or spec.title, figure, caption, _command(inputs, name, theme))


def _command(inputs: FigureInputs, name: str, theme: Theme) -> str:
    asked = inputs.asked
    options = [
        *(("--map", asked.measure) if name == "norms" else ()),
        *(("--theme", theme.name) if theme.name != "light" else ()),
        *(("--pair", asked.pair) if asked.pair else ()),
        *(("--layer", asked.layer) if asked.layer else ()),
        *(("--head", asked.head) if asked.head else ()),
        *(("--task", asked.task) if asked.task else ()),
    ]
    given, out = (name, asked.model, *asked.texts), ("-o", f"{name}.html")
    # Behind "--" a text that begins with a dash is no option.
    words = (*options, *out, "--", *given) if any(each.startswith("-") for each in given) else (*given, *options, *out)
    return shlex.join(("python", "-m", "bertviz_core", "figure", *words))
