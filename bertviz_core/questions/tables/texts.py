"""How runs, heads, journeys, sentences and corpora are shown."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from jaxtyping import Float

from bertviz_core.attention.results import AttentionMap, Axis
from bertviz_core.corpus.folder import Corpus
from bertviz_core.corpus.int8 import agreement
from bertviz_core.corpus.results import CorpusHits
from bertviz_core.figures.base.axes import MEASURE_WORDS
from bertviz_core.heads.results import BLOCKS, HeadProjections
from bertviz_core.hidden_states.results import PoolerCheck, entry_name, state_name
from bertviz_core.journey.results import Journey
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.tables.lines import Faces, aligned, every, fields, number_cell, printable_token, table
from bertviz_core.sentences.results import SentenceVectors
from bertviz_core.sentences.similarity import similarity_matrix
from bertviz_core.text import counted, escape_controls, quoted
from bertviz_core.trace.results import Trace

MAX_VALUES = 6
STRONGEST_KEYS = 4


def hidden_faces(layer: int, pooler: bool = False, check: PoolerCheck | None = None) -> Faces[Trace]:
    """How an entry of the hidden states is shown, with the pooler's output and its second computation if requested."""

    def above(trace: Trace) -> list[str]:
        return [
            f"{trace.model}: entry {layer} of the hidden states 0 to {trace.num_hidden_layers} ({state_name(layer)}), "
            f"shape {trace.hidden_states[layer].shape}"
        ]

    def rows(trace: Trace) -> list[tuple[Any, ...]]:
        every_token = enumerate(zip(trace.tokens.tokens, trace.hidden_states[layer], strict=True))
        return [
            (str(at), printable_token(token), np.linalg.norm(row), _values(row)) for at, (token, row) in every_token
        ]

    def below(trace: Trace) -> list[str]:
        vector = trace.pooler_output if pooler else None
        if vector is None:
            return []
        lines = ["", f"pooler_output ({len(vector)},), norm {np.linalg.norm(vector):.4f}: {_values(vector)}"]
        checked = [] if check is None else [f"max |pooler(CLS) - pooler_output| = {check.max_difference:.2e}"]
        return lines + checked

    return Faces(
        keys="model model_type layer num_hidden_layers tokens=tokens.tokens input_ids=tokens.input_ids hidden "
        f"{'pooler_output pooler_check ' if pooler else ''}device notices",
        made={
            "layer": lambda trace: layer,
            "hidden": lambda trace: trace.hidden_states[layer],
            "pooler_check": lambda trace: check.max_difference if check else None,
            "notices": lambda trace: (*trace.tokens.notices, *trace.notices),
        },
        above=above,
        rows=rows,
        columns=("position", "token", "norm", "first values"),
        align="rlrl",
        cell=lambda value: number_cell(value) if isinstance(value, np.floating) else value,
        below=below,
    )


def _values(vector: np.ndarray) -> str:
    more = " ..." if len(vector) > MAX_VALUES else ""
    return " ".join(number_cell(value).rjust(8) for value in vector[:MAX_VALUES].tolist()) + more


def attention_faces(trace: Trace) -> Faces[AttentionMap]:
    """How the attention of a head of a run is shown: the keys with the largest weights for every query."""

    def lines(head_map: AttentionMap) -> list[str]:
        weights, axis = head_map.weights, zip(head_map.keys.labels, head_map.keys.positions, strict=True)
        labels = [f"{key} {printable_token(label)}" if at else label for key, (label, at) in enumerate(axis)]
        count = min(STRONGEST_KEYS, len(labels))
        rows = [
            (str(query), printable_token(label), *(f"{row[key]:.3f} {labels[key]}" for key in best[:count]))
            for query, (label, row, best) in enumerate(
                zip(head_map.queries.labels, weights, np.argsort(-weights, axis=1, kind="stable").tolist(), strict=True)
            )
        ]
        heading = ("", "word" if head_map.options.words else "token", "attends most to", *[""] * (count - 1))
        title = (
            f"{trace.model}: attention of layer {head_map.layer} of 0 to {trace.num_hidden_layers - 1}, "
            f"head {head_map.head} of 0 to {trace.num_attention_heads - 1}, shape {weights.shape}"
        )
        if not np.isfinite(weights).all():
            return [f"{title}; its weights hold NaN, so no key is named as the strongest"]
        return [f"{title}; every row sums to 1", "", *aligned([heading, *rows], "rl" + "l" * count)]

    def keys(head_map: AttentionMap) -> dict[str, Any]:
        words = head_map.options.words
        weights, axis, sink = head_map.weights, head_map.keys, {}
        if axis.positions[-1] == ():
            weights, sink = weights[:, :-1], {"sink": weights[:, -1]}
            axis = Axis(axis.labels[:-1], axis.positions[:-1])
        return {
            **fields(trace, "model model_type"),
            **fields(head_map, "layer head"),
            **fields(trace, "num_hidden_layers num_attention_heads"),
            "words": words,
            "tokens": axis.labels if words else trace.tokens.tokens,
            "positions": axis.positions,
            "attention": np.ascontiguousarray(weights),
            **sink,
            **fields(trace, "attention_way=attention_source device"),
            "notices": (*trace.tokens.notices, *trace.notices),
        }

    return Faces(keys=keys, lines=lines)


