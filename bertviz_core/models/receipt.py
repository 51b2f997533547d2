"""A receipt of a model's folder: a sentence for every part of it that decides numbers and is not followed.

Torch is not imported, no code is run and no pickle is opened; names of files and classes are enough.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import ADAPTER_CONFIG, CONFIG_FILE, MODULES_FILE, TRAINER_FOLDER, present
from bertviz_core.models import catalog
from bertviz_core.models.authors_code import IMPLEMENTED
from bertviz_core.models.gliner import NOTICE, is_gliner
from bertviz_core.models.safetensors.folder import SINGLE_FILE, read_json
from bertviz_core.models.sentence_folder import (
    DOCUMENT,
    QUERY,
    Modules,
    class_end,
    foreign_modules,
    further_modules,
    listed_modules,
    pickled_dense,
    route,
    routes,
)
from bertviz_core.text import escape_controls, quoted, shortened

TOKENIZER_CONFIG, PROMPTS_FILE = "tokenizer_config.json", "config_sentence_transformers.json"
STANFORD_CLASS = "HF_ColBERT"
"""Class of Stanford's ColBERT, whose projection is followed where texts are ranked."""
LENGTH_FILE = re.compile(r"sentence_\w{1,40}_config\.json")
"""Settings of sentence-transformers beside the encoder."""
MOST_FILES, MOST_CONFIGS, MOST_NAMED, LONGEST_NAME = 5_000, 200, 3, 120
"""Maximum number of files that are looked at, of configs in subfolders, of names in a sentence, and their length."""
TOKENIZER_CLASSES = ("AutoTokenizer", "AutoProcessor")
NO_CODE_OF_NUMBERS = ("AutoConfig", *TOKENIZER_CLASSES, "AutoImageProcessor", "AutoFeatureExtractor")
"""Entries of auto_map that compute no number of the model themselves."""
WEIGHTS = re.compile(r".+\.(safetensors|bin|pt|pth|ckpt|pkl|pickle|joblib|npz|npy)", re.IGNORECASE)
"""Names of files that hold weights."""
SAME_WEIGHTS = re.compile(
    r"(pytorch_model|model|tf_model|flax_model|diffusion_pytorch_model|consolidated)([.-][\w.-]+)?\.\w+"
    r"|adapter_model\.\w+|(training_args|scheduler|optimizer|scaler|rng_state\w*|trainer_state|random_states\w*)\.\w+",
    re.IGNORECASE,
)
"""Names of the encoder's own weights, also in other formats, and of the state of a training."""
PICKLE = re.compile(r".+\.(bin|pt|pth|ckpt|pkl|pickle|joblib|npy|npz)", re.IGNORECASE)
POSITIONS = "position_embedding_type"
NO_TABLE_TYPES = frozenset(
    ("esm", "eurobert", "granitemoehybrid", "gte", "jina_bert", "jina_embeddings_v3", "modernbert", "nomic_bert")
)
"""Types whose positions are rotations or ALiBi, as their configs may say."""
PROBLEMS = ("regression", "single_label_classification", "multi_label_classification")
DEBERTA_TERMS = ("c2p", "p2c")
ATTENTIONS = ("eager", "sdpa", "flex_attention", *(f"flash_attention_{version}" for version in (2, 3, 4)))
ATTENTION_KEYS = ("attn_implementation", "_attn_implementation")
TOKEN_HEADS = ("sparse_linear", "colbert_linear")
"""Names of the files of BGE-M3's heads for tokens, the one of the weights first."""
CONVERTED = (
    """python -c "import torch, safetensors.torch as s; """
    """[s.save_file(torch.load(n + '.pt', weights_only=True), n + '.safetensors') for n in {names}]\""""
)
NO_HEADS = frozenset({"onnx", "openvino", "runs", "original", "logs", "coreml", "gguf", "eval"})
"""Folders of exported graphs and logs beside a checkpoint."""


def of_model(name: str, sentence: str) -> str:
    """A sentence of a receipt that names its model, since some results are about two."""
    return f"{escape_controls(name)}: {sentence[:1].lower()}{sentence[1:]}"


