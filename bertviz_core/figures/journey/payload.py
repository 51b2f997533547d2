"""One message for the drawing of a journey: u32 length of the header, JSON header, raw arrays aligned to 4 bytes.

Strips are integers on a scale in the header; all other numbers are float32.
"""

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from bertviz_core.figures.base.style import PRINT, Theme, common_colours, diverging, supporting
from bertviz_core.journey.results import ChangedJourney, EmbeddingOpening, HeadOpening, Journey, LayerOpening, StageKind
from bertviz_core.text import escape_controls, is_right_to_left, shortened

LONGEST_LABEL, LONGEST_TEXT = 40, 120
MEASURES = {
    "turn": ("turn of the vector", "1 − cosine before and after the layer", 3),
    "length": ("length of the vector", "Euclidean length after the layer", 2),
    "entropy": ("entropy of the attention", "nats, mean over the heads", 3),
}
"""Field of a Journey -> description, unit, decimals."""
LOOKS: Mapping[str, str] = {"colour": "turn", "ribbon": "attention", "lanes": "words"}
"""Options of the drawing by default."""
LEVELS = {np.dtype(np.int8): 127, np.dtype(np.int16): 32_767}
EXACT_TOKENS = 80
"""Maximum number of tokens for which strips have 16-bit values, and every token has its own lane."""


@dataclass(frozen=True, slots=True)
class Path:
    """Current selection in the drawing."""

    token: int = 0
    """Position of the token with drawn ribbons."""
    open: str = ""
    """Opened stage: "embeddings", the number of a layer, or "" for none."""
    head: int | None = None
    """Head of that layer."""
    key: int | None = None
    """Key token of that head; None for the strongest."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The number at the end of the drawing, and its attribution."""

    title: str
    value: float
    unit: str = ""
    layers: Float[np.ndarray, " layers"] | None = None
    """Change of the number without each layer."""
    heads: Float[np.ndarray, "layers heads"] | None = None
    """Change of the number without each head; NaN if there is none."""
    tokens: Float[np.ndarray, " seq"] | None = None
    """Change of the number without the word of each token."""
    word: str = ""
    """The word without which the number changes most."""
    changed: float | None = None
    """The number in the changed run; None if there is no change or it cannot be computed."""
    whole: bool = False
    """Whether the number belongs to the whole text, and not to single tokens."""
    behind: tuple[StageKind, ...] = ()
    """Kinds of stages behind the layers through which the number is computed: a pooler, a task head."""
    remark: str = ""
    """What is to be known of the changes without words."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnChange:
    """A change of the run, drawn as differences from the unchanged journey."""

    name: str
    """Its spelling in an address, such as "head-3.5"."""
    mean: bool = False
    """Whether it is a mean ablation."""
    both: ChangedJourney | None = None
    """Both journeys; None if the change is not possible."""
    refused: str = ""
    """Why it is not possible, one sentence."""


class _Arrays:
    """Arrays after the header, with their offsets."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._end = 0

    def add(self, array: Shaped[np.ndarray, "..."]) -> dict[str, Any]:
        """Append an array; return its description for the browser."""
        known = np.ascontiguousarray(array, dtype=np.float32 if array.dtype.kind == "f" else array.dtype)
        data = known.tobytes()
        place = {"at": self._end, "type": known.dtype.name, "shape": list(known.shape)}
        padding = -len(data) % 4
        self.parts.append(data + bytes(padding))
        self._end += len(data) + padding
        return place


def path_of_message(message: Mapping[str, Any]) -> Path | None:
    """Validate the selection and open parts in a message of the browser; None if it has none."""
    token, opened, head, key = (message.get(name) for name in ("token", "open", "head", "key"))
    if not isinstance(token, int) or not isinstance(opened, str):
        return None
    numbers = [number if isinstance(number, int) and 0 <= number < 10**9 else None for number in (head, key)]
    return Path(token, opened[:12], *numbers)


def identity(journey: Journey) -> str:
    """Return the identifier of a journey, under which the browser caches received arrays."""
    tokens = journey.tokens
    digest = blake2b(repr((journey.model, journey.revision, journey.labels)).encode("utf-8", "replace"), digest_size=12)
    if tokens is not None:
        digest.update(np.ascontiguousarray(tokens.input_ids).tobytes())
    if journey.turn is not None:
        digest.update(journey.turn.tobytes())
    return digest.hexdigest()


