"""Collect facts about the classes of transformers by model type.

As a program, it writes those of text models to library.json, the names and shapes of their parameters to tensors.json,
and the types of config entries to entry_kinds.json.

Checkpoints of a type in library.json are read without importing transformers; other types are inspected on demand. Run
`python -m bertviz_core.models.catalog.generate` after a change of the pinned transformers.
"""

import copy
import dataclasses
import re
import sys
import types
import typing
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.catalog import entries
from bertviz_core.models.families import FAMILIES
from bertviz_core.models.own import CONFIGS, TOWERS, own_classes, own_tower
from bertviz_core.models.skeleton import (
    BUILD_LOCK,
    TASK_CLASSES,
    declares_attention_function,
    knows,
    not_saved,
    quietly,
    task_class,
    tied_names,
)

TABLE = Path(__file__).with_name("library.json")
TENSORS_TABLE = Path(__file__).with_name("tensors.json")
KINDS_TABLE = Path(__file__).parents[2] / "isolation" / "sanitized" / "entry_kinds.json"
KINDS: Mapping[Any, str] = {int: "i", float: "f", bool: "b", str: "s", list: "l", tuple: "l", dict: "d", type(None): ""}
"""Python type -> letter in entry_kinds.json; null is always permitted."""
TEXT_TASKS = frozenset(("masked-lm", "next-sentence", "token-classification", "question-answering", "multiple-choice"))
"""A model type with a class for one of these tasks is a text model; other modalities also have base and pretraining
classes."""
TASK_TABLES = (
    "MODEL_FOR_PRETRAINING_MAPPING_NAMES",
    "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
    "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    "MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING_NAMES",
    "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES",
    "MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES",
    "MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES",
    "MODEL_FOR_MULTIPLE_CHOICE_MAPPING_NAMES",
)
NO_CHOICE = re.compile(r"act$|_act_|activation|use_cache|dropout|^tie_|^model_type$|_type_id|^layer_types$")
"""Entries that decide no parameters."""
LITERAL_NAME = re.compile(r"[A-Za-z0-9_.]+")


def library_table() -> dict[str, Any]:
    """The table: rows of all text models, facts about single classes, and the names of other types."""
    own_classes()

    types: dict[str, dict[str, Any]] = {}
    classes: dict[str, dict[str, Any]] = {}
    for model_type in sorted({*transformers.models.auto.modeling_auto.MODEL_MAPPING_NAMES, *CONFIGS}):
        known = model_type in FAMILIES or not TEXT_TASKS.isdisjoint(_tasks(model_type))
        if known and (row := model_type_row(model_type)) is not None:
            types[model_type] = row
            classes |= model_type_classes(model_type)
    others = sorted(set(transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES) - set(types))
    return {
        "transformers": transformers.__version__,
        "types": types,
        "classes": dict(sorted(classes.items())),
        "other_types": others,
        "causal_types": causal_types(),
    }


def causal_types() -> list[str]:
    """The types whose tokens read those before them only, unless their config says otherwise."""
    tables = transformers.models.auto.modeling_auto
    reading_both_ways = {*tables.MODEL_FOR_MASKED_LM_MAPPING_NAMES, "xlnet"}
    return sorted(set(tables.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES) - reading_both_ways)


def table_bytes(table: Mapping[str, Any]) -> bytes:
    """The table as JSON, with a line for each type or class."""
    parts = []
    for key, value in table.items():
        rows = value.items() if isinstance(value, dict) else ()
        lines = b",\n".join(_member(name, orjson.dumps(each)) for name, each in rows)
        parts.append(_member(key, b"{\n" + lines + b"\n}" if isinstance(value, dict) else orjson.dumps(value)))
    return b"{\n" + b",\n".join(parts) + b"\n}\n"


