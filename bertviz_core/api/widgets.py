"""The drawings of a run and of a journey as widgets of a notebook; what is chosen in them are traits, both ways.

They need the extra notebook; the methods that make one import this module.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

import anywidget
import traitlets

from bertviz_core.attention.results import MapOptions
from bertviz_core.errors import BertvizError, TextError, UnsupportedModelError
from bertviz_core.figures.attention import html_file as attention_file
from bertviz_core.figures.attention import payload as attention_payload
from bertviz_core.figures.attention.view_state import (
    MOST_HEADS,
    ViewOptions,
    ViewState,
    view_state,
    window_within,
    with_head_first,
)
from bertviz_core.figures.base.export import notebook_module
from bertviz_core.figures.base.style import DARK, LIGHT
from bertviz_core.figures.journey import html_file as journey_file
from bertviz_core.figures.journey import payload as journey_payload
from bertviz_core.models.skeleton import quietly
from bertviz_core.questions.interventions.effects import REMOVED_FOR
from bertviz_core.questions.interventions.journey_change import (
    CHANGE,
    EMBEDDINGS,
    FORMS,
    changed_model,
    changed_or_refused,
    drawn_change,
    drawn_text,
    path_of,
)
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param, numbered
from bertviz_core.questions.texts.attention import atlas_of
from bertviz_core.questions.texts.hidden_states import HEAD, KEY, LAYER, QUERY
from bertviz_core.questions.texts.journey import COLOUR, LANES, LOOKS, RIBBON
from bertviz_core.questions.texts.tokens import EDITED
from bertviz_core.questions.views.attention import about_drawing, drawn_map, is_long
from bertviz_core.questions.views.journey import open_parts
from bertviz_core.text import escape_controls, quoted
from bertviz_core.trace.results import Trace

MODES = ("maps", "lines")
Proposal = Any
"""What traitlets hands to a validator: `trait`, `value`."""


def _word(words: Sequence[str], about: str) -> Any:
    """A trait that is one of these words, the first by default."""
    named = ", ".join(map(repr, words))
    return traitlets.Unicode(words[0], help=f"{about}: {named}").tag(sync=True, words=tuple(words))


class RefusedError(TextError, traitlets.TraitError):
    """A trait was set to what this model or text does not have; it keeps its value."""


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        with quietly():
            yield
    except BertvizError as error:
        raise RefusedError(error.spelled(lambda name: "token" if name == QUERY.key else name)) from error


class Drawing(anywidget.AnyWidget):
    """A drawing whose traits follow the reader, and which follows its traits."""

    theme = _word(("", LIGHT.name, DARK.name), "theme, '' for that of the notebook")
    _payload = traitlets.Bytes().tag(sync=True)
    _note = traitlets.Unicode().tag(sync=True)
    _chosen: tuple[str, ...] = ()
    """Traits that Python draws; the browser alone follows the theme."""
    _follows = False
    """Whether traits are being set to what the drawing shows already."""

    def __init__(self, **chosen: Any) -> None:
        """Draw what is chosen; raises RefusedError where there is no such thing."""
        super().__init__(**chosen)
        self._redraw("")
        self.observe(self._on_change, self._chosen)
        self.on_msg(self._on_message)

    def _on_change(self, change: Mapping[str, Any]) -> None:
        if not self._follows:
            self._redraw(change["name"])

    def _on_message(self, _: Any, content: Any, __: Any) -> None:
        """Take over what the reader chose in the browser, and answer with what the drawing lacks."""
        message = content.get("message") if isinstance(content, Mapping) else None
        if not isinstance(message, Mapping):
            return
        try:
            with quietly():
                self._hear(message)
        except BertvizError as error:
            self._note = str(error)

    @contextmanager
    def _following(self) -> Iterator[None]:
        before, self._follows = self._follows, True
        try:
            with self.hold_sync():
                yield
        finally:
            self._follows = before

    def _follow(self, **values: Any) -> bool:
        """Set traits to what the drawing shows; returns False where an observer then set one to something else."""
        with self._following(), self.hold_trait_notifications():
            for name, value in values.items():
                setattr(self, name, value)
        return all(getattr(self, name) == value for name, value in values.items())

    @traitlets.validate("theme", "mode", "colour", "ribbon", "lanes")
    def _require_word(self, proposal: Proposal) -> str:
        name, value, known = proposal["trait"].name, str(proposal["value"]), proposal["trait"].metadata["words"]
        if value not in known:
            what = f"There is no {name} {quoted(escape_controls(value), 20)}"
            raise RefusedError(f"{what}; choose {', '.join(each or repr(each) for each in known)}.")
        return value

    def _redraw(self, name: str) -> None:
        """Draw what the traits are, after that of this name was set in Python."""
        raise NotImplementedError

    def _hear(self, message: Mapping[str, Any]) -> None:
        raise NotImplementedError


class AttentionWidget(Drawing):
    """All heads of a run, and the open ones as maps or lines."""

    _esm = notebook_module(
        "attentionView",
        attention_file.HTML,
        attention_file.CSS,
        attention_file.JS,
        {theme.name: attention_payload.colours(theme) for theme in (LIGHT, DARK)},
    )
    layer = traitlets.Int(help="layer of the open head, zero-based").tag(sync=True)
    head = traitlets.Int(help="the open head").tag(sync=True)
    heads = traitlets.List(
        traitlets.Tuple(traitlets.Int(), traitlets.Int()), help="(layer, head) of all that are compared, the open first"
    ).tag(sync=True)
    mode = _word(MODES, "how the open heads are drawn")
    cell = traitlets.Tuple(
        traitlets.Int(),
        traitlets.Int(),
        default_value=None,
        allow_none=True,
        help="(query, key) of the clicked cell of the open head",
    ).tag(sync=True)
    zoom = traitlets.Tuple(
        *(traitlets.Int() for _ in range(4)),
        default_value=None,
        allow_none=True,
        help="(first query, end, first key, end) of the visible part, ends excluded",
    ).tag(sync=True)

    _chosen = ("layer", "head", "heads", "mode", "cell", "zoom")

    def __init__(self, opened: Opened, trace: Trace, reading: MapOptions, **chosen: Any) -> None:
        """Compute the thumbnails of all heads of a run."""
        if is_long(trace) and reading != MapOptions():
            raise TextError(f"A text of {len(trace.tokens):,} tokens is drawn as it is read; leave out the options.")
        self._opened, self._trace, self._reading = opened, trace, reading
        with quietly():
            self._atlas = atlas_of(opened, trace, reading)
        self._look, self._reads = ViewOptions(), 0
        super().__init__(**chosen)

    @traitlets.validate("layer", "head")
    def _require_place(self, proposal: Proposal) -> int:
        self._require_numbers({proposal["trait"].name: proposal["value"]})
        return int(proposal["value"])

    @traitlets.validate("heads")
    def _require_heads(self, proposal: Proposal) -> list[tuple[int, int]]:
        heads = list(proposal["value"])
        for layer, head in heads:
            self._require_numbers({"layer": layer, "head": head})
        if len(set(heads)) < len(heads) or len(heads) > MOST_HEADS:
            raise RefusedError(f"heads has {len(heads)} entries; give at most {MOST_HEADS}, each once.")
        return heads

    @traitlets.validate("cell", "zoom")
    def _require_part(self, proposal: Proposal) -> tuple[int, ...] | None:
        value, size = proposal["value"], (len(self._atlas.queries), len(self._atlas.keys))
        if value is None:
            return None
        window = value if len(value) == 4 else (value[0], value[0] + 1, value[1], value[1] + 1)
        if window_within(window, size) is None:
            name, places = proposal["trait"].name, f"{size[0]} queries and {size[1]} keys"
            raise RefusedError(f"{name} is {value}, which is no part of a map of {places}, counted from 0.")
        return tuple(value)

    def _require_numbers(self, places: Mapping[str, int]) -> None:
        layers, heads = self._atlas.thumbnails.shape[:2]
        with _refusing():
            for name, value in places.items():
                numbered(name, str(value), layers if name == "layer" else heads, self._opened.name)

    def _redraw(self, name: str) -> None:
        opened = self.heads[0] if name == "heads" and self.heads else (self.layer, self.head)
        cell = None if name in ("layer", "head", "heads") else self.cell  # it is one of the head that was open
        heads = tuple(with_head_first(opened, self.heads))
        look = replace(self._look, lines=self.mode == MODES[1], heads=heads, zoom=self.zoom, cell=cell)
        self._reads += 1  # the drawing then takes its look from this message
        self._show(view_state({}, self._atlas, opened, look))

    def _hear(self, message: Mapping[str, Any]) -> None:
        self._show(view_state(message, self._atlas))

    def _show(self, state: ViewState) -> None:
        maps = [drawn_map(self._opened, self._trace, self._reading, each, state.range) for each in state.heads]
        (layer, head), mode = state.opened, MODES[state.look.lines]
        self._look = state.look
        values = {"layer": layer, "head": head, "heads": list(state.heads), "cell": state.look.cell}
        with self._following():
            self._note = ""
            self._payload = attention_payload.view_payload(
                self._atlas,
                maps,
                **about_drawing(self._trace, LIGHT),
                heads=state.heads,
                part=state.range,
                answers={**(state.message or {}), "look": asdict(state.look), "reads": self._reads},
            )
            as_drawn = self._follow(**values, mode=mode, zoom=state.range)
        if not as_drawn:
            self._redraw("")


PARAMS: Mapping[str, Param] = {
    "token": QUERY,
    "layer": LAYER,
    "head": HEAD,
    "key": KEY,
    "change": CHANGE,
    "edited": EDITED,
    **{param.key: param for param in LOOKS},
}
"""Trait of a journey -> the parameter that it is."""


class JourneyWidget(Drawing):
    """The way of a text through the model, which opens layer by layer."""

    _esm = notebook_module(
        "journeyView",
        journey_file.HTML,
        journey_file.style(),
        journey_file.script(),
        {theme.name: journey_payload.colours(theme) for theme in (LIGHT, DARK)},
    )
    token = traitlets.Int(help="position of the chosen token").tag(sync=True)
    layer = traitlets.Any(help="the open layer, zero-based, 'embeddings', or None").tag(sync=True)
    head = traitlets.Int(None, allow_none=True, help="the open head of that layer, or None").tag(sync=True)
    key = traitlets.Int(None, allow_none=True, help="key token of that head; None for the strongest").tag(sync=True)
    colour = _word(COLOUR.options, "number of the cells")
    ribbon = _word(RIBBON.options, "width of a ribbon")
    lanes = _word(LANES.options, "lane of a long text")
    change = traitlets.Unicode(help="change of the run, as of JourneyResult.changed, or ''").tag(sync=True)
    mean = traitlets.Bool(help="whether a head or layer is replaced by its mean instead of zero").tag(sync=True)
    edited = traitlets.Unicode(help="the edited text, for the change 'text'").tag(sync=True)

    _chosen = (*PARAMS, "mean")

    def __init__(self, opened: Opened, options: Options, **chosen: Any) -> None:
        """Draw the journey of the text in the options."""
        self._opened, self._text, self._serial = opened, replace(options, values={}), 0
        with quietly():
            self._way, _ = drawn_text(opened, self._text, None)
        super().__init__(**{"token": path_of(self._way, self._text, opened.name).token, **chosen})

    @traitlets.validate("token", "layer", "head", "key")
    def _require_part(self, proposal: Proposal) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        if self._follows or value is None:
            return value
        within = {"head": "layer", "key": "head"}.get(name)
        if within and (getattr(self, within) is None or self.layer == EMBEDDINGS):
            raise RefusedError(f"No {within} is open, so {name} cannot be chosen; set {within} first.")
        with _refusing():
            path = path_of(self._way, self._options(**{name: value}), self._opened.name)
        return _layer_of(path) if name == "layer" else value

    @traitlets.validate("change", "mean", "edited")
    def _require_change(self, proposal: Proposal) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        if not self._follows:
            with _refusing():
                drawn_change(self._opened, self._options(**{name: value}))
        return value

    def _options(self, **more: Any) -> Options:
        """The text, with the traits as values of parameters."""
        traits = {name: more.get(name, getattr(self, name)) for name in self._chosen}
        removed_for = REMOVED_FOR.options[traits.pop("mean")]
        values = {PARAMS[name].key: str(value) for name, value in traits.items() if value not in (None, "")}
        return replace(self._text, values={**values, REMOVED_FOR.key: removed_for})

    def _hear(self, message: Mapping[str, Any]) -> None:
        path, serial, change = journey_payload.path_of_message(message), message.get("serial"), message.get("change")
        if path is None:
            return
        self._serial = serial if isinstance(serial, int) else self._serial
        looks = {each.key: message.get(each.key) for each in LOOKS}
        looks = {each.key: looks[each.key] if looks[each.key] in each.options else each.options[0] for each in LOOKS}
        change = change if isinstance(change, str) and FORMS.fullmatch(change) else ""
        with self._following():
            self._follow(**_parts(path), **looks, change=change, mean=message.get("mean") is True)
            self._redraw("")

    def _redraw(self, name: str) -> None:
        options, note = self._options(), ""
        change = changed_or_refused(self._opened, options) if self.change else None
        self._way, options = drawn_text(self._opened, options, change)
        try:
            path = path_of(self._way, options, self._opened.name)
        except TextError:  # of the text before it was edited
            path = path_of(self._way, replace(options, values={}), self._opened.name)
        openings = []
        with self._following():
            self._follow(**_parts(path))
            options = replace(options, values=self._options().values)
            try:
                if not self._way.missing:
                    openings = list(open_parts(changed_model(self._opened, options, change), options))
            except UnsupportedModelError as error:
                note = str(error)
            self._note = note
            self._payload = journey_payload.journey_payload(
                self._way,
                theme=LIGHT,
                path=path,
                looks={param.key: getattr(self, param.key) for param in LOOKS},
                openings=openings,
                change=change,
                answered=self._serial,
            )


def _layer_of(path: journey_payload.Path) -> int | str | None:
    return int(path.open) if path.open.isdecimal() else path.open or None


def _parts(path: journey_payload.Path) -> dict[str, Any]:
    """A selection as traits."""
    return {"token": path.token, "layer": _layer_of(path), "head": path.head, "key": path.key}