def convert_heads(names: Iterable[str]) -> str:
    """Sentence about heads of BGE-M3 in pickle files, with the line that converts them."""
    listed = tuple(names)
    files, line = " and ".join(f"{name}.pt" for name in listed), CONVERTED.format(names=listed)
    return (
        f"The heads of BGE-M3 in {files} are pickle files, which can run code and are not opened; convert them in the "
        f"model's folder by {line}"
    )


def folder_notices(
    name: str,
    config: Mapping[str, Any],
    folder: Path | None,
    modules_folder: Path | None = None,
    adapter: bool = False,
    way: str = "",
) -> tuple[str, ...]:
    """Sentences about what decides numbers of a model and is not followed, each at most once.

    Args:
        folder: the folder of its encoder; None for a model of which only the config is known.
        modules_folder: the folder with modules.json above it; None where that is the same.
        adapter: whether the folder holds an adapter, whose weights are followed.
        way: kind of text that the model reads, of a folder with a way of modules for each.
    """
    above = modules_folder or folder
    modules = _modules(above, way)
    sentences = [
        *_code(config, folder, above),
        *_values(config),
        *_pipelines(config),
        *_quantized(config),
        *_tokenizer_code(config, folder),
    ]
    if is_gliner(folder):
        sentences.append(NOTICE)
    if folder is not None and above is not None:
        sentences += [*_settings_code(folder, above), *foreign_modules(modules), *_adapter(folder, adapter)]
        sentences += [*_ways(name, above, way), *_heads(above, modules, folder)]
        if modules_folder is None:
            sentences += further_modules(folder)
    return tuple(dict.fromkeys(of_model(name, each) for each in sentences))


def _code(config: Mapping[str, Any], folder: Path | None, above: Path | None) -> Iterator[str]:
    classes = _class_names(config.get("auto_map"), lambda key: key not in TOKENIZER_CLASSES)
    model_type = str(config.get("model_type", ""))
    facts = catalog.type_facts(model_type)
    base = facts.base_class if facts is not None and facts.base_class else "own class"
    if (classes or model_type == "jina_bert") and model_type in IMPLEMENTED:
        not_run = f"; the folder's code ({_listed(classes)}) is not run" if classes else ""
        alone = "; transformers alone would take it for a BERT" if model_type == "jina_bert" else ""
        yield f"Computed by {IMPLEMENTED[model_type]}{not_run}{alone}."
        return
    if not classes:
        yield from _foreign_class(config, facts)
        return
    sentence = f"Its author's own code ({_listed(classes)}) is not run; the numbers are those of transformers' {base}"
    two_ways = config.get("is_causal", config.get("use_bidirectional_attention")) is None
    models = [key for key in config["auto_map"] if key not in NO_CODE_OF_NUMBERS]
    of_sentences = (
        "AutoModel" in models if above is None else any(present(above, name) for name in (MODULES_FILE, PROMPTS_FILE))
    )
    if two_ways and models and of_sentences and catalog.is_causal(model_type):
        sentence += (
            ", which reads from left to right only, where the author's code may read both ways (config.json has no "
            "is_causal), so that its vectors may differ"
        )
    yield f"{sentence}."


def _foreign_class(config: Mapping[str, Any], facts: catalog.TypeFacts | None) -> Iterator[str]:
    """A class in the config that is none of its model type in transformers."""
    named = config.get("architectures")
    first = named[0] if isinstance(named, list | tuple) and named else None
    if facts is None or not facts.own_classes or not isinstance(first, str) or not first or first == STANFORD_CLASS:
        return
    if first.removeprefix("TF").removeprefix("Flax") not in facts.own_classes:
        yield (
            f"Its config names the class {_name(first)}, which transformers does not have for {facts.model_type}; the "
            f"numbers are those of transformers' {facts.base_class}."
        )


