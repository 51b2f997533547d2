"""Texts ranked by a query."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from bertviz_core.figures.base.axes import HOVERED, label_width, name_columns, sentence_text, token_axis, token_text
from bertviz_core.figures.base.cells import cell_numbers
from bertviz_core.figures.base.marks import add_bars, add_line, add_map, add_points, add_words, pair_names
from bertviz_core.figures.base.spec import STANDING, FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, diverging, escape, layout
from bertviz_core.figures.sentences.bars import add_score_bars
from bertviz_core.figures.sentences.similarity import SIZE, name_rows, sentence_names, sentence_row
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.results import HEADS, HeadScores, LateInteraction, Ranking
from bertviz_core.text import counted, decimals, shortened, tied

ROW, ROWS = 34, 20
"""Pixels of a row, and maximum number of texts."""
BARS, SLIM_BARS = 0.66, 0.42
"""Share of the plot for the bars, and where the figure is slim; lines and places are right of them."""
SCORE, LOGIT, RISE, COSINE = 56, 66, 48, 46
"""Pixels of a score after its bar, of its logit, of the places gained before a line, and of a cosine after it."""
MARGIN, LONGEST_QUERY = 8, 50
FORMAT_WORDS = {"printed": "as printed with 4 decimals"}


def rise_text(rise: int) -> str:
    """How many places higher or lower a text is than by the cosine: ▲ 3, ▼ 2, or = for the same place."""
    return "=" if rise == 0 else f"{'▲' if rise > 0 else '▼'} {abs(rise):,}"


def score_label(ranking: Ranking) -> str:
    """What the score is, as the title of an axis."""
    if ranking.by_tokens:
        return "score, late interaction"
    if ranking.label:
        return f"probability of {shortened(ranking.label, 24)}"
    return "score, the logit" if ranking.score_name == "logit" else f"score, {ranking.score_name} of the logit"


def ranking_bars(ranking: Ranking, title: str, theme: Theme) -> go.Figure:
    """Draw the highest texts as bars of their scores; a line leads from each to its place by the cosine.

    A text that is not among the drawn ones by its cosine has a dotted line that ends below the last row.
    """
    order = ranking.order[:ROWS]
    count = len(order)
    plot = (row := sentence_row(ROW, theme)) * max(count, 3)
    figure = go.Figure(layout=layout(theme, escape(title), height=112 + plot))
    texts = [ranking.texts[index] for index in order.tolist()]
    hover = [
        f"{sentence_text(text, HOVERED)}<br>{logit and f'logit {logit}, '}score"
        for text, logit in zip(texts, _logits(ranking, order), strict=True)
    ]
    add_score_bars(figure, ranking.scores[order], hover, theme.hues[0], theme)
    names = sentence_names([int(index) + 1 for index in order], texts, theme, row)
    room = theme.pixels - name_rows(figure, names, plot) - MARGIN
    share = SLIM_BARS if theme.slim else BARS
    values = ranking.scores[order]
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    end = share - LOGIT / room if has_logits(ranking) and not theme.slim else share
    longest = (high - low or 1.0) * end * room / (end * room - SCORE)
    figure.update_xaxes(title=escape(score_label(ranking)), domain=[0, end], range=[low, low + longest])
    figure.update_layout(margin={"b": 60, "r": MARGIN})
    if end < share:
        _add_logits(figure, ranking, theme, [end, share])
    _add_places(figure, ranking, theme, share, (1 - share) * room)
    return figure


def has_logits(ranking: Ranking) -> bool:
    """Whether there are logits beside the scores, which are other numbers."""
    return not ranking.by_tokens and ranking.score_name != "logit"


def _logits(ranking: Ranking, places: Int[np.ndarray, " rows"]) -> list[str]:
    """The logits of texts, each "" where there are none beside the scores."""
    logits = ranking.logits[places].tolist()
    return [decimals(logit, 2) if has_logits(ranking) else "" for logit in logits]


def _add_logits(figure: go.Figure, ranking: Ranking, theme: Theme, domain: list[float]) -> None:
    """Write the logit of each score in a column of its own."""
    order = ranking.order[:ROWS]
    words = _logits(ranking, order)
    ends, rows = np.ones(len(order), dtype=np.float32), np.arange(len(order), dtype=np.int32)
    add_words(figure, ends, rows, words, SIZE, theme.text, "middle left", showlegend=False, xaxis="x3")
    axis: dict[str, Any] = {"domain": domain, "anchor": "y", "range": [0, 1], "tickmode": "array", "ticks": ""}
    axis |= {"tickvals": [0.75], "ticktext": ["logit"], "showgrid": False, "zeroline": False}
    figure.update_layout(xaxis3={**axis, "tickfont": {"size": TEXT_SIZE, "color": theme.text}})


def _add_places(figure: go.Figure, ranking: Ranking, theme: Theme, share: float, width: float) -> None:
    """Draw the lines from the places by the score to those by the cosine, the changes, and the cosines."""
    order, ranks, rises = ranking.order[:ROWS], ranking.cosine_rank, ranking.rise
    count, ends = len(order), []
    colours = {1: theme.colours["task head"], -1: theme.colours["embeddings"], 0: theme.muted}
    usual: dict[str, Any] = {"xaxis": "x2", "showlegend": False}
    words = {**usual, "mode": "markers+text", "textfont": {"size": SIZE, "color": theme.text}}
    for row, index in enumerate(order.tolist()):
        rise, place = int(rises[index]), int(ranks[index])
        colour, drawn = colours[int(np.sign(rise))], place <= count
        end = place - 1 if drawn else count - 0.5
        ends.append((end, f"{float(ranking.cosines[index]):.2f}".replace("-", "−") if drawn else "", colour))
        look = colour, 2 if rise else 1.5, "solid" if drawn else "dot"
        add_line(figure, [RISE, width - COSINE], [row, end], "", *look, mode="lines", **usual)
        hover = f"%{{customdata}}, cosine {decimals(float(ranking.cosines[index]))}"
        named = [f"{sentence_text(ranking.texts[index], HOVERED)}<br>by the cosine {place:,}"]
        label = {"text": [f"{rise_text(rise)} "], "textposition": "middle left", "customdata": named}
        add_points(figure, [RISE], [row], hover, 6, colour, **label, **words)
    sizes, hues = [6 if label else 0 for _, label, _ in ends], [colour for _, _, colour in ends]
    labels = {"text": [f" {label}" for _, label, _ in ends], "textposition": "middle right"}
    add_points(figure, [width - COSINE] * count, [end for end, _, _ in ends], "", sizes, hues, **labels, **words)
    axis: dict[str, Any] = {"domain": [share, 1], "anchor": "y", "range": [0, width], "tickmode": "array", "ticks": ""}
    heading = ["by cosine" if theme.slim else "place by the cosine"]
    axis |= {"tickvals": [(RISE + width - COSINE) / 2], "ticktext": heading, "showgrid": False, "zeroline": False}
    figure.update_layout(xaxis2={**axis, "tickfont": {"size": TEXT_SIZE, "color": theme.text}})


def scorer(ranking: Ranking) -> str:
    """What scores the texts, in a sentence."""
    return "late interaction" if ranking.by_tokens else "the head"


def moved_words(ranking: Ranking) -> str:
    """What the score moved, in one sentence: how many texts have another place, and which rises most."""
    rises = ranking.rise
    moved, count = int(np.count_nonzero(rises)), len(rises)
    if count == 1:
        return "One text has one place."
    if not moved:
        return f"{scorer(ranking).capitalize()} and the cosine put {counted(count, 'text')} in the same order."
    best = int(np.argmax(rises))
    have = "has" if moved == 1 else "have"
    return (
        f"{moved:,} of {counted(count, 'text')} {have} another place than by the cosine; of all, "
        f"text {best + 1}{tied(rises.tolist())} rises most, "
        f"from {int(ranking.cosine_rank[best]):,} to {int(ranking.rank[best]):,}."
    )


def equal_words(ranking: Ranking) -> str:
    """How many scores number formats make equal although their logits differ, in one sentence; "" for none."""
    counts = {name: count for name, count in (ranking.equal_scores or {}).items() if count}
    parts = [f"{count:,} {FORMAT_WORDS.get(name, f'in {name}')}" for name, count in counts.items()]
    if not parts:
        return ""
    listed = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
    return (
        f"Of {counted(len(ranking.texts), 'score')}, {listed} equal another one although their logits differ: such "
        "texts are told apart by the logit."
    )


def answer_logits(ranking: Ranking, order: Int[np.ndarray, " rows"]) -> dict[str, Float[np.ndarray, " rows"]]:
    """Name of a column -> the logits of a token that the score compares, of these texts."""
    rows = ranking.token_logits
    return (
        {} if rows is None else {f"logit of {each}": rows[order, place] for place, each in enumerate(ranking.answers)}
    )


def ranking_frame(ranking: Ranking) -> "pd.DataFrame":
    """One row per text by descending score; `number` is the place in the list, from 1, `rise` the places gained."""
    order = ranking.order
    logits = {} if ranking.by_tokens else {"logit": ranking.logits[order], **answer_logits(ranking, order)}
    return pd.DataFrame(
        {
            "rank": ranking.rank[order],
            "score": ranking.scores[order],
            **logits,
            "by cosine": ranking.cosine_rank[order],
            "rise": ranking.rise[order],
            "cosine": ranking.cosines[order],
            "number": order + 1,
            "text": [ranking.texts[index] for index in order.tolist()],
        }
    )


@figure("ranking", "sentences_ranking", table=ranking_frame)
def ranking_figure(ranking: Ranking) -> FigureSpec:
    """Texts in the order of a head or of late interaction for a query (--set query_sentence=TEXT)."""
    query = shortened(" ".join(ranking.query.split()), LONGEST_QUERY)
    title = f"Ranked for “{query}” — {ranking.model}"
    equal = equal_words(ranking)
    about = f"{moved_words(ranking)} {equal and f'{equal} '}Cosines of {ranking.sentence_model}."
    return FigureSpec.of(title, f"{title}: {about}", f"{title}. {about}", ranking_bars, ranking)


HEAD_ROW = 70
"""Pixels of a text with a bar for each head."""
HEAD_FIELDS = ("dense", "sparse", "multi_vector")


def head_bars(scores: HeadScores, title: str, theme: Theme) -> go.Figure:
    """Draw the highest texts with a bar for each head, and one for the weighted mean."""
    order = scores.order[:ROWS]
    plot = HEAD_ROW * max(len(order), 2)
    figure = go.Figure(layout=layout(theme, escape(title), height=150 + plot))
    texts = [scores.texts[index] for index in order.tolist()]
    named = [sentence_text(text, HOVERED) for text in texts]
    every = [getattr(scores, field)[order].astype(np.float32) for field in (*HEAD_FIELDS, "scores")]
    for name, values, colour in zip(
        (*HEADS, "weighted mean"), every, (*theme.hues[: len(HEADS)], theme.muted), strict=True
    ):
        words: dict[str, Any] = {"text": [decimals(each, 3) for each in values.tolist()], "textposition": "outside"}
        words |= {"cliponaxis": False, "textfont": {"size": SIZE - 1, "color": theme.text}, "customdata": named}
        add_bars(figure, values, f"%{{customdata}}<br>{name} %{{x:.4f}}", colour, name=name, **words)
    names = sentence_names([int(index) + 1 for index in order], texts, theme, HEAD_ROW)
    name_rows(figure, names, plot)
    low, high = (
        min(0.0, *(float(each.min()) for each in every)),
        max(0.0, *(float(each.max()) for each in every)) or 1.0,
    )
    room = (high - low) * (0.35 if theme.slim else 0.14)
    figure.update_xaxes(range=[low - (room if low < 0 else 0), high + room], title="score")
    return figure.update_layout(
        barmode="group", bargap=0.25, legend={"traceorder": "normal"}, margin={"b": 60, "r": MARGIN}
    )


def heads_frame(head_scores: HeadScores) -> "pd.DataFrame":
    """One row per text by descending weighted mean; `number` is the place in the list, from 1."""
    order, ranks = head_scores.order, head_scores.ranks
    columns = {name: getattr(head_scores, field)[order] for name, field in zip(HEADS, HEAD_FIELDS, strict=True)}
    by = {f"by {name}": ranks[place, order] for place, name in enumerate(HEADS)}
    texts = {"number": order + 1, "text": [head_scores.texts[index] for index in order.tolist()]}
    return pd.DataFrame(
        {"rank": np.arange(len(order)) + 1, "score": head_scores.scores[order], **columns, **by, **texts}
    )


def heads_words(scores: HeadScores) -> str:
    """The text that each head puts first, in a sentence."""
    firsts = [int(np.argmin(ranks)) + 1 for ranks in scores.ranks]
    if len(set(firsts)) == 1:
        return f"All three heads put text {firsts[0]} first."
    named = [f"the {name} head text {first}" for name, first in zip(HEADS, firsts, strict=True)]
    return f"{named[0][:1].upper()}{named[0][1:]}, {named[1]} and {named[2]} stands first."


@figure("three-heads", "sentences_three_heads", table=heads_frame)
def heads_figure(head_scores: HeadScores) -> FigureSpec:
    """Texts for a query by the three heads of BGE-M3 (--set query_sentence=TEXT)."""
    query = shortened(" ".join(head_scores.query.split()), LONGEST_QUERY)
    title = f"Three heads for “{query}” — {head_scores.model}"
    about = f"{heads_words(head_scores)} Weights: {', '.join(f'{each:g}' for each in head_scores.weights)}."
    return FigureSpec.of(title, f"{title}: {about}", f"{title}. {about}", head_bars, head_scores)


TOKEN_ROW, SMALLEST, LARGEST = 24, 330, 640
"""Pixels of a row, and of the height of the figure."""
AROUND, ABOVE = 150, 60
"""Pixels above and below the rows together, and above."""
TOKEN_BARS, TOKEN_SLIM_BARS = 0.26, 0.3
"""Share of the width for the bars, and where the figure is slim."""
GAP, SLIM_GAP = 0.02, 0.07
"""Share between map and bars."""
NUMBERED, NUMBER = 15, 46
"""Least pixels of a row with a number, and pixels of the number."""
LONGEST = 50


def largest_name(result: LateInteraction) -> str:
    """What is largest in a row."""
    return "largest cosine" if result.normalized else "largest dot product"


def score_words(result: LateInteraction) -> str:
    """The score and what it is, in a few words."""
    kind = "mean" if result.mean else "sum"
    return f"{decimals(result.score)}, the {kind} of {counted(len(result.query_tokens), largest_name(result))}"


def interaction_map(result: LateInteraction, title: str, theme: Theme) -> go.Figure:
    """Draw a row for each token of the query, a column for each of the document, and a bar for the largest of a row."""
    rows, columns = (list(map(token_text, each)) for each in (result.query_tokens, result.document_tokens))
    cosines, share = result.cosines.astype(np.float32), TOKEN_SLIM_BARS if theme.slim else TOKEN_BARS
    height = max(SMALLEST, min(LARGEST, AROUND + TOKEN_ROW * len(rows)))
    figure = go.Figure(layout=layout(theme, escape(title), height=height, showlegend=False))
    limit = float(np.abs(cosines).max(initial=0)) or 1.0
    plot, left = height - AROUND, max((label_width(name, TEXT_SIZE - 1) for name in rows), default=0.0) + 16
    ends = [0, 1 - share - (SLIM_GAP if theme.slim else GAP)]
    across = (theme.pixels - left - STANDING) * ends[1]
    scale = {"zmin": -limit, "zmax": limit, "colorscale": diverging(theme), "showscale": False}
    add_map(figure, cosines, "%{customdata}: %{z:.4f}", pair_names(rows, columns), **scale)
    name_columns(figure, columns, int(across), theme)
    _add_bars(figure, result, rows, plot / len(rows), share, theme)
    figure.update_layout(
        xaxis={"domain": ends, "title": "tokens of the document"},
        yaxis={**token_axis(rows, plot, theme=theme), "range": [len(rows) - 0.5, -0.5], "title": "query"},
        bargap=0.25,
        shapes=_frames(result, theme),
    )
    return cell_numbers(figure, cosines, ".2f", diverging(theme), (-limit, limit), (across, plot))


def _frames(result: LateInteraction, theme: Theme) -> list[dict[str, Any]]:
    line = {"color": theme.text, "width": 2}
    return [
        {"type": "rect", "x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5, "line": line}
        for row, column in enumerate(result.best.tolist())
    ]


def _add_bars(
    figure: go.Figure, result: LateInteraction, names: list[str], pixels: float, share: float, theme: Theme
) -> None:
    """Add a bar for the largest cosine of each row, with its number where a row of these pixels has room for one."""
    values = result.largest.astype(np.float32)
    best = [token_text(result.document_tokens[place]) for place in result.best.tolist()]
    places, numbered = 2 if theme.slim else 3, pixels >= NUMBERED
    words: dict[str, Any] = {"xaxis": "x2", "textposition": "outside", "cliponaxis": False}
    if numbered:
        font = {"size": min(TEXT_SIZE - 2, int(pixels) - 1), "color": theme.text}
        words |= {"text": [decimals(value, places) for value in values.tolist()], "textfont": font}
    hues = [theme.muted if expanded else theme.hues[0] for expanded in result.expanded.tolist()]
    words["customdata"] = [f"{name} · {other}" for name, other in zip(names, best, strict=True)]
    add_bars(figure, values, "%{customdata}: %{x:.4f}", hues, **words)
    low, high = min(float(values.min(initial=0)), 0.0), max(float(values.max(initial=0)), 0.0) or 1.0
    span, width = high - low, share * theme.pixels
    room = span * NUMBER / max(width - NUMBER, NUMBER) if numbered else 0.0
    whole = f"{'mean' if result.mean else 'sum'} {decimals(result.score)}"
    axis = {"domain": [1 - share, 1], "range": [low - (room if low else 0.0), high + room], "nticks": 3}
    title = whole if theme.slim else f"{largest_name(result)}, {whole}"
    figure.update_layout(xaxis2={**axis, "gridcolor": theme.grid, "anchor": "y", "title": title})


def interaction_frame(interaction: LateInteraction) -> "pd.DataFrame":
    """One row per token of the query: the largest cosine, which is its part of the score, and where it is."""
    result = interaction
    return pd.DataFrame(
        {
            "token": list(result.query_tokens),
            "largest": result.largest,
            "document token": [result.document_tokens[place] for place in result.best.tolist()],
            "place": result.best,
            "expanded": result.expanded,
        }
    )


@figure("late-interaction", "sentences_late_interaction", table=interaction_frame)
def late_interaction_figure(interaction: LateInteraction) -> FigureSpec:
    """A query and a text by tokens (--set query_sentence=TEXT)."""
    query = shortened(" ".join(interaction.query.split()), LONGEST)
    title = f"Late interaction {decimals(interaction.score)} for “{query}” — {interaction.model}"
    about = (
        "a row for each token of the query, a column for each of the document; framed is the largest of a row, and "
        f"the score is {score_words(interaction)}"
    )
    return FigureSpec.of(title, f"{title}: {about}", f"{title}: {about}.", interaction_map, interaction)
