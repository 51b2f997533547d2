"""Figures of heads and layers over a corpus: head profiles, and probes by layer."""

from functools import partial

import numpy as np
import plotly.graph_objects as go

from bertviz_core.attention.results import HeadMeasure
from bertviz_core.corpus.analysis.results import HeadProfile, HeadProfiles
from bertviz_core.figures.base.panels import PairSizes, Panel, head_panels, pair_grid
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, sequential
from bertviz_core.figures.predictions.probes import accuracy_spec
from bertviz_core.figures.sentences.poolings import POOLING_WORDS
from bertviz_core.predictions.probing.results import ProbeScores
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
"""Measure of a head -> name and unit."""
SIZES = PairSizes(least=120, edges=110, between=0.14)
FINE = 0.1
"""Maximum of a map below which its cells show three digits."""


def profile_maps(
    profile: HeadProfile, measures: tuple[HeadMeasure, ...], chosen: HeadMeasure, title: str, theme: Theme
) -> go.Figure:
    """Draw mean and standard deviation of a measure over the sentences: two maps of layers by heads, from 0."""
    place, unit = measures.index(chosen), MEASURE_NAMES[chosen][1]
    maps = (("mean", profile.mean[place]), ("standard deviation", profile.spread[place]))
    panels = []
    for name, cells in maps:
        top = float(cells.max(initial=0)) or 1.0
        digits = ".2f" if top >= FINE else ".3f"
        panels.append(
            Panel(f"<b>{name}</b>", name, cells.astype(np.float32), sequential(theme), (0.0, top), unit, digits, unit)
        )
    return head_panels(panels, pair_grid(profile.mean.shape[1], SIZES, theme), title, theme)


@figure(
    "corpus-heads", "corpus_heads", "what every head does over sentences of a corpus (FOLDER; --set measure=entropy)"
)
def profiles_figure(head_profiles: HeadProfiles, profile_part: HeadProfile, profile_measure: HeadMeasure) -> FigureSpec:
    """Plot mean and spread of a measure of every head, over all sampled sentences or those of one column value."""
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
    """Plot probes for a column's values by layer, beside baseline and control task."""
    scores = corpus_probe_scores
    title = f"Which layer tells the {len(scores.classes)} values of {scores.texts} apart? — {scores.model}"
    texts = f"linear probes on {int(scores.counts.sum()):,} texts"
    probes = f"{POOLING_WORDS[scores.pooling].capitalize()} pooling, {texts}"
    return accuracy_spec(scores, best_layer, title, "value", probes)
