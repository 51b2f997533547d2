"""Rows, hits, groups and the manifest of a corpus as data frames."""

from collections.abc import Sequence

import numpy as np

from bertviz_core.corpus.analysis.results import CorpusClusters, DuplicateGroups
from bertviz_core.corpus.corpora_folder import files_nbytes
from bertviz_core.corpus.folder import TEXT_COLUMN, Corpus, plain_values
from bertviz_core.corpus.int8 import agreement
from bertviz_core.hidden_states.results import state_name
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.tables.typeset import LONGEST_CELL, plain_cell
from bertviz_core.text import bytes_text, counted, escape_controls, shortened

MOST_GROUPS = 100
"""Most groups that are listed."""


def row_table(corpus: Corpus, rows: Sequence[int], whole: bool = False) -> "pd.DataFrame":
    """Rows with their text and the user's columns; cells are shortened unless they are whole, for a file."""
    columns = [name for name in (TEXT_COLUMN,) if name in corpus.columns]
    columns += [column.name for column in corpus.manifest.columns]
    cells: dict[str, Sequence[object]] = {"row": list(rows)}
    table = corpus.read(list(rows), columns)
    for name in columns:
        values = plain_values(table.column(name))
        head = name if name != "row" else "row (of the corpus)"
        cells[head] = values if whole else [plain_cell(cell) for cell in values]
    return pd.DataFrame(cells)


def typical_frame(corpus: Corpus, clusters: CorpusClusters, cluster: int) -> "pd.DataFrame":
    """The most typical rows of a cluster."""
    there = clusters.typical[cluster] >= 0
    frame = row_table(corpus, clusters.typical[cluster][there].tolist())
    frame.insert(1, "cosine to the centre", clusters.typical_scores[cluster][there].astype(float))
    return frame


def groups_frame(corpus: Corpus, groups: DuplicateGroups) -> "pd.DataFrame":
    """Size and first row of the largest groups."""
    firsts = groups.rows[groups.starts[:MOST_GROUPS]].tolist()
    frame = row_table(corpus, firsts).rename(columns={"row": "first row"})
    frame.insert(0, "rows in it", groups.sizes[:MOST_GROUPS])
    frame.insert(0, "group", range(1, len(firsts) + 1))
    return frame


def members_frame(corpus: Corpus, groups: DuplicateGroups) -> "pd.DataFrame":
    """Every row of every group, with the number of its group."""
    frame = row_table(corpus, groups.rows.tolist(), whole=True)
    frame.insert(0, "group", np.repeat(np.arange(1, len(groups.sizes) + 1), groups.sizes))
    return frame


def manifest_frame(corpus: Corpus) -> "pd.DataFrame":
    """What the manifest says of a corpus."""
    manifest = corpus.manifest
    inputs = ", ".join(each.path.rpartition("/")[2] for each in manifest.inputs[:3])
    facts = {
        "rows": f"{manifest.rows:,} in {counted(manifest.shards, 'shard')}",
        "vectors": f"{manifest.dimensions:,} numbers each, {manifest.vector_dtype}",
        "on disk": bytes_text(files_nbytes(corpus.path)),
        "model": f"{manifest.model}, revision {manifest.revision}",
        "weights (SHA-256)": manifest.weights_sha256,
        "pooling": f"{manifest.pooling} {state_name(manifest.layer)}",
        "normalised": "to unit length" if manifest.normalized else "no",
        "prompt": manifest.prompt or "none",
        "tokens read of a text": "all" if manifest.max_tokens is None else f"{manifest.max_tokens:,} at most",
        "run in": f"int8: {agreement(manifest.int8)}" if manifest.int8 else manifest.run_dtype,
        "texts": "kept" if manifest.text_column else "not kept (--no-text)",
        "made from": f"{inputs} and {len(manifest.inputs) - 3:,} more" if len(manifest.inputs) > 3 else inputs,
        "made by": f"Inside BERT {manifest.code_version}",
    }
    words = [shortened(escape_controls(value), LONGEST_CELL) for value in facts.values()]
    return pd.DataFrame({"fact": list(facts), "value": words})


def columns_frame(corpus: Corpus) -> "pd.DataFrame":
    """Name, kind and origin of every column of a corpus."""
    own, kinds = {column.name: column.input_name for column in corpus.manifest.columns}, dict(corpus.columns)
    origin = [
        "the corpus itself" if name not in own else "the input" + (f" ({own[name]})" if own[name] != name else "")
        for name in kinds
    ]
    names = [escape_controls(name) for name in kinds]
    return pd.DataFrame({"column": names, "kind": list(kinds.values()), "from": origin})
