"""The view of the sentences page that shows the vectors themselves and hands them out."""

import io
import re
import zipfile
from functools import partial

import pandas as pd
import streamlit as st

from bertviz_core.figures.sentences.similarity import ROWS, vectors_figure
from bertviz_core.sentences.export import about_json, csv_bytes, npy_bytes, parquet_bytes
from bertviz_core.sentences.results import SentenceVectors
from ui.components.cell_click import cell_click
from ui.views.sentences import controls
from ui.views.sentences.similarity import SentenceQuery
from ui.views.sentences.texts import similarity_code
from ui.widgets.figure_block import figure_block
from ui.widgets.formatting import escape_markdown

KEY = "sentences_vectors"
WITH_SIDE_FILE = {"CSV": csv_bytes, ".npy": npy_bytes}


def vectors_view(asked: SentenceQuery) -> None:
    """The vectors as rows of numbers, a window of sentences at a time, and the whole of them as files."""
    vectors = asked.vectors()
    first = controls.first_row(len(vectors.sentences), ROWS)
    rows, sentences = vectors.vectors[first : first + ROWS], vectors.sentences[first : first + ROWS]
    frame = pd.DataFrame(rows, columns=[f"{dimension}" for dimension in range(vectors.dimensions)])
    frame.insert(0, "sentence", list(sentences))
    words = figure_block(
        vectors_figure(vectors, first),
        f"vectors shown {vectors.pooling} layer {vectors.layer} {vectors.model}",
        frame,
        texts=sentences,
        explanation=(
            "A row is the vector of a sentence: its tokens' vectors of one layer made one by the pooling, then what "
            "the checkpoint's own modules add. Where vectors are normalised to unit length, the squares of a row add "
            "up to 1.",
            similarity_code("dot", vectors.pooling).rpartition("\n")[0],
        ),
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
        _downloads(vectors)


def _downloads(vectors: SentenceVectors) -> None:
    """All vectors as files that name model, revision, pooling and layer, in a JSON file where there is no room."""
    name = re.sub(r"[^\w.-]+", "-", f"vectors {vectors.model} {vectors.pooling} layer {vectors.layer}").strip("-")
    shape = f"({len(vectors.sentences):,}, {vectors.dimensions:,})"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"All vectors, `{shape}`:", width="content")
        kind = "application/vnd.apache.parquet"
        parquet = f"{name}.parquet"
        st.download_button(
            "Parquet", lambda: parquet_bytes(vectors), parquet, kind, key=f"{KEY}_all_parquet", on_click="ignore"
        )
        for label in WITH_SIDE_FILE:
            ending = label.lower().lstrip(".")
            st.download_button(
                label,
                partial(packed, vectors, label, name),
                f"{name}-{ending}.zip",
                "application/zip",
                key=f"{KEY}_all_{ending}",
                help="A zip with the vectors and a JSON file that names model, revision, pooling and layer.",
                on_click="ignore",
            )


def packed(vectors: SentenceVectors, label: str, name: str) -> bytes:
    """The vectors in a format and, beside them, what made them, in one zip file."""
    target = io.BytesIO()
    inside = f"{name}.{label.lower().lstrip('.')}"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(inside, WITH_SIDE_FILE[label](vectors))
        archive.writestr(f"{inside}.json", about_json(vectors))
    return target.getvalue()
