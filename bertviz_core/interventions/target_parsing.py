"""Parse the name of a target, as used by commands and addresses: cosine, class:NAME, word:WORD@POSITION, ..."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from bertviz_core.errors import Named, TextError, UnsupportedModelError
from bertviz_core.interventions.targets import (
    BETWEEN,
    MEASURES,
    Measure,
    Target,
    answer_target,
    class_target,
    cosine_target,
    direction_target,
    file_direction,
    interaction_target,
    probe_target,
    state_target,
    tag_target,
    text_direction,
    word_target,
)
from bertviz_core.isolation.regular_files import open_regular, readable_path
from bertviz_core.models.loading import LoadedModel, load_model
from bertviz_core.models.sources import ModelSource
from bertviz_core.predictions.classes import NEXT_SENTENCE, class_predictions, surest_tag, tag_predictions
from bertviz_core.predictions.late_interaction import InteractionEncoder
from bertviz_core.predictions.late_interaction_plan import interaction_plan
from bertviz_core.predictions.masked_lm import predicted_words
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.probing.scores import MAX_FILE_NBYTES, probe_predictions, read_probe
from bertviz_core.predictions.run import HeadModel, load_head, stored_tasks, with_word_head
from bertviz_core.sentences.plan import recommended
from bertviz_core.settings import Settings
from bertviz_core.text import escape_controls, quoted
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, longest_piece, tokenize

TargetKind = Literal["cosine", "late-interaction", "class", "tag", "word", "answer", "probe", "state", "direction"]
KINDS: tuple[TargetKind, ...] = get_args(TargetKind)
OF_TWO_TEXTS: tuple[TargetKind, ...] = ("cosine", "late-interaction")
"""Kinds that compare the text with a second one, each in a run of its own."""
OF_PLACES: tuple[TargetKind, ...] = ("tag", "word", "answer", "state", "direction")
"""Kinds that belong to a position of one text."""
NEED_PAIR: Mapping[TargetKind, str] = {
    "cosine": "cosine compares the text with",
    "late-interaction": "late-interaction compares the text with",
    "answer": "answer is looked for in",
}
"""Kind that needs a second text -> what it is needed for."""
FORMS = (
    "cosine or late-interaction (with a second text), class:NAME, tag:LABEL@POSITION, word:WORD@POSITION, "
    "answer, answer:FIRST-LAST, probe:FILE[@CLASS], state:ENTRY,TOKEN,DIMENSION, "
    "direction:ENTRY,TOKEN,TEXT->TEXT or direction:ENTRY,TOKEN,FILE.npy"
)
ANSWERING = ("sequence-classification", "token-classification", "masked-lm")
"""Tasks whose heads predict from a single text."""


class TargetSpec(NamedTuple):
    """A parsed target name."""

    kind: TargetKind
    argument: str = ""
    """Name of the class or tag, the word, the probe's file and class, the direction, or ""."""
    places: tuple[int, ...] = ()
    """Position of a tag or word; first and last token of an answer; or entry, token and dimension of a hidden state."""

    @property
    def task(self) -> str | None:
        """Task of the required head; None for the base model."""
        of_class = "next-sentence" if self.argument in NEXT_SENTENCE else "sequence-classification"
        others = {"tag": "token-classification", "word": "masked-lm", "answer": "question-answering"}
        return of_class if self.kind == "class" else others.get(self.kind)


def parse_target(name: str | None, has_pair: bool) -> TargetSpec:
    """Parse a target's name; the default is the cosine if there is a second text."""
    if not name and not has_pair:
        raise TextError(f"No target was named, and no second text is given; name one: {FORMS}.")
    kind, _, rest = (name or "cosine").partition(":")
    request = _request(kind, rest)
    if request is None:
        raise TextError(f"{quoted(escape_controls(name or ''), 60)} is no target; write {FORMS}.")
    if request.kind in NEED_PAIR and not has_pair:
        what = NEED_PAIR[request.kind]
        raise TextError(f"The target {what} a second text, and none is given; give one (", Named("pair"), ").")
    return request


