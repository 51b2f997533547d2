"""Words of a masked-LM head, after every layer, and expanded terms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import (
    label_width,
    mark_second_text,
    name_columns,
    second_text_start,
    text_width,
    token_axis,
    token_labels,
    token_text,
)
from bertviz_core.figures.base.cells import cell_gaps, colour_at
from bertviz_core.figures.base.marks import add_map, add_words
from bertviz_core.figures.base.spec import SHARE_OF_NAMES, FigureSpec, figure
from bertviz_core.figures.base.style import (
    TEXT_SIZE,
    Theme,
    colour_bar,
    escape,
    layout,
    round_limit,
    sequential,
    text_on,
)
from bertviz_core.figures.sentences.bars import named_score_bars
from bertviz_core.figures.tokens import LONGEST_BAR, WRITTEN, coloured_strip, token_strip
from bertviz_core.hidden_states.results import state_name
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.results import (
    ComparedWord,
    LogitLens,
    PseudoLikelihood,
    TermLedger,
    TermWeights,
    WordPrediction,
)
from bertviz_core.text import counted, decimals, escape_controls, shortened
from bertviz_core.trace.results import TextPieces

LONGEST = 24
MASKED = "masked"


def _text_frame(word_prediction: WordPrediction) -> "pd.DataFrame":
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
    word_prediction: WordPrediction, best_words: Sequence[str], word_position: int, compared_word: ComparedWord | None
) -> "pd.DataFrame":
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


@figure("masked-text", "predictions_text", reported=True, table=_text_frame)
def masked_text_figure(word_prediction: WordPrediction, text_pieces: TextPieces, word_position: int) -> FigureSpec:
    """The text with its masks (--set mask=2,5, position)."""
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


@figure("masked-words", "predictions_words", reported=True, table=_word_frame)
def words_figure(
    word_prediction: WordPrediction, best_words: Sequence[str], word_position: int, compared_word: ComparedWord | None
) -> FigureSpec:
    """The best words at a position (--set mask=2,5, position, compare)."""
    rows = word_rows(word_prediction, best_words, word_position, compared_word)
    token = shortened(escape_controls(word_prediction.tokens.tokens[word_position]), LONGEST)
    state = MASKED if word_prediction.masked[word_position] else "not masked"
    title = f'Words at position {word_position} ("{token}", {state}) — {word_prediction.model}'
    alt = f"{title}: " + ", ".join(f"{word} {decimals(value)}" for word, _, value, _ in rows)
    return FigureSpec.of(title, alt, f"{title}. Probabilities of the masked-LM head.", word_bars, rows)


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
    hover, names, colour = [], [], theme.colours["task head"]
    for word, kind, _, rank in rows:
        name = token_text(word)
        names.append(f"<b>{name}</b> ({kind})" if kind else name)
        place = f"rank {rank:,}, " if rank is not None else ""
        hover.append(f"<b>{name}</b>, {place}probability")
    values = np.array([value for _, _, value, _ in rows])
    return named_score_bars(names, values, hover, colour, "probability", title, theme)


LensMeasure = Literal["probability", "rank of the original", "entropy", "KL to the last layer"]
MEASURES: tuple[LensMeasure, ...] = ("probability", "rank of the original", "entropy", "KL to the last layer")
"""Measures for the colours, the default first: probability of the best word."""
TITLES: Mapping[LensMeasure, tuple[str, str]] = {
    "probability": ("probability of the best word", "probability"),
    "rank of the original": ("rank of the original token", "rank"),
    "entropy": ("entropy over all words", "nats"),
    "KL to the last layer": ("KL divergence to the last layer", "nats"),
}
"""Words for the title, unit of the scale."""
SIZES, LEAST_LETTERS = (15, 13, 11), 3
"""Font sizes in the cells, the largest at which nearly all words fit is used; minimum letters of a cut word."""
NEARLY = 0.9
"""Required share of words that fit."""
BESIDE, FREE = 100, 6
"""Pixels for the colour bar and margins; free pixels in a cell."""
OTHERWISE = 150
"""Height in pixels of everything except the map."""
TURNED_ROW, TALLEST = 23, 800
"""For a transposed map: height of each token's row, and maximum height of the map, in pixels."""
HOVERED_WORDS = 3
"""Number of words in a hover."""
SHORT = 14
"""Maximum length of each in characters."""


@dataclass(frozen=True, slots=True)
class LensColours:
    """Colours of the cells."""

    cells: Float[np.ndarray, "states seq"]
    """Values of the cells; NaN if the text has no original token."""
    low: float
    high: float
    scale: list[list[float | str]]
    bar: dict[str, Any]


