"""Format corpora and search results as JSON and text."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bertviz_core.corpus.folder import Corpus
from bertviz_core.corpus.results import CorpusHits
from bertviz_core.questions.tables.lines import aligned, number_cell, printable_token
from bertviz_core.text import counted, escape_controls

OWN = ("row", "score")
"""Keys of a hit besides its columns; input columns are never named `text`."""
LONGEST = 60
"""Maximum length of a text in the table."""


def info_json(corpus: Corpus) -> dict[str, Any]:
    """The JSON object of the `corpus info` command: the manifest, with every column and its kind."""
    manifest: dict[str, Any] = msgspec.to_builtins(corpus.manifest)
    columns = [{"name": name, "kind": kind} for name, kind in corpus.columns.items()]
    return {**manifest, "columns": columns, "fingerprint": corpus.fingerprint}


def info_lines(corpus: Corpus) -> list[str]:
    """Lines about the corpus, and a table of its columns."""
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
    """The JSON object of the `corpus search` command; columns of a row are on the same level as its score."""
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
    """A table of the hits, in descending order of their score."""
    rows = [
        (f"{hit.row:,}", number_cell(hit.score), escape_controls((hit.text or "")[:LONGEST]), _columns(hit.columns))
        for hit in hits.hits
    ]
    head = f"{hits.corpus}: {hits.searched:,} of {hits.rows:,} rows searched in {1000 * hits.seconds:,.0f} ms"
    return [head, "", *aligned([("row", "cosine", "text", "columns"), *rows], "rrll")]


def plain_columns(columns: Any) -> dict[str, Any]:
    """Convert values to JSON; other types become texts.

    A column with the name of another key of a hit gets the suffix `_input`.
    """
    return {
        f"{name}_input" if name in OWN else name: value
        if value is None or isinstance(value, bool | int | float | str)
        else str(value)
        for name, value in columns.items()
    }


def _columns(columns: Any) -> str:
    return ", ".join(f"{printable_token(name)}={printable_token(str(value))}" for name, value in columns.items())
