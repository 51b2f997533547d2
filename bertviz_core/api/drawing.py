"""An opened model, loaded once whatever it is asked, and the dashboard's figures drawn from it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

import plotly.graph_objects as go

from bertviz_core.api.own_model import SavedModel
from bertviz_core.causes.requests import needed_task, open_target
from bertviz_core.causes.targets import Target
from bertviz_core.cli.figure.command import THEMES
from bertviz_core.cli.figure.inputs import FigureInputs
from bertviz_core.cli.figure.registry import all_figures, no_figure
from bertviz_core.cli.figure.request import FigureRequest
from bertviz_core.errors import BertvizError, TextError
from bertviz_core.figures.base.style import WIDE, theme_named, width_class
from bertviz_core.models.device import chosen_device
from bertviz_core.models.loading import LoadedModel, load_model
from bertviz_core.models.skeleton import quietly
from bertviz_core.models.sources import ModelSource, folder_source, resolve
from bertviz_core.predictions.loading import HeadModel, load_head, stored_task
from bertviz_core.settings import DEVICE, Settings
from bertviz_core.text import escape_controls, quoted
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, tokenize

Option = str | int | float | bool
LEAST_PIXELS, MOST_PIXELS = 10, 100_000
"""Of a figure's side."""
COMMON = ("layer", "head", "form", "depth", "first", "window", "map", "words", "pooling")
"""Options that the command `figure` has for all figures; a figure's own settings stand beside them."""


OPTION = re.compile(r"""(?P<said>(?<!\w)'[^']*'|"[^"]*")|--(?:set\ )?(?=[a-z])""", re.VERBOSE)
"""How an error names an option of the command line; `said` is what it quotes of the user's, which stays as it is."""


@contextmanager
def python_options() -> Iterator[None]:
    """Errors that name an option name it as Python does: `layer`, not `--layer`; `target=`, not `--set target=`."""
    try:
        yield
    except BertvizError as error:
        error.args = (OPTION.sub(lambda each: each["said"] or "", str(error)), *error.args[1:])
        raise


class OpenedModel:
    """A model by its name, or a copy of a caller's own; what it has is loaded when first needed, and kept."""

    def __init__(self, name: str, task: str | None, device: str | None = None, saved: SavedModel | None = None) -> None:
        self.name, self.task, self.device, self.saved = name, task, device, saved
        self._heads: dict[str, HeadModel] = {}

    def __reduce__(self) -> tuple[type["OpenedModel"], tuple[str, str | None, str | None, SavedModel | None]]:
        """Pickled by its name: it is opened again where it is unpickled, when something of it is needed."""
        return OpenedModel, (self.name, self.task, self.device, self.saved)

    def __deepcopy__(self, memo: dict[int, object]) -> "OpenedModel":
        """Itself: nothing changes an opened model, and copies of a result may share it."""
        return self

    def found(self) -> "OpenedModel":
        """Itself, when it is known that there is such a model.

        Raises:
            BertvizError: there is none of this name, or it may not be opened, or there is no such device.
        """
        _ = self.source
        return self

    @cached_property
    def settings(self) -> Settings:
        """Those of this process, with the device that was chosen.

        Raises:
            BertvizError: there is no such device.
        """
        settings = Settings.from_environment(any_folder=True)
        if self.device is None:
            return settings
        if not DEVICE.fullmatch(self.device):
            raise TextError(f"There is no device {quoted(self.device, 20)}; give auto, cpu, cuda, cuda:1 or mps.")
        chosen_device(self.device, "device")
        return replace(settings, device=self.device)

    @cached_property
    def source(self) -> ModelSource:
        """Where its files are.

        Raises:
            BertvizError: there are none, or they may not be opened.
        """
        if self.saved is not None:
            return folder_source(self.name, self.saved.folder, self.settings)
        return resolve(self.name, self.settings)

    @cached_property
    def loaded(self) -> LoadedModel:
        """The model with its weights."""
        return load_model(self.source, self.settings)

    @cached_property
    def tokenizer(self) -> TextTokenizer:
        """Its tokenizer."""
        return load_tokenizer(self.source, self.settings)

    def head(self, task: str | None) -> HeadModel:
        """The model with the head of a task, or with the one that it was saved with."""
        known = task or stored_task(self.source)
        if known not in self._heads:
            self._heads[known] = load_head(self.source, self.settings, known, self.loaded)
        return self._heads[known]

    def tokens(self, text: str, pair: str | None) -> Tokens:
        """The tokens of a text, or of a pair."""
        with quietly():
            return tokenize(self.tokenizer, text, pair)

    def target(self, text: str, pair: str | None, name: str | None, measure: str) -> Target:
        """The number of the model that a name means, for a text or a pair."""
        task = needed_task(self.source, name, pair is not None)
        head = None if task is None else self.head(task)
        with quietly():
            return open_target(self.source, self.settings, text, pair, name, measure, self.loaded, head)