def _values(config: Mapping[str, Any]) -> Iterator[str]:
    """Entries of the config with a value that transformers does not know, and ignores or refuses."""
    model_type = str(config.get("model_type", ""))
    positions, problem = config.get(POSITIONS), config.get("problem_type")
    if positions not in (None, "absolute") and model_type not in NO_TABLE_TYPES:
        yield (
            f"Its config sets {POSITIONS} to {_value(positions)}, which transformers' class of {model_type} does not "
            "read; the numbers are those of the class's own positions."
        )
    if problem is not None and problem not in PROBLEMS:
        yield (
            f"Its config sets problem_type to {_value(problem)}, which is none of {', '.join(PROBLEMS)}; a head's "
            "numbers are those without it."
        )
    terms = config.get("pos_att_type")
    listed = [each.strip() for each in terms.lower().split("|")] if isinstance(terms, str) else terms
    if isinstance(listed, list | tuple) and (unread := [str(each) for each in listed if each not in DEBERTA_TERMS]):
        yield (
            f"Its config names {_listed(unread)} in pos_att_type, which transformers' attention does not read (it has "
            f"{' and '.join(DEBERTA_TERMS)}), so that its scores have no such term."
        )
    attention = next((config[key] for key in ATTENTION_KEYS if config.get(key) is not None), None)
    if attention is not None and not _is_attention(attention):
        yield (
            f"Its config sets attn_implementation to {_value(attention)}, which transformers does not have and refuses;"
            " it is not followed here."
        )


def _is_attention(value: Any) -> bool:
    """Whether transformers has this way to compute attention; the name of a kernel on the Hub has a slash."""
    names = value.values() if isinstance(value, Mapping) else [value]
    return all(isinstance(each, str) and ("/" in each or each.removeprefix("paged|") in ATTENTIONS) for each in names)


def _pipelines(config: Mapping[str, Any]) -> Iterator[str]:
    pipelines = config.get("custom_pipelines")
    if isinstance(pipelines, Mapping) and pipelines:
        names = [str(each.get("impl", key)) if isinstance(each, Mapping) else key for key, each in pipelines.items()]
        yield f"Its author's own pipeline ({_listed(names)}) is not run; the numbers are those of the model itself."


def _quantized(config: Mapping[str, Any]) -> Iterator[str]:
    quantization = config.get("quantization_config")
    if isinstance(quantization, Mapping) and quantization:
        method = _name(str(quantization.get("quant_method") or "method not named"))
        yield (
            f"Its config quantizes the weights ({method}): a file of packed numbers, scales and offsets is not run "
            "here, and its parameters are counted from the config, as before that."
        )


def _tokenizer_code(config: Mapping[str, Any], folder: Path | None) -> Iterator[str]:
    own = _json(folder, TOKENIZER_CONFIG).get("auto_map")
    own = {"AutoTokenizer": own} if isinstance(own, list | str) else own  # as older files write it
    classes = [
        *_class_names(config.get("auto_map"), lambda key: key in TOKENIZER_CLASSES),
        *_class_names(own, lambda key: True),
    ]
    if classes:
        yield (
            f"Its author's own tokenizer ({_listed(classes)}) is not run; the tokens are those of transformers' "
            "tokenizer."
        )


def _settings_code(folder: Path, above: Path) -> Iterator[str]:
    """Code that the settings of sentence-transformers name."""
    own = [path.name for path in _entries(folder) if LENGTH_FILE.fullmatch(path.name)]
    for place, name in (*((folder, name) for name in own), (above, PROMPTS_FILE)):
        settings = _json(place, name)
        classes = [*_class_names(settings.get("auto_map"), lambda key: True)]
        pipelines = settings.get("custom_pipelines")
        classes += [str(key) for key in pipelines] if isinstance(pipelines, Mapping) else []
        if classes:
            yield f"The author's own code that {name} names ({_listed(classes)}) is not run; its vectors may differ."


def _adapter(folder: Path, followed: bool) -> Iterator[str]:
    if not present(folder, ADAPTER_CONFIG):
        return
    if not followed:
        yield (
            f"The folder also holds an adapter ({ADAPTER_CONFIG}), which is not applied here; from_pretrained applies "
            "it where peft is installed, and its numbers differ."
        )
        return
    mapping = _json(folder, ADAPTER_CONFIG).get("auto_mapping")
    mapping = mapping if isinstance(mapping, Mapping) else {}
    library = mapping.get("parent_library")
    if isinstance(library, str) and library.partition(".")[0] not in ("transformers", "peft", "sentence_transformers"):
        name = f"{library}.{mapping.get('base_model_class', '')}".strip(".")
        yield f"The adapter was trained on its author's own code ({_name(name)}), which is not run."


