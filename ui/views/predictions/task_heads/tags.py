"""The text coloured by its entities, with their spans and scores."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from bertviz_core.figures.predictions.tags import SEQUENCES, tags_figure
from bertviz_core.predictions.results import Entity, TagPrediction
from bertviz_core.predictions.tags import entities
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.task_heads import JOINED, tagged_tokens, tags
from bertviz_core.questions.report.library_lines import library_lines
from ui.cache.shared_model import SharedModel
from ui.views.predictions.compared import compared_block
from ui.views.predictions.task_heads import controls, texts
from ui.views.predictions.task_heads.controls import notices
from ui.widgets import text_fields
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import figure_block

TASK = "token-classification"
UNTAGGED = "Every token has the tag O: this head sees no entity here."
SCORES = {"score": "%.4f"}


@st.fragment
@shown_to_user()
def tags_view(name: str) -> None:
    """The text, its entities coloured."""
    text, pair = text_fields.text(), text_fields.pair()
    opened = SharedModel(name)
    prediction = tagged_tokens(opened, Options((text,), pair, TASK)).result
    strategy = controls.strategy_choice()
    options = Options((text,), pair, TASK, {JOINED.key: strategy})
    found_here = entities(prediction, opened.tokenizer, strategy)
    spec = tags_figure(prediction, found_here, strategy)
    words = figure_block(
        spec,
        f"tags {name}",
        entity_frame(prediction, found_here),
        numbers="open",
        height=height_of(len(found_here)),
        formats=SCORES,
        texts=prediction.tokens,
        explanation=(texts.TAGS, library_lines(tags, opened, options)),
        scrolled=True,
    )
    notices(words, prediction.notices, name, TASK)
    if not found_here:
        words.caption(UNTAGGED)
    compared_block(opened, Options((text,), pair, TASK), joined=strategy)


def height_of(rows: int) -> int:
    """Pixels of an open table with this many rows."""
    return min(38 + 35 * max(rows, 1), 320)


def entity_frame(prediction: TagPrediction, listed: Sequence[Entity]) -> pd.DataFrame:
    """A row for every entity."""
    frame = pd.DataFrame(
        {
            "tag": [each.label for each in listed],
            "text": [each.text for each in listed],
            "score": [each.score for each in listed],
            "characters": ["" if each.start is None else f"{each.start}:{each.end}" for each in listed],
            "tokens": [f"{each.first}–{each.last}" for each in listed],
        }
    )
    if prediction.tokens.pair is not None:
        frame["in"] = [SEQUENCES[each.sequence].lower() for each in listed]
    return frame
