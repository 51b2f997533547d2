"""What heads and layers do over a corpus: maps of head profiles, and probes by layer."""

from functools import partial

import numpy as np
import plotly.graph_objects as go

from bertviz_core.attention.results import HeadMeasure
from bertviz_core.corpus.analysis.results import HeadProfile, HeadProfiles
from bertviz_core.figures.base.axes import even_axes
from bertviz_core.figures.base.cells import cell_numbers
from bertviz_core.figures.base.colour_bars import colour_bar
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, layout, sequential
from bertviz_core.figures.predictions.probes import accuracy_lines
from bertviz_core.figures.sentences.poolings import POOLING_WORDS
from bertviz_core.hidden_states.results import state_name
from bertviz_core.predictions.labelled.results import ProbeScores
from bertviz_core.text import counted

MEASURE_NAMES: dict[HeadMeasure, tuple[str, str]] = {
    "entropy": ("entropy", "nats"),
    "distance": ("distance", "tokens"),
    "first_share": ("share on [CLS]", "share"),
    "separator_share": ("share on [SEP]", "share"),
    "previous_share": ("share on the previous token", "share"),
    "next_share": ("share on the next token", "share"),
    "diagonal_share": ("share on the token itself", "share"),
}
"""Measure of a head -> its name and its unit."""
ROW, LEAST, MOST, BELOW = 30, 120, 420, 60
"""Pixels of a layer's row; of all rows at least and at most; below a map for its axis."""
ABOVE, EDGES = 84, 110
"""Pixels above the maps, and beside one for its numbers and its colour bar."""
FINE = 0.1
"""Greatest number of a map below which its cells have three digits."""
BETWEEN = 0.14
"""Space between two maps for a colour bar, as a share of the width."""


def profile_maps(
    profile: HeadProfile, measures: tuple[HeadMeasure, ...], chosen: HeadMeasure, title: str, theme: Theme
) -> go.Figure:
    """Mean of a measure and its spread over the sentences: two maps of layers by heads, each with a scale from 0.

    Args:
        profile: the numbers.
        measures: what its first axis holds.
        chosen: the measure that is drawn.
        title: stands alone on a slide.
        theme: colours and typeface.
    """
    place = measures.index(chosen)
    unit = MEASURE_NAMES[chosen][1]
    layers, heads = profile.mean.shape[1:]
    rows = max(LEAST, min(MOST, ROW * layers))
    lines = 2 if theme.slim else 1
    height = ABOVE + lines * (rows + BELOW)
    figure = go.Figure(layout=layout(theme, escape(title), height=height))
    width = 1.0 if theme.slim else (1 - BETWEEN) / 2
    tall, below = rows / (height - ABOVE), BELOW / (height - ABOVE)
    for index, (name, cells) in enumerate(
        (("mean", profile.mean[place]), ("standard deviation", profile.spread[place]))
    ):
        number = "" if index == 0 else "2"
        left = 0.0 if theme.slim or index == 0 else width + BETWEEN
        bottom = (1 - index) * (tall + below) if theme.slim else 0.0
        top = float(cells.max(initial=0)) or 1.0
        bar = {
            "x": left + width,
            "y": bottom,
            "len": tall if theme.slim else 1.0,
            "xanchor": "left",
            "yanchor": "bottom",
        }
        figure.add_heatmap(
            z=cells.astype(np.float32),
            xaxis=f"x{number}",
            yaxis=f"y{number}",
            zmin=0,
            zmax=top,
            colorscale=sequential(theme),
            colorbar={**colour_bar(unit, 0, top), **bar, "lenmode": "fraction"},
            xgap=1,
            ygap=1,
            hovertemplate=f"{name}, layer %{{y}}, head %{{x}}: %{{z:.4f}} {unit}<extra></extra>",
        )
        domain = {"domain": [left, left + width], "anchor": f"y{number}", "dtick": max(1, -(-heads // 16))}
        down = {"domain": [bottom, bottom + (tall if theme.slim else 1.0)], "anchor": f"x{number}"}
        figure.update_layout(
            {
                f"xaxis{number}": {
                    **domain,
                    "title": "" if theme.slim and index == 0 else "head",
                    "showgrid": False,
                    "range": [-0.5, heads - 0.5],
                },
                f"yaxis{number}": {
                    **down,
                    "title": "" if left else "layer",
                    "showgrid": False,
                    "range": [layers - 0.5, -0.5],
                    "dtick": max(1, -(-layers // 14)),
                },
            }
        )
        room = ((theme.pixels - lines * EDGES) * width, 0.9 * rows)
        form = ".2f" if top >= FINE else ".3f"
        cell_numbers(figure, cells, form, sequential(theme), (0.0, top), room, (f"x{number}", f"y{number}"))
        figure.add_annotation(
            text=f"<b>{name}</b>", x=left, xref="paper", xanchor="left", y=bottom + (tall if theme.slim else 1.0),
            yref="paper", yanchor="bottom", showarrow=False,
        )  # fmt: skip
    return even_axes(figure.update_layout(margin={"t": ABOVE - 30, "r": 70, "b": BELOW}), theme)


@figure(
    "corpus-heads", "corpus_heads", "what every head does over sentences of a corpus (FOLDER; --set measure=entropy)"
)
def profiles_figure(head_profiles: HeadProfiles, profile_part: HeadProfile, profile_measure: HeadMeasure) -> FigureSpec:
    """Mean and spread of a measure of every head, over all sampled sentences or those of one value of a column."""
    name, unit = MEASURE_NAMES[profile_measure]
    part = f", {head_profiles.column}: {profile_part.name}" if profile_part.name else ""
    title = f"Attention {name} of every head{part} — {head_profiles.model}"
    mean = profile_part.mean[head_profiles.measures.index(profile_measure)]
    layer, head = (int(place) for place in np.unravel_index(mean.argmax(), mean.shape))
    alt = f"{title}: largest mean {float(mean.max()):.3f} {unit} in layer {layer}, head {head}"
    caption = (
        f"{title}. Mean and standard deviation over {counted(profile_part.sentences, 'sentence')} of "
        f"{head_profiles.corpus}, drawn by seed {head_profiles.seed}; raw attention, which is not importance."
    )
    draw = partial(profile_maps, profile_part, head_profiles.measures, profile_measure, title)
    return FigureSpec(title, alt, draw, caption)


@figure(
    "corpus-probe",
    "corpus_probe",
    "accuracy of a linear probe on every layer, labels from a column of a corpus (FOLDER; --set probe_labels=COLUMN)",
)
def corpus_probe_figure(corpus_probe_scores: ProbeScores, best_layer: int) -> FigureSpec:
    """From which layer on the values of a column can be read, beside baseline and control task."""
    scores = corpus_probe_scores
    title = f"Which layer tells the {len(scores.classes)} values of {scores.texts} apart? — {scores.model}"
    means = zip(scores.layers, scores.accuracy.mean(axis=1).tolist(), strict=True)
    told = ", ".join(f"{state_name(state)} {value:.1%}" for state, value in means)
    alt = f"{title}: accuracy {told}; most frequent value {scores.majority:.1%}"
    caption = (
        f"{title}. {POOLING_WORDS[scores.pooling].capitalize()} pooling, linear probes on "
        f"{int(scores.counts.sum()):,} texts, {scores.accuracy.shape[1]} held-out parts, seed {scores.seed}; bars: "
        "standard deviation"
    )
    return FigureSpec(title, alt, partial(accuracy_lines, scores, best_layer, title), caption)