def _journey_frame(way: Journey) -> "pd.DataFrame":
    layers, tokens = np.divmod(np.arange(way.layers * len(way.labels)), max(len(way.labels), 1))
    columns: dict[str, Any] = {"layer": layers, "token": tokens, "label": [way.labels[at] for at in tokens]}
    measures = fields(way, "turn length entropy").items()
    return pd.DataFrame({**columns, **{name: each.ravel() for name, each in measures if each is not None}})


def _journey_lines(way: Journey) -> Sequence[str]:
    """The turn of every token in each layer, one row per token."""
    if way.turn is None:
        return (way.missing, *(f"{each.name}: {each.numel:,} parameters" for each in way.stages))
    head = ("token", *(f"layer {layer}" for layer in range(way.layers)))
    rows = [(label, *(f"{value:.3f}" for value in way.turn[:, at])) for at, label in enumerate(way.labels)]
    title = "Turn of every token's vector by each layer (1 − cosine of before and after):"
    return (title, *aligned([head, *rows], "l" + "r" * way.layers))


JOURNEY: Faces[Journey] = Faces(
    keys="stages tokens=labels turn length entropy missing",
    made={
        "stages": lambda way: every(way.stages, "name kind numel run used"),
        "missing": lambda way: way.missing or None,
    },
    frame=_journey_frame,
    lines=_journey_lines,
)


def _heads_frame(projections: HeadProjections) -> "pd.DataFrame":
    heads = pd.RangeIndex(projections.num_heads, name="head")
    return pd.DataFrame(projections.norms, index=heads, columns=list(BLOCKS))


def heads_faces(weights: bool) -> Faces[HeadProjections]:
    """How the matrices of a layer are shown: for each block the norm of each head, and its weights if requested."""

    def keys(projections: HeadProjections) -> dict[str, Any]:
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

    def lines(projections: HeadProjections) -> list[str]:
        stored = [
            (block, matrix.name, str(matrix.shape), matrix.form, str(projections.blocks(block).shape))
            for block, matrix in projections.stored.items()
        ]
        norms = [(str(head), *(f"{norm:.4f}" for norm in row)) for head, row in enumerate(projections.norms.tolist())]
        printed = [
            f"{projections.model}: layer {projections.layer}, {projections.num_heads} heads of {projections.head_dim}",
            "",
            *aligned([("matrix", "parameter", "shape", "read", "heads"), *stored], "lllll"),
            "",
            "Frobenius norm of each head's block",
            *aligned([("head", *BLOCKS), *norms], "rrrrr"),
        ]
        for block in BLOCKS if weights else ():
            for head, rows in enumerate(projections.blocks(block)):
                printed += ["", f"{block}, head {head}, {rows.shape}"]
                printed += [" ".join(f"{value:.6f}" for value in row) for row in rows.tolist()]
        return printed

    return Faces(keys=keys, frame=_heads_frame, lines=lines)


def _similarities(vectors: SentenceVectors) -> Float[np.ndarray, "sentences sentences"]:
    return similarity_matrix(vectors.vectors, vectors.measure)


