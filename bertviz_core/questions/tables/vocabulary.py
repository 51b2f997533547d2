"""How what texts use of a vocabulary is shown."""

from typing import Any

from bertviz_core.figures.sentences.vocabulary import (
    PERCENTAGES,
    pieces_words,
    ranks_frame,
    rows_frame,
    table_words,
    use_words,
    written_frame,
)
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.tables.lines import Faces, every, records, table
from bertviz_core.text import escape_controls
from bertviz_core.trace.results import VocabularyUse

PRINTED = 12
"""Most tokens, words and texts that are printed."""
SHARES = {
    **dict.fromkeys(("share used", "share of tokens", "unknown", "bytes", "covered"), ".1%"),
    "pieces per word": ".2f",
}
"""Column -> format of its numbers."""


def _vocabulary_keys(use: VocabularyUse) -> dict[str, Any]:
    return {
        **{name: getattr(use, name) for name in ("model", "texts", "rows", "touched", "tokens", "special_tokens")},
        "covering": {f"{percent}": use.covering(percent) for percent in PERCENTAGES},
        "tables": [
            {**row, "untouched_nbytes": use.untouched_nbytes(each)}
            for row, each in zip(every(use.tables, "name role shape dtype nbytes share"), use.tables, strict=True)
        ],
        "by_script": records(rows_frame(use)),
        "words_by_script": records(written_frame(use)),
        "used": records(ranks_frame(use)),
        "split_words": [each._asdict() for each in use.split_words],
        "unknown_texts": [each._asdict() for each in use.unknown_texts],
    }


def split_frame(use: VocabularyUse) -> "pd.DataFrame":
    """Words with the most pieces."""
    rows = [(each.word, len(each.pieces), " ".join(each.pieces), each.kind) for each in use.split_words]
    return pd.DataFrame(rows, columns=["word", "pieces", "spelled", "script"])


def unknown_frame(use: VocabularyUse) -> "pd.DataFrame":
    """Texts with the most unknown pieces, counted from 1."""
    rows = [(each.place + 1, each.unknown, each.tokens, each.text) for each in use.unknown_texts]
    return pd.DataFrame(rows, columns=["row", "unknown pieces", "tokens", "text"])


def _vocabulary_lines(use: VocabularyUse) -> list[str]:
    lines = [f"{use.model}: {use_words(use)}", *table_words(use), pieces_words(use), ""]
    lines = [escape_controls(line) for line in lines]
    shown: "dict[str, pd.DataFrame]" = {
        "Rows by script": rows_frame(use),
        "Words by script": written_frame(use),
        "Most frequent tokens": ranks_frame(use),
        "Words of most pieces": split_frame(use),
        "Texts of most unknown pieces": unknown_frame(use),
    }
    for title, frame in shown.items():
        if len(frame):
            most = len(frame) if title.endswith("script") else PRINTED
            columns = {name: (name, SHARES[name]) if name in SHARES else name for name in frame}
            lines += [title, *table(frame.head(most), columns), ""]
    return lines


VOCABULARY: Faces[VocabularyUse] = Faces(keys=_vocabulary_keys, frame=rows_frame, lines=_vocabulary_lines)