class OpenedInputs(FigureInputs):
    """What figures are made of, from a model that is open already."""

    def __init__(self, opened: OpenedModel, asked: FigureRequest) -> None:
        super().__init__(asked)
        self._opened = opened
        self.settings, self.source = opened.settings, opened.source

    @cached_property
    def loaded(self) -> LoadedModel:
        """The model with its weights."""
        return self._opened.loaded

    @cached_property
    def tokenizer(self) -> TextTokenizer:
        """Its tokenizer."""
        return self._opened.tokenizer

    @cached_property
    def word_head(self) -> HeadModel:
        """The model with its masked-LM head."""
        return self._opened.head("masked-lm")

    @cached_property
    def label_head(self) -> HeadModel:
        """The model with the head of the task."""
        return self._opened.head(self.asked.task)

    def _of(self, name: str) -> ModelSource:
        return self._opened.source if name == self._opened.name else super()._of(name)

    def _read_by(self, name: str) -> Tokens:
        if name != self._opened.name:
            return super()._read_by(name)
        return self._opened.tokens(self.asked.text(), self.asked.pair)

    @cached_property
    def _read(self) -> Tokens | None:
        return self.tokens if self.asked.texts else None


def figure_request(
    model: str, texts: Sequence[str], pair: str | None, task: str | None, options: Mapping[str, Option]
) -> FigureRequest:
    """The request of the command `figure` with these options.

    Args:
        model: name of the model, or folder of the corpus.
        texts: what it reads.
        pair: a second text of the same input.
        task: task whose class is counted or asked.
        options: those of the command, and settings of the figure, by their names.

    Raises:
        TextError: a number is none.
    """
    given = {name: _written(value) for name, value in options.items()}
    more = {name: value for name, value in given.items() if name not in COMMON}
    return FigureRequest(
        model,
        tuple(texts),
        pair,
        given.get("layer", ""),
        given.get("head", ""),
        given.get("form", "sunburst"),
        _whole("depth", given.get("depth", "3")) or 1,
        _whole("first", given.get("first", "0")),
        _whole("window", given.get("window", "0")),
        given.get("map", "length"),
        given.get("words", "false") == "true",
        given.get("pooling", ""),
        task,
        more,
    )


def check_options(name: str, options: Mapping[str, Option]) -> None:
    """Refuse a figure that there is not, and an option that it has not.

    Raises:
        TextError: there is no such figure or option.
    """
    if name not in all_figures():
        raise no_figure(name, all_figures())
    known = (*COMMON, *all_figures()[name].settings)
    for option in options:
        if option not in known:
            what = f"The figure {name!r} has no option {quoted(escape_controls(option), 40)}"
            raise TextError(f"{what}; those it has: {', '.join(known)}.")


def drawn(name: str, inputs: FigureInputs, theme: str, width: int | None, height: int | None) -> go.Figure:
    """A figure as the dashboard draws it, a copy of the caller's own.

    Args:
        name: as `figure --list` has it.
        inputs: what it is made of.
        theme: "light", "dark" or "print".
        width: pixels; None for the width of the place where it is shown.
        height: pixels; None for the figure's own.

    Raises:
        TextError: there is no such theme or size, or as the inputs of the figure.
    """
    for side, pixels in (("width", width), ("height", height)):
        if pixels is not None and not LEAST_PIXELS <= pixels <= MOST_PIXELS:
            raise TextError(f"{side} is {pixels:,} pixels; give {LEAST_PIXELS} to {MOST_PIXELS:,}.")
    if theme not in THEMES:
        raise TextError(f"There is no theme {quoted(escape_controls(theme), 20)}; choose {', '.join(THEMES)}.")
    declared = all_figures()[name]
    with quietly():
        spec = declared(*(getattr(inputs, each) for each in declared.inputs))
    figure = go.Figure(spec.drawn(theme_named(theme, width_class(width or WIDE))))
    sizes = {side: pixels for side, pixels in (("width", width), ("height", height)) if pixels is not None}
    return figure.update_layout(**sizes)


def _written(value: Option) -> str:
    """An option as an address has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _whole(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise TextError(f"{name} is {quoted(escape_controls(value), 20)}; give a whole number from 0.")
    return int(value)
