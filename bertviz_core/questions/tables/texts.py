"""Format tokens, hidden states, attention and journey of a text as JSON and text."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bertviz_core.attention.results import AttentionMap
from bertviz_core.hidden_states.results import PoolerCheck, state_name
from bertviz_core.journey.results import Journey
from bertviz_core.questions.tables.lines import aligned, number_cell, printable_token
from bertviz_core.trace.results import Tokens, Trace

MAX_VALUES = 6
STRONGEST_KEYS = 4


def tokens_json(tokens: Tokens) -> dict[str, Any]:
    """The JSON object of the `tokens` command; values that a tokenizer does not provide are null."""
    return {
        "text": tokens.text,
        "pair": tokens.pair,
        "tokens": tokens.tokens,
        "input_ids": tokens.input_ids,
        "token_type_ids": tokens.token_type_ids,
        "word_ids": tokens.word_ids,
        "offsets": tokens.offsets,
        "special": tokens.special.tolist(),
        "unknown": tokens.unknown.tolist(),
        "sequence": tokens.sequence,
        "shape": (1, len(tokens)),
        "limit": tokens.limit,
        "tokens_cut": tokens.tokens_cut,
        "notices": tokens.notices,
    }


def tokens_lines(tokens: Tokens) -> list[str]:
    """A table of the tokens."""
    blank = (None,) * len(tokens)
    types = tokens.token_type_ids if tokens.token_type_ids is not None else blank
    rows = [
        (
            str(position),
            printable_token(tokens.tokens[position]),
            str(tokens.input_ids[position]),
            _cell((tokens.word_ids or blank)[position]),
            _cell(f"{span[0]}:{span[1]}" if span and span[0] < span[1] else None),
            _cell(types[position]),
            "special" if tokens.special[position] else "unknown" if tokens.unknown[position] else "",
        )
        for position, span in enumerate(tokens.offsets or blank)
    ]
    count = len(tokens)
    return [
        f"{count:,} tokens; input_ids ({count},) becomes (1, {count}) with the batch axis",
        "",
        *aligned([("position", "token", "id", "word", "characters", "type", ""), *rows], "rlrrrrl"),
    ]


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


def _cell(value: object) -> str:
    return "" if value is None else str(value)


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
