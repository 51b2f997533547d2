"""Read a folder with a static model: a table with one vector for each token, and no layer.

sentence-transformers writes one as StaticEmbedding, Model2Vec as a table that several tokens may share a row of
(`mapping`), each with a weight of its own (`weights`).
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import CONFIG_FILE, present
from bertviz_core.models.safetensors.folder import SINGLE_FILE, read_header, read_json
from bertviz_core.models.safetensors.results import StoredTensor
from bertviz_core.models.sentence_folder import STATIC_CLASS, STATIC_TYPE, STATIC_TYPES, class_end, listed_modules
from bertviz_core.text import quoted

TABLES = ("embedding.weight", "embeddings")
"""Name of the table, as sentence-transformers and as Model2Vec write it."""
MAPPING, WEIGHTS = "mapping", "weights"
WHOLE_NUMBERS = ("int64", "int32", "int16", "uint16", "uint32", "uint8")


def is_static(folder: Path, inside: Path, way: str = "") -> bool:
    """Whether a folder holds a static model.

    Args:
        inside: the folder of its first module; the same for most.
        way: the way of a router that is opened.
    """
    if present(inside, CONFIG_FILE):
        return read_json(inside, CONFIG_FILE).get("model_type") in STATIC_TYPES
    modules = listed_modules(folder, way)
    if modules:
        return class_end(modules[0][0]) == STATIC_CLASS
    with suppress(CheckpointError):  # it has no weights that are read, and is refused for that
        return {each.name for each in read_header(inside).tensors} & {*TABLES} != set()
    return False


def static_config(name: str, folder: Path) -> dict[str, Any]:
    """The config of the static model in a folder: the sizes of its table, by the header of its file."""
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


def _is_list(tensor: StoredTensor | None) -> bool:
    return tensor is not None and len(tensor.shape) == 1 and tensor.shape[0] > 0
