"""Compute in idle time what everybody asks first: the first views of the pages, of the default model and texts."""

from dataclasses import replace
from threading import Event
from time import perf_counter
from typing import Any

from bertviz_core.errors import BertvizError, SupersededError
from bertviz_core.models.catalog import EXAMPLE_TASK, OFFERED
from bertviz_core.questions.interventions.attributions import word_attributions
from bertviz_core.questions.interventions.effects import effects
from bertviz_core.questions.models.architecture import drawn_modules, modules
from bertviz_core.questions.models.checkpoints import load_report, task_head
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.predict import classes
from bertviz_core.questions.question import Question, Silent
from bertviz_core.questions.texts.background import background
from bertviz_core.questions.texts.journey import journey
from bertviz_core.questions.texts.sentences import sentence_vectors
from bertviz_core.questions.texts.tokens import nearest_embeddings, second_tokenizer
from bertviz_core.settings import DEFAULT_MODEL
from bertviz_core.trace.run import RUN_LOCK
from ui.cache import models
from ui.cache.figures import in_background
from ui.cache.jobs import board
from ui.cache.shared_model import SentenceModel, SharedModel
from ui.examples import EXAMPLES
from ui.session import DEFAULT_TEXT, FIRST_TEXT, SECOND_TEXT, is_read

POLL_S = 0.2
"""Seconds between two looks whether nobody waits for an answer."""
TEXT, SENTENCES = Options((DEFAULT_TEXT,)), next(iter(EXAMPLES.values()))[1]
TEXTS, COSINE = Options((FIRST_TEXT,), SECOND_TEXT), {"target": "cosine", "measure": "logit"}
WORDS = {"method": "leave-one-out", "units": "words", "in_place": "the mask"}
ASKED_FIRST: tuple[tuple[str, Question[Any, Any], Options], ...] = (
    (DEFAULT_MODEL, journey, TEXT),  # with the run that other pages show
    (DEFAULT_MODEL, word_attributions, replace(TEXTS, values={**COSINE, **WORDS})),
    (DEFAULT_MODEL, effects, replace(TEXTS, values=COSINE)),
    (DEFAULT_MODEL, sentence_vectors, Options(tuple(SENTENCES.splitlines()))),
    (DEFAULT_MODEL, background, Options()),
    (DEFAULT_MODEL, load_report, Options(task="base")),
    (DEFAULT_MODEL, task_head, Options(task="base")),
    (DEFAULT_MODEL, modules, Options()),
    (DEFAULT_MODEL, modules, Options(values={"one_by_one": "false"})),
    (DEFAULT_MODEL, drawn_modules, replace(TEXT, values={"one_by_one": "false", "levels": "4"})),
    (DEFAULT_MODEL, nearest_embeddings, replace(TEXT, values={"token": "5"})),
    (DEFAULT_MODEL, second_tokenizer, replace(TEXT, values={"tokenizer": "Small WordPiece"})),
    (OFFERED[0], classes, replace(TEXT, task=EXAMPLE_TASK)),
    (OFFERED[0], classes, replace(TEXT, task=EXAMPLE_TASK, values={"order": "by size"})),
)
"""Model, question and first values of the controls of what the pages show first, unless it takes a few milliseconds.

Corpus is not among them: its example is made on request.
"""


class _WhileIdle(Silent):
    """Stops a long computation when a reader waits."""

    def __call__(self, done: int, total: int, /) -> None:
        if is_read() or board().count("running"):
            raise SupersededError


JOB = _WhileIdle()


def compute_ahead(ended: Event) -> str:
    """Answer these questions one after the other, each when nobody waits; returns a line for the log, "" for none.

    What may not be opened here is left out, and models that would take the place of a reader's.
    """
    in_background.set(True)
    started, done, questions = perf_counter(), 0, list(reversed(ASKED_FIRST))
    while questions:
        while is_read() or RUN_LOCK.length or board().count("running"):
            if ended.wait(POLL_S):
                return ""  # with the server
        name, question, options = questions.pop()
        try:
            if models.fits(name):
                question(SentenceModel(name) if question is sentence_vectors else SharedModel(name), options, JOB)
                done += 1
        except SupersededError:
            questions.append((name, question, options))
        except BertvizError:
            continue
    seconds = perf_counter() - started
    return f"Computed ahead what the pages show first: {done} answers in {seconds:.1f} s.\n" if done else ""
