"""Find the task heads of the chosen model, and explain missing ones."""

from typing import NamedTuple
from urllib.parse import urlencode

import streamlit as st

from bertviz_core.errors import CheckpointError, MissingFilesError, UnsupportedModelError
from bertviz_core.models.catalog.bundled import BUNDLED, SPLADE
from bertviz_core.models.catalog.offers import offers
from bertviz_core.predictions.loading import stored_tasks
from ui.cache import models, sources
from ui.components.navigation import PageLink, page_links
from ui.session import settings
from ui.widgets.formatting import escape_markdown, run_words
from ui.widgets.models.select import HEADS, choose_model


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


def no_head(name: str, heads: Heads) -> None:
    """Explain why there is no head, and offer a model that has one."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/info: {escape_markdown(heads.refusal)}", width="content")
        if heads.task:
            address = f"checkpoint?{urlencode({'view': 'Load report', 'load_task': heads.task})}"
            link = PageLink("Open the load report", address, "fact_check")
            page_links([("", [link])], "predictions_report", label="What the file holds", width="content")
        if SPLADE in {offer.name for offer in offers(settings()) if offer.readiness == "ready"}:
            st.button(
                f"Open {SPLADE}, weak at gaps",
                key="open_splade",
                help=BUNDLED[SPLADE].introduction,
                icon=":material/arrow_forward:",
                on_click=choose_model,
                args=(SPLADE,),
            )