def _request(kind: str, rest: str) -> TargetSpec | None:
    """Parse a name; None if it has no known form."""
    if kind in OF_TWO_TEXTS:
        return None if rest else TargetSpec(next(each for each in OF_TWO_TEXTS if each == kind))
    if kind == "answer":
        places = _numbers(rest, "-")
        return TargetSpec("answer", "", places) if not rest or len(places) == 2 else None
    if kind in ("tag", "word"):
        name, _, position = rest.rpartition("@")
        places, placed = _numbers(position, "-"), next(each for each in KINDS if each == kind)
        return TargetSpec(placed, name, places) if name.strip() and len(places) == 1 else None
    if kind == "state":
        places = _numbers(rest, ",")
        return TargetSpec("state", "", places) if len(places) == 3 else None
    if kind == "direction":
        entry, _, behind = rest.partition(",")
        token, _, direction = behind.partition(",")
        places = _numbers(f"{entry},{token}", ",")
        first, arrow, second = direction.partition(BETWEEN)
        named = bool(first.strip() and (second.strip() or not arrow))
        return TargetSpec("direction", direction, places) if len(places) == 2 and named else None
    if kind == "class" and rest:
        return TargetSpec("class", rest)
    return TargetSpec("probe", rest) if kind == "probe" and rest else None


def _numbers(text: str, between: str) -> tuple[int, ...]:
    parts = text.split(between)
    good = all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts)
    return tuple(int(part) for part in parts) if good else ()


def needed_task(source: ModelSource, name: str | None, has_pair: bool) -> str | None:
    """Return the task of the head that a target needs; without a name, that of the head's own answer."""
    if not name and not has_pair:
        try:
            own = next((task for task in stored_tasks(source) if task in ANSWERING), None)
        except UnsupportedModelError:
            own = None
        if own is not None:
            return own
    return parse_target(name, has_pair).task


def own_answer(head: HeadModel, tokenizer: TextTokenizer, tokens: Tokens) -> str:
    """Return the name of the target that is the head's own answer to a text.

    It is the likeliest class, the most confident tag of all tokens, or the likeliest word at the first mask. In a text
    without a tag other than O, or without a mask, it is the likeliest tag of the longest token, or the word at its
    place.
    """
    if head.task == "token-classification":
        prediction = tag_predictions(head, [tokens])[0]
        place = longest_piece(tokens)
        own = prediction.labels[int(prediction.logits[place].argmax())]
        label, place = surest_tag(prediction) or (own, place)
        return f"tag:{label}@{place}"
    if head.task == "masked-lm":
        place, masked = predicted_position(tokenizer, tokens)
        if not masked:
            return f"word:{tokens.tokens[place]}@{place}"
        best = int(predicted_words(head, tokenizer, tokens, (), 1).top_ids[place, 0])
        return f"word:{tokenizer.spelled([best])[0]}@{place}"
    answer = class_predictions(head, [tokens])[0]
    return f"class:{answer.labels[answer.best]}"


def predicted_position(tokenizer: TextTokenizer, tokens: Tokens) -> tuple[int, bool]:
    """Return the default position of a predicted word, and whether it has a mask."""
    ids, mask = [int(each) for each in tokens.input_ids], tokenizer.tokenizer.mask_token_id
    return (ids.index(mask), True) if mask in ids else (longest_piece(tokens), False)