def part_identity(journey: Journey, change: DrawnChange | None) -> str:
    """Return the identifier of the run that opened parts are of: that of the change, if there is one."""
    own = identity(journey)
    changed = change is not None and change.both is not None and change.both.origin is None
    return f"{own} {change.name} {change.mean}" if change is not None and changed else own


def journey_payload(
    journey: Journey,
    *,
    theme: Theme,
    path: Path,
    looks: Mapping[str, str] = LOOKS,
    openings: Iterable[EmbeddingOpening | LayerOpening | HeadOpening] = (),
    ending: Ending | None = None,
    change: DrawnChange | None = None,
    answered: int = 0,
    links: Sequence[Mapping[str, Any]] = (),
    controls: bool = True,
) -> bytes:
    """Build the message for the drawing.

    The looks are "colour", a key of MEASURES; "ribbon", which is "attention" or "weighted"; and "lanes", what a lane of
    a long text is, "words" or "tokens". Openings are details that the browser may lack, of the changed run if there is
    a change. `answered` is the number of the last message of the browser, which this one answers, and `links` are rows
    of links below the drawing, which the dashboard adds.
    """
    arrays, tokens = _Arrays(), journey.tokens
    special = [] if tokens is None else np.flatnonzero(tokens.special).tolist()
    unknown = [] if tokens is None else np.flatnonzero(tokens.unknown).tolist()
    words = journey.words if len(journey.labels) > EXACT_TOKENS else ()
    header: dict[str, Any] = {
        "identity": identity(journey),
        "model": escape_controls(journey.model),
        "family": journey.title,
        "revision": journey.revision,
        "text": None if tokens is None else escape_controls(shortened(tokens.text, LONGEST_TEXT)),
        "rtl": tokens is not None and is_right_to_left(tokens.text),
        "labels": [escape_controls(shortened(label, LONGEST_LABEL)) or "∅" for label in journey.labels],
        "special": special,
        "unknown": unknown,
        "second": None if tokens is None else tokens.second_start,
        "stages": [asdict(stage) for stage in journey.stages],
        "layers": journey.layers,
        "heads": journey.heads,
        "sinks": journey.sinks,
        "missing": journey.missing,
        "attention_note": journey.attention_note,
        "look": colours(theme),
        "print": colours(PRINT),
        "path": asdict(path),
        **LOOKS,
        **looks,
        "words": [(*place, escape_controls(shortened(word, LONGEST_LABEL))) for *place, word in words],
        "answered": answered,
        "links": [dict(row) for row in links],
        "controls": controls,
        "measures": _measures(journey, arrays),
        "strips": _strips(journey, arrays),
        "ending": _ending(ending, arrays),
        "parts": [_part(each, arrays) for each in openings],
        "change": _change(journey, change, arrays),
    }
    return _message(header, arrays)


def parts_payload(
    journey: Journey,
    openings: Iterable[EmbeddingOpening | LayerOpening | HeadOpening],
    change: DrawnChange | None = None,
) -> bytes:
    """Build a message of details alone, for parts that may be opened next."""
    arrays = _Arrays()
    parts = [_part(each, arrays) for each in openings]
    return _message({"identity": part_identity(journey, change), "measures": [], "parts": parts}, arrays)


def _message(header: Mapping[str, Any], arrays: _Arrays) -> bytes:
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
    text += b" " * (-(len(text) + 4) % 4)
    return b"".join([struct.pack("<I", len(text)), text, *arrays.parts])


def _measures(journey: Journey, arrays: _Arrays) -> list[dict[str, Any]]:
    known = [(key, *facts, getattr(journey, key)) for key, facts in MEASURES.items()]
    return [
        {"key": key, "name": name, "unit": unit, "digits": digits, **arrays.add(values)}
        for key, name, unit, digits, values in known
        if values is not None
    ]


