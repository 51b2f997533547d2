"""Draw the weighted words of a SPLADE head, and each word's contribution to a pair's score."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import token_text
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, layout
from bertviz_core.figures.sentences.bars import add_score_bars
from bertviz_core.predictions.results import TermLedger, TermWeights
from bertviz_core.text import counted

ROW, NARROW_ROW = 25, 38
"""Height of a bar in pixels; on a phone, with its tokens below its word."""


def _term_frame(term_weights: TermWeights, every_term: Sequence[str]) -> pd.DataFrame:
    """Every term with its weight and the token that it comes from."""
    positions, tokens = term_weights.positions.tolist(), term_weights.tokens.tokens
    columns = {"word": list(every_term), "weight": term_weights.weights, "position": positions}
    return pd.DataFrame({**columns, "from token": [tokens[position] for position in positions]})


def _score_frame(
    term_ledger: TermLedger, every_term: Sequence[str], term_weights: TermWeights, second_weights: TermWeights
) -> pd.DataFrame:
    """Every word of both texts, with its two tokens and its part of the score."""
    tokens = ledger_tokens(term_ledger, term_weights, second_weights)
    return pd.DataFrame(
        {
            "word": list(every_term),
            "token of the first text": [one for one, _ in tokens],
            "token of the second text": [other for _, other in tokens],
            "product": term_ledger.shares,
            "share": term_ledger.shares.astype(float) / term_ledger.score,
        }
    )


@figure("terms", "predictions_terms", "a text as weighted words (--set shown)", reported=True, table=_term_frame)
def terms_figure(term_weights: TermWeights, term_words: Sequence[str]) -> FigureSpec:
    """Plot the heaviest words of a text, each with the token that its weight comes from.

    Args:
        term_weights: term weights of the text.
        term_words: spelling of the drawn words, heaviest first.
    """
    title = f"Heaviest {len(term_words)} of {counted(len(term_weights.ids), 'expanded term')} — {term_weights.model}"
    tokens = term_weights.tokens.tokens
    rows = [
        (word, token_text(tokens[position]))
        for word, position in zip(term_words, term_weights.positions.tolist(), strict=False)
    ]
    names = [f"{token_text(word)} <i>from {token}</i>" for word, token in rows]
    weights = term_weights.weights[: len(rows)]
    alt = f"{title}: " + ", ".join(f"{word} {value:.2f}" for (word, _), value in zip(rows, weights, strict=True))
    draw = partial(term_bars, names, weights, "weight", title)
    return FigureSpec(title, alt, draw, f"{title}. Each weight comes from one token of the text.")


@figure(
    "term-score",
    "predictions_score",
    "which words of two texts make their score (--pair, --set shown)",
    reported=True,
    table=_score_frame,
)
def score_figure(
    term_ledger: TermLedger, ledger_words: Sequence[str], term_weights: TermWeights, second_weights: TermWeights
) -> FigureSpec:
    """Plot the words with the largest contributions to the score of two texts, each with its two tokens.

    Args:
        term_ledger: decomposed score of the two texts.
        ledger_words: spelling of the drawn words.
        term_weights: term weights of the first text.
        second_weights: term weights of the second text.
    """
    title = f"Score {term_ledger.score:.2f} by word — {term_weights.model}"
    names = [
        f"{token_text(word)} <i>{token_text(first)} × {token_text(second)}</i>"
        for word, (first, second) in zip(
            ledger_words, ledger_tokens(term_ledger, term_weights, second_weights), strict=False
        )
    ]
    shares = term_ledger.shares[: len(names)]
    alt = f"{title}: " + ", ".join(f"{word} {value:.2f}" for word, value in zip(ledger_words, shares, strict=True))
    draw = partial(term_bars, names, shares, "share of the score", title)
    return FigureSpec(title, alt, draw, f"{title}. Behind each word its token in the first and in the second text.")


def ledger_tokens(ledger: TermLedger, first: TermWeights, second: TermWeights) -> list[tuple[str, str]]:
    """Return the tokens of both texts that each word's weights come from."""
    places = zip(ledger.first_positions.tolist(), ledger.second_positions.tolist(), strict=True)
    return [(first.tokens.tokens[one], second.tokens.tokens[other]) for one, other in places]


def term_bars(
    names: Sequence[str], values: Float[np.ndarray, " rows"], unit: str, title: str, theme: Theme
) -> go.Figure:
    """Draw horizontal bars, the largest on top.

    Args:
        names: escaped labels.
        values: lengths of the bars.
        unit: unit of the values, for the axis.
        title: title of the figure.
        theme: theme of the figure.
    """
    if theme.narrow:  # the tokens below their word
        names = [name.replace(" <i>", "<br><i>", 1) for name in names]
    row = NARROW_ROW if theme.narrow else ROW
    figure = go.Figure(layout=layout(theme, escape(title), height=104 + row * max(len(names), 4)))
    add_score_bars(figure, values, [f"{name}, {unit}" for name in names], theme.colours["task head"], theme, 2)
    figure.update_xaxes(title=unit)
    return figure.update_yaxes(
        tickvals=list(range(len(names))), ticktext=list(names), autorange="reversed", showgrid=False
    )
