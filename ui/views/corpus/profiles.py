"""Mean measures of every head over a sample of a corpus, and by the values of a column."""

import numpy as np
import pandas as pd
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.attention.results import HeadMeasure
from bertviz_core.corpus.analysis.profiles import MAX_SENTENCES
from bertviz_core.corpus.analysis.results import HeadProfile, HeadProfiles
from bertviz_core.figures.corpus.layers import MEASURE_NAMES, profiles_figure
from bertviz_core.questions.corpora import PART_COLUMN, READER, SAMPLE, head_profiles
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.text import counted, decimals, escape_markdown, tied
from ui.cache.folders import SharedCorpus
from ui.views.corpus import controls, texts
from ui.widgets.figure_block import figure_block
from ui.widgets.heading import unshown
from ui.widgets.lists.progress import answer
from ui.widgets.models import fields

NAMES = {
    measure: f"{name} ({unit})" if unit in ("nats", "tokens") else name
    for measure, (name, unit) in MEASURE_NAMES.items()
}
"""Measure -> label."""


def profiles_view(named: SharedCorpus, row: DeltaGenerator) -> None:
    """Mean of one measure of every head of the chosen model."""
    name = fields.model_name()
    with row:
        measure = controls.measure_select(NAMES)
        column = controls.column_select(
            PART_COLUMN, "Group by", named.corpus.columns, "no groups", width=controls.PART_WIDTH
        )
        count = controls.sample_select(SAMPLE, "Sentences", (50, 200, 1_000, MAX_SENTENCES), 50)
    options = Options(values={SAMPLE.key: str(count), PART_COLUMN.key: column, READER.key: name})
    profiles = answer(head_profiles, named, options).result
    parts = (profiles.overall, *profiles.parts)
    with row:
        part = parts[controls.part_select([each.name for each in profiles.parts]) if profiles.parts else 0]
    words = figure_block(
        profiles_figure(profiles, part, measure),
        f"corpus heads {measure} {named.name} {name}",
        _table(profiles),
        models=(name,),
        explanation=(texts.HEADS, library_lines(head_profiles, named, options)),
    )
    words.markdown(_most(profiles, part, measure))
    words.caption(texts.OTHER_MODEL.format(name=escape_markdown(name)))
    for notice in unshown(profiles.notices):
        words.caption(escape_markdown(notice))


def _most(profiles: HeadProfiles, part: HeadProfile, measure: HeadMeasure) -> str:
    """The head with the largest mean."""
    values = part.mean[profiles.measures.index(measure)]
    layer, head = np.unravel_index(int(np.nanargmax(values)), values.shape)
    name, unit = MEASURE_NAMES[measure]
    value = decimals(float(values[layer, head]), 3) + (f" {unit}" if unit != "share" else "")
    scope = f"Mean over {counted(part.sentences, 'sentence')}"
    head_name = f"layer {layer}, head {head}{tied(values.ravel().tolist())}"
    return f"{scope}: of all heads, {name} is largest in {head_name}, with **{value}**."


def _table(profiles: HeadProfiles) -> pd.DataFrame:
    """A row for every head of every part: mean and spread of each measure."""
    frames = []
    for part in (profiles.overall, *profiles.parts):
        layers, heads = part.mean.shape[1:]
        columns: dict[str, object] = {
            "part": part.name or "all",
            "sentences": part.sentences,
            "layer": np.repeat(np.arange(layers), heads),
            "head": np.tile(np.arange(heads), layers),
        }
        for place, measure in enumerate(profiles.measures):
            columns[NAMES[measure]] = part.mean[place].ravel().astype(float)
            columns[f"{NAMES[measure]}, spread"] = part.spread[place].ravel().astype(float)
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)
