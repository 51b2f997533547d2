"""Drawn figures, cached functions, and what a view shows."""

import hashlib
import logging
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from inspect import signature
from time import perf_counter
from typing import Any, NamedTuple, ParamSpec, TypeVar

import msgspec
import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.errors import BertvizError, SupersededError, is_out_of_memory
from bertviz_core.figures.base.export import NO_CAPTION, Caption, caption_of, figure_json
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import Theme
from bertviz_core.questions.report.sections import ReportSection
from bertviz_core.resources import ByteCache, retained_nbytes
from bertviz_core.trace.results import Trace
from ui.session import settings

P = ParamSpec("P")
T = TypeVar("T")
ACTIVITY = logging.getLogger("inside_bert.activity")
"""Logger of computations; it writes nothing unless the server's settings ask for it."""
_fields: ContextVar[dict[str, object]] = ContextVar("log_fields")
"""Fields of the innermost computation that is logged."""

in_background: ContextVar[bool] = ContextVar("in_background", default=False)
"""Whether no page is drawn in this thread, where Streamlit would log a warning of each spinner."""


def cached_by_bytes(
    spinner: str = "", size: Callable[[Any], int] = retained_nbytes
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Cache a function's results by its arguments, except those whose name begins with "_".

    Unlike st.cache_resource it counts bytes and not entries. Results are shared between sessions and never changed.
    """

    def decorated(make: Callable[P, T]) -> Callable[P, T]:
        shape = signature(make)

        @wraps(make)
        def found(*args: P.args, **kwargs: P.kwargs) -> T:
            arguments = shape.bind(*args, **kwargs).arguments
            plain = tuple(value for name, value in arguments.items() if not name.startswith("_"))
            key = (make.__module__, make.__qualname__, *plain)
            return shared(results(), key, lambda: make(*args, **kwargs), size, spinner)

        return found

    return decorated


@st.cache_resource(max_entries=1, show_spinner=False)
def results() -> ByteCache:
    """The cache that all sessions share."""
    return ByteCache(settings().max_cache_bytes)


def shared(cache: ByteCache, key: Hashable, make: Callable[[], T], size: Callable[[Any], int], spinner: str = "") -> T:
    """Return the cached value of a key, or compute it, once for all sessions that ask, below the words of a spinner.

    The spinner ends after the value is cached: with a newer click, it ends the script of the session that computed.
    """
    cached: T | None = cache.get(key)
    if cached is not None:
        return cached
    with st.spinner(spinner) if spinner and not in_background.get() else nullcontext():
        value: T = cache.get_or_compute(key, make, size)
        return value


@contextmanager
def logged(
    event: str, name: str, facts: Callable[[], Mapping[str, object]] = dict, *, if_done: bool = True
) -> Iterator[None]:
    """Log how long a computation took, and how it ended; exceptions are propagated.

    The outcome is "done", which is logged `if_done`, "refused" with one sentence to the reader, "stopped" by the reader
    or for a newer click, or "failed". The error is logged by the name of its class alone, since its message may contain
    a text. The event is page, question, run or job; the name is from the code and never from a reader; no texts or
    tokens are among the facts.
    """
    if not ACTIVITY.isEnabledFor(logging.INFO):
        yield
        return
    started, outcome, fields = perf_counter(), {"outcome": "done"}, dict(facts())
    outer = _fields.set(fields)
    try:
        yield
    except BaseException as error:
        outcome = _outcome(error)
        raise
    finally:
        _fields.reset(outer)
        if if_done or outcome["outcome"] != "done":
            line = {"event": event, "name": name, "seconds": round(perf_counter() - started, 4), **fields, **outcome}
            ACTIVITY.info("%s %s", event, name, extra={"fields": line})


def note(**facts: object) -> None:
    """Add fields, no texts or tokens, to the line of the computation that is running here, if it is logged."""
    _fields.get({}).update(facts)


def _outcome(error: BaseException) -> dict[str, str]:
    """How a computation ended, and the class of its error."""
    cause = error if isinstance(error, Exception) else error.__context__  # st.stop() after a sentence to the reader
    if isinstance(cause, BertvizError):
        return {"outcome": "refused", "error": type(cause).__name__}
    if isinstance(cause, Exception) and is_out_of_memory(cause):
        return {"outcome": "failed", "error": "out of memory"}
    if not isinstance(error, Exception) or isinstance(error, SupersededError):
        return {"outcome": "stopped"}
    return {"outcome": "failed", "error": type(error).__name__}


MOST_BYTES = 8 * 1024**2
"""Most bytes of arrays and texts that are hashed; hashing more takes longer than drawing the figure."""
PER_BYTE = 4
"""Estimated bytes of a figure in memory per byte of its JSON."""


class Drawing(NamedTuple):
    """A drawn figure, and its JSON for plotly.js."""

    figure: Any
    json: bytes

    @property
    def nbytes(self) -> int:
        """Estimated bytes in memory."""
        return (PER_BYTE + 1) * len(self.json)


def cached_figure(figure: FigureSpec, theme: Theme) -> Any:
    """Return the drawn figure of a specification in a theme and width."""
    known = figure.cache.get(_look(theme))
    return cached_drawing(figure, theme).figure if known is None else known


def cached_drawing(figure: FigureSpec, theme: Theme) -> Drawing:
    """Return a drawn figure and its JSON."""

    def made() -> Drawing:
        drawn = figure.drawn(theme)
        return Drawing(drawn, figure_json(drawn))

    digest = key_digest(figure.key) if figure.key else None
    if digest is None:
        return made()
    look = _look(theme)
    drawing: Drawing = results().get_or_compute((__name__, *look, digest), made, lambda each: each.nbytes)
    figure.cache[look] = drawing.figure
    return drawing


def _look(theme: Theme) -> tuple[str, int, int, bool]:
    return theme.name, theme.pixels, theme.tall, theme.slide


def key_digest(key: tuple[object, ...]) -> bytes | None:
    """Hash a figure's name and the values of its inputs; None if there are too many of them.

    Inputs are compared by value and not by identity, so that recomputed results find the figure drawn before.
    """
    digest, left = hashlib.blake2b(digest_size=16), MOST_BYTES
    for part in key:
        if isinstance(part, Trace):  # large, but identical for the same model, revision, number format and text
            part = (part.model, part.revision, part.dtype, part.attention_source, part.tokens)
        try:
            raw = _ENCODER.encode(part)
        except (TypeError, ValueError, OverflowError):  # an object, a lone surrogate, a very large number or array
            return None
        left -= len(raw)
        if left < 0:
            return None
        digest.update(f"{type(part).__module__}.{type(part).__qualname__} {len(raw)} ".encode())
        digest.update(raw)
    return digest.digest()


def _plain(value: object) -> object:
    """What msgpack has no form for, as something that it has one for."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU" and value.nbytes <= MOST_BYTES:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, np.generic):
        return value.dtype.str, value.item()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return tuple(value)
    raise TypeError(type(value))


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_plain)


