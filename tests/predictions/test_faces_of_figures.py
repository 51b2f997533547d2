"""Every fact of an answer is in its figure or in the table below it, on the page, in `figure NAME` and `model.table`.

Covers `bertviz_core/figures/predictions/*.py`, `bertviz_core/figures/checkpoints/*.py`.
"""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pandas as pd
import pytest

from bertviz_core import open_model
from bertviz_core.errors import BertvizError
from bertviz_core.figures.base.spec import DeclaredFigure, FigureSpec
from bertviz_core.figures.base.style import LIGHT
from bertviz_core.models.skeleton import TASKS
from bertviz_core.questions.figures import all_figures, drawn_by, subject_of
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer
from bertviz_core.questions.tables.predictions import answer_comparison_frame
from bertviz_core.settings import Settings
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.training_runs import save_run
from tests.predictions.test_faces import variants

TEXT, OTHER, QUESTION = "I love my pet python.", "I love my pet python, the river.", "the pet?"
CLASSES, TAGS, ANSWERS = "sequence-classification", "token-classification", "question-answering"
LABELLED = (TEXT, "LABEL_1", OTHER, "LABEL_2", QUESTION, "LABEL_1", "my language", "LABEL_2")
FOUR = LABELLED[::2]
SECOND, LISTS = {"other": "second"}, {"other": "second", "with_gold": "true"}
DRAWN: Mapping[str, tuple[str, tuple[str, ...], str | None, Mapping[str, str]]] = {
    "classes": (CLASSES, (TEXT,), None, {}),
    "classes-change": (CLASSES, (TEXT,), None, {"edited": OTHER}),
    "next-sentence": ("next-sentence", (TEXT,), OTHER, {}),
    "tags": (TAGS, (TEXT,), None, {}),
    "tags-change": (TAGS, (TEXT,), None, {"edited": OTHER}),
    "answers answer-map": (ANSWERS, (QUESTION,), OTHER, {}),
    "answers-change": (ANSWERS, (QUESTION,), OTHER, {"edited_pair": "my pet, I love it."}),
    "masked-text masked-words": ("masked-lm", (TEXT,), None, {"mask": "2"}),
    "pretraining": ("pretraining", (TEXT,), None, {"mask": "2"}),
    "surprise": ("masked-lm", (TEXT,), None, {}),
    "lens": ("masked-lm", (TEXT,), None, {"mask": "2"}),
    "words-change": ("masked-lm", ("I love my [MASK].",), None, {"edited": "I love my pet [MASK]."}),
    "predictions-compared": (CLASSES, (TEXT,), None, SECOND),
    "answers-compared scores-compared": (CLASSES, LABELLED, None, LISTS),
    "training-text": ("training", (TEXT,), None, {}),
    "training-scores": ("training", LABELLED[:4], None, {"with_gold": "true"}),
    "training-cka training-entropy": ("training", FOUR, None, {}),
    "word-bars": (CLASSES, (TEXT,), None, {"target": "class:LABEL_1"}),
    "word-classes": (CLASSES, (TEXT,), None, {}),
    "word-pairs": (CLASSES, (TEXT,), OTHER, {"target": "cosine"}),
}
"""Figures that a page shows of one answer -> task of a tiny head, texts, pair and options."""
FIGURES = {"pretraining": "masked-text masked-words"}
LISTED = {"answer_comparison": answer_comparison_frame}
"""Result -> its table below the figures."""
RUN, CALLER, FIRST = "how it was computed, not what came out", "the caller has them", "that of the first"
JOINED = {"logits": "entities are joined before", "probabilities": "entities are joined before"}
WORDS = {"top_ids": "words are shown"}
NOT_SHOWN: Mapping[str, Mapping[str, str]] = {
    "classes-change": {
        "logits": "probabilities are shown", "model": FIRST, "labels": FIRST, "scoring": FIRST,
    },
    "tags": JOINED,
    "tags-change": {**JOINED, "model": FIRST},
    "answers-change": {"model": FIRST},
    "masked-text masked-words": WORDS,
    "pretraining": WORDS,
    "lens": {"top_ids": "words are shown", "final_norm": "said below the figure"},
    "words-change": {"edited_position": "the word is shown", "divergence": "in a metric above"},
    "predictions-compared": {"answers": "in a sentence above", "where": "classes are of the text"},
    "answers-compared scores-compared": {
        "common": "the labels of both are shown",
        **dict.fromkeys(("gold.mcnemar_p", "gold.mended", "gold.broken"), "in metrics above"),
        "changed": "the kind of each text is listed",
        **{f"gold.{side}.{name}": "scores of both are taken from it" for side in ("first", "second")
           for name in ("accuracy", "classes", "confusion", "f1")},
        "gold.second.compared": FIRST, "gold.second.gold": FIRST,
    },
    "training-text": {"task": CALLER, "waiting": RUN},
    "training-scores": {"waiting": RUN, "texts": CALLER, "gold": CALLER, "answers": "scores are of them"},
    "training-cka training-entropy": {"texts": CALLER, "waiting": RUN},
    "word-bars": {
        "target": "its title is shown", "reference": "of the mean", "error": "0 here", "share_errors": "0 here",
        "runs": RUN,
    },
    "word-classes": {"runs": RUN},
    "word-pairs": {"nodes": RUN},
}  # fmt: skip


