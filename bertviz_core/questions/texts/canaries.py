"""A canary of a model: it is written once, and the model is checked against it later."""

from collections.abc import Sequence
from dataclasses import replace

from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.question import SILENT, Answer, AnswerJob
from bertviz_core.questions.texts.sentences import own_plan
from bertviz_core.sentences.analysis.canary.comparison import TOLERANCE, canary_check, check_tolerance
from bertviz_core.sentences.analysis.canary.contents import CanaryInputs, canary_texts, check_finite, make_canary
from bertviz_core.sentences.analysis.canary.results import Canary, CanaryCheck
from bertviz_core.text import counted


def canary_of(opened: Opened, texts: Sequence[str] = (), job: AnswerJob[Answer[Canary]] = SILENT) -> Answer[Canary]:
    """The canary of a model, by the recipe of its folder.

    Args:
        opened: the model.
        texts: the texts; () for the default ones, of many scripts.
        job: receives progress.
    """
    chosen = canary_texts(texts)
    canary, notices = make_canary(_inputs(opened), chosen, progress=job)
    check_finite(canary)
    if repeated := len(texts) - len(chosen) if texts else 0:
        notices = (f"{counted(repeated, 'text')} that others repeat left out.", *notices)
    return replace(answered(opened, canary, notices), texts=chosen)


def checked_canary(
    opened: Opened, stored: Canary, tolerance: float = TOLERANCE, job: AnswerJob[Answer[CanaryCheck]] = SILENT
) -> Answer[CanaryCheck]:
    """What has changed of a model since its canary was written.

    Args:
        opened: the model.
        stored: its canary.
        tolerance: permitted change of a vector, as a share of its length.
        job: receives progress.
    """
    check_tolerance(tolerance)  # before the model is loaded
    texts = tuple(each.text for each in stored.texts)
    current, notices = make_canary(_inputs(opened), texts, stored.recipe, job)
    check = canary_check(stored, current, tolerance, notices)
    return replace(answered(opened, check, notices), texts=texts)


def _inputs(opened: Opened) -> CanaryInputs:
    return CanaryInputs(opened.source, opened.settings, opened.loaded, opened.tokenizer, own_plan(opened))
