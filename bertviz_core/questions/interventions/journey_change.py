"""Questions about a run with one change: a token masked, a head or a layer switched off, or the text edited."""

import re
from dataclasses import replace

import numpy as np

from bertviz_core.errors import BertvizError, Named, TextError
from bertviz_core.figures.base.export import Caption, quoted_text
from bertviz_core.figures.base.style import Theme
from bertviz_core.figures.journey.html_file import journey_html
from bertviz_core.figures.journey.payload import DrawnChange, Ending, Path, journey_payload
from bertviz_core.hidden_states.geometry import cosine
from bertviz_core.interventions.results import MeanActivations
from bertviz_core.interventions.target_parsing import parse_target
from bertviz_core.interventions.targets import Target
from bertviz_core.journey.changes import Change, changed_value
from bertviz_core.journey.results import ChangedJourney, Journey
from bertviz_core.journey.steps import compare_wordings
from bertviz_core.questions.interventions.effects import MEAN, REMOVED_FOR, ChangedModel, means_in_place
from bertviz_core.questions.interventions.targets import MEASURE, TARGET, layers_and_heads, read_tokens, target
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.question import SILENT, Answer, question
from bertviz_core.questions.texts.hidden_states import HEAD, KEY, LAYER, QUERY, run
from bertviz_core.questions.texts.journey import LOOKS, all_openings, journey, journey_of
from bertviz_core.questions.texts.tokens import EDITED
from bertviz_core.text import escape_controls, quoted
from bertviz_core.trace.results import Trace
from bertviz_core.trace.tokenization import longest_piece

TEXT = "text"
WAYS = "head-LAYER.HEAD, layer-LAYER, mask-POSITION, or text with edited=TEXT"
CHANGE = Param("change", "text", f"the change of the run: {WAYS}")
FORMS = re.compile(rf"(?:head-(\d{{1,9}})\.(\d{{1,9}})|layer-(\d{{1,9}})|mask-(\d{{1,9}})|{TEXT})", re.ASCII)


@question(params=(CHANGE, REMOVED_FOR, EDITED))
def changed_journey(opened: Opened, options: Options) -> Answer[ChangedJourney]:
    """Effect of every layer on every token, before and after one change of the run."""
    plain = replace(options, values={})  # for which the unchanged journey may be cached
    made, before = run(opened, plain), journey(opened, plain).result
    clean, change = made.result, _change_of_run(opened, options, made.result)
    if change.kind == "text":
        edited = replace(_edited(options), values={})
        other = run(opened, edited)
        both = compare_wordings(before, journey(opened, edited).result, (clean, other.result))
        return made.of(both, (*clean.notices, *other.notices))
    means = _means(opened, options, change)
    changed = ChangedModel(opened, change, clean.num_attention_heads, means).trace(clean.tokens)
    sentence = change.sentence(before.labels[change.at] if change.kind == "mask" else "", means)
    same = cosine(clean.hidden_states[-1], changed.hidden_states[-1])
    return made.of(ChangedJourney(sentence, before, journey_of(opened, changed), same), clean.notices)


def changed_model(opened: Opened, options: Options, drawn: DrawnChange | None) -> Opened:
    """Return the model as it runs with a change, for questions about parts of that run.

    The model itself without a changed run, and for an edited text, which is another text of the same model.
    """
    if drawn is None or drawn.both is None or drawn.name == TEXT:
        return opened
    options = replace(options, values={CHANGE.key: drawn.name, REMOVED_FOR.key: REMOVED_FOR.options[drawn.mean]})
    clean = run(opened, replace(options, values={})).result
    change = _change_of_run(opened, options, clean)
    return ChangedModel(opened, change, clean.num_attention_heads, _means(opened, options, change))


def _change_of_run(opened: Opened, options: Options, clean: Trace) -> Change:
    return change_of(options, len(clean.tokens), clean.num_hidden_layers, clean.num_attention_heads, opened.name)


def _means(opened: Opened, options: Options, change: Change) -> MeanActivations | None:
    return None if change.kind == "mask" else means_in_place(opened, options, SILENT)


@question(params=(TARGET, MEASURE, CHANGE, REMOVED_FOR, EDITED))
def changed_number(opened: Opened, options: Options) -> Answer[float]:
    """The target in a run with one change."""
    made, tokens = target(opened, options), read_tokens(opened, options)
    change = change_of(options, len(tokens), *layers_and_heads(opened), opened.name)
    if change.kind == "text":
        found = _same_target(opened, options, made.result)
        return made.of(changed_value(found, opened.tokenizer, change), made.notices)
    if change.kind == "mask" and not np.array_equal(made.result.tokens.input_ids, tokens.input_ids):
        raise TextError(
            f"The {made.result.title} is computed from other tokens than those drawn, so no token of it can be masked; "
            "switch off a head or a layer instead."
        )
    value = changed_value(made.result, opened.tokenizer, change, _means(opened, options, change))
    return made.of(value, made.notices)


def _edited(options: Options) -> Options:
    if options.get(EDITED.key) in ("", options.text()):
        what = "=TEXT, with other words than the text, and at least one."
        raise TextError("The text is not edited; give ", Named(EDITED.key), what)
    return replace(options, texts=(options.get(EDITED.key),))


