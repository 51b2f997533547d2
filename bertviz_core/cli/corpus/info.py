"""The command that says what a corpus folder holds."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bertviz_core.cli.corpus.group import FolderArgument, corpus_app
from bertviz_core.cli.options import JsonOption
from bertviz_core.cli.output import print_json, print_lines, printable_token, table
from bertviz_core.corpus.folder import Corpus, open_corpus
from bertviz_core.text import counted


@corpus_app.command()
def info(folder: FolderArgument, as_json: JsonOption = False) -> None:
    """Say what a corpus folder holds and how it was made; its shards are looked at."""
    corpus = open_corpus(folder)
    if as_json:
        print_json(info_json(corpus))
    else:
        print_lines(info_lines(corpus))


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
    return [*table(list(facts.items()), "ll"), "", *table(columns, "ll")]
