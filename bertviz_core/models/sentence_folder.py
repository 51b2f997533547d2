"""Read modules.json of sentence-transformers: where the encoder is, and what a folder without one is.

No class that it names is imported.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import (
    CONFIG_FILE,
    CONFIG_NBYTES,
    MODULES_FILE,
    check_values,
    is_own_file,
    json_object,
    parsed_json,
    present,
    read_file,
)
from bertviz_core.models import families
from bertviz_core.text import counted, quoted

MAX_MODULES, MAX_MODULE_VALUES, MAX_NAMED, MOST_LEVELS = 100, 2_000, 5, 8
"""Maximum number of modules, of values in their list, of names in a sentence, and of folders above an encoder."""
LIBRARY_PREFIX = "sentence_transformers."
"""Prefix of the supported classes; a checkpoint's own classes are code, which is never run."""
LIBRARIES = (LIBRARY_PREFIX, "pylate.")
"""Prefixes of the libraries whose folders are read."""
LENGTH_FAMILIES = ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
LENGTH_FILES = tuple(f"sentence_{family}_config.json" for family in LENGTH_FAMILIES)
"""Settings of the Transformer module, beside the encoder."""
ENCODER_CLASS, STATIC_CLASS, WEIGHTS_CLASS = "Transformer", "StaticEmbedding", "SparseStaticEmbedding"
"""End of the name of a module's class that runs an encoder of transformers, of one that reads a table of vectors, and
of one that reads a table with one weight for each token, such as its inverse document frequency."""
Modules = Sequence[tuple[str, str]]
"""Class and subfolder of every module, in order."""
STATIC = "a static model, a table with one vector for each token, without layers or attention"
STATIC_TYPE = families.STATIC_TYPE
"""Type under which a table with one vector for each token is opened, which is none of transformers."""
STATIC_TYPES = (STATIC_TYPE, "static", "model2vec")
"""Types that a config.json of such a model names."""
STATIC_NAMES = {
    "^embeddings$": "embedding.weight",
    "^weights$": "embedding.weights",
    "^mapping$": "embedding.mapping",
    "^weight$": "embedding.weight",
}
"""Names in a file of Model2Vec, or of a table of weights, as patterns -> those of the class."""
WORD_VECTORS = "a table of word vectors, without layers or attention"
ROUTERS = ("Router", "Asym")
"""Ends of the names of the classes that have a way of modules for each kind of text."""
ROUTER_FILES = ("router_config.json", CONFIG_FILE)
"""Settings of a router, as its newer and its older class write them."""
DOCUMENT, QUERY = "document", "query"
"""Kinds of text, which a router has a way for."""
NO_ENCODER = {
    "WordEmbeddings": WORD_VECTORS,
    "BoW": "a count of words, without layers or attention",
    "CNN": "a convolution over word vectors, without attention",
    "LSTM": "a recurrent network over word vectors, without attention",
    "CLIPModel": "a model of images and texts",
}
"""First module of a folder without an encoder of its own -> what such a model is."""


def listed_modules(folder: Path, way: str = "") -> list[tuple[str, str]] | None:
    """Return (class, subfolder) of every module in order; None without a modules.json.

    Args:
        way: kind of text whose modules of a router are listed; "" for that of documents.
    """
    modules = _modules(folder)
    if not modules or class_end(modules[0][0]) not in ROUTERS:
        return modules
    ways = routes(folder)
    return [*ways[route(folder, way)], *modules[1:]]


def _modules(folder: Path) -> list[tuple[str, str]] | None:
    if not present(folder, MODULES_FILE):
        return None
    listed = parsed_json(MODULES_FILE, read_file(folder, MODULES_FILE, CONFIG_NBYTES), MAX_MODULE_VALUES)
    are_modules = isinstance(listed, list) and all(
        isinstance(entry, dict) and all(isinstance(entry.get(key), str) for key in ("type", "path")) for entry in listed
    )
    if not are_modules:
        raise CheckpointError(
            f"{MODULES_FILE} is in another format: expected a list of objects with the texts type and path; put in the "
            "file that sentence-transformers writes."
        )
    entries = [(entry["type"], entry["path"]) for entry in listed]
    if len(entries) > MAX_MODULES:
        raise CheckpointError(f"{MODULES_FILE} lists {len(entries):,} modules; at most {MAX_MODULES} are read.")
    _check_inside(MODULES_FILE, (path for _, path in entries))
    return [(class_name, module_folder or ".") for class_name, module_folder in entries]


def _check_inside(file: str, paths: Iterable[str]) -> None:
    for module_folder in paths:
        path = PurePosixPath(module_folder)
        if "\\" in module_folder or path.is_absolute() or ".." in path.parts:
            raise CheckpointError(f"{file} names {quoted(module_folder)}, which leads out of the checkpoint's folder.")


