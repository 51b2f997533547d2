"""Actions of a visitor on a page: the widgets sent by the server, and new values for them."""

import json
import random
import struct
from dataclasses import dataclass
from typing import Any

from streamlit.proto.Element_pb2 import Element
from streamlit.proto.WidgetStates_pb2 import WidgetState

TEXTS = (
    "I love my pet python.",
    "The bank of the river by the old mill.",
    "Sinan loves a beautiful day",
    "He sat on the bank of the river and watched the boats go by until the evening came.",
)
KINDS = ("button_group", "slider", "selectbox", "checkbox", "number_input", "text_area", "bidi_component")
LEFT_ALONE = ("Model", "Models", "Second text", "Compare with", "Lesson", "Corpus")
"""Labels of widgets that lead to another model, corpus or list of pages; these are changed by opening addresses."""


@dataclass(slots=True)
class Widget:
    """A widget on the page."""

    kind: str
    """Streamlit's name of the kind."""
    proto: Any
    """The server's message about the widget."""
    fragment: str
    """Id of the fragment that reruns after a change; empty for the whole page."""


def widget(element: Element, fragment: str) -> Widget | None:
    """The widget of an element; None for anything else."""
    kind = element.WhichOneof("type") or ""
    proto = getattr(element, kind, None)
    if kind not in KINDS or not getattr(proto, "id", "") or getattr(proto, "disabled", False):
        return None
    if getattr(proto, "label", "") in LEFT_ALONE or getattr(proto, "ignore_rerun", False):
        return None
    return Widget(kind, proto, fragment)


def set_by_server(element: Element) -> WidgetState | None:
    """The state that a page has set for a widget itself, which a browser adopts."""
    kind = element.WhichOneof("type") or ""
    proto = getattr(element, kind, None)
    if not getattr(proto, "set_value", False):
        return None
    state = WidgetState(id=proto.id)
    if kind in ("button_group", "multiselect"):
        state.string_array_value.data.extend(proto.raw_values)
    elif kind == "slider" and not len(proto.raw_value):
        state.double_array_value.data.extend(proto.value)
    elif kind == "selectbox":
        state.string_value = proto.raw_value
    elif kind == "checkbox":
        state.bool_value = proto.value
    elif kind == "number_input":
        state.double_value = proto.value
    elif kind in ("text_area", "text_input"):
        state.string_value = proto.value
    else:
        return None
    return state


def clicked(found: Widget, before: WidgetState | None, chance: random.Random) -> WidgetState | None:
    """Another state of a widget, as after a click; None if there is no other."""
    state = WidgetState(id=found.proto.id)
    changed = {
        "button_group": _choose,
        "slider": _slide,
        "selectbox": _select,
        "checkbox": _flip,
        "number_input": _count,
        "text_area": _write,
        "bidi_component": _open_head,
    }[found.kind](found.proto, state, before, chance)
    return state if changed else None


def _choose(proto: Any, state: WidgetState, before: WidgetState | None, chance: random.Random) -> bool:
    now = list(before.string_array_value.data) if before else [proto.options[index].content for index in proto.default]
    others = [option.content for option in proto.options if option.content not in now]
    if proto.click_mode != proto.SINGLE_SELECT or not others:
        return False
    state.string_array_value.data.append(chance.choice(others))
    return True


def _slide(proto: Any, state: WidgetState, _: WidgetState | None, chance: random.Random) -> bool:
    if len(proto.options) or proto.max <= proto.min or proto.step < 1:
        return False
    steps = int((proto.max - proto.min) // proto.step)
    ends = sorted(proto.min + proto.step * chance.randint(0, steps) for _ in proto.default)
    state.double_array_value.data.extend(ends)
    return True


def _select(proto: Any, state: WidgetState, before: WidgetState | None, chance: random.Random) -> bool:
    now = before.string_value if before else proto.options[proto.default] if proto.HasField("default") else ""
    others = [option for option in proto.options if option != now]
    if others:
        state.string_value = chance.choice(others)
    return bool(others)


def _flip(proto: Any, state: WidgetState, before: WidgetState | None, _: random.Random) -> bool:
    state.bool_value = not (before.bool_value if before else proto.default)
    return True


def _count(proto: Any, state: WidgetState, _: WidgetState | None, chance: random.Random) -> bool:
    if not (proto.has_min and proto.has_max) or proto.max <= proto.min:
        return False
    state.double_value = chance.randint(int(proto.min), int(proto.max))
    return True


def _write(proto: Any, state: WidgetState, before: WidgetState | None, chance: random.Random) -> bool:
    if proto.label != "Text":
        return False
    now = before.string_value if before else proto.default
    state.string_value = chance.choice([text for text in TEXTS if text != now])
    return True


def _open_head(proto: Any, state: WidgetState, _: WidgetState | None, chance: random.Random) -> bool:
    """Open another head in the attention view, whose map the browser does not have."""
    if proto.component_name.rpartition(".")[2] != "attention_view" or len(proto.bytes) < 4:
        return False
    (length,) = struct.unpack_from("<I", proto.bytes)
    header = json.loads(proto.bytes[4 : 4 + length])
    if not header.get("atlas"):
        return False
    head = [chance.randrange(header["atlas"]["layers"]), chance.randrange(header["atlas"]["heads"])]
    sent = {"identity": header["identity"], "heads": [head], "cell": None, "range": None, "complete": False}
    state.json_value = json.dumps({"look": {**sent, "maps": [], "atlas": True, "serial": chance.randrange(1, 10**6)}})
    return True