def entry_kinds_table() -> dict[str, Any]:
    """The types of config entries as letters: "kinds" for most model types, "others" for exceptions.

    i: integer, f: number, b: boolean, s: text, d: object, l: list, I: list of integers, S: list of texts. Entries that
    may have any type, or one that JSON does not have, are left out.
    """
    own_classes()

    common = typing.get_type_hints(
        transformers.PreTrainedConfig, {**vars(transformers.configuration_utils), "torch": torch}
    )
    allowed: dict[str, dict[str, str]] = {}
    for model_type, config_class in sorted(transformers.CONFIG_MAPPING.items()):
        for field in dataclasses.fields(config_class):
            letters = _letters(common.get(field.name) if isinstance(field.type, str) else field.type)
            if letters:
                allowed.setdefault(field.name, {})[model_type] = letters
    for (
        model_type,
        entry,
        letter,
    ) in _written():  # values written by transformers are valid regardless of the annotation
        letters = allowed.get(entry, {}).get(model_type, "")
        if entry in allowed and not {letter, "f" if letter == "i" else "l"} & {*letters}:
            allowed[entry][model_type] = "".join(sorted({*letters, letter}))
    kinds = {entry: Counter(by_type.values()).most_common(1)[0][0] for entry, by_type in sorted(allowed.items())}
    others: dict[str, dict[str, str]] = {}
    for entry, by_type in allowed.items():
        for model_type, letters in by_type.items():
            if letters != kinds[entry]:
                others.setdefault(model_type, {})[entry] = letters
    return {"kinds": kinds, "others": dict(sorted(others.items())), "types": sorted(transformers.CONFIG_MAPPING)}


def _written() -> Iterator[tuple[str, str, str]]:
    """Model type, entry and letter of each value in the default configs."""
    for model_type, config_class in sorted(transformers.CONFIG_MAPPING.items()):
        try:
            with quietly():
                written = orjson.loads(config_class().to_json_string(use_diff=False))
        except Exception:  # a composite config without defaults
            written = {}
        for entry, value in written.items():
            if value is not None:
                inside = {type(item) for item in value} if isinstance(value, list) else set()
                lists = "I" if inside == {int} else "S" if inside == {str} else ""
                yield model_type, entry, lists or KINDS[type(value)]


