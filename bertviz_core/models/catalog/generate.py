"""What transformers says of its classes, by type; run as a program, it writes the text models' to library.json.

What each entry of a config may be goes, for all models, to entry_kinds.json.

A checkpoint of a type in that file is read without importing transformers; of any other it is asked when it is needed.
Run again after a change of the pinned transformers: `python -m bertviz_core.models.catalog.generate`.
"""

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

from bertviz_core.models.families import FAMILIES
from bertviz_core.models.skeleton import BUILD_LOCK, TASK_CLASSES, import_library, quietly, task_class
from bertviz_core.models.transformers_internals import declares_attention_function, knows, not_saved, tied_names

TABLE = Path(__file__).with_name("library.json")
KINDS_TABLE = Path(__file__).parents[2] / "isolation" / "sanitized" / "entry_kinds.json"
KINDS: Mapping[Any, str] = {int: "i", float: "f", bool: "b", str: "s", list: "l", tuple: "l", dict: "d", type(None): ""}
"""A type of Python -> its letter in entry_kinds.json; an entry may be empty whatever its type."""
TEXT_TASKS = frozenset(("masked-lm", "next-sentence", "token-classification", "question-answering", "multiple-choice"))
"""A type with a class for one of these works on the tokens of a text, and is packaged; classes for pretraining and for
the base model alone are had by what sees and hears, too."""
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
LITERAL_NAME = re.compile(r"[A-Za-z0-9_.]+")


def library_table() -> dict[str, Any]:
    """The table: of every text model its row, the names of other types, and what single classes have of their own."""
    import_library()
    import transformers
    from transformers.models.auto import configuration_auto, modeling_auto

    types: dict[str, dict[str, Any]] = {}
    classes: dict[str, dict[str, Any]] = {}
    for model_type in sorted(modeling_auto.MODEL_MAPPING_NAMES):
        known = model_type in FAMILIES or not TEXT_TASKS.isdisjoint(_tasks(model_type))
        if known and (row := model_type_row(model_type)) is not None:
            types[model_type] = row
            classes |= model_type_classes(model_type)
    others = sorted(set(configuration_auto.CONFIG_MAPPING_NAMES) - set(types))
    version = transformers.__version__
    return {"transformers": version, "types": types, "classes": dict(sorted(classes.items())), "other_types": others}


def table_bytes(table: Mapping[str, Any]) -> bytes:
    """The table as JSON, a type or a class in a line."""
    parts = [
        _member(key, b"{\n" + _lines(value) + b"\n}" if isinstance(value, dict) else orjson.dumps(value))
        for key, value in table.items()
    ]
    return b"{\n" + b",\n".join(parts) + b"\n}\n"


def entry_kinds_table() -> dict[str, Any]:
    """What each entry of a config may be: letters by entry, "kinds" as most types have it, "others" where one differs.

    i: a whole number, f: any number, b: true or false, s: a text, d: an object, l: a list, I: a list of whole numbers,
    S: a list of texts. An entry that may be anything, or something that JSON has not, is left out.
    """
    import_library()
    import torch
    from transformers import CONFIG_MAPPING, PreTrainedConfig, configuration_utils

    common = typing.get_type_hints(PreTrainedConfig, {**vars(configuration_utils), "torch": torch})
    allowed: dict[str, dict[str, str]] = {}
    for model_type, config_class in sorted(CONFIG_MAPPING.items()):
        for field in dataclasses.fields(config_class):
            letters = _letters(common.get(field.name) if isinstance(field.type, str) else field.type)
            if letters:
                allowed.setdefault(field.name, {})[model_type] = letters
    for model_type, entry, letter in _written():  # what the library itself writes is right, whatever it is annotated
        letters = allowed.get(entry, {}).get(model_type, "")
        if entry in allowed and not {letter, "f" if letter == "i" else "l"} & {*letters}:
            allowed[entry][model_type] = "".join(sorted({*letters, letter}))
    kinds = {entry: Counter(by_type.values()).most_common(1)[0][0] for entry, by_type in sorted(allowed.items())}
    others: dict[str, dict[str, str]] = {}
    for entry, by_type in allowed.items():
        for model_type, letters in by_type.items():
            if letters != kinds[entry]:
                others.setdefault(model_type, {})[entry] = letters
    return {"kinds": kinds, "others": dict(sorted(others.items())), "types": sorted(CONFIG_MAPPING)}


def _written() -> Iterator[tuple[str, str, str]]:
    """Type, entry and letter of each value in the configs that transformers writes."""
    from transformers import CONFIG_MAPPING

    for model_type, config_class in sorted(CONFIG_MAPPING.items()):
        try:
            with quietly():
                written = orjson.loads(config_class().to_json_string(use_diff=False))
        except Exception:  # a composite that has no default
            written = {}
        for entry, value in written.items():
            if value is not None:
                inside = {type(item) for item in value} if isinstance(value, list) else set()
                lists = "I" if inside == {int} else "S" if inside == {str} else ""
                yield model_type, entry, lists or KINDS[type(value)]


def _letters(annotation: Any) -> str:
    """The letters of an annotated type; "" where it may be something else."""
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
        return "d"  # a config inside the config
    return KINDS.get(origin or annotation, "")


