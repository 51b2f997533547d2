"""Download the vectors of sentences, and show them."""

import io
import re
import zipfile
from collections.abc import Callable, Mapping
from functools import partial

import pandas as pd
import streamlit as st

from bertviz_core.figures.sentences.similarity import ROWS, vectors_figure
from bertviz_core.sentences.results import SentenceVectors
from bertviz_core.sentences.store.export import FILE_WRITERS, VectorDtype, about_json, stored_as
from bertviz_core.text import escape_markdown
from ui.components.cell_click import cell_click
from ui.views.sentences import controls
from ui.views.sentences.similarity import SentenceInputs, made_by
from ui.views.sentences.texts import vector_code
from ui.views.sentences.two_models.dimensions import dimensions_block
from ui.widgets.figure_block import explained, figure_block, folded_table

KEY = "sentences_vectors"


def vectors_part(inputs: SentenceInputs, vectors: SentenceVectors) -> None:
    """Offer all vectors as files; on request draw some of them, and what they keep in fewer dimensions.

    Args:
        inputs: the sentences and the options of the view.
        vectors: their vectors.
    """
    st.markdown("**Vectors**")
    _downloads(vectors)
    if controls.vectors_toggle():
        _drawn(inputs, vectors)
        dimensions_block(inputs, vectors)


def _drawn(inputs: SentenceInputs, vectors: SentenceVectors) -> None:
    """The vectors of some sentences as a heatmap."""
    first = controls.first_row(len(vectors.sentences), ROWS)
    rows, sentences = vectors.vectors[first : first + ROWS], vectors.sentences[first : first + ROWS]
    drawn, frame = vectors_figure(vectors, first), _frame(vectors)
    words = figure_block(drawn, f"vectors {made_by(vectors)}", frame, numbers="in files", texts=sentences)
    folded_table(KEY, frame[first : first + ROWS], drawn.title)
    explained(
        KEY,
        "A row is the vector of a sentence: its tokens' vectors of one layer made one by the pooling, then what the "
        "checkpoint's own modules add. Where vectors are normalised to unit length, the squares of a row add up to 1.",
        f"{vector_code(inputs.origin, inputs.plan)}\nprint(v)",
    )
    with words:
        cell = cell_click(KEY)
        if cell and cell[0] < len(rows) and cell[1] < vectors.dimensions:
            row, dimension = cell
            st.markdown(
                f"Sentence {first + row + 1} *{escape_markdown(sentences[row][:200])}*, dimension {dimension}: "
                f"**{rows[row, dimension]:.7f}**"
            )
        else:
            st.caption("Click a cell for its exact value.")


def _frame(vectors: SentenceVectors) -> pd.DataFrame:
    """Downloads of all vectors."""
    frame = pd.DataFrame(vectors.vectors, columns=[f"d{dimension}" for dimension in range(vectors.dimensions)])
    frame.insert(0, "sentence", list(vectors.sentences))
    return frame


def _downloads(vectors: SentenceVectors) -> None:
    """All vectors as files with model, revision, pooling and layer, in a JSON file where the format has no metadata."""
    name = re.sub(r"[^\w.-]+", "-", f"vectors {made_by(vectors)}").strip("-")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"`({len(vectors.sentences):,}, {vectors.dimensions:,})`", width="content")
        dtype = controls.downloaded_dtype()
        for label, (suffix, kind, build, words) in FORMATS.items():
            st.download_button(
                label,
                partial(_file, build, vectors, dtype, name),
                f"{name}{suffix}",
                kind,
                key=f"{KEY}_all_{label.partition(' ')[0].lower()}",
                help=words,
                on_click="ignore",
            )


def _file(
    build: Callable[[SentenceVectors, str], bytes], vectors: SentenceVectors, dtype: VectorDtype, name: str
) -> bytes:
    """Build a file when it is requested."""
    return build(stored_as(vectors, dtype), name)


def packed(vectors: SentenceVectors, name: str) -> bytes:
    """A zip file with the vectors in NumPy's format and their metadata."""
    target = io.BytesIO()
    inside = f"{name}.npy"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(inside, FILE_WRITERS[".npy"](vectors))
        archive.writestr(f"{inside}.json", about_json(vectors))
    return target.getvalue()


FORMATS: Mapping[str, tuple[str, str, Callable[[SentenceVectors, str], bytes], str | None]] = {
    "Parquet": (
        ".parquet",
        "application/vnd.apache.parquet",
        lambda vectors, _: FILE_WRITERS[".parquet"](vectors),
        None,
    ),
    "NumPy (zip)": (
        "-npy.zip",
        "application/zip",
        packed,
        "A zip with the vectors as .npy and a JSON file that names model, revision, pooling and layer.",
    ),
    "CSV": (".csv", "text/csv", lambda vectors, _: FILE_WRITERS[".csv"](vectors), None),
}
"""Label -> end of the file's name, media type, builder of the file from vectors and name, help."""
