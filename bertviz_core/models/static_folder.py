"""Read a folder with a static model: a table with one vector for each token, and no layer.

sentence-transformers writes one as StaticEmbedding, Model2Vec as a table that several tokens may share a row of
(`mapping`), each with a weight of its own (`weights`). SparseStaticEmbedding, which reads the queries of a sparse
encoder, has one weight for each token, and no vector.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import CONFIG_FILE, present
from bertviz_core.models.safetensors.folder import SINGLE_FILE, read_header, read_json
from bertviz_core.models.safetensors.results import StoredTensor
from bertviz_core.models.sentence_folder import (
    STATIC_CLASS,
    STATIC_TYPE,
    STATIC_TYPES,
    WEIGHTS_CLASS,
    class_end,
    listed_modules,
)
from bertviz_core.text import quoted

TABLES, WEIGHT_TABLE = ("embedding.weight", "embeddings"), "weight"
"""Name of the table, as sentence-transformers and as Model2Vec write it, and of one with a weight for each token."""
MAPPING, WEIGHTS = "mapping", "weights"
WHOLE_NUMBERS = ("int64", "int32", "int16", "uint16", "uint32", "uint8")


def static_class(folder: Path, inside: Path, way: str = "") -> str:
    """The class of sentence-transformers that reads the static model in a folder; "" for any other model.

    Args:
        inside: the folder of its first module; the same for most.
        way: the way of a router that is opened.
    """
    modules = listed_modules(folder, way)
    named = class_end(modules[0][0]) if modules else ""
    if named == WEIGHTS_CLASS:
        return named
    if present(inside, CONFIG_FILE):
        return STATIC_CLASS if read_json(inside, CONFIG_FILE).get("model_type") in STATIC_TYPES else ""
    if modules:
        return named if named == STATIC_CLASS else ""
    with suppress(CheckpointError):  # it has no weights that are read, and is refused for that
        return STATIC_CLASS if {each.name for each in read_header(inside).tensors} & {*TABLES} else ""
    return ""


def static_config(name: str, folder: Path, kind: str) -> dict[str, Any]:
    """The config of the static model in a folder: the sizes of its table, by the header of its file.

    Args:
        kind: the class that reads it, by static_class.
    """
    if kind == WEIGHTS_CLASS:
        return _weights_config(name, folder)
    if not present(folder, SINGLE_FILE):
        raise CheckpointError(
            f"{quoted(name)} is a static model without {SINGLE_FILE}, the only file of weights that is opened here "
            "(pickle files can run code); save it again where you trust it, with "
            "SentenceTransformer(FOLDER).save_pretrained(FOLDER)."
        )
    own = read_json(folder, CONFIG_FILE) if present(folder, CONFIG_FILE) else {}
    tensors = {each.name: each for each in read_header(folder).tensors}
    table = next((tensors[each] for each in TABLES if each in tensors), None)
    if table is None or len(table.shape) != 2 or 0 in table.shape:
        content = f"shape {table.shape}" if table else f"only {quoted(next(iter(tensors), 'nothing'))}"
        raise CheckpointError(
            f"{quoted(name)} is a static model whose {SINGLE_FILE} should hold a table {' or '.join(TABLES)} of tokens "
            f"by dimensions, and has {content}; save the model again."
        )
    rows = tensors[MAPPING].shape[0] if _is_list(tensors.get(MAPPING)) else table.shape[0]
    for kind, listed, dtypes in ((MAPPING, tensors.get(MAPPING), WHOLE_NUMBERS), (WEIGHTS, tensors.get(WEIGHTS), ())):
        if listed is not None and (listed.shape != (rows,) or (dtypes and listed.dtype not in dtypes)):
            raise CheckpointError(
                f"The {kind} of the static model {quoted(name)} should be one number for each of its {rows:,} tokens, "
                f"and is {listed.dtype} of shape {listed.shape}; save the model again."
            )
    return {
        "model_type": STATIC_TYPE,
        "architectures": ["StaticModel"],
        "vocab_size": rows,
        "hidden_size": table.shape[1],
        "table_rows": table.shape[0],
        MAPPING: MAPPING in tensors,
        WEIGHTS: WEIGHTS in tensors,
        **({"normalize": own["normalize"] is True} if "normalize" in own else {}),
    }


def _weights_config(name: str, folder: Path) -> dict[str, Any]:
    """The config of a table with one weight for each token."""
    path = (read_json(folder, CONFIG_FILE) if present(folder, CONFIG_FILE) else {}).get("path")
    tensors = read_header(folder).tensors if present(folder, SINGLE_FILE) else ()
    table = next((each for each in tensors if each.name == WEIGHT_TABLE), None)
    of_words = isinstance(path, str) and path.endswith(".json")
    if of_words or table is None or not _is_list(table):
        stored = f"its weights in {quoted(str(path), 40)}" if of_words else f"shape {table.shape}" if table else "none"
        raise CheckpointError(
            f"{quoted(name)} gives each token one weight, which {SINGLE_FILE} should hold as a list {WEIGHT_TABLE}, "
            f"and has {stored}; save it again where you trust it, with SparseEncoder(FOLDER).save_pretrained(FOLDER)."
        )
    sizes = {"vocab_size": table.shape[0], "hidden_size": 1, "table_rows": table.shape[0]}
    return {"model_type": STATIC_TYPE, "architectures": ["StaticModel"], **sizes, "one_weight": True}


def _is_list(tensor: StoredTensor | None) -> bool:
    return tensor is not None and len(tensor.shape) == 1 and tensor.shape[0] > 0
