"""Format the tokens of a text as JSON and text."""

from typing import Any

from bertviz_core.questions.tables.lines import aligned, printable_token
from bertviz_core.trace.results import Tokens


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


def _cell(value: object) -> str:
    return "" if value is None else str(value)
