"""Question about a journey with one change: a token masked, or a head or a layer switched off."""

import re

from bertviz_core.errors import Named, TextError
from bertviz_core.journey.changes import Change, ablated_trace, masked_tokens
from bertviz_core.journey.results import ChangedJourney
from bertviz_core.questions.interventions.single_text import REMOVED_FOR, means_in_place
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.question import SILENT, Answer, question
from bertviz_core.questions.texts.hidden_states import run
from bertviz_core.questions.texts.journey import journey_of
from bertviz_core.text import escape_controls
from bertviz_core.trace.results import Trace

CHANGE = Param("change", "text", "the change of the run: head-LAYER.HEAD, layer-LAYER or mask-POSITION")
FORMS = re.compile(r"(?:head-(\d{1,9})\.(\d{1,9})|layer-(\d{1,9})|mask-(\d{1,9}))", re.ASCII)


@question(params=(CHANGE, REMOVED_FOR))
def changed_journey(opened: Opened, options: Options) -> Answer[ChangedJourney]:
    """Effect of every layer on every token, before and after one change of the run."""
    made = run(opened, options)
    clean, change = made.result, change_of(options, made.result, opened.name)
    if change.kind == "mask":
        changed = opened.trace(masked_tokens(opened.tokenizer, clean.tokens, change.at))
    else:
        means = means_in_place(opened, options, SILENT)
        changed = ablated_trace(opened.loaded, clean.tokens, change, clean.num_attention_heads, means)
    return made.of(ChangedJourney(str(change), journey_of(opened, clean), journey_of(opened, changed)), clean.notices)


def change_of(options: Options, trace: Trace, model: str) -> Change:
    """Parse the change.

    Args:
        options: the values of the parameters.
        trace: the unchanged run.
        model: name of the model, for the error message.

    Raises:
        TextError: the change has none of the forms, or the model or text has no such head, layer or token.
    """
    typed = options.get(CHANGE.key)
    found = FORMS.fullmatch(typed)
    if found is None:
        what = f"There is no change {escape_controls(typed[:20])!r}; give " if typed else "No change was named; give "
        raise TextError(what, Named(CHANGE.key), " as head-LAYER.HEAD, layer-LAYER or mask-POSITION.")
    of_head, head, layer, position = (None if each is None else int(each) for each in found.groups())
    if position is not None:
        _check("token", position, len(trace.tokens), "the text")
        return Change("mask", position)
    at = layer if layer is not None else of_head or 0
    _check("layer", at, trace.num_hidden_layers, repr(model))
    if head is None:
        return Change("layer", at)
    _check("head", head, trace.num_attention_heads, repr(model))
    return Change("head", at, head)


def _check(name: str, at: int, count: int, where: str) -> None:
    if at >= count:
        known = f"{name}s 0 to {count - 1}" if count else f"no {name}s"
        raise TextError(f"There is no {name} {at} in {where}, which has {known}; give ", Named(CHANGE.key), " again.")