def _letters(annotation: Any) -> str:
    """The letters of an annotation; "" if other types are permitted."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        parts = [_letters(each) for each in arguments if each is not type(None)]
        return "".join(sorted(set("".join(parts)))) if all(parts) else ""
    if origin is typing.Literal:
        return "".join(sorted({KINDS[type(each)] for each in arguments}))
    if origin in (list, tuple):
        inside = {_letters(each) for each in arguments if each is not Ellipsis}
        return {"i": "I", "s": "S"}.get("".join(inside), "l")
    if isinstance(annotation, type) and hasattr(annotation, "model_type"):
        return "d"  # a nested config
    return KINDS.get(origin or annotation, "")


def model_type_row(model_type: str) -> dict[str, Any] | None:
    """The row of a model type; None if transformers has no base class for it."""
    own_classes()
    own_tower(model_type)

    name = _base_class(model_type)
    base, config_class = _named(name), _config_class(model_type)
    if config_class is None or base is None or not _is_model_class(base):
        return None
    with BUILD_LOCK, quietly():  # transformers warns about its own defaults
        defaults, (frozen, buffers, names) = _defaults(config_class), _not_trained(base, config_class)
    row = {
        "class": name,
        "prefix": base.base_model_prefix,
        "keeps_prefix": bool(names) and all(each.startswith(f"{base.base_model_prefix}.") for each in names),
        "defaults": defaults,
        "attention": declares_attention_function(base),
        "tasks": _tasks(model_type),
        "renames": _renames(name, model_type),
        "frozen": frozen,
        "buffers": buffers,
        "classes": sorted(_classes(model_type)),
    }
    return {key: value for key, value in row.items() if value not in ([], {}, False) or key == "attention"}


def model_type_classes(model_type: str) -> dict[str, dict[str, Any]]:
    """Facts about single classes of a type: tied names, and a prefix or renames other than those of the type.

    tied maps an alias to the parameter whose values it shares.
    """
    own_classes()

    base_name = _base_class(model_type)
    base = _named(base_name)
    rows = {}
    for name, model_class in _classes(model_type).items():
        row: dict[str, Any] = {"tied": _ties(model_class), "renames": _renames(name, model_type)}
        if unsaved := not_saved(model_class):
            row["unsaved"] = unsaved
        if model_class.base_model_prefix != getattr(base, "base_model_prefix", ""):
            row["prefix"] = model_class.base_model_prefix
        if row["renames"] == _renames(base_name, model_type):
            del row["renames"]
        rows[name] = {key: value for key, value in row.items() if value != {}}
    return {name: row for name, row in rows.items() if row}


def model_type_tensors(model_type: str) -> dict[str, Any]:
    """The parameters of the classes of a type, by the config of its first model in the catalogue, or the default one.

    {} for a type that cannot be built so. tied and sizes are of that config. base maps a name (with digits as *) to
    the number of such names and their shape; choices are entries that may decide which there are; classes holds for
    each other class what it has beside the base model, and what it has not of it.
    """
    own_classes()

    classes, base_name = _classes(model_type), _base_class(model_type)
    base_class: Any = classes[base_name]
    entry = next((each for each in entries().values() if each.config["model_type"] == model_type), None)
    with quietly():
        config = base_class.config_class.from_dict(dict(entry.config)) if entry else base_class.config_class()
    base = _tensors(base_class, config)
    if not base:
        return {}
    prefix, rows = f"{base_class.base_model_prefix}.", {}
    for name, model_class in classes.items():
        own = _tensors(model_class, config) if name != base_name else {}
        if own:
            images = {prefix + each if prefix + each in own else each: each for each in base}
            rows[name] = {
                "has": {each: row for each, row in own.items() if each not in images},
                "lacks": sorted(each for image, each in images.items() if image not in own),
            }
    written = list(orjson.loads(config.to_json_string(use_diff=False)).items())
    sizes = {key: value for key, value in written if type(value) is int and value > 0 and not key.endswith("token_id")}
    common = transformers.PreTrainedConfig().to_dict()
    choices = {key: value for key, value in written if key not in common and _is_choice(key, value)}
    tied = bool(getattr(config, "tie_word_embeddings", False))
    return {"tied": tied, "sizes": sizes, "choices": choices, "base": base, "classes": rows}


def _is_choice(key: str, value: Any) -> bool:
    """Whether an entry of a config may decide which parameters there are."""
    words = value if isinstance(value, list) else [value]
    return bool(words) and all(isinstance(word, bool | str) for word in words) and not NO_CHOICE.search(key)


def _tensors(model_class: Any, config: Any) -> dict[str, list[int]]:
    """Name of a parameter, with digits as * -> how many there are, and their shape; {} if the class cannot be built."""
    try:
        with BUILD_LOCK, quietly(), torch.device("meta"):
            model = model_class(copy.deepcopy(config))
    except Exception:  # needs a package or a config of its own
        return {}
    rows: dict[str, list[int]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if name not in model.all_tied_weights_keys:
            row = rows.setdefault(_starred(name), [0, *parameter.shape])
            row[0] += 1
            if row[1:] != [*parameter.shape]:
                return {}  # layers of different sizes
    return rows


def _classes(model_type: str) -> dict[str, Any]:
    """Name -> class, for the classes of a type and those beside its base class."""
    found = [getattr(transformers.models.auto.modeling_auto, table).get(model_type, ()) for table in TASK_TABLES]
    base_name = _base_class(model_type)
    base = _named(base_name)
    beside = getattr(sys.modules[base.__module__], "__all__", ()) if _is_model_class(base) else ()
    named = sorted({base_name, *beside, *(name for names in found for name in _several(names))})
    classes = {name: _named(name) for name in named}
    return {name: each for name, each in classes.items() if _is_model_class(each)}


def _base_class(model_type: str) -> str:
    own = CONFIGS.get(model_type, "").replace("Config", "Model")
    return (
        own
        or TOWERS.get(model_type)
        or _several(transformers.models.auto.modeling_auto.MODEL_MAPPING_NAMES.get(model_type, ""))[0]
    )


def _named(name: str) -> Any:
    """The class of transformers, or of Inside BERT's own, with a name; None if there is none."""
    return getattr(transformers, name, own_classes().get(name))


