"""About a corpus: how its vectors were made, its columns, its first rows."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.corpus.corpora_folder import files_nbytes
from bertviz_core.corpus.folder import TEXT_COLUMN, plain_values
from bertviz_core.corpus.results import Manifest
from bertviz_core.corpus.search import check_weights
from bertviz_core.errors import BertvizError
from bertviz_core.models.local_files import weights_folder
from bertviz_core.models.safetensors.folder import weights_sha256
from bertviz_core.models.sources import ModelSource
from bertviz_core.questions.report.library_lines import opening_lines
from bertviz_core.text import bytes_text, counted, escape_controls, escape_markdown, shortened
from ui.address.registry import param
from ui.address.widgets import whole
from ui.cache.folders import SharedCorpus
from ui.views.corpus import controls, texts
from ui.widgets.figure_block import explained, numbers_table

KEY = "corpus_about"
PRINTED = "print(corpus.rows, corpus.vectors.shape)\nprint(corpus.data.manifest)\nprint(dict(corpus.data.columns))\n"
LONGEST_CELL = 200
"""Most characters of a text in a table."""
LINE = 35
"""Pixels of a table's row."""


def about_view(named: SharedCorpus, row: DeltaGenerator) -> None:
    """Some rows, the state of the model, the manifest as a table, the columns."""
    corpus, manifest = named.corpus, named.corpus.manifest
    with row:
        first = whole(param("first_row", "corpus"), "First row", 0, corpus.rows - 1, 0, width=controls.NARROW)
    shown = range(first, min(first + 10, corpus.rows))
    numbers_table(row_table(named, shown), f"{counted(len(shown), 'row')} of the corpus, from row {first} on")
    st.markdown(_model_words(named))
    facts = _facts(named)
    numbers_table(facts, "The manifest of the corpus", LINE * (len(facts) + 1) + 2)
    st.markdown(f"**{counted(len(corpus.columns), 'column')}**")
    numbers_table(_columns(manifest, dict(corpus.columns)), "The columns")
    explained(
        KEY,
        texts.ABOUT,
        f"{opening_lines(named)}{PRINTED}",
    )


def _model_words(named: SharedCorpus) -> str:
    """Whether the corpus' model is on this machine with the same weights, in Markdown."""
    manifest = named.corpus.manifest
    name = escape_markdown(manifest.model)
    try:
        origin = named.model.source
    except BertvizError as error:
        return f"The model **{name}** is not here, so nothing can be searched for: {escape_markdown(str(error))}"
    if not origin.has_weights:
        return f"The weights of **{name}** are not on this machine, so nothing can be searched for."
    if refusal := named.model.get_or_compute(
        (__name__, "refusal", named.corpus.fingerprint), lambda: _refusal(named, origin)
    ):
        return f"The model **{name}** is here, but not as it was: {escape_markdown(refusal)}"
    return f"The model **{name}** is here, with the weights that made the corpus (SHA-256 compared)."


def _refusal(named: SharedCorpus, origin: ModelSource) -> str:
    """Why the weights on this machine do not suit the corpus; "" where they do."""
    try:
        check_weights(named.corpus, origin.name, weights_sha256(weights_folder(origin, named.settings)))
    except BertvizError as error:
        return str(error)
    return ""


def row_table(named: SharedCorpus, rows: Sequence[int], whole: bool = False) -> pd.DataFrame:
    """Return some rows with their text and the user's columns.

    Args:
        named: the corpus.
        rows: indices of the rows.
        whole: whether cells are complete, for a file; on the page they are shortened.
    """
    corpus = named.corpus
    columns = [*([TEXT_COLUMN] if TEXT_COLUMN in corpus.columns else []), *user_columns(corpus.manifest)]
    cells: dict[str, Sequence[object]] = {"row": list(rows)}
    if not columns:
        return pd.DataFrame(cells)
    table = corpus.read(list(rows), columns)
    for name in columns:
        values = plain_values(table.column(name))
        shown = values if whole else [plain_cell(cell) for cell in values]
        cells[name if name != "row" else "row (of the corpus)"] = shown
    return pd.DataFrame(cells)


def user_columns(manifest: Manifest) -> list[str]:
    """Names of the columns of the input."""
    return [column.name for column in manifest.columns]


def plain_cell(cell: object) -> object:
    """Convert a cell for a table: numbers unchanged, anything else as a short text."""
    if cell is None or isinstance(cell, (bool, int, float)):
        return cell
    return escape_controls(shortened(str(cell), LONGEST_CELL))


def _facts(named: SharedCorpus) -> pd.DataFrame:
    manifest = named.corpus.manifest
    limit = "all" if manifest.max_tokens is None else f"{manifest.max_tokens:,} at most"
    storage = "kept" if manifest.text_column else "not kept (--no-text)"
    facts = {
        "rows": f"{manifest.rows:,} in {counted(manifest.shards, 'shard')}",
        "vectors": f"{manifest.dimensions:,} numbers each, {manifest.vector_dtype}",
        "on disk": bytes_text(files_nbytes(named.corpus.path)),
        "model": f"{manifest.model}, revision {manifest.revision}",
        "weights (SHA-256)": manifest.weights_sha256,
        "pooling": f"{manifest.pooling} of hidden state {manifest.layer}",
        "normalised": "to unit length" if manifest.normalized else "no",
        "prompt": manifest.prompt or "none",
        "tokens read of a text": limit,
        "run in": manifest.run_dtype,
        "texts": storage,
        "made from": ", ".join(each.path.rpartition("/")[2] for each in manifest.inputs[:3])
        + (f" and {len(manifest.inputs) - 3:,} more" if len(manifest.inputs) > 3 else ""),
        "made by": f"Inside BERT {manifest.code_version}",
    }
    words = [shortened(escape_controls(value), LONGEST_CELL) for value in facts.values()]
    return pd.DataFrame({"fact": list(facts), "value": words})


def _columns(manifest: Manifest, kinds: dict[str, str]) -> pd.DataFrame:
    own = {column.name: column.input_name for column in manifest.columns}
    origin = [
        "the corpus itself" if name not in own else "the input" + (f" ({own[name]})" if own[name] != name else "")
        for name in kinds
    ]
    return pd.DataFrame(
        {"column": [escape_controls(name) for name in kinds], "kind": list(kinds.values()), "from": origin}
    )
