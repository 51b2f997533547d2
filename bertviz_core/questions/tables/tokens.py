"""How the tokens of a text are shown."""

from typing import Any

from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.tables.lines import Faces, fields
from bertviz_core.trace.results import Tokens


def _keys(tokens: Tokens) -> dict[str, Any]:
    """Values that a tokenizer does not provide are null."""
    return {
        **fields(tokens, "text pair tokens input_ids token_type_ids word_ids offsets special unknown sequence"),
        "shape": (1, len(tokens)),
        **fields(tokens, "limit tokens_cut notices"),
    }


def _frame(tokens: Tokens) -> "pd.DataFrame":
    names = ("input_ids", "token_type_ids", "word_ids", "offsets", "special", "unknown")
    columns = {name: list(values) for name in names if (values := getattr(tokens, name)) is not None}
    frame = pd.DataFrame({"token": tokens.tokens, **columns})
    return frame.astype({"word_ids": "Int64"}) if "word_ids" in frame else frame


def _above(tokens: Tokens) -> list[str]:
    count = len(tokens)
    return [f"{count:,} tokens; input_ids ({count},) becomes (1, {count}) with the batch axis"]


def _rows(tokens: Tokens) -> list[dict[str, Any]]:
    blank = (None,) * len(tokens)
    types = tokens.token_type_ids if tokens.token_type_ids is not None else blank
    return [
        {
            "position": str(position),
            "token": tokens.tokens[position],
            "id": str(tokens.input_ids[position]),
            "word": _text((tokens.word_ids or blank)[position]),
            "characters": f"{span[0]}:{span[1]}" if span and span[0] < span[1] else "",
            "type": _text(types[position]),
            "": "special" if tokens.special[position] else "unknown" if tokens.unknown[position] else "",
        }
        for position, span in enumerate(tokens.offsets or blank)
    ]


def _text(value: object) -> str:
    return "" if value is None else str(value)


COLUMNS = ("position", "token", "id", "word", "characters", "type", "")
TOKENS: Faces[Tokens] = Faces(
    keys=_keys, frame=_frame, above=_above, rows=_rows, columns=COLUMNS, align="rlrrrrl"
)  # fmt: skip
