"""Draw a text with its masks, and the best words at one position."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import token_text
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, layout
from bertviz_core.figures.sentences.bars import add_score_bars
from bertviz_core.figures.tokens.box_rows import WRITTEN
from bertviz_core.figures.tokens.strip import token_strip
from bertviz_core.predictions.results import ComparedWord, WordPrediction
from bertviz_core.text import decimals, escape_controls, shortened
from bertviz_core.trace.results import TextPieces

LONGEST = 24
MASKED = "masked"


def _text_frame(word_prediction: WordPrediction) -> pd.DataFrame:
    """Every token, whether it is masked, and its prediction."""
    logs = word_prediction.log_probability.astype(float)
    return pd.DataFrame(
        {
            "position": range(len(logs)),
            "token": list(word_prediction.tokens.tokens),
            "masked": word_prediction.masked,
            "probability": np.exp(logs),
            "log-probability": logs,
            "rank": pd.array([rank or None for rank in word_prediction.rank.tolist()], dtype="Int64"),
        }
    )


def _word_frame(
    word_prediction: WordPrediction,
    best_words: Sequence[str],
    word_position: int,
    compared_word: ComparedWord | None,
) -> pd.DataFrame:
    """The best words, then the original token unless it is among them, and the compared word."""
    logs = word_prediction.top_log_probability[word_position].astype(float).tolist()
    logits = word_prediction.top_logits[word_position].tolist()
    rows: list[tuple[Any, ...]] = [
        (place + 1, *row) for place, row in enumerate(zip(best_words, np.exp(logs), logs, logits, strict=True))
    ]
    rank = int(word_prediction.rank[word_position])
    if not word_prediction.typed[word_position] and rank > len(rows):
        value = float(word_prediction.log_probability[word_position])
        rows.append((rank, word_prediction.tokens.tokens[word_position], np.exp(value), value, None))
    if compared_word is not None:
        value = compared_word.log_probability
        rows.append((compared_word.rank, compared_word.word, np.exp(value), value, None))
    return pd.DataFrame(rows, columns=["rank", "word", "probability", "log-probability", "logit"]).astype(
        {"rank": "Int64"}
    )


@figure(
    "masked-text",
    "predictions_text",
    "the text with its masks (--set mask=2,5, position)",
    reported=True,
    table=_text_frame,
)
def masked_text_figure(word_prediction: WordPrediction, text_pieces: TextPieces, word_position: int) -> FigureSpec:
    """Plot the tokens of a text: masked ones filled, with probabilities of the original tokens below."""
    title = f"The text and its masks — {word_prediction.model}"
    probabilities = np.exp(word_prediction.log_probability).tolist()
    notes = ["?" if np.isnan(each) else decimals(each, 3) for each in probabilities]
    alt = f"The text with {int(word_prediction.masked.sum())} masks — {word_prediction.model}: " + ", ".join(
        f"{token} {MASKED if masked else note}"
        for token, masked, note in zip(
            word_prediction.tokens.tokens, word_prediction.masked.tolist(), notes, strict=True
        )
    )
    places = np.flatnonzero(word_prediction.masked).tolist()

    def draw(theme: Theme) -> go.Figure:
        fills = dict.fromkeys(places, theme.colours["task head"])
        return token_strip((("", text_pieces),), notes, title, theme, chosen=word_position, fills=fills)

    caption = f"{WRITTEN} Filled boxes are masked. Below each token is the probability of the original one."
    return FigureSpec(title, alt, draw, caption)


@figure(
    "masked-words",
    "predictions_words",
    "the best words at a position (--set mask=2,5, position, compare)",
    reported=True,
    table=_word_frame,
)
def words_figure(
    word_prediction: WordPrediction,
    best_words: Sequence[str],
    word_position: int,
    compared_word: ComparedWord | None,
) -> FigureSpec:
    """Plot the best words at a position, the original token and a compared word, by probability.

    Args:
        word_prediction: predictions for the text.
        best_words: spelling of the best words there, best first.
        word_position: the position.
        compared_word: score of another word there; None for none.
    """
    rows = word_rows(word_prediction, best_words, word_position, compared_word)
    token = shortened(escape_controls(word_prediction.tokens.tokens[word_position]), LONGEST)
    state = MASKED if word_prediction.masked[word_position] else "not masked"
    title = f'Words at position {word_position} ("{token}", {state}) — {word_prediction.model}'
    alt = f"{title}: " + ", ".join(f"{word} {decimals(value)}" for word, _, value, _ in rows)
    draw = partial(word_bars, rows, title)
    return FigureSpec(title, alt, draw, f"{title}. Probabilities of the masked-LM head.")


WordRow = tuple[str, str, float, int | None]
"""Word, its role ("" for one of the best), probability, and rank among all words."""


def word_rows(
    prediction: WordPrediction, best_words: Sequence[str], position: int, compared: ComparedWord | None
) -> list[WordRow]:
    """Return the best words, followed by the original token and the compared word unless already included."""
    own = prediction.tokens.tokens[position]
    known = not prediction.typed[position]
    values = np.exp(prediction.top_log_probability[position]).tolist()
    rows: list[WordRow] = []
    for place, (word, value) in enumerate(zip(best_words, values, strict=True)):
        original = known and prediction.top_ids[position, place] == prediction.tokens.input_ids[position]
        rows.append((word, "original" if original else "", value, place + 1))
    if known and not any(kind == "original" for _, kind, _, _ in rows):
        rows.append(
            (own, "original", float(np.exp(prediction.log_probability[position])), int(prediction.rank[position]))
        )
    if compared is not None:
        spelled = "".join(compared.pieces) if len(compared.pieces) == 1 else " ".join(compared.pieces)
        rows.append((spelled, "your word", float(np.exp(compared.log_probability)), compared.rank))
    return rows


def word_bars(rows: Sequence[WordRow], title: str, theme: Theme) -> go.Figure:
    """Draw horizontal bars of probabilities, the best word on top."""
    figure = go.Figure(layout=layout(theme, escape(title), height=104 + 25 * max(len(rows), 4)))
    hover, names = [], []
    for word, kind, _, rank in rows:
        name = token_text(word)
        names.append(f"<b>{name}</b> ({kind})" if kind else name)
        place = f"rank {rank:,}, " if rank is not None else ""
        hover.append(f"<b>{name}</b>, {place}probability")
    add_score_bars(figure, np.array([value for _, _, value, _ in rows]), hover, theme.colours["task head"], theme)
    figure.update_xaxes(title="probability")
    figure.update_yaxes(tickvals=list(range(len(names))), ticktext=names, autorange="reversed", showgrid=False)
    return figure