def open_target(
    source: ModelSource,
    settings: Settings,
    text: str,
    pair: str | None,
    name: str | None = None,
    measure: str = "logit",
    base: LoadedModel | None = None,
    head: HeadModel | None = None,
    probe_of: Callable[[str], tuple[Probe, str]] | None = None,
) -> Target:
    """Load the model of a target name and build the target.

    Args:
        pair: second text of the cosine or the head, or the context of an answer.
        name: one of FORMS; None for the cosine with a second text, and own_answer without.
        head: the task head model if it is already in memory; None to load it.
        probe_of: returns the probe and class that a target names; named_probe by default.
    """
    task, known = needed_task(source, name, pair is not None), _measure(measure)
    tokenizer = load_tokenizer(source, settings)
    loaded = load_model(source, settings) if base is None else base
    if task is None:
        head = None
    elif head is None:
        head = load_head(source, settings, task, loaded)
    if not name and pair is None and head is not None:
        name = own_answer(head, tokenizer, tokenize(tokenizer, text))
    request = parse_target(name, pair is not None)
    if head is not None:
        return _of_head(request, head, tokenizer, (text, pair), known)
    if request.kind == "probe":
        argument = request.argument
        probe, label = named_probe(argument, settings) if probe_of is None else probe_of(argument)
        return _of_probe(probe, label, loaded, tokenizer, text, known)
    if request.kind == "cosine":
        plan = with_word_head(recommended(source, settings), lambda: load_head(source, settings, "masked-lm", loaded))
        return cosine_target(loaded, tokenizer, text, pair or "", plan)
    if request.kind == "late-interaction":
        encoder = InteractionEncoder(loaded, tokenizer, interaction_plan(source, settings))
        return interaction_target(encoder, text, pair or "")
    if request.kind == "state":
        layer, position, dimension = request.places
        return state_target(loaded, tokenizer, text, pair, layer, position, dimension)
    return _of_direction(request, loaded, tokenizer, text, pair, settings)


def _of_head(
    request: TargetSpec, head: HeadModel, tokenizer: TextTokenizer, texts: tuple[str, str | None], measure: Measure
) -> Target:
    text, pair = texts
    if request.kind == "answer":
        span = (request.places[0], request.places[1]) if request.places else None
        return answer_target(head, tokenizer, text, pair or "", span)
    tokens = tokenize(tokenizer, text, pair)
    if request.kind == "word":
        return word_target(head, tokenizer, tokens, request.argument, request.places[0])
    if request.kind == "tag":
        return tag_target(head, tokens, request.argument, request.places[0], measure)
    return class_target(head, tokens, request.argument, measure)


def _measure(name: str) -> Measure:
    known = next((each for each in MEASURES if each == name), None)
    if known is None:
        raise TextError(
            f"{quoted(escape_controls(name), 40)} is no measure of a class or a tag; choose {', '.join(MEASURES)}."
        )
    return known


def _of_probe(
    probe: Probe, label: str, loaded: LoadedModel, tokenizer: TextTokenizer, text: str, measure: Measure
) -> Target:
    """Build the target of a probe's class, by default the predicted one."""
    if not label:
        prediction = probe_predictions(probe, loaded, tokenizer, [text])[0]
        label = prediction.labels[int(prediction.logits.argmax())]
    return probe_target(probe, loaded, tokenizer, text, label, measure)


def _of_direction(
    request: TargetSpec, loaded: LoadedModel, tokenizer: TextTokenizer, text: str, pair: str | None, settings: Settings
) -> Target:
    """Build the projection on the difference of two texts, or on the vector of a file."""
    (layer, position), (first, arrow, second) = request.places, request.argument.partition(BETWEEN)
    if arrow:
        name = f"{first.strip()}{BETWEEN}{second.strip()}"
        direction = text_direction(loaded, tokenizer, first.strip(), second.strip(), layer)
    else:
        name, direction = request.argument, file_direction(str(readable_path(Path(request.argument), settings)))
    return direction_target(loaded, tokenizer, text, pair, layer, position, direction, name)


def named_probe(argument: str, settings: Settings) -> tuple[Probe, str]:
    """The probe of FILE or FILE@CLASS, a file saved from the probing page, and the class; "" if none is named."""
    path, label = argument, ""
    if not readable_path(Path(path), settings).is_file():
        path, _, label = argument.rpartition("@")
    path = path or argument
    try:
        with open_regular(readable_path(Path(path), settings)) as file:
            data = file.read(2 * MAX_FILE_NBYTES + 1)
    except (OSError, ValueError) as error:
        raise TextError(
            f"The probe {quoted(escape_controls(path), 60)} cannot be read; give the file that Save the probe wrote."
        ) from error
    return read_probe(Path(path).name, data), label
