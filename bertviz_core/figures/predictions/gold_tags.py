"""Draw scores of entities by type, and the labels of tokens as a trainer sets them."""

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import even_axes
from bertviz_core.figures.base.marks import add_bars, row_axis
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, layout
from bertviz_core.figures.predictions.marked_text import Stretch, cut_label, marked_text
from bertviz_core.figures.predictions.tags import OUTSIDE, tag_hues
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.probing.results import TaggedSpan, TagScores, TokenLabels
from bertviz_core.text import counted, escape_controls, shortened

ROW, AROUND = 54, 120
"""Pixels of a type, and around all."""
RATIOS = {"precision": "embeddings", "recall": "task head", "F1": "layer_norm"}
"""Score -> colour."""
IGNORED = "−100"


def scores_table(tag_scores: TagScores) -> "pd.DataFrame":
    """Precision, recall, F1 and numbers of entities by type, and their averages."""
    counts = np.vstack([tag_scores.counts, tag_scores.counts.sum(axis=0), tag_scores.counts.sum(axis=0)])
    ratios = dict(zip(RATIOS, tag_scores.scores.T, strict=True))
    named = [*tag_scores.types, "micro average", "macro average"]
    return pd.DataFrame({"type": named, **ratios, **dict(zip(("gold", "predicted", "right"), counts.T, strict=True))})


def errors_table(tag_scores: TagScores) -> "pd.DataFrame":
    """The errors: kind, place of the sentence from 1, gold and predicted entity with their types, the sentence."""

    def entity(span: TaggedSpan | None, words: tuple[str, ...]) -> tuple[str, str]:
        return ("", "") if span is None else (" ".join(words[span.start : span.end]), span.type)

    rows = []
    for error in tag_scores.errors:
        words = tag_scores.words[error.sentence]
        both = (*entity(error.gold, words), *entity(error.predicted, words))
        rows.append((error.kind, error.sentence + 1, *both, " ".join(words)))
    columns = ["error", "sentence", "gold", "gold type", "predicted", "predicted type", "text"]
    return pd.DataFrame(rows, columns=columns)


def scores_words(result: TagScores) -> str:
    """The scores in a sentence."""
    precision, recall, f1 = result.scores[-2]
    return (
        f"{result.model}, {counted(len(result.words), 'sentence')} ({result.mode}): precision {precision:.1%}, recall "
        f"{recall:.1%}, F1 {f1:.1%} of entities (macro-F1 {result.scores[-1, 2]:.1%}); {result.accuracy:.1%} of the "
        "words have their gold tag."
    )


def scores_bars(result: TagScores, title: str, theme: Theme) -> go.Figure:
    """Draw precision, recall and F1 of each type, and their averages."""
    table = scores_table(result)
    names = [escape(escape_controls(shortened(name, 30))) for name in table["type"]]
    drawn = go.Figure(layout=layout(theme, escape(title), height=AROUND + ROW * len(names), barmode="group"))
    for name, colour in RATIOS.items():
        hover = f"%{{customdata}}: {name} %{{x:.1%}}"
        numbers = {"text": [f"{share:.1%}" for share in table[name]], "textposition": "outside", "cliponaxis": False}
        add_bars(drawn, table[name].to_numpy(), hover, theme.colours[colour], name=name, customdata=names, **numbers)
    drawn.update_layout(xaxis={"range": [0, 1], "tickformat": ".0%"}, yaxis=row_axis(names), bargap=0.3)
    return even_axes(drawn, theme)


@figure("gold-tags", "predictions_gold_tags", table=scores_table)
def gold_tags_figure(tag_scores: TagScores) -> FigureSpec:
    """Precision, recall and F1 of entities by type (texts: lines 'WORD TAG', or a JSON object with tokens and tags)."""
    title = f"Entities of {counted(len(tag_scores.words), 'sentence')} against gold tags — {tag_scores.model}"
    about = f"{title}. {scores_words(tag_scores)}"
    return FigureSpec.of(title, about, about, scores_bars, tag_scores)


def labels_table(token_labels: TokenLabels) -> "pd.DataFrame":
    """A row for every token: its word, the number and name of its label, and the predicted label."""
    best = token_labels.probabilities.argmax(axis=1)
    return pd.DataFrame(
        {
            "token": token_labels.tokens,
            "word": token_labels.words,
            "label": token_labels.labels,
            "gold": [token_labels.outputs[at] if at >= 0 else "" for at in token_labels.labels],
            "predicted": [token_labels.outputs[at] for at in best],
            "probability": token_labels.probabilities.max(axis=1).astype(float),
        }
    )


@figure("gold-labels", "predictions_gold_labels", table=labels_table)
def gold_labels_figure(token_labels: TokenLabels) -> FigureSpec:
    """Labels of tokens as a trainer sets them, and the predicted ones (--set aligned=; texts as of gold-tags)."""
    frame, hues = labels_table(token_labels), tag_hues(token_labels.outputs)
    parts = []
    for heading, column in (("Label for the loss", "gold"), ("Predicted", "predicted")):
        stretches = []
        for row in frame.to_dict("records"):
            label, token = row[column], escape_controls(row["token"])
            hover = f"{escape(token)}: {escape(escape_controls(label)) or IGNORED}"
            hover += f", {row['probability']:.4f}" if column == "predicted" else f" ({row['label']})"
            hue = "" if label in ("", OUTSIDE) else hues[label.split("-", 1)[-1]]
            stretches += [Stretch(token, cut_label(label) or IGNORED, hue, hover=hover), Stretch(" ")]
        parts.append((heading, stretches))
    trained = int((token_labels.labels >= 0).sum())
    title = f"Labels of the tokens of sentence {token_labels.sentence + 1:,} ({token_labels.aligned})"
    about = (
        f"{title}: {trained:,} of {counted(len(frame), 'token')} have one, the others {IGNORED} — {token_labels.model}"
    )
    return FigureSpec.of(f"{title} — {token_labels.model}", about, about, marked_text, parts)