@cache
def folder(name: str) -> Path:
    place = Path(mkdtemp(prefix=name)) / name
    if name == "training":
        return save_run(place)
    task, scale = (CLASSES, 0.3) if name == "second" else (name, 0.2)
    labels = {} if task == ANSWERS else {"num_labels": 3}
    return save_tiny_head("bert", task, place, initializer_range=scale, **labels)


def rows(frame: pd.DataFrame) -> str:
    return repr(frame.rename_axis(index=None).to_dict("split")) + repr(frame.axes)


def shown(spec: FigureSpec) -> str:
    return rows(spec.frame()) + spec.title + spec.caption + str(spec.drawn(LIGHT).to_json())


def stays(show: Callable[[Any], str], value: Any, variant: Any) -> bool:
    """Whether a variant looks the same; one that contradicts itself cannot be drawn, which is another look."""
    try:
        return show(variant) == show(value)
    except (KeyError, IndexError):
        return False


def hidden_facts(figure: DeclaredFigure[...], answer: Answer[Any]) -> Mapping[str, set[str]]:
    """Name of each result of a figure -> its fields that change neither figure nor table."""
    found = {}
    for name, value in answer.drawn.items():
        if name not in {*figure.inputs, *figure.tabled} or not hasattr(value, "notices"):
            continue

        def show(result: Any, name: str = name) -> str:
            listed = rows(LISTED[name](result)) if name in LISTED else ""
            return listed + shown(figure.of({**answer.drawn, name: result}))

        found[name] = {
            path
            for path, each, variant in variants(value)
            if path.rpartition(".")[2] not in ("notices", "seconds", "revision")
            and not (isinstance(each, tuple) and not each)
            and stays(show, value, variant)
        }
    return found


@pytest.mark.parametrize("names", DRAWN)
@pytest.mark.sample(2)
def test_figures_and_their_tables_show_every_fact(names: str) -> None:
    task, texts, pair, values = DRAWN[names]
    options = Options(texts, pair, None, {**values, **({"other": str(folder("second"))} if "other" in values else {})})
    hidden: dict[str, set[str]] = {}
    for name in FIGURES.get(names, names).split():
        opened = subject_of(name, str(folder(task)), Settings.from_environment(any_folder=True))
        _, answer = drawn_by(name, opened, options)
        for result, paths in hidden_facts(all_figures()[name], answer).items():
            hidden[result] = hidden.get(result, paths) & paths
    assert hidden
    assert set().union(*hidden.values()) == set(NOT_SHOWN.get(names, {}))


@pytest.mark.parametrize("task", TASKS)
def test_every_task_is_among_them_or_refused(task: str) -> None:
    assert task in {each[0] for each in DRAWN.values()} or task in ("base", "multiple-choice")


@pytest.mark.parametrize("task", ["multiple-choice"])
def test_what_has_no_face_is_refused_in_a_sentence(task: str) -> None:
    with pytest.raises(BertvizError, match=task):
        open_model(folder(task)).predict(TEXT)