def routes(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Name -> (class, subfolder) of the modules of every way of a router; {} for a folder without one."""
    modules = _modules(folder)
    if not modules or class_end(modules[0][0]) not in ROUTERS:
        return {}
    place, settings = modules[0][1], _router(folder, modules[0][1])
    types, ways = settings.get("types"), settings.get("structure")
    if (
        not isinstance(types, dict)
        or not isinstance(ways, dict)
        or not 0 < len(ways) <= MAX_MODULES
        or not all(
            isinstance(ids, list) and ids and all(isinstance(types.get(str(each)), str) for each in ids)
            for ids in ways.values()
        )
    ):
        raise CheckpointError(
            f"The settings of the router of {folder.name!r} should name ways (structure) and the class of every module "
            "in them (types), and do not; put in the files that sentence-transformers writes."
        )
    _check_inside(ROUTER_FILES[0], types)
    return {
        name: [(types[str(each)], PurePosixPath(place, str(each)).as_posix()) for each in ids]
        for name, ids in ways.items()
    }


def _router(folder: Path, place: str) -> dict[str, Any]:
    names = [PurePosixPath(place, name).as_posix() for name in ROUTER_FILES]
    name = next((each for each in names if present(folder, each)), None)
    if name is None:
        raise CheckpointError(
            f"{folder.name!r} is a router of sentence-transformers, and has no {names[0]}; put it in."
        )
    settings = parsed_json(name, read_file(folder, name, CONFIG_NBYTES), MAX_MODULE_VALUES)
    return settings if isinstance(settings, dict) else {}


def route(folder: Path, way: str = "") -> str:
    """Name of the way that a router takes for a kind of text, by the rules of sentence-transformers; "" for documents.

    These are: what it maps the kind to, the way of its name, that of texts, its default, and the first.
    """
    ways, settings = routes(folder), _router(folder, (_modules(folder) or [("", ".")])[0][1])
    named = settings.get("parameters")
    chosen = named if isinstance(named, dict) else {}
    mapped = chosen.get("route_mappings")
    by_kind = mapped if isinstance(mapped, dict) else {}
    kind = way or DOCUMENT
    first = next(iter(ways)) if chosen.get("allow_empty_key", True) else None
    choices = [by_kind.get(str(each)) for each in ((kind, "text"), (kind, None), (None, "text"), (None, None))]
    if name := next((each for each in (*choices, kind, "text") if isinstance(each, str) and each in ways), ""):
        return name
    default = chosen.get("default_route") or first
    if way in ("", QUERY, DOCUMENT) and isinstance(default, str) and default in ways:
        return default
    raise CheckpointError(
        f"{folder.name!r} has ways for {', '.join(quoted(each, 40) for each in ways)}, and none for "
        f"{quoted(kind, 40)} or by default; open one of them, such as {folder.name}+{next(iter(ways))}."
    )


def encoder_settings(encoder: Path) -> dict[str, Any]:
    """The settings of the Transformer module beside an encoder; {} for none."""
    name = next((name for name in LENGTH_FILES if present(encoder, name)), None)
    if name is None:
        return {}
    raw = read_file(encoder, name, CONFIG_NBYTES)
    check_values(name, raw)
    return json_object(name, raw)


def class_end(class_name: str) -> str:
    """The last part of the name of a class."""
    return class_name.rpartition(".")[2]


def encoder_folder(folder: Path, way: str = "") -> Path:
    """The folder of the encoder in a folder of sentence-transformers: the folder itself, or the one that it names.

    Args:
        way: kind of text whose way of a router is taken; "" for that of documents.
    """
    modules = listed_modules(folder, way)
    if not modules:
        return folder
    class_name, path = modules[0]
    end = class_end(class_name)
    if not routes(folder) and present(folder, CONFIG_FILE):
        return folder
    if end in NO_ENCODER and class_name.startswith(LIBRARIES):
        raise CheckpointError(
            f"{folder.name!r} is {NO_ENCODER[end]} (it begins with {end} by its {MODULES_FILE}), so there is no "
            "encoder to look into; open a model with one."
        )
    if not end.endswith((ENCODER_CLASS, STATIC_CLASS)) or path == ".":
        return folder
    if end.endswith(ENCODER_CLASS) and not is_own_file(folder, f"{path}/{CONFIG_FILE}"):
        raise CheckpointError(
            f"{MODULES_FILE} of {folder.name!r} names {quoted(path)} as the folder of its encoder, and there is no "
            f"{CONFIG_FILE} in it; put in all folders of the model."
        )
    return folder / path


def further_modules(folder: Path) -> tuple[str, ...]:
    """Sentence about the modules of a folder above, if this one is the encoder of it; () for any other folder."""
    for above in folder.parents[:MOST_LEVELS]:
        try:
            modules = listed_modules(above) or []
        except CheckpointError:
            continue
        own = folder.relative_to(above).as_posix()
        others = [class_end(name) for name, path in modules if PurePosixPath(path).as_posix() != own]
        if len(others) < len(modules) and others:
            names = ", ".join(quoted(name, 40)[1:-1] for name in others[:MAX_NAMED])
            return (
                f"This folder is one module of {quoted(above.name)[1:-1]}, whose {MODULES_FILE} names "
                f"{counted(len(others), 'further module')} ({names}); opened alone it gives other sentence vectors: "
                "open the folder above.",
            )
    return ()


def foreign_module(class_name: str) -> str:
    """Sentence about a module whose class is code of another package or of the checkpoint."""
    return f"The checkpoint's module {quoted(class_name)} is not followed here; its vectors differ."


def foreign_modules(modules: Modules | None) -> tuple[str, ...]:
    """Sentences about the modules whose classes are of other packages, or the checkpoint's own code."""
    names = [name for name, _ in modules or () if not name.startswith(LIBRARIES)]
    return tuple(foreign_module(name) for name in dict.fromkeys(names))


def pickled_dense(module_folder: str, file: str) -> str:
    """Sentence about a dense layer without a safetensors file."""
    return (
        f"The checkpoint's dense layer {quoted(module_folder)} has no {file} (pickle files are not opened), "
        "so it is left out; its vectors differ."
    )
