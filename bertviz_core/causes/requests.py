"""A target by its name, as the command line and an address write it: cosine, class:NAME, word:WORD@POSITION, ..."""

from pathlib import Path
from typing import Literal, NamedTuple, get_args

from bertviz_core.causes.states import BETWEEN, direction_target, file_direction, state_target, text_direction
from bertviz_core.causes.targets import (
    MEASURES,
    Measure,
    Target,
    answer_target,
    class_target,
    cosine_target,
    probe_target,
    word_target,
)
from bertviz_core.errors import TextError
from bertviz_core.models.loading import LoadedModel, load_model
from bertviz_core.models.own_files import open_regular
from bertviz_core.models.sources import ModelSource
from bertviz_core.predictions.labelled.probe import MAX_FILE_NBYTES, probe_predictions, read_probe
from bertviz_core.predictions.labelled.results import Probe
from bertviz_core.predictions.labels import NEXT_SENTENCE
from bertviz_core.predictions.loading import HeadModel, load_head
from bertviz_core.sentences.plan import recommended
from bertviz_core.settings import Settings
from bertviz_core.text import escape_controls, quoted
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, tokenize

TargetKind = Literal["cosine", "class", "word", "answer", "probe", "state", "direction"]
KINDS: tuple[TargetKind, ...] = get_args(TargetKind)
FORMS = (
    "cosine (with a second text), class:NAME, word:WORD@POSITION, answer, answer:FIRST-LAST, probe:FILE[@CLASS], "
    "state:ENTRY,TOKEN,DIMENSION, direction:ENTRY,TOKEN,TEXT->TEXT or direction:ENTRY,TOKEN,FILE.npy"
)
"""How a target is written."""


class TargetRequest(NamedTuple):
    """A target as it is asked for."""

    kind: TargetKind
    argument: str = ""
    """Name of the class, the word, the probe's file and class, or the direction; "" where there is none."""
    places: tuple[int, ...] = ()
    """The word's position, the answer's first and last token, or a hidden state's entry, token and dimension."""

    @property
    def task(self) -> str | None:
        """Task whose head is needed; None for the base model alone."""
        of_class = "next-sentence" if self.argument in NEXT_SENTENCE else "sequence-classification"
        return {"class": of_class, "word": "masked-lm", "answer": "question-answering"}.get(self.kind)


def target_request(name: str | None, has_pair: bool) -> TargetRequest:
    """What a target's name asks for; the cosine where there is a second text and no name.

    Raises:
        TextError: the name has none of the forms, or a second text is missing.
    """
    if not name and not has_pair:
        raise TextError(f"No target was named, and no second text is given; name one: {FORMS}.")
    kind, _, rest = (name or "cosine").partition(":")
    request = _request(kind, rest)
    if request is None:
        raise TextError(f"{quoted(escape_controls(name or ''), 60)} is no target; write {FORMS}.")
    if request.kind in ("cosine", "answer") and not has_pair:
        what = "cosine compares the text with" if request.kind == "cosine" else "answer is looked for in"
        raise TextError(f"The target {what} a second text, and none is given; give one (--pair).")
    return request


def _request(kind: str, rest: str) -> TargetRequest | None:
    """The request; None for what has no such form."""
    if kind == "cosine":
        return None if rest else TargetRequest("cosine")
    if kind == "answer":
        places = _numbers(rest, "-")
        return TargetRequest("answer", "", places) if not rest or len(places) == 2 else None
    if kind == "word":
        word, _, position = rest.rpartition("@")
        places = _numbers(position, "-")
        return TargetRequest("word", word, places) if word.strip() and len(places) == 1 else None
    if kind == "state":
        places = _numbers(rest, ",")
        return TargetRequest("state", "", places) if len(places) == 3 else None
    if kind == "direction":
        entry, _, behind = rest.partition(",")
        token, _, direction = behind.partition(",")
        places = _numbers(f"{entry},{token}", ",")
        first, arrow, second = direction.partition(BETWEEN)
        named = bool(first.strip() and (second.strip() or not arrow))
        return TargetRequest("direction", direction, places) if len(places) == 2 and named else None
    if kind == "class" and rest:
        return TargetRequest("class", rest)
    return TargetRequest("probe", rest) if kind == "probe" and rest else None


