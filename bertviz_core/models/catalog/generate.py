"""Write library.json: what transformers says of its classes, so that a checkpoint can be read without importing it.

Run again after a change of the pinned transformers: `python -m bertviz_core.models.catalog.generate`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from bertviz_core.models.skeleton import TASK_CLASSES, task_class

TABLE = Path(__file__).with_name("library.json")
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
    """The table: per model type its base class, prefix, renames and non-parameters; per class its tied names."""
    import transformers
    from transformers.models.auto import configuration_auto, modeling_auto

    types = {}
    for model_type in sorted(modeling_auto.MODEL_MAPPING_NAMES):
        row = model_type_row(model_type)
        if row:
            types[model_type] = row
    classes = {name for table in TASK_TABLES for name in _names(modeling_auto, table)}
    classes |= {row["class"] for row in types.values()}
    tied = {name: ties for name in sorted(classes) if (ties := _ties(name))}
    configs = set(configuration_auto.CONFIG_MAPPING_NAMES) - set(types)
    return {"transformers": transformers.__version__, "types": types, "other_types": sorted(configs), "tied": tied}


def model_type_row(model_type: str) -> dict[str, Any] | None:
    """What is to be known of one model type; None where transformers has no base class of it."""
    import transformers
    from transformers.models.auto import configuration_auto, modeling_auto

    name = modeling_auto.MODEL_MAPPING_NAMES[model_type]
    name = name if isinstance(name, str) else name[0]
    base: Any = getattr(transformers, name, None)
    config_class = getattr(transformers, configuration_auto.CONFIG_MAPPING_NAMES.get(model_type, ""), None)
    if config_class is None or base is None or not _is_model_class(base):
        return None
    row: dict[str, Any] = {"class": name, "prefix": base.base_model_prefix}
    row["defaults"] = _defaults(config_class)
    row["attention"] = bool(getattr(base, "_supports_attention_backend", False))
    row["tasks"] = _tasks(model_type)
    row["renames"] = _renames(name, model_type)
    row["frozen"], row["buffers"] = _not_trained(base, config_class)
    return {key: value for key, value in row.items() if value not in ([], {})}


def _names(modeling_auto: Any, table: str) -> Iterator[str]:
    for names in getattr(modeling_auto, table).values():
        yield from (names,) if isinstance(names, str) else names


def _tasks(model_type: str) -> list[str]:
    """The tasks that transformers has a class of this type for."""
    import transformers

    config_name = transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES[model_type]
    config_class = getattr(transformers, config_name)
    return [task for task in TASK_CLASSES if config_class in task_class(task)._model_mapping]


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

    steps: list[Any] = next((found for key in identifiers if (found := get_checkpoint_conversion_mapping(key))), [])
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


def _not_trained(base: Any, config_class: Any) -> tuple[list[str], list[str]]:
    """Names (digits as *) of parameters that are never trained and of buffers that a file keeps."""
    import torch

    try:
        with torch.device("meta"):
            model = base(config_class())
    except Exception:  # needs a package or a config of its own: its checkpoints are read without this
        return [], []
    frozen = {_starred(name) for name, parameter in model.named_parameters() if not parameter.requires_grad}
    buffers = {_starred(name) for name in model.state_dict()} - {
        _starred(name) for name, _ in model.named_parameters(remove_duplicate=False)
    }
    return sorted(frozen), sorted(buffers)


def _is_model_class(found: Any) -> bool:
    """Whether it is a model's class, and not the stand-in for one whose packages are not installed."""
    import transformers

    return isinstance(found, type) and issubclass(found, transformers.PreTrainedModel)


def _starred(name: str) -> str:
    return re.sub(r"(?<=\.)\d+(?=\.)", "*", name)


def _ties(name: str) -> dict[str, str]:
    import transformers

    found: Any = getattr(transformers, name, None)
    if not _is_model_class(found):
        return {}
    ties = {_literal(alias): _literal(source) for alias, source in (found._tied_weights_keys or {}).items()}
    return {alias: source for alias, source in ties.items() if alias and source}


def _literal(pattern: str) -> str:
    """The name that a pattern stands for; "" for one that stands for several."""
    name = pattern.removeprefix("^").removesuffix("$").replace("\\.", ".")
    return name if LITERAL_NAME.fullmatch(name) else ""


if __name__ == "__main__":
    TABLE.write_bytes(orjson.dumps(library_table(), option=orjson.OPT_INDENT_2) + b"\n")