def _ways(name: str, folder: Path, way: str) -> Iterator[str]:
    """Which way of a router the model is, where there are several."""
    if not (ways := _routes(folder)):
        return
    chosen_way = route(folder, way)
    own = name.removesuffix(f"+{way}") if way else name
    other = next(
        (each for each in (QUERY, DOCUMENT, *ways) if ways.get(each, ways.get(chosen_way)) != ways.get(chosen_way)), ""
    )
    if other:
        read = ", which reads the queries of a search" if other == QUERY and not way else ""
        yield (
            f"It is the way {quoted(chosen_way, 40)} of a router, which reads each kind of text by modules of its own; "
            f"{_name(own if other == DOCUMENT else f'{own}+{other}')} is its way {quoted(other, 40)}{read}."
        )


def _heads(folder: Path, modules: Modules | None, encoder: Path) -> Iterator[str]:
    """Weights beside those of the encoder that no page follows."""
    every = [*(modules or ()), *(each for way in _routes(folder).values() for each in way)]
    paths = {parts[0]: (path, name) for name, path in every if (parts := PurePosixPath(path).parts)}
    own = {path.name for path in (encoder, *encoder.parents) if path.is_relative_to(folder) and path != folder}
    files = [path.name for path in _entries(folder) if WEIGHTS.fullmatch(path.name) and path.is_file()]
    files = [name for name in files if not SAME_WEIGHTS.fullmatch(name)]
    if heads := [name for name in TOKEN_HEADS if f"{name}.pt" in files and f"{name}.safetensors" not in files]:
        yield convert_heads(heads)
    files = [name for name in files if PurePosixPath(name).stem not in TOKEN_HEADS]  # followed, or said above
    if len(safe := [name for name in files if name.endswith(".safetensors")]) == 1 and not present(folder, SINGLE_FILE):
        files.remove(safe[0])  # the only file, which is read under any name
    looked_into = 0
    for path in _entries(folder):
        name = path.name
        if (
            name in own
            or name in NO_HEADS
            or name.startswith(".")
            or TRAINER_FOLDER.fullmatch(name)
            or not path.is_dir()
        ):
            continue
        inside = [each.name for each in _entries(path) if WEIGHTS.fullmatch(each.name)]
        if name not in paths and inside:
            looked_into += 1
            # One of a model of its own can be opened.
            of_model = looked_into <= MOST_CONFIGS and "model_type" in _json(path, CONFIG_FILE)
            files += [] if of_model else [f"{name}/{file}" for file in inside]
        elif inside and class_end(paths[name][1]) == "Dense" and SINGLE_FILE not in inside:
            yield pickled_dense(paths[name][0], SINGLE_FILE)
    if files:
        pickled = any(PICKLE.fullmatch(name) for name in files)
        why = ", which can run code when opened" if pickled and all(map(PICKLE.fullmatch, files)) else ""
        yield (
            f"The folder also holds {_listed(files)}{why}: weights beside the model that are not read here; what they "
            "compute is not shown."
        )


def _routes(folder: Path) -> Mapping[str, Modules]:
    try:
        return routes(folder)
    except CheckpointError:
        return {}


def _modules(folder: Path | None, way: str) -> Modules | None:
    try:
        return None if folder is None else listed_modules(folder, way)
    except CheckpointError:
        return None  # refused where sentences are encoded


def _json(folder: Path | None, name: str) -> Mapping[str, Any]:
    """A small JSON object of a folder; an empty one if it has no such file, or a damaged one."""
    try:
        return {} if folder is None or not present(folder, name) else read_json(folder, name)
    except CheckpointError:
        return {}


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())[:MOST_FILES]
    except OSError:
        return []


def _class_names(auto_map: Any, chosen: Any) -> list[str]:
    """Names of the classes of an auto_map; a tokenizer has two, a slow and a fast one, of which either may be null."""
    entries = auto_map.items() if isinstance(auto_map, Mapping) else ()
    values = [value for key, value in entries if chosen(key)]
    listed = [each for value in values for each in (value if isinstance(value, list | tuple) else [value])]
    return list(dict.fromkeys(str(each) for each in listed if each))


def _listed(names: Iterable[str]) -> str:
    every = list(dict.fromkeys(names))
    first = ", ".join(map(_name, every[:MOST_NAMED]))
    more = len(every) - MOST_NAMED
    return first if more <= 0 else f"{first} and {more:,} more"


def _value(value: Any) -> str:
    return _name(repr(value))


def _name(text: str) -> str:
    return escape_controls(shortened(text, LONGEST_NAME)).encode("utf-8", "backslashreplace").decode()
