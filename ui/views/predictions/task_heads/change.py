"""Compare the answers to a text and to its edited version."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.errors import TextError
from bertviz_core.figures.predictions.change import (
    answers_change_figure,
    classes_change_figure,
    tags_change_figure,
    words_change_figure,
)
from bertviz_core.figures.predictions.classes import class_numbers
from bertviz_core.predictions.loading import stored_tasks
from bertviz_core.predictions.masked_lm import shift_position
from bertviz_core.predictions.tags import entities
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.masked_lm import GUESS, word_shift
from bertviz_core.questions.predictions.task_heads import (
    JOINED,
    LONGEST,
    answers,
    answers_change,
    classes,
    classes_change,
    tagged_tokens,
    tags,
)
from bertviz_core.questions.report.library_lines import call_lines, library_lines, opening_lines
from bertviz_core.questions.texts.tokens import EDITED, EDITED_PAIR
from bertviz_core.text import escape_markdown
from bertviz_core.trace.subwords.text_edits import word_edits
from ui.address.registry import param
from ui.address.widgets import choice
from ui.cache import models
from ui.cache.shared_model import SharedModel
from ui.cache.sources import source
from ui.views.predictions.task_heads import controls, texts
from ui.views.predictions.task_heads.answers import answer_frame
from ui.views.predictions.task_heads.classes import class_summary
from ui.views.predictions.task_heads.controls import notices
from ui.views.predictions.task_heads.tags import entity_frame
from ui.views.predictions.task_heads.texts import Texts
from ui.widgets import text_fields
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import figure_block

AROUND = 6
"""Number of unchanged words shown beside a change."""
SIDES = ("the text", "edited")
PAIRED = ("question-answering", "next-sentence")
"""Tasks that read two texts."""


class EditComparison(NamedTuple):
    """The compared texts."""

    name: str
    """Name of the model."""
    task: str
    """Task of its head."""
    texts: Texts
    """Text and pair."""
    edited: Texts
    """Their edited version."""

    @property
    def opened(self) -> SharedModel:
        """The model."""
        return SharedModel(self.name)

    def versions(self) -> tuple[Options, Options]:
        """Options before and after the edit."""
        first, second = (Options((text,), pair, self.task) for text, pair in (self.texts, self.edited))
        return first, second

    def edit(self, **values: str) -> Options:
        """Options of a question that compares both versions."""
        (text, pair), (edited, edited_pair) = self.texts, self.edited
        changed = {EDITED.key: edited, **({} if edited_pair is None else {EDITED_PAIR.key: edited_pair})}
        return Options((text,), pair, self.task, {**changed, **values})


@st.fragment
@shown_to_user()
def change_view(name: str) -> None:
    """Fields for the edited version, both answers, and what changed."""
    tasks = [task for task in stored_tasks(source(name)) if task in CHANGES]
    task = choice(param("head_of"), "Head", tasks, width="content") if len(tasks) > 1 else tasks[0]
    read = text_fields.two_texts(task) if task in PAIRED else (text_fields.text(), text_fields.pair())
    edited = controls.edited_texts(*read)
    comparison = EditComparison(name, task, read, edited)
    for each, what in zip(edited, ("edited text", "edited second text"), strict=True):
        if each is not None and not each.strip():
            raise TextError(f"The {what} is empty; write the version that is to be compared.")
    st.markdown(edit_words(comparison))
    CHANGES[task](comparison)


def edit_words(comparison: EditComparison) -> str:
    """The edit in a line: deleted words struck through, inserted words bold."""
    lines = [
        _steps(before, after)
        for before, after in zip(comparison.texts, comparison.edited, strict=True)
        if before and after
    ]
    changed = [line for line in lines if line]
    if not changed:
        return "Nothing is changed yet: edit a word of the text to see both answers side by side."
    return f"Changed: {' '.join(changed)}"


def _steps(before: str, after: str) -> str:
    """The edit of one text; "" for none."""
    steps = word_edits(before, after)
    if all(each.kind == "same" for each in steps):
        return ""
    parts = []
    for place, each in enumerate(steps):
        old, new = (escape_markdown(text[slice(*span)]) for text, span in ((before, each.before), (after, each.after)))
        if each.kind == "same":
            parts.append(_near(old, place > 0, place < len(steps) - 1))
        else:
            parts += [*([f"~~{old}~~"] if old else []), *([f"**{new}**"] if new else [])]
    return " ".join(parts)


def _near(text: str, behind: bool, before: bool) -> str:
    """Unchanged words beside a change: after one, before one, or between two."""
    words = text.split(" ")
    first, last = AROUND * behind, AROUND * before
    if len(words) <= first + last:
        return text
    return " ".join([*words[:first], "…", *words[len(words) - last :]])


def _classes(comparison: EditComparison) -> None:
    before, after = (classes(comparison.opened, each).result for each in comparison.versions())
    numbers = [class_numbers(each) for each in (before, after)]
    frame = pd.DataFrame({"class": list(before.labels), **dict(zip(SIDES, numbers, strict=True))})
    words = figure_block(
        classes_change_figure(before, after),
        f"classes before and after {comparison.name}",
        frame.assign(change=numbers[1] - numbers[0]),
        texts=_read(comparison),
        models=(comparison.name,),
        explanation=(
            f"{texts.HOW[before.scoring]} {texts.CHANGE}",
            library_lines(classes_change, comparison.opened, comparison.edit()),
        ),
    )
    notices(words, (*before.notices, *after.notices), comparison.name, comparison.task)
    words.markdown(f"The text: {class_summary(before)}  \nEdited: {class_summary(after)}")


def _tags(comparison: EditComparison) -> None:
    strategy_place: DeltaGenerator = st.container()
    strategy = controls.strategy_choice()
    before, after = (tagged_tokens(comparison.opened, each).result for each in comparison.versions())
    listed = [entities(each, comparison.opened.tokenizer, strategy) for each in (before, after)]
    frames = [entity_frame(each, entities) for each, entities in zip((before, after), listed, strict=True)]
    joined = [replace(each, values={JOINED.key: strategy}) for each in comparison.versions()]
    code = "\n".join([opening_lines(comparison.opened, comparison.task), *(call_lines(tags, each) for each in joined)])
    with strategy_place:
        words = figure_block(
            tags_change_figure(before, listed[0], after, listed[1]),
            f"tags before and after {comparison.name}",
            _both(frames),
            texts=_read(comparison),
            models=(comparison.name,),
            formats={"score": "%.4f"},
            scrolled=True,
            explanation=(f"{texts.TAGS} {texts.CHANGE}", code),
        )
    notices(words, (*before.notices, *after.notices), comparison.name, comparison.task)
    sets = [{(each.label, each.text) for each in entities} for entities in listed]
    words.markdown(_gone_and_new(*(sorted(f"{text} ({label})" for label, text in each) for each in sets)))


def _answers(comparison: EditComparison) -> None:
    above = st.container()
    longest = controls.longest_input()
    most = {LONGEST.key: str(longest)}
    before, after = (answers(comparison.opened, replace(each, values=most)).result for each in comparison.versions())
    with above:
        words = figure_block(
            answers_change_figure(before, after),
            f"answers before and after {comparison.name}",
            _both([answer_frame(before), answer_frame(after)]),
            texts=_read(comparison),
            models=(comparison.name,),
            formats={"score": "%.4f", "logit": "%.3f"},
            scrolled=True,
            explanation=(
                f"{texts.ANSWERS} {texts.CHANGE}",
                library_lines(answers_change, comparison.opened, comparison.edit(**most)),
            ),
        )
    notices(words, (*before.notices, *after.notices), comparison.name, comparison.task)
    first, second = before.answers[0], after.answers[0]
    same = "stays the same" if before.answer == after.answer else f"becomes **{escape_markdown(after.answer)}**"
    change = second.score - first.score
    words.markdown(
        f"The best answer, **{escape_markdown(before.answer)}**, {same}; the best span's score goes from "
        f"{first.score:.3f} to {second.score:.3f} ({change:+.3f}).".replace("(-", "(−")
    )


def _words(comparison: EditComparison) -> None:
    before, after = (models.tokens(comparison.name, *each) for each in (comparison.texts, comparison.edited))
    first = shift_position(models.tokenizer(comparison.name), before, after)
    above = st.container()
    position = controls.guess_select(before, first)
    with above:
        options = replace(comparison.edit(**{GUESS.key: str(position)}), task=None)
        shift = word_shift(comparison.opened, options).result
        token = before.tokens[position]
        words = figure_block(
            words_change_figure(shift, token, comparison.name),
            f"words before and after {comparison.name}",
            pd.DataFrame(
                {
                    "word": list(shift.words),
                    **dict(zip(SIDES, (shift.before, shift.after), strict=True)),
                    "change": shift.after - shift.before,
                }
            ),
            texts=_read(comparison),
            models=(comparison.name,),
            explanation=(f"{texts.SHIFT} {texts.CHANGE}", library_lines(word_shift, comparison.opened, options)),
        )
        notices(words, shift.notices, comparison.name, comparison.task)
        best = [shift.words[int(each.argmax())] for each in (shift.before, shift.after)]
        words.markdown(
            f"The best word goes from **{escape_markdown(best[0])}** to **{escape_markdown(best[1])}**; the whole "
            f"distributions differ by **{shift.divergence:.3f}** nats (KL)."
            if best[0] != best[1]
            else f"The best word stays **{escape_markdown(best[0])}**; the whole distributions differ by "
            f"**{shift.divergence:.3f}** nats (KL)."
        )


def _gone_and_new(before: list[str], after: list[str]) -> str:
    """Entities of only one version, in a line."""
    gone, new = ([each for each in one if each not in other] for one, other in ((before, after), (after, before)))
    if not gone and not new:
        return "Both versions have the same entities."
    parts = [f"{what}: {escape_markdown(', '.join(each))}" for what, each in (("Gone", gone), ("New", new)) if each]
    return ". ".join(parts) + "."


def _both(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """The rows of both versions, with a column that names the version."""
    named = [frame.assign(version=side) for side, frame in zip(SIDES, frames, strict=True)]
    joined = pd.concat(named, ignore_index=True)
    return joined[["version", *joined.columns.drop("version")]]


def _read(comparison: EditComparison) -> tuple[str | None, ...]:
    return (*comparison.texts, *comparison.edited)


CHANGES: Mapping[str, Callable[[EditComparison], None]] = {
    "masked-lm": _words,
    "sequence-classification": _classes,
    "token-classification": _tags,
    "question-answering": _answers,
    "next-sentence": _classes,
}
"""Task -> function that compares its answers."""
EDITABLE = frozenset(CHANGES)
