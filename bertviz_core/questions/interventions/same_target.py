"""The target of one model in another: positions are moved by characters, names of classes matched by spelling."""

from collections.abc import Mapping
from dataclasses import replace

from bertviz_core.errors import BertvizError, CheckpointError, MissingFilesError, UnsupportedModelError
from bertviz_core.interventions.target_parsing import OF_TWO_TEXTS, TargetSpec, needed_task, parse_target
from bertviz_core.interventions.targets import Target
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.classes import output_names
from bertviz_core.predictions.probing.comparison import label_spelling
from bertviz_core.predictions.run import stored_tasks
from bertviz_core.questions.interventions.targets import TARGET, target
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.text import escape_controls, quoted
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.two_tokenizers import covered, shared_spans

SHOWN = 30
"""Most characters of a token in a message."""


def first_options(options: Options) -> Options:
    """The options without the second model, as the question about one model has them."""
    return replace(options, values={key: value for key, value in options.values.items() if key != OTHER.key})


def second_options(opened: Opened, second: Opened, options: Options) -> Options:
    """Options for the target of the first model in the second, without the name of the second.

    Without a named target it is the answer of the first model, in both.

    Args:
        opened: the first model.
        second: the second model.
        options: options of the comparison.

    Raises:
        UnsupportedModelError: the second model has no such target; the message says why.
        BertvizError: the first model has no such target.
    """
    single = first_options(options)
    number = target(opened, single).result
    _require_head(second, needed_task(opened.source, single.values.get(TARGET.key), single.pair is not None), number)
    try:
        name = _named(number, second, single)
        moved = replace(single, values={**single.values, TARGET.key: name})
        _ = target(second, moved)
    except BertvizError as error:
        reason = error.args or ("it has no such target.",)
        raise UnsupportedModelError(f"{second.name!r} is not compared: ", *reason) from error
    return moved


def _require_head(second: Opened, task: str | None, number: Target) -> None:
    """Refuse a model whose file has no head for the target."""
    try:
        known = stored_tasks(second.source)
    except UnsupportedModelError:
        known = ()
    if task is None or task in known:
        return
    try:
        _ = second.head(task)
    except MissingFilesError:
        raise
    except (CheckpointError, UnsupportedModelError) as error:
        raise UnsupportedModelError(
            f"{second.name!r} has no head for {task}, so the {number.title} is not compared."
        ) from error


def _named(number: Target, second: Opened, single: Options) -> str:
    """Name of a target of the first model in the second."""
    named = single.get(TARGET.key)
    spec = parse_target(named or number.name, has_pair=True)
    if spec.kind == "answer":  # without tokens it is the best answer of the first model
        spec = parse_target(number.name, has_pair=True)
    if spec.kind == "class":
        return f"class:{_spelled(spec.argument, second, spec.task)}"
    if spec.kind in (*OF_TWO_TEXTS, "probe"):
        return named or number.name
    return _placed(spec, number, second)


def _placed(spec: TargetSpec, number: Target, second: Opened) -> str:
    """Name of a target at tokens of the first model."""
    read = number.tokens
    there = second.tokens(read.text, read.pair)
    if spec.kind == "answer":
        first, last = (_partners(read, there, place, second.name) for place in spec.places)
        return f"answer:{first[0]}-{last[-1]}"
    if spec.kind == "tag":
        place = _partners(read, there, spec.places[0], second.name)[0]
        return f"tag:{_spelled(spec.argument, second, spec.task)}@{place}"
    if spec.kind == "word":
        return f"word:{spec.argument}@{_partners(read, there, spec.places[0], second.name, alone=True)[0]}"
    entry, place = spec.places[0], _partners(read, there, spec.places[1], second.name, alone=True)[0]
    if spec.kind == "state" and _width(number.loaded) != _width(second.loaded):
        raise UnsupportedModelError("its states have another size, so its dimensions are others.")
    rest = str(spec.places[2]) if spec.kind == "state" else spec.argument
    return f"{spec.kind}:{entry},{place},{rest}"


def _width(loaded: LoadedModel) -> int | None:
    """Dimensions of the hidden states; None if the config does not state them."""
    return getattr(loaded.model.config, "hidden_size", None)


def _spelled(label: str, second: Opened, task: str | None) -> str:
    """A label as the second model spells it; the label itself where it has none."""
    head = second.head(task)
    if head.task == "next-sentence":
        return label
    labels = output_names(head, int(head.model.config.num_labels))[0]
    spelling: Mapping[str, str] = {known: own for own, known in label_spelling((label,), labels).items()}
    return spelling.get(label, label)


def _partners(read: Tokens, there: Tokens, place: int, name: str, alone: bool = False) -> tuple[int, ...]:
    """Positions in the second model of the characters of a token; `alone` requires one token in both models."""
    if read.tokens == there.tokens or (place == 0 and bool(read.special[0]) and bool(there.special[0])):
        return (place,)
    part = next((part for part in shared_spans(read, there) if place in part.first), None)
    token = f"token {place} ({quoted(escape_controls(read.tokens[place]), SHOWN)})"
    if part is None or not part.second:
        raise UnsupportedModelError(f"{token} has no partner among the tokens of {name!r}.")
    wide = [_wide(each, positions) for each, positions in ((read, part.first), (there, part.second))]
    if alone and max(map(len, wide)) > 1:
        raise UnsupportedModelError(f"{token} is no single token of {name!r}.")
    return wide[1]


def _wide(tokens: Tokens, positions: tuple[int, ...]) -> tuple[int, ...]:
    """The tokens that cover more than white space; all of them where none does."""
    spans = [(place, covered(tokens, place)) for place in positions]
    return tuple(place for place, span in spans if span is not None and span[0] < span[1]) or positions
