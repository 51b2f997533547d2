"""Format tokens, runs, heads, sentences and corpora as JSON and text."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from bertviz_core.attention.results import AttentionMap
from bertviz_core.corpus.folder import Corpus
from bertviz_core.corpus.results import CorpusHits
from bertviz_core.heads.results import BLOCKS, HeadProjections
from bertviz_core.hidden_states.results import PoolerCheck, state_name
from bertviz_core.journey.results import Journey
from bertviz_core.predictions.results import LateInteraction
from bertviz_core.questions.tables.lines import aligned, fields, number_cell, printable_token
from bertviz_core.sentences.results import SentenceVectors
from bertviz_core.text import counted, escape_controls, quoted
from bertviz_core.trace.results import Trace

MAX_VALUES = 6
STRONGEST_KEYS = 4


def hidden_json(trace: Trace, layer: int, pooler: bool, check: PoolerCheck | None) -> dict[str, Any]:
    """The JSON object of the `hidden` command."""
    pooler_keys: dict[str, Any] = {}
    if pooler:
        pooler_keys = {"pooler_output": trace.pooler_output, "pooler_check": check.max_difference if check else None}
    return {
        "model": trace.model,
        "model_type": trace.model_type,
        "layer": layer,
        "num_hidden_layers": trace.num_hidden_layers,
        "tokens": trace.tokens.tokens,
        "input_ids": trace.tokens.input_ids,
        "hidden": trace.hidden_states[layer],
        **pooler_keys,
        "device": trace.device,
        "notices": (*trace.tokens.notices, *trace.notices),
    }


def hidden_lines(trace: Trace, layer: int, pooler: bool, check: PoolerCheck | None) -> list[str]:
    """A table of the hidden states: norm and first values of every token."""
    states = trace.hidden_states[layer]
    rows = [
        (str(position), printable_token(token), f"{np.linalg.norm(vector):.4f}", _values(vector))
        for position, (token, vector) in enumerate(zip(trace.tokens.tokens, states, strict=True))
    ]
    lines = [
        f"{trace.model}: entry {layer} of the hidden states 0 to {trace.num_hidden_layers} ({state_name(layer)}), "
        f"shape {states.shape}",
        "",
        *aligned([("position", "token", "norm", "first values"), *rows], "rlrl"),
    ]
    if pooler and trace.pooler_output is not None:
        vector = trace.pooler_output
        lines += ["", f"pooler_output ({len(vector)},), norm {np.linalg.norm(vector):.4f}: {_values(vector)}"]
        if check is not None:
            lines.append(f"max |pooler(CLS) - pooler_output| = {check.max_difference:.2e}")
    return lines


def _values(vector: np.ndarray) -> str:
    more = " ..." if len(vector) > MAX_VALUES else ""
    return " ".join(number_cell(value).rjust(8) for value in vector[:MAX_VALUES].tolist()) + more


def attention_json(trace: Trace, head_map: AttentionMap) -> dict[str, Any]:
    """The JSON object of the `attention` command."""
    return {
        "model": trace.model,
        "model_type": trace.model_type,
        "layer": head_map.layer,
        "head": head_map.head,
        "num_hidden_layers": trace.num_hidden_layers,
        "num_attention_heads": trace.num_attention_heads,
        "words": head_map.options.words,
        "tokens": head_map.keys.labels if head_map.options.words else trace.tokens.tokens,
        "positions": head_map.keys.positions,
        "attention": np.ascontiguousarray(head_map.weights),
        "attention_way": trace.attention_source,
        "device": trace.device,
        "notices": (*trace.tokens.notices, *trace.notices),
    }


def attention_lines(trace: Trace, head_map: AttentionMap) -> list[str]:
    """A table of the attention of a head: the keys with the largest weights for every query."""
    kind = "word" if head_map.options.words else "token"
    count = min(STRONGEST_KEYS, len(head_map.keys))
    strongest = np.argsort(-head_map.weights, axis=1, kind="stable")[:, :count]
    rows = [
        (str(query), printable_token(label), *(_key(head_map, query, key) for key in strongest[query].tolist()))
        for query, label in enumerate(head_map.queries.labels)
    ]
    sums = "; every row sums to 1" if np.isfinite(head_map.weights).all() else ""
    return [
        f"{trace.model}: attention of layer {head_map.layer} of 0 to {trace.num_hidden_layers - 1}, "
        f"head {head_map.head} of 0 to {trace.num_attention_heads - 1}, shape {head_map.weights.shape}{sums}",
        "",
        *aligned([("", kind, "attends most to", *[""] * (count - 1)), *rows], "rl" + "l" * count),
    ]


def _key(head_map: AttentionMap, query: int, key: int) -> str:
    return f"{head_map.weights[query, key]:.3f} {key} {printable_token(head_map.keys.labels[key])}"


def journey_json(way: Journey) -> dict[str, Any]:
    """The JSON object of a journey: stages, tokens and measures [layers][tokens]."""
    stages = [{"name": each.name, "kind": each.kind, "numel": each.numel, "run": each.run} for each in way.stages]
    known = {"turn": way.turn, "length": way.length, "entropy": way.entropy}
    tokens = list(way.labels)
    return {"stages": stages, "tokens": tokens, **known, "missing": way.missing or None}


def journey_lines(way: Journey) -> Sequence[str]:
    """A table of the turn of every token in each layer, one row per token."""
    if way.turn is None:
        return (way.missing, *(f"{each.name}: {each.numel:,} parameters" for each in way.stages))
    head = ("token", *(f"layer {layer}" for layer in range(way.layers)))
    rows = [(label, *(f"{value:.3f}" for value in way.turn[:, at])) for at, label in enumerate(way.labels)]
    title = "Turn of every token's vector by each layer (1 − cosine of before and after):"
    return (title, *aligned([head, *rows], "l" + "r" * way.layers))


def heads_json(projections: HeadProjections, weights: bool) -> dict[str, Any]:
    """The JSON object of the `heads` command: for each block the norm of each head, or its weights."""
    norms: dict[str, Any] = {block: projections.norms[:, index].tolist() for index, block in enumerate(BLOCKS)}
    blocks = norms
    if weights:
        blocks = {block: np.ascontiguousarray(projections.blocks(block)) for block in BLOCKS}
        blocks |= {f"{block}_bias": projections.bias(block) for block in BLOCKS}
    return {
        **fields(projections, "model layer shared_with num_heads"),
        "num_key_value_heads": len(projections.key),
        "head_dim": projections.head_dim,
        "shapes": {block: projections.blocks(block).shape for block in BLOCKS},
        "stored": {block: fields(stored, "name shape form") for block, stored in projections.stored.items()},
        "norms": norms,
        **blocks,
    }


def heads_lines(projections: HeadProjections, weights: bool) -> list[str]:
    """Tables of the heads: shapes and names, norms, and optionally the weights."""
    stored = [
        (block, matrix.name, str(matrix.shape), matrix.form, str(projections.blocks(block).shape))
        for block, matrix in projections.stored.items()
    ]
    norms = [(str(head), *(f"{norm:.4f}" for norm in row)) for head, row in enumerate(projections.norms.tolist())]
    lines = [
        f"{projections.model}: layer {projections.layer}, {projections.num_heads} heads of {projections.head_dim}",
        "",
        *aligned([("matrix", "parameter", "shape", "read", "heads"), *stored], "lllll"),
        "",
        "Frobenius norm of each head's block",
        *aligned([("head", *BLOCKS), *norms], "rrrrr"),
    ]
    for block in BLOCKS if weights else ():
        for head, rows in enumerate(projections.blocks(block)):
            lines += ["", f"{block}, head {head}, {rows.shape}"]
            lines += [" ".join(f"{value:.6f}" for value in row) for row in rows.tolist()]
    return lines


def similarity_json(vectors: SentenceVectors, matrix: np.ndarray) -> dict[str, Any]:
    """The JSON object of the `similarity` command."""
    return {
        "model": vectors.model,
        "sentences": vectors.sentences,
        "similarity": matrix,
        "pooling": vectors.pooling,
        "layer": vectors.layer,
        "normalized": vectors.normalized,
        "prompt": vectors.prompt,
        "dimensions": vectors.dimensions,
        "tokens": vectors.token_counts,
        "notices": vectors.notices,
    }


def similarity_lines(vectors: SentenceVectors, matrix: np.ndarray) -> list[str]:
    """A table of similarities with numbered columns."""
    numbers = [str(index) for index in range(len(matrix))]
    prompt = f", after the prompt {quoted(escape_controls(vectors.prompt), 60)}" if vectors.prompt else ""
    rows = [
        (number, printable_token(text), *map(number_cell, row.tolist()))
        for number, text, row in zip(numbers, vectors.sentences, matrix, strict=True)
    ]
    return [
        f"{vectors.model}: cosine of sentence vectors ({vectors.pooling} of layer {vectors.layer}, "
        f"{vectors.dimensions} dimensions{prompt})",
        "",
        *aligned([("", "sentence", *numbers), *rows], "rl" + "r" * len(numbers)),
    ]


def interaction_json(result: LateInteraction) -> dict[str, Any]:
    """The JSON object of the `late-interaction` command; `best` is a place in document_tokens, from 0."""
    best, largest = result.best, result.largest
    return {
        "model": result.model,
        "query": result.query,
        "document": result.document,
        "score": result.score,
        "mean": result.mean,
        "normalized": result.normalized,
        "trained": result.trained,
        "dimensions": result.dimensions,
        "tokens": [
            {
                "token": token,
                "expanded": bool(result.expanded[place]),
                "largest": largest[place],
                "best": int(best[place]),
                "document_token": result.document_tokens[best[place]],
            }
            for place, token in enumerate(result.query_tokens)
        ],
        "document_tokens": result.document_tokens,
        "skipped": result.skipped,
        "cosines": result.cosines,
        "notices": result.notices,
    }


def interaction_lines(result: LateInteraction) -> list[str]:
    """The score as a sum, and a table of the tokens of the query."""
    count, name = len(result.query_tokens), "cosine" if result.normalized else "dot product"
    kind = "mean" if result.mean else "sum"
    rows = [
        (
            printable_token(row["token"]),
            number_cell(row["largest"]),
            printable_token(row["document_token"]),
            str(row["best"]),
            "fills the query up" if row["expanded"] else "",
        )
        for row in interaction_json(result)["tokens"]
    ]
    skipped = [f"not scored: {' '.join(map(printable_token, result.skipped))}"] if result.skipped else []
    return [
        f"{result.model}: score {number_cell(result.score)}, the {kind} of the largest {name} of {count} tokens",
        *skipped,
        "",
        *aligned([("token", name, "document token", "place", ""), *rows], "lrlrl"),
    ]


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