def _numbers(text: str, between: str) -> tuple[int, ...]:
    parts = text.split(between)
    good = all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts)
    return tuple(int(part) for part in parts) if good else ()


def open_target(
    source: ModelSource,
    settings: Settings,
    text: str,
    pair: str | None,
    name: str | None = None,
    measure: str = "logit",
    base: LoadedModel | None = None,
    head: HeadModel | None = None,
) -> Target:
    """The target of a name, its model loaded.

    Args:
        source: where the model is.
        settings: what may be opened.
        text: the text.
        pair: the second text: the cosine's other one, the pair that a head reads, or an answer's context.
        name: one of FORMS; None for the cosine.
        measure: of a class "logit", "probability" or "margin".
        base: the base model where it is in memory already; None to load it.
        head: the model with the head of the target's task where it is in memory already; None to load it.

    Raises:
        TextError: the name or the measure is none, or as the target's own function.
        CheckpointError: the model, its head or the probe's file cannot be loaded.
        UnsupportedModelError: the family has no such head.
    """
    request, known = target_request(name, pair is not None), _measure(measure)
    tokenizer = load_tokenizer(source, settings)
    loaded = load_model(source, settings) if base is None else base
    if request.kind == "probe":
        return _of_probe(request, loaded, tokenizer, text, known)
    if request.kind == "cosine":
        return cosine_target(loaded, tokenizer, text, pair or "", recommended(source, settings))
    if request.kind == "state":
        layer, position, dimension = request.places
        return state_target(loaded, tokenizer, text, pair, layer, position, dimension)
    if request.kind == "direction":
        return _of_direction(request, loaded, tokenizer, text, pair)
    head = load_head(source, settings, request.task, loaded) if head is None else head
    if request.kind == "answer":
        span = (request.places[0], request.places[1]) if request.places else None
        return answer_target(head, tokenizer, text, pair or "", span)
    tokens = tokenize(tokenizer, text, pair)
    if request.kind == "word":
        return word_target(head, tokenizer, tokens, request.argument, request.places[0])
    return class_target(head, tokens, request.argument, known)


def _measure(name: str) -> Measure:
    known = next((each for each in MEASURES if each == name), None)
    if known is None:
        raise TextError(f"{quoted(escape_controls(name), 40)} is no measure of a class; choose {', '.join(MEASURES)}.")
    return known


def _of_probe(
    request: TargetRequest, loaded: LoadedModel, tokenizer: TextTokenizer, text: str, measure: Measure
) -> Target:
    """The target of a probe's class; without a class that which the probe gives to the text."""
    probe, label = named_probe(request.argument)
    if not label:
        prediction = probe_predictions(probe, loaded, tokenizer, [text])[0]
        label = prediction.labels[int(prediction.logits.argmax())]
    return probe_target(probe, loaded, tokenizer, text, label, measure)


def _of_direction(
    request: TargetRequest, loaded: LoadedModel, tokenizer: TextTokenizer, text: str, pair: str | None
) -> Target:
    """The projection on the way from one text to another, or on the vector of a file."""
    (layer, position), (first, arrow, second) = request.places, request.argument.partition(BETWEEN)
    if arrow:
        name = f"{first.strip()}{BETWEEN}{second.strip()}"
        direction = text_direction(loaded, tokenizer, first.strip(), second.strip(), layer)
    else:
        name, direction = request.argument, file_direction(request.argument)
    return direction_target(loaded, tokenizer, text, pair, layer, position, direction, name)


def named_probe(argument: str) -> tuple[Probe, str]:
    """The probe of FILE or FILE@CLASS, as Save the probe wrote it, and the class; "" where none is named.

    Raises:
        TextError: there is no such file.
        CheckpointError: it holds no probe.
    """
    path, label = argument, ""
    if not Path(path).is_file():
        path, _, label = argument.rpartition("@")
    path = path or argument
    try:
        with open_regular(Path(path)) as file:
            data = file.read(2 * MAX_FILE_NBYTES + 1)
    except (OSError, ValueError) as error:
        raise TextError(
            f"The probe {quoted(escape_controls(path), 60)} cannot be read; give the file that Save the probe wrote."
        ) from error
    return read_probe(Path(path).name, data), label
