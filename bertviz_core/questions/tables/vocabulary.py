"""How what texts use of a vocabulary is shown."""

from functools import partial
from typing import Any

from bertviz_core.figures.sentences.vocabulary import (
    PERCENTAGES,
    pieces_words,
    ranks_frame,
    scripts_frame,
    table_words,
    use_words,
)
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.tables.lines import Faces, Form, cell_text, fields, records, table
from bertviz_core.text import escape_controls
from bertviz_core.trace.results import VocabularyUse

PRINTED = 12
"""Most tokens, words and texts that are printed."""
SHARES = {**dict.fromkeys(("share used", "unknown", "bytes", "covered"), ".1%"), "pieces per word": ".2f"}
"""Column -> format of its numbers."""


def _keys(use: VocabularyUse) -> dict[str, Any]:
    tables = [{**each._asdict(), "untouched_nbytes": use.untouched_nbytes(each)} for each in use.tables]
    return {
        **fields(use, "model texts rows untouched tokens special_tokens"),
        "covering": {str(percent): use.covering(percent) for percent in PERCENTAGES},
        "tables": tables,
        "by_script": [each._asdict() for each in use.by_script],
        "used": records(ranks_frame(use)),
        "split_words": records(split_frame(use)),
        "unknown_texts": records(unknown_frame(use)),
        "notices": use.notices,
    }


def split_frame(use: VocabularyUse) -> "pd.DataFrame":
    """Words with the most pieces."""
    rows = [(word, len(pieces), " ".join(pieces)) for word, pieces in use.split_words]
    return pd.DataFrame(rows, columns=["word", "pieces", "spelled"])


def unknown_frame(use: VocabularyUse) -> "pd.DataFrame":
    """Texts with the most unknown pieces, counted from 1."""
    rows = [(place + 1, unknown, text) for unknown, place, text in use.unknown_texts]
    return pd.DataFrame(rows, columns=["row", "unknown pieces", "text"])


def _lines(use: VocabularyUse) -> list[str]:
    lines = [f"{use.model}: {use_words(use)}", *table_words(use), pieces_words(use)]
    lines = [escape_controls(line) for line in lines if line]
    scripts = scripts_frame(use)
    listed = {
        "By script": scripts.astype(object).where(scripts.notna(), None),
        "Most frequent tokens": ranks_frame(use).head(PRINTED),
        "Words of most pieces": split_frame(use).head(PRINTED),
        "Texts of most unknown pieces": unknown_frame(use).head(PRINTED),
    }
    for title, frame in listed.items():
        forms: dict[str, Form] = {name: (name, partial(_cell, SHARES.get(name, ""))) for name in map(str, frame)}
        lines += ["", title, *table(frame, forms)] if len(frame) else []
    return lines


def _cell(form: str, value: Any) -> str:
    return format(value, form) if form and value is not None else cell_text(value)


VOCABULARY: Faces[VocabularyUse] = Faces(keys=_keys, frame=scripts_frame, lines=_lines)