def _similarity_frame(vectors: SentenceVectors) -> "pd.DataFrame":
    return pd.DataFrame(_similarities(vectors), index=vectors.sentences, columns=vectors.sentences)


def _similarity_lines(vectors: SentenceVectors) -> list[str]:
    numbers = [str(index) for index in range(len(vectors.sentences))]
    prompt = f", after the prompt {quoted(escape_controls(vectors.prompt), 60)}" if vectors.prompt else ""
    rows = [
        (number, printable_token(text), *map(number_cell, row))
        for number, text, row in zip(numbers, vectors.sentences, _similarities(vectors).tolist(), strict=True)
    ]
    return [
        f"{vectors.model}: {MEASURE_WORDS[vectors.measure]} of sentence vectors ({vectors.pooling} of "
        f"{entry_name(vectors.layer)}, {vectors.dimensions} dimensions{prompt})",
        "",
        *aligned([("", "sentence", *numbers), *rows], "rl" + "r" * len(numbers)),
    ]


SIMILARITY: Faces[SentenceVectors] = Faces(
    keys="model sentences similarity measure pooling layer normalized prompt dimensions tokens=token_counts notices",
    made={"similarity": _similarities},
    frame=_similarity_frame,
    lines=_similarity_lines,
)


OWN = ("row", "score")
"""Keys of a hit besides its columns; input columns are never named `text`."""
LONGEST = 60
"""Maximum length of a text in the table."""


def _corpus_keys(corpus: Corpus) -> dict[str, Any]:
    """The manifest, with every column and its kind."""
    manifest: dict[str, Any] = msgspec.to_builtins(corpus.manifest)
    columns = [{"name": name, "kind": kind} for name, kind in corpus.columns.items()]
    return {**manifest, "columns": columns, "fingerprint": corpus.fingerprint}


def _corpus_lines(corpus: Corpus) -> list[str]:
    """Lines about the corpus, and a table of its columns."""
    manifest = corpus.manifest
    facts: Mapping[str, str] = {
        "rows": f"{manifest.rows:,} in {counted(manifest.shards, 'shard')}",
        "vectors": f"{manifest.dimensions:,} numbers in {manifest.vector_dtype}, "
        f"{manifest.pooling} of {entry_name(manifest.layer)}{', normalised' if manifest.normalized else ''}",
        "model": f"{printable_token(manifest.model)} ({printable_token(manifest.revision)})",
        "weights": f"SHA-256 {manifest.weights_sha256}",
        "run in": f"int8: {agreement(manifest.int8)}" if manifest.int8 else manifest.run_dtype,
        "prompt": printable_token(manifest.prompt) or "none",
        "input": f"{counted(len(manifest.inputs), 'file')}, column {printable_token(manifest.input_column)}",
    }
    columns = [{"column": name, "kind": kind} for name, kind in corpus.columns.items()]
    return [*aligned(list(facts.items()), "ll"), "", *table(columns, ("column", "kind"))]


CORPUS: Faces[Corpus] = Faces(
    keys=_corpus_keys, frame=lambda corpus: pd.DataFrame(_corpus_keys(corpus)["columns"]), lines=_corpus_lines
)


def _hits(hits: CorpusHits) -> list[dict[str, Any]]:
    """Columns of a row are on the same level as its score."""
    return [{**plain_columns(hit.columns), **fields(hit, "row score text")} for hit in hits.hits]


def _hits_frame(hits: CorpusHits) -> "pd.DataFrame":
    frame = pd.DataFrame(_hits(hits))
    own = ["row", "score", "text"]
    return frame[[*own, *(name for name in frame if name not in own)]] if len(frame) else frame


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


HITS: Faces[CorpusHits] = Faces(
    keys="query corpus model method recall where searched rows seconds hits notices",
    made={"hits": _hits},
    frame=_hits_frame,
    above=lambda hits: [
        f"{hits.corpus}: {hits.searched:,} of {hits.rows:,} rows searched in {1000 * hits.seconds:,.0f} ms"
    ],
    rows=lambda hits: hits.hits,
    columns={
        "row": "row",
        "cosine": "score",
        "text": ("text", lambda text: escape_controls((text or "")[:LONGEST])),
        "columns": ("columns", _columns),
    },
    align="rrll",
)