def _strips(journey: Journey, arrays: _Arrays, of: Journey | None = None) -> dict[str, Any] | None:
    """The strips on their own scale, or on that of another journey, with larger values cut off."""
    strips, scaled_by = journey.strips, (of or journey).strips
    if strips is None or scaled_by is None:
        return None
    kind = np.dtype(np.int16 if len(journey.labels) <= EXACT_TOKENS else np.int8)
    scale = float(np.abs(scaled_by.values).max(initial=0)) or 1.0
    codes = np.rint(np.clip(strips.values / scale, -1, 1) * LEVELS[kind]).astype(kind)
    return {"edges": strips.edges.tolist(), "scale": scale, "levels": LEVELS[kind], **arrays.add(codes)}


def _ending(ending: Ending | None, arrays: _Arrays) -> dict[str, Any] | None:
    if ending is None:
        return None
    named = {"layers": ending.layers, "heads": ending.heads, "tokens": ending.tokens}
    known = {name: None if values is None else arrays.add(values) for name, values in named.items()}
    numbers = {name: getattr(ending, name) for name in ("value", "changed", "unit", "whole", "behind")}
    words = {"title": escape_controls(ending.title), "word": escape_controls(shortened(ending.word, LONGEST_LABEL))}
    return {**words, **numbers, **known}


def _change(journey: Journey, change: DrawnChange | None, arrays: _Arrays) -> dict[str, Any] | None:
    if change is None:
        return None
    known = {"name": change.name, "mean": change.mean, "refused": escape_controls(change.refused)}
    both = change.both
    if both is None:
        return known
    return {
        **known,
        "identity": part_identity(journey, change),
        "sentence": escape_controls(both.sentence),
        "measures": _measures(both.after, arrays),
        "strips": _strips(both.after, arrays, both.before),
        "cosine": arrays.add(both.cosine),
        "origin": both.origin,
        "gone": [(place, escape_controls(shortened(label, LONGEST_LABEL))) for place, label in both.gone],
    }


def _part(opening: EmbeddingOpening | LayerOpening | HeadOpening, arrays: _Arrays) -> dict[str, Any]:
    if isinstance(opening, EmbeddingOpening):
        named = [{"name": name, **arrays.add(vector)} for name, vector in opening.parts.items()]
        return {"kind": "embeddings", "token": opening.token, "vectors": named, "note": opening.note}
    if isinstance(opening, LayerOpening):
        shades = np.rint(np.sqrt(np.clip(opening.thumbnails, 0, 1)) * 255).astype(np.uint8)
        vectors = {
            "weighted": opening.weighted,
            "output": opening.attention_output,
            "activations": opening.activations,
            "feedForward": opening.feed_forward,
            "headNorms": opening.head_norms,
        }
        return {
            "kind": "layer",
            "layer": opening.layer,
            "token": opening.token,
            "thumbnails": arrays.add(shades),
            "rows": arrays.add(opening.rows),
            **{name: None if values is None else arrays.add(values) for name, values in vectors.items()},
        }
    cell = opening.cell
    score, mixed = cell.score, cell.output
    return {
        "kind": "head",
        "layer": cell.layer,
        "head": cell.head,
        "token": cell.query_position,
        "key": cell.key_position,
        "query": arrays.add(score.query),
        "keyVector": arrays.add(score.key),
        "products": arrays.add(score.products),
        "weights": arrays.add(score.model_weights),
        "scores": arrays.add(np.nan_to_num(score.scores, neginf=-3e38)),
        "value": arrays.add(mixed.values[cell.key_position]),
        "mix": arrays.add(mixed.mix),
        "total": score.total,
        "scaling": score.scaling,
        "scaled": score.scaled,
        "added": score.added if np.isfinite(score.added) else None,
        "addedName": score.added_name,
        "weight": float(score.model_weights[cell.key_position]),
        "norm": float(mixed.head_norms[cell.head]),
    }


def colours(theme: Theme) -> dict[str, Any]:
    """All colours of the drawing in this theme."""
    parts = ("embeddings", "attention", "feed_forward", "layer_norm", "pooler", "task head", "decoder")
    scales = {"signed": diverging(theme), "supporting": supporting(theme)}
    return {**common_colours(theme), **scales, "parts": {part: theme.colours[part] for part in parts}}
