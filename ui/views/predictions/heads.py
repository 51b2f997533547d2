"""What answers for a model without a whole task head, and how to open one that has a head."""

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlencode

from bertviz_core.models.catalog.bundled import SPLADE
from bertviz_core.models.catalog.example_run import EXAMPLE_TASK, OFFERED
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.view import Ask, OtherModel, Part, Show, View
from bertviz_core.questions.views.predictions import Heads, offered, whole_heads
from bertviz_core.text import escape_markdown
from ui.cache.shared_model import SharedModel
from ui.components.navigation import PageLink, page_links
from ui.widgets.files.captions import note_models
from ui.widgets.models.select import bundled_instead, ready


def stand_in(heads: Heads) -> str:
    """Name of the bundled classifier, which answers in place of a model without a whole head; "" for any other model.

    It is "" too where the classifier cannot run here.
    """
    return "" if heads.tasks else next(iter(ready(OFFERED[:1])), "")


def offered_views(opened: SharedModel) -> list[View]:
    """The views of a model; those that need a head it lacks are of the bundled classifier."""
    heads = whole_heads(opened)
    if heads.tasks or not (instead := stand_in(heads)):
        return offered(heads.tasks)
    return [
        view if view.show is None else replace(view, show=_of_other(heads, instead, view.show))
        for view in offered((EXAMPLE_TASK,))
    ]


def _of_other(heads: Heads, instead: str, show: Show) -> Show:
    def parts(opened: SharedModel, ask: Ask, options: Options) -> Iterator[Part]:
        no_head(opened.name, heads, instead)
        yield OtherModel(instead, show)

    return parts


def no_head(name: str, heads: Heads, answering: str = "") -> None:
    """Say in one line that there is no head, whose answers are shown instead, and how to open a model that has one."""
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