def _config_class(model_type: str) -> Any:
    name = transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES.get(model_type, "")
    return transformers.CONFIG_MAPPING[model_type] if model_type in CONFIGS else getattr(transformers, name, None)


def _several(names: str | tuple[str, ...]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


def _member(key: str, value: bytes) -> bytes:
    return orjson.dumps(key) + b": " + value


def _tasks(model_type: str) -> list[str]:
    """The tasks for which transformers has a class of this type."""
    return [task for task in TASK_CLASSES if knows(task_class(task), _config_class(model_type))]


def _defaults(config_class: Any) -> dict[str, Any]:
    """Default values that affect the ledger or the capabilities."""
    try:
        config = config_class()
    except Exception:  # a composite config without defaults
        return {}
    fields = ("tie_word_embeddings", "num_hidden_groups", "inner_group_num", "is_encoder_decoder")
    return {name: value for name in fields if isinstance(value := getattr(config, name, None), bool | int) and value}


def _renames(*identifiers: str) -> list[dict[str, Any]]:
    """Renames between file and module, in order, with the axis on which a fused tensor is split."""
    from transformers.conversion_mapping import get_checkpoint_conversion_mapping

    steps: list[Any] = next((renames for key in identifiers if (renames := get_checkpoint_conversion_mapping(key))), [])
    rows = []
    for step in steps:
        operations = [type(operation) for operation in getattr(step, "operations", [])]
        removed = getattr(step, "prefix_to_remove", None)
        if removed and not step.model_prefix:
            rows.append({"from": [rf"^{removed}\."], "to": [f"{_named(identifiers[0]).base_model_prefix}."]})
        elif type(step) is transformers.core_model_loading.WeightRenaming:
            rows.append({"from": list(step.source_patterns), "to": list(step.target_patterns)})
        elif operations == [transformers.core_model_loading.Chunk] and len(step.source_patterns) == 1:
            axis = step.operations[0].dim
            rows.append({"from": list(step.source_patterns), "to": list(step.target_patterns), "chunk": axis})
    return rows


def _not_trained(base: Any, config_class: Any) -> tuple[list[str], list[str], list[str]]:
    """Names (with digits as *) of parameters that are never trained, of saved buffers, and of the whole state dict."""
    try:
        with torch.device("meta"):
            model = base(config_class())
    except Exception:  # needs a package or a config of its own: its checkpoints are read without this
        return [], [], []
    frozen = {_starred(name) for name, parameter in model.named_parameters() if not parameter.requires_grad}
    buffers = {_starred(name) for name in model.state_dict()} - {
        _starred(name) for name, _ in model.named_parameters(remove_duplicate=False)
    }
    return sorted(frozen), sorted(buffers), sorted(model.state_dict())


def _is_model_class(value: Any) -> bool:
    """Whether this is a model class, not the placeholder for one with a missing dependency."""
    return isinstance(value, type) and issubclass(value, transformers.PreTrainedModel)


def _starred(name: str) -> str:
    return re.sub(r"(?<=\.)\d+(?=\.)", "*", name)


def _ties(model_class: Any) -> dict[str, str]:
    ties = {_literal(alias): _literal(source) for alias, source in tied_names(model_class).items()}
    return {alias: source for alias, source in ties.items() if alias and source}


def _literal(pattern: str) -> str:
    """The only name that a pattern matches; "" for several."""
    name = pattern.removeprefix("^").removesuffix("$").replace("\\.", ".")
    return name if LITERAL_NAME.fullmatch(name) else ""


if __name__ == "__main__":
    library = library_table()
    TABLE.write_bytes(table_bytes(library))
    TENSORS_TABLE.write_bytes(table_bytes({name: model_type_tensors(name) for name in library["types"]}))
    KINDS_TABLE.write_bytes(table_bytes(entry_kinds_table()))