HOW = "The lines of Python that make it"


@dataclass(frozen=True, slots=True, eq=False)
class ShownFigure:
    """A figure of a view."""

    figure: FigureSpec
    words: str
    """The caption below it."""
    models: tuple[tuple[str, str], ...]
    """Name and revision of each model that it shows."""
    texts: tuple[str, ...]
    """The texts on which the figure depends."""


@dataclass(frozen=True, slots=True, eq=False)
class ShownDrawing:
    """A drawing of a view that is made by code in the browser."""

    title: str
    page: Callable[[Theme], str]
    """Writes it in a theme as a self-contained HTML page, in the state that the address of the view describes."""
    names: frozenset[str] = frozenset()
    """Names of the figures that show the same, as in `figure --list`."""
    caption: Caption = NO_CAPTION
    """That of its slide; its page has its own."""


@dataclass(slots=True)
class ShownView:
    """Figures and tables of a view, in order."""

    name: str = ""
    """Name of the view; "" on a page with a single view."""
    figures: dict[str, ShownFigure | ShownDrawing] = field(default_factory=dict)
    """Key of the chart -> the figure or drawing."""
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    """Description of a table -> its rows."""
    models: tuple[tuple[str, str], ...] = ()
    """Name and revision of the models of the tables; () for the chosen one."""
    code: dict[str, str] = field(default_factory=dict)
    """Key of the chart -> lines of Python that reproduce its numbers."""

    @property
    def names(self) -> frozenset[str]:
        """Names of the figures, as in `figure --list`."""
        drawn = [each.names for each in self.figures.values() if isinstance(each, ShownDrawing)]
        specs = [each.figure for each in self.figures.values() if isinstance(each, ShownFigure)]
        named = {str(spec.key[0]) for spec in specs if spec.key}
        return frozenset(named).union(*drawn)

    def sections(self, theme: Theme, models: Sequence[tuple[str, str]], tall: int = 0) -> tuple[ReportSection, ...]:
        """Sections of a report: the figures of the view, or its tables where it has no figures.

        With `tall`, figures are drawn once more, as high as that, for slides.
        """
        if self.figures:
            return tuple(self._figure(key, each, theme, tall) for key, each in self.figures.items())
        code, below = "\n".join(self.code.values()), Caption("", self.models or tuple(models))
        return tuple(
            ReportSection(f"view-table-{place}", title, title, None, below, "" if place else code, HOW, rows)
            for place, (title, rows) in enumerate(self.tables.items())
        )

    def _figure(self, key: str, shown: ShownFigure | ShownDrawing, theme: Theme, tall: int) -> ReportSection:
        if isinstance(shown, ShownDrawing):
            code, page = self.code.get(key, ""), shown.page(theme)
            return ReportSection(f"view-{key}", shown.title, shown.title, None, shown.caption, code, HOW, page=page)
        spec, figure = shown.figure, cached_figure(shown.figure, theme)
        caption = caption_of(figure, shown.words, shown.models, shown.texts, spec.remark)
        slide = cached_figure(spec, theme.on_slide(tall)) if tall else None
        name, alt, code = f"view-{key}", spec.alt or spec.title, self.code.get(key, "")
        return ReportSection(name, spec.title, alt, figure, caption, code, HOW, slide=slide)


