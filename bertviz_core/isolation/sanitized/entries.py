"""Check the types and ranges of the entries of an untrusted config.json.

The types are those of all config classes of transformers (bertviz_core.models.catalog.generate); unknown entries may
have any type within the limits.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.sanitized.config import MAX_DEPTH, check_entry_name
from bertviz_core.settings import Settings, Terms
from bertviz_core.text import quoted

TABLE = Path(__file__).with_name("entry_kinds.json")
MAX_LABEL = 1_000
"""Maximum length of a label."""
MAX_TEXT = 10_000
"""Maximum length of a text; the longest known one has a letter for each layer."""
MAX_SIZE = 10**8
"""Maximum of a size; the product of two fits into 64 bits."""
MAX_WHOLE = 2**53
REPEATED = re.compile(
    r"(\w+_)?(layers?|blocks?|block_sizes|block_repeats|depths?|levels|stages|groups|cycles|adapters|flows"
    r"|experts?|expert_num|group_num|numb_of_layers|attention_types|layers?_types|layers_block_type|block_types"
    r"|(blocks|layers)_per_\w+|block_number|quantizers|codebooks|override_pattern)"
)
"""Names of entries with the number of repetitions of a module, as a number or as a list with one item for each."""
LAYERS = frozenset({"num_hidden_layers", "num_layers", "n_layers", "n_layer", "encoder_layers", "num_hidden_groups"})
"""Names of the number of layers, and of ALBERT's groups; at least 1 is required."""
EXPERTS = re.compile(r"(\w+_)?experts?(_num)?")
EXPERTS_PER_LAYER = 8
"""Factor by which the limit for experts exceeds that for layers, since some are rows of a table."""
COUNT = re.compile(r"(n|num)_.*|(?!vision_feature_).*(layers|depth|blocks|experts|groups)")
"""Names of counts among them; others are indices, which may be -1."""
SIZE = re.compile(r"(\w+_)?(size|dim|heads|labels|positions|embeddings|d_(model|ff|kv|head|inner)|n_embd|n_head)")
HEADS = frozenset(
    ("num_attention_heads", "num_heads", "n_heads", "n_head", "encoder_attention_heads", "decoder_attention_heads")
)
"""Names of the number of heads."""
CONFIG = re.compile(r"\w*config|\w*(encoder|decoder)|generator")
"""Names of nested configs."""
ALWAYS: Mapping[str, str] = {"model_type": "s", "num_labels": "i"}
"""Common entries that are not fields of the config classes."""
DTYPE_KEYS = ("dtype", "torch_dtype")
DTYPES = ("float32", "bfloat16", "float16", "float64", "float", "half", "double")
LABELS = ("num_labels", "id2label", "label2id")
KINDS: Mapping[str, str] = {
    "i": "a whole number",
    "f": "a number",
    "b": "true or false",
    "s": "a text",
    "d": "an object",
    "I": "a list of whole numbers",
    "S": "a list of texts",
    "l": "a list",
}
"""Letter of entry_kinds.json -> description."""


TYPES: Mapping[str, Any] = {"b": bool, "s": str, "d": Mapping, "l": list | tuple}
"""Letter -> Python type."""


class ConfigEntry(NamedTuple):
    """An entry of a config or nested config."""

    place: str
    """Its path, such as text_config.hidden_size."""
    key: str
    value: Any
    kinds: str
    """Letters of the permitted types; "" for any."""


def check_entries(name: str, config: Mapping[str, Any], bounds: Settings | Terms) -> None:
    """Check the types and ranges of the entries of a config.

    Args:
        bounds: limits for layers and labels.
    """
    for entry in _entries(name, config, "", 0):
        fault = _fault(entry, bounds)
        if fault:
            raise CheckpointError(
                f"The config of {quoted(name)} has {described(entry.value)} as {quoted(entry.place)}; {fault}."
            )


