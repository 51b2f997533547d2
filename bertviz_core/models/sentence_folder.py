"""Read modules.json of sentence-transformers: where the encoder is, and what a folder without one is.

No class that it names is imported.
"""

from collections.abc import Sequence
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
ENCODER_CLASS = "Transformer"
"""End of the name of a module's class that runs an encoder of transformers."""
Modules = Sequence[tuple[str, str]]
"""Class and subfolder of every module, in order."""
STATIC = "a static model, a table with one vector for each token, without layers or attention"
WORD_VECTORS = "a table of word vectors, without layers or attention"
ROUTES = "a model with an encoder for each kind of text"
NO_ENCODER = {
    "StaticEmbedding": STATIC,
    "SparseStaticEmbedding": STATIC,
    "WordEmbeddings": WORD_VECTORS,
    "BoW": "a count of words, without layers or attention",
    "CNN": "a convolution over word vectors, without attention",
    "LSTM": "a recurrent network over word vectors, without attention",
    "CLIPModel": "a model of images and texts",
    "Router": ROUTES,
    "Asym": ROUTES,
}
"""First module of a folder without an encoder of its own -> what such a model is."""


def listed_modules(folder: Path) -> list[tuple[str, str]] | None:
    """Return (class, subfolder) of every module in order; None without a modules.json."""
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
    for _, module_folder in entries:
        path = PurePosixPath(module_folder)
        if "\\" in module_folder or path.is_absolute() or ".." in path.parts:
            raise CheckpointError(
                f"{MODULES_FILE} names {quoted(module_folder)}, which leads out of the checkpoint's folder."
            )
    return [(class_name, module_folder or ".") for class_name, module_folder in entries]


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


def encoder_folder(folder: Path) -> Path:
    """The folder of the encoder in a folder of sentence-transformers: the folder itself, or the one that it names."""
    modules = listed_modules(folder)
    if not modules:
        return folder
    class_name, path = modules[0]
    end = class_end(class_name)
    if present(folder, CONFIG_FILE):
        return folder
    if end in NO_ENCODER and class_name.startswith(LIBRARIES):
        raise CheckpointError(_without_encoder(folder, end))
    if not end.endswith(ENCODER_CLASS) or path == ".":
        return folder
    if not is_own_file(folder, f"{path}/{CONFIG_FILE}"):
        raise CheckpointError(
            f"{MODULES_FILE} of {folder.name!r} names {quoted(path)} as the folder of its encoder, and there is no "
            f"{CONFIG_FILE} in it; put in all folders of the model."
        )
    return folder / path


def _without_encoder(folder: Path, first: str) -> str:
    encoders = [path.name for path in _subfolders(folder) if b"model_type" in _config(path)]
    routes = encoders if NO_ENCODER[first] == ROUTES else []
    advice = f"open one of them, such as {folder.name}/{routes[0]}" if routes else "open a model with an encoder"
    return (
        f"{folder.name!r} is {NO_ENCODER[first]} (it begins with {first} by its {MODULES_FILE}), so there is no single "
        f"encoder to look into; {advice}."
    )


def _config(folder: Path) -> bytes:
    try:
        return read_file(folder, CONFIG_FILE, CONFIG_NBYTES)
    except CheckpointError:
        return b""


def _subfolders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
    except OSError:
        return []


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