def _frame(logit_lens: LogitLens, lens_words: Sequence[Sequence[Sequence[str]]]) -> "pd.DataFrame":
    """Every cell: its best word and all four measures."""
    states, seq = logit_lens.rank.shape
    return pd.DataFrame(
        {
            "hidden state": np.repeat([state_name(entry) for entry in range(states)], seq),
            "position": np.tile(np.arange(seq), states),
            "token": list(logit_lens.tokens.tokens) * states,
            "best word": [cell[0] for row in lens_words for cell in row],
            "probability": np.exp(logit_lens.top_log_probability[..., 0]).ravel(),
            "log-probability of the original": logit_lens.log_probability.ravel(),
            "rank of the original": pd.array([rank or None for rank in logit_lens.rank.ravel().tolist()], "Int64"),
            "entropy": logit_lens.entropy.ravel(),
            "KL to the last layer": logit_lens.divergence.ravel(),
        }
    )


@figure("lens", "predictions_lens", reported=True, table=_frame)
def lens_figure(logit_lens: LogitLens, lens_words: Sequence[Sequence[Sequence[str]]], lens_measure: str) -> FigureSpec:
    """The best word of every layer (--set mask=2,5, lens)."""
    measure = next(each for each in MEASURES if each == lens_measure)
    title = f"Best word after each layer, by {TITLES[measure][0]} — {logit_lens.model}"
    last = [f"{words[0]}" for words in lens_words[-1]]
    alt = f"{title}: {len(lens_words)} states, the embeddings first; after the last layer {' '.join(last)}"
    caption = f"{title}. The task head was trained on the last layer alone."
    return FigureSpec.of(title, alt, caption, lens_map, logit_lens, lens_words, measure)


def lens_colours(lens: LogitLens, measure: LensMeasure, theme: Theme) -> LensColours:
    """Return the numbers of the cells and their scale; ranks are logarithmic, with 1 furthest from the paper."""
    scale, unit = sequential(theme), TITLES[measure][1]
    if measure == "rank of the original":
        ranks = np.where(lens.rank > 0, lens.rank, np.nan)
        cells = np.log10(ranks).astype(np.float32)
        high = max(1.0, float(np.ceil(np.nanmax(cells, initial=0))))
        ticks = list(range(int(high) + 1))
        bar = {**colour_bar(unit, 0, high), "tickvals": ticks, "ticktext": [f"{10**tick:,}" for tick in ticks]}
        reverse = [[1 - float(share), colour] for share, colour in reversed(scale)]
        return LensColours(cells, 0, high, reverse, bar)
    if measure == "probability":
        return LensColours(np.exp(lens.top_log_probability[..., 0]), 0, 1, scale, colour_bar(unit, 0, 1))
    cells = lens.entropy if measure == "entropy" else lens.divergence
    high = round_limit(float(cells.max(initial=0)))
    return LensColours(cells, 0, high, scale, colour_bar(unit, 0, high))


def lens_map(
    lens: LogitLens, words: Sequence[Sequence[Sequence[str]]], measure: LensMeasure, title: str, theme: Theme
) -> go.Figure:
    """Draw the map, embeddings on top (at the left if transposed), with the best word in every cell that fits it."""
    states, seq = lens.rank.shape
    colours, names = lens_colours(lens, measure, theme), token_labels(lens.tokens)
    rows = [state_name(entry) for entry in range(states)]
    masked = set(np.flatnonzero(lens.masked).tolist())
    names = [f"<b>{name}</b>" if place in masked else name for place, name in enumerate(names)]
    height = max(320, min(560, OTHERWISE + 34 * states))
    across = _across(rows, theme)
    room = (across / seq - FREE, (height - OTHERWISE) / states - FREE)
    turned = _is_turned(words, names, room, theme)
    if turned:
        height, across = OTHERWISE + TURNED_ROW * seq, _across(names, theme)
        room = (across / states - FREE, TURNED_ROW - FREE)
    hovers, cells = _hover_texts(lens, words), colours.cells.T if turned else colours.cells
    figure = go.Figure(layout=layout(theme, escape(title), height=height))
    scale = {"zmin": colours.low, "zmax": colours.high, "colorscale": colours.scale, "colorbar": colours.bar}
    texts = [list(column) for column in zip(*hovers, strict=True)] if turned else hovers
    look = {**scale, **cell_gaps((across, height - OTHERWISE), cells.shape), "meta": {"turned": turned}}
    add_map(figure, cells, f"position %{{{'y' if turned else 'x'}}}, %{{customdata}}", texts, **look)
    down = height - OTHERWISE
    if turned:
        figure.update_xaxes(token_axis(rows, across), range=[-0.5, states - 0.5])
        figure.update_yaxes(token_axis(names, down, theme=theme), range=[seq - 0.5, -0.5])
    else:
        name_columns(figure, names, across, theme)
        figure.update_yaxes(token_axis(rows, down), range=[states - 0.5, -0.5])
    _add_words(figure, words, colours, room, theme, turned)
    axes = ("y", "x") if turned else ("x", "y")
    return mark_second_text(figure, second_text_start(lens.tokens), seq, theme, *axes)


