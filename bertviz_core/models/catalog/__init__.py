"""Configs of well-known models, and what transformers says of its classes; that of text models is packaged."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

FOLDER = Path(__file__).parent
LIBRARY_FILE = "library.json"
FAMILIES = (
    *("bert", "roberta", "distilbert", "modernbert", "deberta-v3", "xlm-roberta", "electra", "albert", "minilm"),
    *("mpnet", "bert-miniatures", "fine-tuned"),
)
"""Files of the catalogue in the order in which people look for what is in them; a fine-tuned model comes behind the one
that it was trained from, and says only what of its config is another's."""
HEADS: Mapping[str, str] = {
    "ForMaskedLM": "masked-lm",
    "BertForPreTraining": "masked-lm",
    "ForSequenceClassification": "sequence-classification",
    "ForTokenClassification": "token-classification",
    "ForQuestionAnswering": "question-answering",
}
"""End of a class's name -> the task that its head is asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class CatalogueEntry:
    """One model of the catalogue."""

    name: str
    """Short name, the last part of its Hub id."""
    hub_id: str
    """Where its weights are on the Hub."""
    title: str
    """Name in prose."""
    aliases: tuple[str, ...]
    """Other short names."""
    licence: str
    """Licence of its weights, as their page on the Hub has it; "" where that names none."""
    parameters: int
    """How many the model without a task head has, tied ones counted once."""
    config: Mapping[str, Any]
    """Its config.json, without the names of its classes."""

    @property
    def task(self) -> str:
        """The task of the head that its checkpoint was saved with; "" where that predicts nothing that is shown."""
        (name,) = self.config["architectures"]
        return next((task for ending, task in HEADS.items() if name.endswith(ending)), "")


@dataclass(frozen=True, slots=True, eq=False)
class TypeFacts:
    """What transformers says of one model type; asked of it by `bertviz_core.models.catalog.generate`."""

    model_type: str
    """Hugging Face's word for the family."""
    base_class: str
    """Class of the model without a task head; "" where transformers has none."""
    prefix: str
    """Name under which a class with a task head keeps the base model."""
    keeps_prefix: bool
    """Whether the model without a task head has all its parameters under that name, too (DPR)."""
    tasks: tuple[str, ...]
    """Tasks that transformers has a class of this type for."""
    records_attention: bool
    """Whether its attention goes through transformers' exchangeable attention function."""
    defaults: Mapping[str, Any]
    """Config values that hold where a config file leaves them out."""
    renames: tuple[Mapping[str, Any], ...]
    """Changes of name between file and module: {from, to} and, for a fused tensor, the axis to chunk."""
    frozen: tuple[str, ...]
    """Parameters that are never trained, digits as *."""
    buffers: tuple[str, ...]
    """Buffers that a file keeps, digits as *."""
    classes: Mapping[str, "ClassFacts"]
    """What is particular to single classes, by name."""

    def of_class(self, name: str) -> "ClassFacts":
        """What is particular to a class; for one that has nothing, what holds of the type."""
        return self.classes.get(name) or ClassFacts({}, self.prefix, self.renames)


@dataclass(frozen=True, slots=True, eq=False)
class ClassFacts:
    """What transformers says of one class of a type."""

    tied: Mapping[str, str]
    """Tied names: alias -> the parameter whose values it shares."""
    prefix: str
    """Name under which it keeps the base model."""
    renames: tuple[Mapping[str, Any], ...]
    """Changes of name between file and module, as those of its type."""
    unsaved: tuple[str, ...] = ()
    """Parameters that it computes and never saves: tables of sines (Marian)."""


@cache
def entries() -> Mapping[str, CatalogueEntry]:
    """The catalogue, short name -> entry, family by family."""
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
    """The entry of a short name, an alias or a Hub id, whatever the case of its letters; None if there is none."""
    return _names().get(name.lower())


def names() -> tuple[str, ...]:
    """Every name that an entry goes by: short names, aliases and Hub ids."""
    return tuple(name for entry in entries().values() for name in (*entry.aliases, entry.name, entry.hub_id))


@cache
def type_facts(model_type: str) -> TypeFacts | None:
    """Facts of a model type; None where transformers does not know it.

    Those of text models are packaged; for any other type transformers is imported and asked, once.
    """
    if not is_known(model_type):
        return None
    library = _library()
    row, particular = library["types"].get(model_type), library["classes"]
    if row is None:
        from bertviz_core.models.catalog.generate import model_type_classes, model_type_row

        row, particular = model_type_row(model_type) or {}, {**particular, **model_type_classes(model_type)}
    prefix, renames = row.get("prefix", ""), tuple(row.get("renames", ()))
    classes = {
        name: ClassFacts(
            own.get("tied", {}),
            own.get("prefix", prefix),
            tuple(own.get("renames", renames)),
            tuple(own.get("unsaved", ())),
        )
        for name, own in particular.items()
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
    )


def is_known(model_type: str) -> bool:
    """Whether transformers knows a model type; imports nothing."""
    library = _library()
    return model_type in library["types"] or model_type in library["other_types"]


@cache
def _library() -> dict[str, Any]:
    table: dict[str, Any] = orjson.loads((FOLDER / LIBRARY_FILE).read_bytes())
    return table


@cache
def _names() -> Mapping[str, CatalogueEntry]:
    return {name.lower(): entry for entry in entries().values() for name in (*entry.aliases, entry.hub_id, entry.name)}
