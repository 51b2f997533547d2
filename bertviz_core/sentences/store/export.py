"""Export sentence vectors with their metadata as Parquet, CSV or NumPy files."""

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pyarrow.parquet

from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.sentences.results import SentenceVectors
from bertviz_core.text import formula_safe

VectorDtype = Literal["float32", "float16"]
VECTOR_DTYPES: tuple[VectorDtype, ...] = ("float32", "float16")
"""Number formats of the files."""
WITH_SIDE_FILE = (".npy", ".csv")
"""Formats without metadata; it is written to a file with the suffix .json."""


def stored_as(vectors: SentenceVectors, dtype: VectorDtype) -> SentenceVectors:
    """Return the vectors rounded to a number format, for the functions that build files."""
    return replace(vectors, vectors=vectors.vectors.astype(dtype, copy=False))


def about(vectors: SentenceVectors) -> dict[str, Any]:
    """Return the metadata of the vectors as plain values: model, revision, pooling, layer and more."""
    return {
        "model": vectors.model,
        "revision": vectors.revision,
        "pooling": vectors.pooling,
        "layer": vectors.layer,
        "normalized": vectors.normalized,
        "prompt": vectors.prompt,
        "dtype": vectors.dtype,
        "vector_dtype": str(vectors.vectors.dtype),
        "sentences": len(vectors.sentences),
        "dimensions": vectors.dimensions,
        "truncated": int(vectors.truncated.sum()),
    }


def about_json(vectors: SentenceVectors) -> bytes:
    """Return the metadata of the vectors as JSON."""
    return json.dumps(about(vectors), indent=2, ensure_ascii=False).encode() + b"\n"


def parquet_bytes(vectors: SentenceVectors) -> bytes:
    """Build a Parquet file: sentence, tokens, truncated, vector (a list of fixed length).

    The schema metadata contain model, revision, pooling and layer under their names, and the output of `about` as JSON
    under "inside_bert". Parquet is typed, so no cell can be a formula and the sentences are unchanged.
    """
    flat = pyarrow.array(np.ascontiguousarray(vectors.vectors).ravel())
    table = pyarrow.table(
        {
            "sentence": pyarrow.array([_plain(text) for text in vectors.sentences], type=pyarrow.string()),
            "tokens": pyarrow.array(vectors.token_counts),
            "truncated": pyarrow.array(vectors.truncated),
            "vector": pyarrow.FixedSizeListArray.from_arrays(flat, vectors.dimensions),
        }
    )
    facts = about(vectors)
    metadata = {name: str(facts[name]) for name in ("model", "revision", "pooling", "layer")}
    metadata["inside_bert"] = json.dumps(facts, ensure_ascii=False)
    target = io.BytesIO()
    pyarrow.parquet.write_table(table.replace_schema_metadata(metadata), target)
    return target.getvalue()


def csv_bytes(vectors: SentenceVectors) -> bytes:
    """Build a CSV file in UTF-8: sentence, tokens, truncated, then one column per dimension (d0, d1, ...).

    A sentence that a spreadsheet would run as a formula is prefixed with an apostrophe.
    """
    numbers = pd.DataFrame(vectors.vectors, columns=[f"d{index}" for index in range(vectors.dimensions)])
    numbers.insert(0, "sentence", [formula_safe(_plain(text)) for text in vectors.sentences])
    numbers.insert(1, "tokens", vectors.token_counts)
    numbers.insert(2, "truncated", vectors.truncated)
    return numbers.to_csv(index=False, lineterminator="\r\n").encode()


def npy_bytes(vectors: SentenceVectors) -> bytes:
    """Build a NumPy file of the vectors, (sentences, dimensions), in their number format."""
    target = io.BytesIO()
    np.save(target, vectors.vectors, allow_pickle=False)
    return target.getvalue()


def _plain(text: str) -> str:
    """Remove lone surrogates, which cannot be encoded."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


FILE_WRITERS: Mapping[str, Callable[[SentenceVectors], bytes]] = {
    ".parquet": parquet_bytes,
    ".csv": csv_bytes,
    ".npy": npy_bytes,
}
"""End of a file's name -> what builds the file."""


def packed(vectors: SentenceVectors, name: str) -> bytes:
    """A zip file with the vectors in NumPy's format and their metadata."""
    target, inside = io.BytesIO(), f"{name}.npy"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(inside, FILE_WRITERS[".npy"](vectors))
        archive.writestr(f"{inside}.json", about_json(vectors))
    return target.getvalue()


ABOUT_ZIP = "A zip with the vectors as .npy and a JSON file that names model, revision, pooling and layer."
DOWNLOADS: Mapping[str, tuple[str, str, Callable[[SentenceVectors, str], bytes], str]] = {
    "Parquet": (".parquet", "application/vnd.apache.parquet", lambda each, _: FILE_WRITERS[".parquet"](each), ""),
    "NumPy (zip)": ("-npy.zip", "application/zip", packed, ABOUT_ZIP),
    "CSV": (".csv", "text/csv", lambda each, _: FILE_WRITERS[".csv"](each), ""),
}
"""Label -> end of the file's name, media type, builder of the file from vectors and name, help."""