def _same_target(opened: Opened, options: Options, before: Target) -> Target:
    """The target of the edited text; raises TextError for another one, or a position where tokens have moved."""
    found = target(opened, _edited(options)).result
    placed = parse_target(options.values.get(TARGET.key), options.pair is not None).places
    if found.title != before.title or (placed and len(found.tokens) != len(before.tokens)):
        raise TextError(
            f"The {before.title} of the text is not that of the edited text, whose tokens or answer are others; choose "
            "a number that both have, such as a class or a cosine."
        )
    return found


def drawn_change(opened: Opened, options: Options) -> DrawnChange | None:
    """Run the text with the change in the options; None if they have none."""
    name = options.get(CHANGE.key)
    if not name:
        return None
    both = changed_journey(opened, options).result
    return DrawnChange(name, options.choice(REMOVED_FOR) == MEAN, both)


def changed_or_refused(opened: Opened, options: Options) -> DrawnChange | None:
    """Run the text with the change in the options, or say why that is not possible; None if they have none."""
    try:
        return drawn_change(opened, options)
    except BertvizError as error:
        return DrawnChange(options.get(CHANGE.key), options.get(REMOVED_FOR.key) == MEAN, None, str(error))


def change_of(options: Options, tokens: int, layers: int, heads: int, model: str) -> Change:
    """Parse the change, of a model and text with this many tokens, layers and heads of a layer."""
    typed = options.get(CHANGE.key)
    found = FORMS.fullmatch(typed)
    if found is None:
        what = f"There is no change {escape_controls(typed[:20])!r}; give " if typed else "No change was named; give "
        raise TextError(what, Named(CHANGE.key), f" as {WAYS}.")
    if typed == TEXT:
        return Change("text")
    of_head, head, layer, position = (None if each is None else int(each) for each in found.groups())
    if position is not None:
        _check("token", position, tokens, "the text")
        return Change("mask", position)
    at = layer if layer is not None else of_head or 0
    _check("layer", at, layers, repr(model))
    if head is None:
        return Change("layer", at)
    _check("head", head, heads, repr(model))
    return Change("head", at, head)


def _check(name: str, at: int, count: int, where: str) -> None:
    if at >= count:
        known = f"{name}s 0 to {count - 1}" if count else f"no {name}s"
        raise TextError(f"There is no {name} {at} in {where}, which has {known}; give ", Named(CHANGE.key), " again.")


EMBEDDINGS = "embeddings"
WHAT_OPENS = "The parts of the chosen token can be opened; every number was computed by the model."


def drawn_text(opened: Opened, options: Options, change: DrawnChange | None) -> tuple[Journey, Options]:
    """The journey that is drawn, and the options with its text, which a change may have edited."""
    both = None if change is None else change.both
    way = journey(opened, options).result if both is None else both.before
    return way, options if way.tokens is None else replace(options, texts=(way.tokens.text,))


def journey_page(
    opened: Opened, options: Options, theme: Theme, ending: Ending | None = None, change: DrawnChange | None = None
) -> tuple[str, Answer[Journey]]:
    """Render a journey, with the selection in the options, as a self-contained interactive page; with the answer."""
    answer = journey(opened, options)
    way, options = drawn_text(opened, options, change)
    path = path_of(way, options, opened.name)
    openings = () if way.missing else all_openings(changed_model(opened, options, change), options, path.token)
    looks = {param.key: options.choice(param) for param in LOOKS}
    payload = journey_payload(way, theme=theme, path=path, openings=openings, ending=ending, change=change, looks=looks)
    changed = "" if change is None or change.both is None else f" {change.both.sentence}"
    text = "" if way.tokens is None else f" of {quoted_text(way.tokens.text)}"
    title = f"Journey{text} through {way.model}"
    remarks = "".join(f" {each}" for each in way.notices)
    words = f"{title}, revision {answer.models[0][1]}.{changed}{remarks} {WHAT_OPENS}"
    return journey_html(payload, title, words), answer


def journey_caption(way: Journey, models: tuple[tuple[str, str], ...], change: DrawnChange | None = None) -> Caption:
    """The caption of an image of a journey."""
    sentence = "" if change is None or change.both is None else change.both.sentence
    pair = () if way.tokens is None else (way.tokens.text, way.tokens.pair)
    return Caption(sentence, models, tuple(text for text in pair if text))


def path_of(way: Journey, options: Options, model: str) -> Path:
    """Parse the selected parts."""
    count = max(len(way.labels), 1)
    token = options.whole(QUERY.key, count, 0 if way.tokens is None else longest_piece(way.tokens))
    layer, head, key = (options.get(param.key) for param in (LAYER, HEAD, KEY))
    if layer in ("", EMBEDDINGS):
        return Path(token, layer)
    number = options.numbered("layer", way.layers, 0, model)
    if head == "":
        return Path(token, str(number))
    if not way.heads:
        raise TextError(f"The heads of {quoted(model)} are not known, so none can be opened.")
    opened = options.numbered("head", way.heads, 0, model)
    return Path(token, str(number), opened, options.whole(KEY.key, count, 0) if key else None)