_view: ContextVar[ShownView | None] = ContextVar("shown_view", default=None)


@contextmanager
def noted(recorded: bool) -> Iterator[ShownView]:
    """Record the view that runs inside the block, if `recorded`."""
    view = ShownView()
    before = _view.set(view if recorded else None)
    try:
        yield view
    finally:
        _view.reset(before)


@contextmanager
def noted_if(recorded: bool) -> Iterator[None]:
    """Record what is shown inside the block, below the view itself, only if the address of the view asks for it."""
    before = _view.get()
    _view.set(before if recorded else None)
    try:
        yield
    finally:
        _view.set(before)


def view_in_sight() -> ShownView | None:
    """The record of the running view; None where no report was requested."""
    return _view.get()


def keep_sections(token: str, sections: tuple[ReportSection, ...]) -> None:
    """Cache the drawn figures of a view under a token of its session, since they may contain the reader's own data."""
    figures = [figure for each in sections for figure in (each.figure, each.slide) if figure is not None]
    size = sum(PER_BYTE * len(figure.to_json()) for figure in figures) + sum(len(each.page) for each in sections)
    results().put((__name__, token), sections, size + retained_nbytes([each.table for each in sections]))


def cached_sections(token: str) -> tuple[ReportSection, ...] | None:
    """The figures of a token; None if they were never drawn, or are no longer cached."""
    sections: tuple[ReportSection, ...] | None = results().get((__name__, token))
    return sections
