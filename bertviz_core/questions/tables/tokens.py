"""How the tokens of a text are shown."""

from typing import Any

from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.tables.lines import Faces
from bertviz_core.trace.results import Tokens


def _frame(tokens: Tokens) -> "pd.DataFrame":
    names = ("input_ids", "token_type_ids", "word_ids", "offsets", "special", "unknown")
    columns = {name: list(values) for name in names if (values := getattr(tokens, name)) is not None}
    frame = pd.DataFrame({"token": tokens.tokens, **columns})
    return frame.astype({"word_ids": "Int64"}) if "word_ids" in frame else frame


def _above(tokens: Tokens) -> list[str]:
    count = len(tokens)
    return [f"{count:,} tokens; input_ids ({count},) becomes (1, {count}) with the batch axis"]


def _rows(tokens: Tokens) -> list[tuple[Any, ...]]:
    blank = (None,) * len(tokens)
    types = tokens.token_type_ids if tokens.token_type_ids is not None else blank
    spans = [f"{span[0]}:{span[1]}" if span and span[0] < span[1] else "" for span in tokens.offsets or blank]
    columns = (range(len(tokens)), tokens.input_ids, tokens.word_ids or blank, types)
    numbers = (["" if value is None else str(value) for value in each] for each in columns)
    marks = [
        "special" if special else "unknown" if unknown else ""
        for special, unknown in zip(tokens.special, tokens.unknown, strict=True)
    ]
    position, ids, words, kinds = numbers
    return list(zip(position, tokens.tokens, ids, words, spans, kinds, marks, strict=True))


TOKENS: Faces[Tokens] = Faces(
    keys="text pair tokens input_ids token_type_ids word_ids offsets special unknown sequence shape limit tokens_cut "
    "notices",
    made={"shape": lambda tokens: (1, len(tokens))},
    frame=_frame,
    above=_above,
    rows=_rows,
    columns=("position", "token", "id", "word", "characters", "type", ""),
    align="rlrrrrl",
)