def _across(names: Sequence[str], theme: Theme) -> int:
    """Return the pixels beside the names of the rows."""
    left = max(label_width(name, TEXT_SIZE - 1) for name in names)
    if theme.narrow:
        left = min(left, SHARE_OF_NAMES * theme.pixels)
    return theme.pixels - BESIDE * (not theme.narrow) - int(left)


def _is_turned(
    words: Sequence[Sequence[Sequence[str]]], names: Sequence[str], room: tuple[float, float], theme: Theme
) -> bool:
    """Return whether to transpose: in a narrow place whose cells fit words only with tokens as rows."""
    if not theme.slim or len(names) * TURNED_ROW > TALLEST:
        return False
    best = [cell[0] for row in words for cell in row]
    turned = _across(names, theme) / len(words) - FREE
    return _size(best, *room) is None and _size(best, turned, TURNED_ROW - FREE) is not None


def _hover_texts(lens: LogitLens, words: Sequence[Sequence[Sequence[str]]]) -> list[list[str]]:
    """Return the hover text of every cell: the best words with their probabilities."""
    shares = np.exp(lens.top_log_probability[..., :HOVERED_WORDS])
    return [
        [
            f"{state_name(entry)}: "
            + ", ".join(
                f"{token_text(word[:SHORT])} {decimals(share, 3)}"
                for word, share in zip(cell, shares[entry, place].tolist(), strict=False)
            )
            for place, cell in enumerate(row)
        ]
        for entry, row in enumerate(words)
    ]


def _add_words(
    figure: go.Figure,
    words: Sequence[Sequence[Sequence[str]]],
    colours: LensColours,
    room: tuple[float, float],
    theme: Theme,
    turned: bool,
) -> None:
    """Add the best word to every cell that fits it, long words cut, in black or white by contrast."""
    across, down = room
    size = _size([cell[0] for row in words for cell in row], across, down)
    if size is None:
        return
    shares = (colours.cells - colours.low) / ((colours.high - colours.low) or 1.0)
    x, y, texts, inks = [], [], [], []
    for entry, row in enumerate(words):
        for place, cell in enumerate(row):
            word, share = _fitted(cell[0], size, across), float(shares[entry, place])
            if word:
                x.append(entry if turned else place)
                y.append(place if turned else entry)
                texts.append(token_text(word))
                inks.append(text_on(theme.paper if np.isnan(share) else colour_at(colours.scale, share)))
    add_words(figure, x, y, texts, size, inks, None, cliponaxis=None, showlegend=False)


def _size(words: Sequence[str], across: float, down: float) -> int | None:
    """Return the font size; None if the cells are too small for text."""
    sizes = [size for size in SIZES if size <= down and text_width("m" * LEAST_LETTERS, size) <= across]
    fit = (size for size in sizes if sum(text_width(word, size) <= across for word in words) >= NEARLY * len(words))
    return next(fit, sizes[-1] if sizes else None)


def _fitted(word: str, size: int, room: float) -> str:
    """Return the word, its beginning if it is too long, or "" if too little would remain."""
    if text_width(word, size) <= room:
        return word
    beginning = word
    while beginning and text_width(f"{beginning}…", size) > room:
        beginning = beginning[:-1]
    return f"{beginning}…" if len(beginning) >= LEAST_LETTERS else ""


def _surprise_frame(pseudo_likelihood: PseudoLikelihood) -> "pd.DataFrame":
    """Every token with its surprise; special tokens have none."""
    values, tokens = pseudo_likelihood.surprise.astype(float), list(pseudo_likelihood.tokens.tokens)
    columns = {"position": range(len(values)), "token": tokens, "surprise, nats": values}
    return pd.DataFrame({**columns, "probability": np.exp(-values)})


@figure("surprise", "predictions_surprise", reported=True, table=_surprise_frame)
def surprise_figure(pseudo_likelihood: PseudoLikelihood, text_pieces: TextPieces) -> FigureSpec:
    """Every token coloured by its surprise when it alone is masked."""
    title = f"Surprise of every token — {pseudo_likelihood.model}"
    values = pseudo_likelihood.surprise.tolist()
    listed = ", ".join(
        f"{token} {value:.2f}"
        for token, value in zip(pseudo_likelihood.tokens.tokens, values, strict=True)
        if not np.isnan(value)
    )
    mean = f"mean {pseudo_likelihood.mean:.3f} nats, PPPL {pseudo_likelihood.perplexity:,.1f}"
    draw = partial(surprise_strip, pseudo_likelihood, text_pieces, title)
    return FigureSpec(title, f"{title}, in nats: {listed}; {mean}", draw, f"{title}, in nats; {mean}. {WRITTEN}")


