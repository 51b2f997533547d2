"""Find the task heads of the chosen model, and explain missing ones."""

from typing import NamedTuple
from urllib.parse import urlencode

from bertviz_core.errors import CheckpointError, MissingFilesError, UnsupportedModelError
from bertviz_core.models.catalog.bundled import SPLADE
from bertviz_core.models.catalog.example_run import OFFERED
from bertviz_core.predictions.loading import stored_tasks
from bertviz_core.text import escape_markdown
from ui.cache import models, sources
from ui.components.navigation import PageLink, page_links
from ui.widgets.files.captions import note_models
from ui.widgets.formatting import run_words
from ui.widgets.models.select import HEADS, bundled_instead, ready


class Heads(NamedTuple):
    """The task heads of a model."""

    tasks: tuple[str, ...]
    """Tasks whose heads are complete; empty if the model has no head."""
    words: str
    """Class with the head, its task, device and number format, in one line."""
    notices: tuple[str, ...] = ()
    """Notices for the reader."""
    refusal: str = ""
    """Why there is no complete head; "" if there is one."""
    task: str = ""
    """Task of an incomplete head."""


def whole_heads(name: str) -> Heads:
    """Return the complete heads of a model.

    Raises:
        MissingFilesError: the weights are not on this machine.
        BertvizError: the model cannot be loaded.
    """
    try:
        tasks = stored_tasks(sources.source(name))
    except UnsupportedModelError as error:
        return Heads((), "no task head", refusal=str(error).partition(";")[0] + ".")
    try:
        head = models.with_head(name, tasks[0])
    except MissingFilesError:
        raise
    except CheckpointError as error:
        return Heads((), f"a head for {HEADS[tasks[0]]} that is not whole", refusal=str(error), task=tasks[0])
    task_names, ran = " and ".join(HEADS[task] for task in tasks), run_words(head.base.device, head.base.dtype)
    if len(tasks) == 1:
        return Heads(tasks, f"{head.model_class}, a head for {task_names}, run {ran}", head.notices)
    # The class that is run for a task has that head only.
    return Heads(tasks, f"{sources.saved_class(name)}, heads for {task_names}, run {ran}", head.notices)


def stand_in(heads: Heads) -> str:
    """Name of the bundled classifier, which answers in place of a model without a whole head; "" for any other model.

    It is "" too where the classifier cannot run here.
    """
    return "" if heads.tasks else next(iter(ready(OFFERED[:1])), "")


def no_head(name: str, heads: Heads, answering: str = "") -> None:
    """Say in one line that there is no head, whose answers are shown instead, and how to open a model that has one.

    Args:
        name: name of the model.
        heads: the missing head.
        answering: name of the model that answers instead; "" for none.
    """
    why = escape_markdown(heads.refusal)
    short = why if heads.task or not answering else f"{escape_markdown(name)} has no task head."
    instead = f"{short} **{escape_markdown(answering)}** answers instead." if answering else short
    bundled_instead("predictions_no_head", instead, *OFFERED[:1], SPLADE, why=None if short == why else why)
    if answering:
        note_models((answering,))
    if heads.task:
        address = f"checkpoint?{urlencode({'view': 'Load report', 'load_task': heads.task})}"
        link = PageLink("Open the load report", address, "fact_check")
        page_links([("", [link])], "predictions_report", label="What the file holds", width="content")