def described(value: Any) -> str:
    """Description of a JSON value."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return f"the number {value:,}" if abs(value) < 10**18 else "a number of more than 18 digits"
    if isinstance(value, float):
        return f"the number {value:g}"
    if isinstance(value, str):
        return f"the text {quoted(value, 40)}"
    return f"a list of {len(value):,}" if isinstance(value, list) else "an object"


def _entries(name: str, config: Mapping[str, Any], place: str, depth: int, typed: bool = True) -> Iterator[ConfigEntry]:
    """The entries of a config and of nested objects; types are known in configs only."""
    model_type = config.get("model_type")
    kinds = _kinds(model_type if isinstance(model_type, str) and model_type in _known() else "") if typed else {}
    for key, value in config.items():
        check_entry_name(name, key)
        _check_depth(name, value, depth + 1)
        yield ConfigEntry(f"{place}{key}", key, value, kinds.get(key, ""))
        if isinstance(value, Mapping) and key not in LABELS:
            inner = typed and (CONFIG.fullmatch(key) is not None or "model_type" in value)
            yield from _entries(name, value, f"{place}{key}.", depth + 1, inner)


def _check_depth(name: str, value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise CheckpointError(
            f"The config of {quoted(name)} is nested more than {MAX_DEPTH} levels deep, unlike any model's config."
        )
    if isinstance(value, list):
        for item in value:
            if isinstance(item, list | Mapping):
                _check_depth(name, item, depth + 1)


def _fault(entry: ConfigEntry, bounds: Settings | Terms) -> str:
    """Why an entry is invalid; "" if it is valid."""
    key, value = entry.key, entry.value
    if value is None:
        return ""
    if key in DTYPE_KEYS and not isinstance(value, Mapping) and value not in DTYPES:
        return f"a number format in which models are run is needed, such as {', '.join(DTYPES[:3])}"
    if entry.kinds and not any(_is(value, kind) for kind in entry.kinds):
        return f"{' or '.join(KINDS[kind] for kind in KINDS if kind in entry.kinds)} is needed"
    if key == "architectures" and not all(isinstance(each, str) for each in value):
        return "a list of names of classes is needed"
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return f"at most {MAX_TEXT:,} characters are read" if entry.kinds else ""
    if key in LABELS:
        count = value if isinstance(value, int | float) else len(value)
        words = value.values() if isinstance(value, Mapping) else ()
        if any(isinstance(word, str) and len(word) > MAX_LABEL for word in words):
            return f"at most {MAX_LABEL:,} characters are read of a label"
        if key == "id2label" and not all(number.strip().isdecimal() for number in map(str, value)):
            return "its names must be the numbers of the labels, from 0"
        return _outside((count,), 0, bounds.max_labels, "INSIDE_BERT_MAX_LABELS")
    if REPEATED.fullmatch(key):
        least = int(key in LAYERS) if COUNT.fullmatch(key) else -MAX_WHOLE
        lengths = (len(value),) if isinstance(value, str | list) else ()
        most = bounds.max_layers * (EXPERTS_PER_LAYER if EXPERTS.fullmatch(key) else 1)
        return _outside((*lengths, *_numbers(value)), least, most, "INSIDE_BERT_MAX_LAYERS")
    least, most = (1 if key in HEADS else -1, MAX_SIZE) if SIZE.fullmatch(key) else (-MAX_WHOLE, MAX_WHOLE)
    return _outside(_numbers(value), least, most) if entry.kinds else ""


def _is(value: Any, kind: str) -> bool:
    """Whether a value has the type of a letter."""
    if kind in "iI":
        return _is_whole(value) if kind == "i" else _is_list(value, _is_whole)
    if kind == "f":
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if kind == "S":
        return _is_list(value, lambda item: isinstance(item, str) and len(item) <= MAX_TEXT)
    return isinstance(value, TYPES[kind])


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_list(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list | tuple) and all(_is_list(item, fits) or fits(item) for item in value)


def _numbers(value: Any) -> Iterator[float]:
    """The numbers in a value or nested list."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _numbers(item)


def _outside(numbers: Iterable[float], least: float, most: float, setting: str = "") -> str:
    """Which bound is violated; "" for none."""
    for number in numbers:
        if number > most:
            return f"at most {most:,} are read{f' ({setting})' if setting else ''}"
        if number < least:
            return f"a number of {least:,} or more is needed"
    return ""


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = orjson.loads(TABLE.read_bytes())
    return table


@cache
def _known() -> frozenset[str]:
    return frozenset(_table()["types"])


@lru_cache(maxsize=16)
def _kinds(model_type: str) -> Mapping[str, str]:
    """Name of an entry -> letters of its permitted types for a model type; for any model type if it is ""."""
    table = _table()
    kinds = {**table["kinds"], **ALWAYS}
    if model_type:
        return {**kinds, **table["others"].get(model_type, {})}
    for row in table["others"].values():
        kinds |= {entry: "".join({*kinds[entry], *letters}) for entry, letters in row.items()}
    return kinds