def surprise_strip(result: PseudoLikelihood, pieces: TextPieces, title: str, theme: Theme) -> go.Figure:
    """Draw the coloured text with its scale."""
    limit = round_limit(float(np.nanmax(result.surprise)))
    bar, values = colour_bar("nats", 0, limit), result.surprise.tolist()
    figure = coloured_strip(pieces, values, (0, limit), "{:.2f}".format, bar, title, theme)
    plot = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    upright = {"lenmode": "pixels", "len": min(plot, LONGEST_BAR), "y": 1, "yanchor": "top"}
    return figure.update_traces(selector=lambda trace: trace.marker.showscale, marker={"colorbar": upright})


ROW, NARROW_ROW = 25, 38
"""Height of a bar in pixels; on a phone, with its tokens below its word."""


def _term_frame(term_weights: TermWeights, every_term: Sequence[str]) -> "pd.DataFrame":
    """Every term with its weight and the token that it comes from."""
    positions, tokens = term_weights.positions.tolist(), term_weights.tokens.tokens
    columns = {"word": list(every_term), "weight": term_weights.weights, "position": positions}
    return pd.DataFrame({**columns, "from token": [tokens[position] for position in positions]})


def _score_frame(
    term_ledger: TermLedger, every_term: Sequence[str], term_weights: TermWeights, second_weights: TermWeights
) -> "pd.DataFrame":
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


@figure("terms", "predictions_terms", reported=True, table=_term_frame)
def terms_figure(term_weights: TermWeights, term_words: Sequence[str]) -> FigureSpec:
    """A text as weighted words (--set shown)."""
    title = f"Heaviest {len(term_words)} of {counted(len(term_weights.ids), 'expanded term')} — {term_weights.model}"
    tokens = term_weights.tokens.tokens
    rows = [
        (word, token_text(tokens[position]))
        for word, position in zip(term_words, term_weights.positions.tolist(), strict=False)
    ]
    names = [f"{token_text(word)} <i>from {token}</i>" for word, token in rows]
    weights = term_weights.weights[: len(rows)]
    alt = f"{title}: " + ", ".join(f"{word} {value:.2f}" for (word, _), value in zip(rows, weights, strict=True))
    return FigureSpec.of(
        title, alt, f"{title}. Each weight comes from one token of the text.", term_bars, names, weights, "weight"
    )


@figure("term-score", "predictions_score", reported=True, table=_score_frame)
def score_figure(
    term_ledger: TermLedger, ledger_words: Sequence[str], term_weights: TermWeights, second_weights: TermWeights
) -> FigureSpec:
    """Which words of two texts make their score (--pair, --set shown)."""
    title = f"Score {term_ledger.score:.2f} by word — {term_weights.model}"
    names = [
        f"{token_text(word)} <i>{token_text(first)} × {token_text(second)}</i>"
        for word, (first, second) in zip(
            ledger_words, ledger_tokens(term_ledger, term_weights, second_weights), strict=False
        )
    ]
    shares = term_ledger.shares[: len(names)]
    alt = f"{title}: " + ", ".join(f"{word} {value:.2f}" for word, value in zip(ledger_words, shares, strict=True))
    caption = f"{title}. Behind each word its token in the first and in the second text."
    return FigureSpec.of(title, alt, caption, term_bars, names, shares, "share of the score")


def ledger_tokens(ledger: TermLedger, first: TermWeights, second: TermWeights) -> list[tuple[str, str]]:
    """Return the tokens of both texts that each word's weights come from."""
    places = zip(ledger.first_positions.tolist(), ledger.second_positions.tolist(), strict=True)
    return [(first.tokens.tokens[one], second.tokens.tokens[other]) for one, other in places]


def term_bars(
    names: Sequence[str], values: Float[np.ndarray, " rows"], unit: str, title: str, theme: Theme
) -> go.Figure:
    """Draw horizontal bars, the largest on top, beside escaped names."""
    if theme.narrow:  # the tokens below their word
        names = [name.replace(" <i>", "<br><i>", 1) for name in names]
    row, colour = NARROW_ROW if theme.narrow else ROW, theme.colours["task head"]
    hover = [f"{name}, {unit}" for name in names]
    return named_score_bars(names, values, hover, colour, unit, title, theme, 2, row)
