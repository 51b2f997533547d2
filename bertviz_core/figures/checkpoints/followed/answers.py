"""Figures of the answers of the checkpoints of a training run: to one text, and to texts with gold labels."""

from functools import partial

import numpy as np

from bertviz_core.checkpoints.tables import labels_frame, text_frame
from bertviz_core.checkpoints.training.results import FollowedLabels, FollowedText
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.checkpoints.step_lines import StepAxis, StepPlot, step_plots
from bertviz_core.text import counted, shortened

MOST_CLASSES = 6
"""Maximum number of classes with a line: those that are an answer, then those with the largest probability."""
MOST_QUOTED = 60
"""Maximum length of the text in a title."""


@figure(
    "training-text",
    "checkpoint_training_text",
    "what each checkpoint of a run answers to a text (TEXT, --pair)",
    table=text_frame,
)
def training_text_figure(followed_text: FollowedText) -> FigureSpec:
    """Plot the probability of the answer, the surprise and the cosine over the steps, with the answers named."""
    followed = followed_text
    title = f"“{shortened(followed.text, MOST_QUOTED)}” through the steps — {followed.run}"
    named = (0, *followed.changes) if any(followed.answers) else ()
    names = [(place, f"{'→' if place else 'answer:'} {followed.answers[place] or 'none'}") for place in named]
    axis = StepAxis(followed.checkpoints, followed.steps, names)
    plots = text_plots(followed)
    alt = f"{title}: {', '.join(plot.title for plot in plots)} over the steps of {_count(followed.checkpoints)}"
    return FigureSpec(title, alt, partial(step_plots, plots, axis, title))


def text_plots(followed: FollowedText) -> list[StepPlot]:
    """The plots of a text: probabilities or the number of a head, surprise, cosine; each where it is known."""
    plots = []
    if followed.probabilities is not None:
        chosen = drawn_classes(followed)
        lines = [(followed.labels[place], followed.probabilities[:, place]) for place in chosen]
        plots.append(StepPlot("probability", lines, span=(-0.03, 1.03)))
    elif np.isfinite(followed.scores).any():
        is_number = not any(followed.answers)
        lines = [("number" if is_number else "answer", followed.scores)]
        title = "number" if is_number else "probability of the answer"
        plots.append(StepPlot(title, lines, span=None if is_number else (-0.03, 1.03)))
    if followed.surprise is not None:
        plots.append(StepPlot("surprise, nats", [("surprise", followed.surprise)]))
    if followed.cosine is not None:
        plots.append(StepPlot("cosine", [("cosine of the two texts", followed.cosine)]))
    return plots


def drawn_classes(followed: FollowedText) -> list[int]:
    """Indices of the classes that have a line, in the order of the head."""
    if followed.probabilities is None:
        return []
    answers = set(followed.answers)
    largest = followed.probabilities.max(axis=0)
    order = sorted(range(len(followed.labels)), key=lambda at: (followed.labels[at] not in answers, -largest[at]))
    return sorted(order[:MOST_CLASSES])


@figure(
    "training-scores",
    "checkpoint_training_scores",
    "accuracy and macro-F1 of each checkpoint of a run (--set with_gold=true; texts: TEXT LABEL ...)",
    table=labels_frame,
)
def training_scores_figure(followed_labels: FollowedLabels) -> FigureSpec:
    """Plot accuracy and macro-F1 over the steps, above the number of texts whose answer changed."""
    followed = followed_labels
    count = counted(sum(map(bool, followed.gold)), "text")
    title = f"Scores of {count} with gold labels — {followed.run}"
    lines = [("accuracy", 100 * followed.accuracy), ("macro-F1", 100 * followed.macro_f1)]
    changed = [("answers that changed", np.array(followed.changed, dtype=np.float64))]
    plots = (
        StepPlot("score, %", lines, ".1f", (-3, 103)),
        StepPlot("answers that changed", changed, ".0f", as_bars=True),
    )
    alt = f"{title}: accuracy, macro-F1 and answers that changed over the steps of {_count(followed.checkpoints)}"
    draw = partial(step_plots, plots, StepAxis(followed.checkpoints, followed.steps), title)
    return FigureSpec(title, alt, draw)


def _count(checkpoints: tuple[str, ...]) -> str:
    return counted(len(checkpoints), "checkpoint")