def model_type_row(model_type: str) -> dict[str, Any] | None:
    """What is to be known of one model type; None where transformers has no base class of it."""
    import_library()
    import transformers
    from transformers.models.auto import configuration_auto

    name = _base_class(model_type)
    base: Any = getattr(transformers, name, None)
    config_class = getattr(transformers, configuration_auto.CONFIG_MAPPING_NAMES.get(model_type, ""), None)
    if config_class is None or base is None or not _is_model_class(base):
        return None
    with BUILD_LOCK, quietly():  # the library warns of its own defaults
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
    }
    return {key: value for key, value in row.items() if value not in ([], {}, False) or key == "attention"}


def model_type_classes(model_type: str) -> dict[str, dict[str, Any]]:
    """What a type's classes have of their own, by class: tied names, and a prefix or renames other than the type's.

    tied maps an alias to the parameter whose values it shares.
    """
    import_library()
    import transformers
    from transformers.models.auto import modeling_auto

    found = [getattr(modeling_auto, table).get(model_type, ()) for table in TASK_TABLES]
    base_name = _base_class(model_type)
    base: Any = getattr(transformers, base_name, None)
    beside = getattr(sys.modules[base.__module__], "__all__", ()) if _is_model_class(base) else ()
    rows = {}
    for name in sorted({base_name, *beside, *(name for names in found for name in _several(names))}):
        model_class: Any = getattr(transformers, name, None)
        if _is_model_class(model_class):
            row: dict[str, Any] = {"tied": _ties(model_class), "renames": _renames(name, model_type)}
            if unsaved := not_saved(model_class):
                row["unsaved"] = unsaved
            if model_class.base_model_prefix != getattr(base, "base_model_prefix", ""):
                row["prefix"] = model_class.base_model_prefix
            if row["renames"] == _renames(base_name, model_type):
                del row["renames"]
            rows[name] = {key: value for key, value in row.items() if value != {}}
    return {name: row for name, row in rows.items() if row}


def _base_class(model_type: str) -> str:
    from transformers.models.auto import modeling_auto

    return _several(modeling_auto.MODEL_MAPPING_NAMES.get(model_type, ""))[0]


def _several(names: str | tuple[str, ...]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


def _member(key: str, value: bytes) -> bytes:
    return orjson.dumps(key) + b": " + value


def _lines(rows: Mapping[str, Any]) -> bytes:
    return b",\n".join(_member(key, orjson.dumps(value)) for key, value in rows.items())


def _tasks(model_type: str) -> list[str]:
    """The tasks that transformers has a class of this type for."""
    import transformers

    config_name = transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES.get(model_type, "")
    config_class = getattr(transformers, config_name, None)
    return [task for task in TASK_CLASSES if knows(task_class(task), config_class)]


def _defaults(config_class: Any) -> dict[str, Any]:
    """Values that a config file may leave out and that shape the ledger or the capability card."""
    try:
        config = config_class()
    except Exception:  # a composite that has no default: nothing to say
        return {}
    wanted = ("tie_word_embeddings", "num_hidden_groups", "inner_group_num", "is_encoder_decoder")
    return {name: value for name in wanted if isinstance(value := getattr(config, name, None), bool | int) and value}


def _renames(*identifiers: str) -> list[dict[str, Any]]:
    """Name changes between file and module, in the library's order, with the cutting of a fused tensor."""
    from transformers.conversion_mapping import get_checkpoint_conversion_mapping
    from transformers.core_model_loading import Chunk, WeightRenaming

    steps: list[Any] = next((renames for key in identifiers if (renames := get_checkpoint_conversion_mapping(key))), [])
    rows = []
    for step in steps:
        if type(step) is WeightRenaming:
            rows.append({"from": list(step.source_patterns), "to": list(step.target_patterns)})
        elif [type(operation) for operation in getattr(step, "operations", [])] == [Chunk] and len(
            step.source_patterns
        ) == 1:
            axis = step.operations[0].dim
            rows.append({"from": list(step.source_patterns), "to": list(step.target_patterns), "chunk": axis})
    return rows


def _not_trained(base: Any, config_class: Any) -> tuple[list[str], list[str], list[str]]:
    """Names (digits as *) of parameters that are never trained, of buffers that a file keeps, and of all it keeps."""
    import torch

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
    """Whether it is a model's class, and not the stand-in for one whose packages are not installed."""
    import transformers

    return isinstance(value, type) and issubclass(value, transformers.PreTrainedModel)


def _starred(name: str) -> str:
    return re.sub(r"(?<=\.)\d+(?=\.)", "*", name)


def _ties(model_class: Any) -> dict[str, str]:
    ties = {_literal(alias): _literal(source) for alias, source in tied_names(model_class).items()}
    return {alias: source for alias, source in ties.items() if alias and source}


def _literal(pattern: str) -> str:
    """The name that a pattern stands for; "" for one that stands for several."""
    name = pattern.removeprefix("^").removesuffix("$").replace("\\.", ".")
    return name if LITERAL_NAME.fullmatch(name) else ""


if __name__ == "__main__":
    TABLE.write_bytes(table_bytes(library_table()))
    KINDS_TABLE.write_bytes(table_bytes(entry_kinds_table()))
