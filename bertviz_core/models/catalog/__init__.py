"""The catalogue of well-known models, and facts about the classes of transformers, packaged for text models."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

FOLDER = Path(__file__).parent
LIBRARY_FILE, TENSORS_FILE = "library.json", "tensors.json"
FAMILIES = (
    *("bert", "roberta", "distilbert", "modernbert", "deberta-v3", "xlm-roberta", "electra", "albert", "minilm"),
    *("mpnet", "bert-miniatures", "fine-tuned"),
)
"""Files of the catalogue, the most popular first; a fine-tuned model follows the one that it was trained from and lists
only the entries in which its config differs."""
HEADS: Mapping[str, str] = {
    "ForMaskedLM": "masked-lm",
    "BertForPreTraining": "masked-lm",
    "ForSequenceClassification": "sequence-classification",
    "ForTokenClassification": "token-classification",
    "ForQuestionAnswering": "question-answering",
}
"""Suffix of a class name -> the task of its head."""
PREDICTS: Mapping[str, str] = {
    "masked-lm": "masked words",
    "sequence-classification": "classes",
    "token-classification": "tags",
    "question-answering": "answers",
    "next-sentence": "next sentence",
}
"""Task of a head -> what it predicts."""


@dataclass(frozen=True, slots=True, eq=False)
class CatalogueEntry:
    """One model of the catalogue."""

    name: str
    """Short name: the last part of its Hub id."""
    hub_id: str
    """Its repository on the Hub."""
    title: str
    """Display name."""
    aliases: tuple[str, ...]
    """Other short names."""
    licence: str
    """Licence of its weights according to the Hub; "" if none is stated."""
    parameters: int
    """Number of parameters without a task head, tied ones counted once."""
    config: Mapping[str, Any]
    """Its config.json, without the names of its classes."""

    @property
    def task(self) -> str:
        """The task of the head that its checkpoint was saved with; "" if there is no supported one."""
        (name,) = self.config["architectures"]
        return next((task for ending, task in HEADS.items() if name.endswith(ending)), "")


@dataclass(frozen=True, slots=True, eq=False)
class TypeFacts:
    """Facts about a model type in transformers, collected by `bertviz_core.models.catalog.generate`."""

    model_type: str
    """The model_type in transformers."""
    base_class: str
    """Class of the model without a task head; "" if there is none."""
    prefix: str
    """Attribute under which a class with a task head holds the base model."""
    keeps_prefix: bool
    """Whether the parameters of the model without a task head have that prefix, too (DPR)."""
    tasks: tuple[str, ...]
    """Tasks for which transformers has a class of this type."""
    records_attention: bool
    """Whether it uses transformers' exchangeable attention function."""
    defaults: Mapping[str, Any]
    """Default values of the config."""
    renames: tuple[Mapping[str, Any], ...]
    """Renames between file and module: {from, to} and, for a fused tensor, the axis to chunk."""
    frozen: tuple[str, ...]
    """Parameters that are never trained, with digits as *."""
    buffers: tuple[str, ...]
    """Buffers that are saved, with digits as *."""
    classes: Mapping[str, "ClassFacts"]
    """Facts about single classes that differ from those of their type, by class name."""
    own_classes: tuple[str, ...]
    """Names of the classes of this type."""

    def of_class(self, name: str) -> "ClassFacts":
        """The facts about a class; those of the type by default."""
        return self.classes.get(name) or ClassFacts({}, self.prefix, self.renames)


@dataclass(frozen=True, slots=True, eq=False)
class ClassFacts:
    """Facts about a class in transformers."""

    tied: Mapping[str, str]
    """Tied parameters: alias -> the parameter that it shares its values with."""
    prefix: str
    """Attribute that holds the base model."""
    renames: tuple[Mapping[str, Any], ...]
    """Renames between file and module."""
    unsaved: tuple[str, ...] = ()
    """Parameters that are computed and never saved: sinusoidal tables (Marian)."""


@cache
def entries() -> Mapping[str, CatalogueEntry]:
    """The catalogue: short name -> entry, family by family."""
    catalogue: dict[str, CatalogueEntry] = {}
    for family in FAMILIES:
        for name, row in orjson.loads((FOLDER / "configs" / f"{family}.json").read_bytes()).items():
            parent = catalogue.get(row.get("of", ""))
            catalogue[name] = CatalogueEntry(
                name,
                row["hub_id"],
                row["title"],
                tuple(row["aliases"]),
                row["licence"],
                row["parameters"] if parent is None else parent.parameters,
                row["config"] if parent is None else {**parent.config, **row["config"]},
            )
    return catalogue


def find(name: str) -> CatalogueEntry | None:
    """The entry with a short name, alias or Hub id, case-insensitive; None if there is none."""
    return _names().get(name.lower())


def names() -> tuple[str, ...]:
    """All short names, aliases and Hub ids."""
    return tuple(name for entry in entries().values() for name in (*entry.aliases, entry.name, entry.hub_id))


@cache
def type_facts(model_type: str) -> TypeFacts | None:
    """Facts about a model type; None if transformers does not know it.

    For types that are not packaged transformers is imported and inspected.
    """
    if not is_known(model_type):
        return None
    library = _library()
    row, by_class = library["types"].get(model_type), library["classes"]
    if row is None:
        from bertviz_core.models.catalog.generate import model_type_classes, model_type_row

        row, by_class = model_type_row(model_type) or {}, {**by_class, **model_type_classes(model_type)}
    prefix, renames = row.get("prefix", ""), tuple(row.get("renames", ()))
    classes = {
        name: ClassFacts(
            own.get("tied", {}),
            own.get("prefix", prefix),
            tuple(own.get("renames", renames)),
            tuple(own.get("unsaved", ())),
        )
        for name, own in by_class.items()
    }
    return TypeFacts(
        model_type=model_type,
        base_class=row.get("class", ""),
        prefix=prefix,
        keeps_prefix=row.get("keeps_prefix", False),
        tasks=tuple(row.get("tasks", ())),
        records_attention=row.get("attention", False),
        defaults=row.get("defaults", {}),
        renames=renames,
        frozen=tuple(row.get("frozen", ())),
        buffers=tuple(row.get("buffers", ())),
        classes=classes,
        own_classes=tuple(row.get("classes", ())),
    )


@cache
def type_tensors(model_type: str) -> Mapping[str, Any]:
    """The parameters of the classes of a type, as `catalog.generate.model_type_tensors` writes them; {} if unknown."""
    row: dict[str, Any] = orjson.loads((FOLDER / TENSORS_FILE).read_bytes()).get(model_type, {})
    return row


def is_known(model_type: str) -> bool:
    """Whether transformers knows a model type; transformers is not imported."""
    library = _library()
    return model_type in library["types"] or model_type in library["other_types"]


@cache
def is_causal(model_type: str) -> bool:
    """Whether tokens of a model type read those before them only, unless the config says otherwise."""
    return model_type in _library()["causal_types"]


@cache
def _library() -> dict[str, Any]:
    table: dict[str, Any] = orjson.loads((FOLDER / LIBRARY_FILE).read_bytes())
    return table


@cache
def _names() -> Mapping[str, CatalogueEntry]:
    return {name.lower(): entry for entry in entries().values() for name in (*entry.aliases, entry.hub_id, entry.name)}
