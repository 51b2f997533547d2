"""Render a journey as an HTML page, for downloads, the command line and notebooks."""

from dataclasses import replace

from bertviz_core.errors import TextError
from bertviz_core.figures.base.style import Theme
from bertviz_core.figures.journey.html_file import journey_html
from bertviz_core.figures.journey.payload import DrawnChange, Ending, Path, journey_payload
from bertviz_core.journey.results import Journey
from bertviz_core.questions.interventions.journey_change import changed_model
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer
from bertviz_core.questions.texts.heads import HEAD, KEY, LAYER, QUERY
from bertviz_core.questions.texts.journey import LOOKS, all_openings, journey
from bertviz_core.text import quoted
from bertviz_core.trace.tokenization import longest_piece

EMBEDDINGS = "embeddings"
WHAT_OPENS = "The parts of the chosen token open; every number was computed by the model."


def journey_page(
    opened: Opened, options: Options, theme: Theme, ending: Ending | None = None, change: DrawnChange | None = None
) -> tuple[str, Answer[Journey]]:
    """Render a journey as a self-contained interactive page; returns it with the answer.

    Args:
        opened: the model.
        options: the text, and the selected query, layer, head, key, colour and ribbon.
        theme: colours.
        ending: the value at the end, and its causes.
        change: the change of the run.

    Raises:
        BertvizError: the text is invalid, or there is no such token, layer or head.
    """
    answer = journey(opened, options)
    way = answer.result if change is None or change.both is None else change.both.before
    if way.tokens is not None:  # openings are of the text that is drawn
        options = replace(options, texts=(way.tokens.text,))
    path = path_of(way, options, opened.name)
    openings = () if way.missing else all_openings(changed_model(opened, options, change), options, path.token)
    looks = {param.key: options.choice(param) for param in LOOKS}
    payload = journey_payload(way, theme=theme, path=path, openings=openings, ending=ending, change=change, looks=looks)
    changed = "" if change is None or change.both is None else f" {change.both.sentence}"
    text = "" if way.tokens is None else f" of {quoted(way.tokens.text, 60)}"
    title = f"Journey{text} through {way.model}"
    remarks = "".join(f" {each}" for each in way.notices)
    return journey_html(payload, title, f"{title}, revision {way.revision}.{changed}{remarks} {WHAT_OPENS}"), answer


def path_of(way: Journey, options: Options, model: str) -> Path:
    """Parse the selected parts.

    Raises:
        TextError: there is no such token, layer or head.
    """
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
