"""How the chunks of a long text are shown."""

from bertviz_core.figures.sentences.chunks import chunks_frame, late_words, shares_frame, shares_words
from bertviz_core.questions.tables.lines import Faces, printable_token, records, table
from bertviz_core.sentences.analysis.results import LateChunks
from bertviz_core.text import counted, escape_controls


def _lines(late: LateChunks) -> list[str]:
    chunks, shares = late.chunks, late.shares
    frame = chunks_frame(late).drop(columns=["first token", "pooled"])
    overlap = f", overlapping by at most {chunks.overlap:,}" if chunks.overlap else ""
    runs = f"late from {counted(chunks.windows, 'run')}"
    size = f"at most {counted(chunks.size, 'token')}{overlap}, pooled by {chunks.pooling}, {runs}"
    words = ["model", late.model], ["chunks", size], ["query", printable_token(late.query)]
    return [
        *(f"{name}: {escape_controls(value)}" for name, value in words),
        late_words(late),
        shares_words(shares),
        "",
        *table(frame.assign(text=[" ".join(each.split()) for each in chunks.texts])),
    ]


CHUNKS: Faces[LateChunks] = Faces(
    keys="model query pooling=chunks.pooling size=chunks.size overlap=chunks.overlap windows=chunks.windows moved "
    "summary chunks shares notices",
    made={
        "summary": late_words,
        "chunks": lambda late: records(chunks_frame(late)),
        "shares": lambda late: {
            "summary": shares_words(late.shares),
            "exact": late.shares.exact,
            "note": late.shares.note,
            "pooling": late.shares.pooling,
            "layer": late.shares.layer,
            "cut": late.shares.cut,
            "cut_side": late.shares.cut_side,
            "tokens": records(shares_frame(late.shares)),
        },
        "moved": lambda late: late.moved + 1,
    },
    frame=chunks_frame,
    lines=_lines,
)
"""The chunks with their cosines and ranks, and the shares of the positions."""
