"""Corpora and hits of a search as JSON objects and as text."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bertviz_core.corpus.folder import Corpus
from bertviz_core.corpus.search.results import CorpusHits
from bertviz_core.questions.tables.lines import aligned, number_cell, printable_token
from bertviz_core.text import counted, escape_controls

OWN = ("row", "score")
"""Facts of a hit, beside which its columns stand; `text` is no name that a column of an input can have."""
LONGEST = 60
"""Characters of a text in the table."""


def info_json(corpus: Corpus) -> dict[str, Any]:
    """The corpus as the JSON object of the command: its manifest, with every column and its kind."""
    manifest: dict[str, Any] = msgspec.to_builtins(corpus.manifest)
    columns = [{"name": name, "kind": kind} for name, kind in corpus.columns.items()]
    return {**manifest, "columns": columns, "fingerprint": corpus.fingerprint}


def info_lines(corpus: Corpus) -> list[str]:
    """The corpus as lines, and its columns as a table."""
    manifest = corpus.manifest
    facts: Mapping[str, str] = {
        "rows": f"{manifest.rows:,} in {counted(manifest.shards, 'shard')}",
        "vectors": f"{manifest.dimensions:,} numbers in {manifest.vector_dtype}, "
        f"{manifest.pooling} of layer {manifest.layer}{', normalised' if manifest.normalized else ''}",
        "model": f"{printable_token(manifest.model)} ({printable_token(manifest.revision)})",
        "weights": f"SHA-256 {manifest.weights_sha256}",
        "prompt": printable_token(manifest.prompt) or "none",
        "input": f"{counted(len(manifest.inputs), 'file')}, column {printable_token(manifest.input_column)}",
    }
    columns = [("column", "kind"), *((printable_token(name), kind) for name, kind in corpus.columns.items())]
    return [*aligned(list(facts.items()), "ll"), "", *aligned(columns, "ll")]


def hits_json(hits: CorpusHits) -> dict[str, Any]:
    """The hits as the JSON object of the command; the columns of a row stand beside its score."""
    return {
        "query": hits.query,
        "corpus": hits.corpus,
        "model": hits.model,
        "method": hits.method,
        "recall": hits.recall,
        "where": hits.where,
        "searched": hits.searched,
        "rows": hits.rows,
        "seconds": hits.seconds,
        "hits": [
            {**plain_columns(hit.columns), "row": hit.row, "score": hit.score, "text": hit.text} for hit in hits.hits
        ],
        "notices": hits.notices,
    }


def hit_lines(hits: CorpusHits) -> list[str]:
    """The hits as a table, the nearest first."""
    rows = [
        (f"{hit.row:,}", number_cell(hit.score), escape_controls((hit.text or "")[:LONGEST]), _columns(hit.columns))
        for hit in hits.hits
    ]
    head = f"{hits.corpus}: {hits.searched:,} of {hits.rows:,} rows searched in {1000 * hits.seconds:,.0f} ms"
    return [head, "", *aligned([("row", "cosine", "text", "columns"), *rows], "rrll")]


def plain_columns(columns: Any) -> dict[str, Any]:
    """Values as JSON has them: what is neither number, text, truth nor nothing as its text.

    A column called as one of a hit's own facts gets `_input` behind its name.
    """
    return {
        f"{name}_input" if name in OWN else name: value
        if value is None or isinstance(value, bool | int | float | str)
        else str(value)
        for name, value in columns.items()
    }


def _columns(columns: Any) -> str:
    return ", ".join(f"{printable_token(name)}={printable_token(str(value))}" for name, value in columns.items())
