"""Questions about shares of words, also of two models."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from bertviz_core.attribution.gradients import GRADIENT_METHODS, LEAST_NODES
from bertviz_core.attribution.pair_attributions import LEAST_NODES as PAIR_NODES
from bertviz_core.attribution.pair_attributions import pair_attributions as ledger_of
from bertviz_core.attribution.results import (
    METHODS,
    REPLACEMENTS,
    AttributionComparison,
    ClassAttributions,
    PairAttributions,
    Replacement,
    ShareMethod,
    WordAttributions,
    WordCurves,
)
from bertviz_core.attribution.words import (
    MOST_CLASSES,
    MOST_STEPS,
    RANDOM_ORDERS,
    ClassOutputs,
    compared_attributions,
    has_mask,
    head_classes,
    leave_one_out,
    probe_classes,
    tag_classes,
)
from bertviz_core.attribution.words import class_attributions as shares_of_classes
from bertviz_core.attribution.words import word_curves as curves_of
from bertviz_core.errors import (
    BertvizError,
    CheckpointError,
    MissingFilesError,
    Named,
    Progress,
    TextError,
    UnsupportedModelError,
)
from bertviz_core.figures.interventions.words import METHOD_NAMES
from bertviz_core.interventions.results import TwoModelEffects
from bertviz_core.interventions.target_parsing import OF_PLACES, OF_TWO_TEXTS, TargetSpec, needed_task, parse_target
from bertviz_core.interventions.targets import MEASURES, Target
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.classes import output_names, surest_tag, tag_predictions
from bertviz_core.predictions.probing.comparison import label_spelling
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.predictions.run import stored_tasks
from bertviz_core.predictions.two_models import comparison_notices
from bertviz_core.questions.interventions.effects import zero_effects
from bertviz_core.questions.interventions.targets import MEASURE, TARGET, all_classes, chosen_probe, read_tokens, target
from bertviz_core.questions.models.checkpoints import OTHER, second_model
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import EMBEDDING_OUTPUT, Options, Param, choice
from bertviz_core.questions.question import Answer, AnswerCost, AnswerJob, Job, Question, after, long_question
from bertviz_core.sentences.plan import recommended
from bertviz_core.text import escape_controls, quoted
from bertviz_core.trace.pieces import text_pieces
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import longest_piece
from bertviz_core.trace.two_tokenizers import covered, shared_spans

BY_NAME: dict[str, ShareMethod] = {METHOD_NAMES[method]: method for method in METHODS}
MASK = "the mask"
REPLACED: dict[str, Replacement] = {MASK: "mask", "nothing": "drop"}
"""Value of IN_PLACE -> replacement in results."""
BACKWARD = 3
"""Duration of a run with gradients, in runs without."""
MEASURED = (
    "how a word's share is measured. Leave-one-out: by a run without each word. Integrated gradients: shares that add "
    "up, by gradients on the way from a text of masks. Gradient x input: one run, the roughest"
)
EACH_ORDER = "methods whose order of the words is tried; each has its own order of the strongest words"
WHOLE = "whether a word of several tokens is left out as a whole, or each token by itself"
SHORTER = "what is in the place of a word left out: the mask keeps all positions; with nothing the text is shorter"


def is_placed(options: Options) -> bool:
    """Whether the target belongs to a position of the text."""
    return parse_target(options.get(TARGET.key), has_pair=True).kind in OF_PLACES


def _is_replaced(opened: Opened, options: Options) -> bool:
    left_out = options.choice(METHOD) == METHOD.options[0]
    return left_out and has_mask(opened.tokenizer) and not is_placed(options)


def target_classes(opened: Opened, options: Options) -> ClassPrediction:
    """All classes of the head or probe of the target."""
    named = replace(options, values={TARGET.key: options.get(TARGET.key)})
    key = (__name__, "target_classes", named.key())
    return opened.get_or_compute(key, lambda: all_classes(opened, named)())


def _likeliest(opened: Opened, options: Options) -> tuple[str, ...]:
    prediction = target_classes(opened, options)
    return tuple(prediction.labels[place] for place in np.argsort(-prediction.logits, kind="stable"))


METHOD = Param(
    "method", "choice", MEASURED, tuple(BY_NAME), "Method", applies=lambda opened, options: has_mask(opened.tokenizer)
)
COMPARED = Param(
    "methods",
    "text",
    EACH_ORDER,
    (),
    "Strongest by",
    lambda opened, options: tuple(BY_NAME),
    first=2,
    control="several",
)
UNITS = choice("units", ("words", "tokens"), WHOLE, "Units")
IN_PLACE = Param("in_place", "choice", SHORTER, tuple(REPLACED), "In its place", applies=_is_replaced)
CLASSES = Param(
    "classes",
    "text",
    f"names of classes, the likeliest to begin with; at most {MOST_CLASSES}",
    (),
    "Classes shown",
    _likeliest,
    shown=escape_controls,
    first=MOST_CLASSES,
    most=MOST_CLASSES,
    control="several",
)
POSITION = Param("position", "position", "the token whose tags are looked at, the surest by default")
LAYER = Param(
    "layer", "layer", "entry of the hidden states at which tokens are distinguished, the last but one by default"
)


def _shares_cost(opened: Opened, options: Options) -> AnswerCost:
    tokens, method = read_tokens(opened, options), BY_NAME[options.choice(METHOD)]
    if method == "leave-one-out":
        return AnswerCost(len(tokens), tokens, len(tokens))
    return AnswerCost(LEAST_NODES, tokens, BACKWARD * (LEAST_NODES if method == "integrated-gradients" else 1))


@long_question(_shares_cost, figures=("word-shares", "word-bars"), params=(TARGET, MEASURE, METHOD, UNITS, IN_PLACE))
def word_attributions(opened: Opened, options: Options, job: Job[WordAttributions]) -> Answer[WordAttributions]:
    """Contribution of each word to the target."""
    number = target(opened, options)
    shares = _shares(opened, options, number.result, BY_NAME[options.choice(METHOD)], _replacement(options), job)
    return number.of(shares, shares.notices, word_attributions=shares, word_pieces=text_pieces(shares.tokens))


def _classes_cost(opened: Opened, options: Options) -> AnswerCost:
    tokens = opened.tokens(options.text(), options.pair)
    return AnswerCost(len(tokens), tokens, len(tokens))


@long_question(_classes_cost, figures=("word-classes",), params=(TARGET, CLASSES, POSITION, MEASURE, UNITS, IN_PLACE))
def class_attributions(opened: Opened, options: Options, job: Job[ClassAttributions]) -> Answer[ClassAttributions]:
    """Contribution of each word to each of several classes of a classifier or probe."""
    text, probe = options.text(), chosen_probe(opened, options)
    if probe is not None:
        classes = probe_classes(probe, opened.loaded, opened.tokenizer, text)
    else:
        classes = _own_classes(opened, options)
    labels, measure = options.names(CLASSES.key), options.choice(MEASURE, MEASURES)
    shares = shares_of_classes(
        classes, opened.tokenizer, labels, measure, _whole_words(options), _replacement(options), job
    )
    return replace(answered(opened, shares, shares.notices, class_attributions=shares), texts=(text, options.pair))


def _curves_cost(opened: Opened, options: Options) -> AnswerCost:
    tokens = read_tokens(opened, options)
    runs = (RANDOM_ORDERS + 2 * len(_compared(options))) * min(MOST_STEPS, len(tokens))
    return AnswerCost(runs, tokens, runs)


@long_question(_curves_cost, figures=("word-curves",), params=(TARGET, MEASURE, COMPARED, UNITS))
def word_curves(opened: Opened, options: Options, job: Job[WordCurves]) -> Answer[WordCurves]:
    """The target without the strongest words, and with only these, for each method."""
    number = target(opened, options)
    shares = [_shares(opened, options, number.result, method, "mask", job) for method in _compared(options)]
    curves = curves_of(number.result, opened.tokenizer, shares, progress=job)
    return number.of(curves, curves.notices, word_curves=curves)


def _compared(options: Options) -> tuple[ShareMethod, ...]:
    names = options.names(COMPARED.key) or list(BY_NAME)[:2]
    for name in names:
        if name not in BY_NAME:
            what = f" {escape_controls(name[:30])!r}; choose {', '.join(BY_NAME)}."
            raise TextError("There is no ", Named(COMPARED.key), what)
    return tuple(method for name, method in BY_NAME.items() if name in names)


def _pairs_cost(opened: Opened, options: Options) -> AnswerCost:
    texts = [opened.tokens(text, None) for text in (options.text(), options.pair or "")]
    layers = opened.loaded.num_hidden_layers
    share = (layers - _state(opened, options)) / layers
    runs = max(1, round(2 * PAIR_NODES * sum(map(len, texts)) * share))
    return AnswerCost(PAIR_NODES * len(texts[0]), max(texts, key=len), runs)


@long_question(_pairs_cost, figures=("word-pairs",), params=(LAYER,))
def pair_attributions(opened: Opened, options: Options, job: Job[PairAttributions]) -> Answer[PairAttributions]:
    """The cosine similarity of two texts as a sum over pairs of tokens."""
    text, pair, layer = options.text(), options.pair, _state(opened, options)
    if pair is None:
        raise TextError("This figure is of two texts, and one came; give the second (", Named("pair"), ").")
    plan, limit = recommended(opened.source, opened.settings), opened.settings.max_batch_bytes
    ledger = ledger_of(opened.loaded, opened.tokenizer, text, pair, plan, layer, job, limit)
    return replace(answered(opened, ledger, ledger.notices, pair_attributions=ledger), texts=(text, pair))


def _state(opened: Opened, options: Options) -> int:
    """Index of the hidden states whose tokens are attributed to."""
    last = max(opened.loaded.num_hidden_layers - 1, 0)  # a model without layers is refused where it is computed
    return options.numbered("layer", last + 1, last, opened.name, EMBEDDING_OUTPUT)


def share_values(method: str, instead: str, single_tokens: bool) -> dict[str, str]:
    """Values of the parameters of word_attributions, from the names used in results.

    Args:
        method: one of METHODS.
        instead: one of REPLACEMENTS, the replacement of a word in leave-one-out.
        single_tokens: whether to attribute to tokens rather than words.
    """
    for key, typed, known in (("method", method, METHODS), ("instead", instead, REPLACEMENTS)):
        if typed not in known:
            what = f" {escape_controls(typed[:30])!r}; choose {', '.join(known)}."
            raise TextError("There is no ", Named(key), what)
    by_method = next(name for name, each in BY_NAME.items() if each == method)
    in_place = MASK if instead == "mask" else "nothing"
    return {METHOD.key: by_method, UNITS.key: units(not single_tokens), IN_PLACE.key: in_place}


def units(whole_words: bool) -> str:
    """The value of UNITS."""
    return UNITS.options[0 if whole_words else 1]


def _own_classes(opened: Opened, options: Options) -> ClassOutputs:
    """The classes of the head of the model; for a tagger the tags of one token."""
    head, tokens = opened.head(options.task), opened.tokens(options.text(), options.pair)
    if head.task != "token-classification":
        return head_classes(head, tokens)
    _, surest = surest_tag(tag_predictions(head, [tokens])[0]) or ("", longest_piece(tokens))
    return tag_classes(head, tokens, options.whole(POSITION.key, len(tokens), surest))


def _shares(
    opened: Opened, options: Options, number: Target, method: ShareMethod, replacement: Replacement, progress: Progress
) -> WordAttributions:
    if method == "leave-one-out":
        return leave_one_out(number, opened.tokenizer, _whole_words(options), replacement, progress)
    limit = opened.settings.max_gradient_bytes
    return GRADIENT_METHODS[method](number, opened.tokenizer, _whole_words(options), progress, limit)


def _whole_words(options: Options) -> bool:
    return options.choice(UNITS) == UNITS.options[0]


def _replacement(options: Options) -> Replacement:
    return REPLACED[options.choice(IN_PLACE)]


SHOWN = 30
"""Most characters of a token in a message."""


def first_options(options: Options) -> Options:
    """The options without the second model, as the question about one model has them."""
    return replace(options, values={key: value for key, value in options.values.items() if key != OTHER.key})


def second_options(opened: Opened, second: Opened, options: Options) -> Options:
    """Options for the target of the first model in the second, without the name of the second.

    Without a named target it is the answer of the first model, in both.
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
    """Refuse a model whose file has no task head for the target."""
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
            f"{second.name!r} has no task head for {task}, so the {number.title} is not compared."
        ) from error


def _named(number: Target, second: Opened, single: Options) -> str:
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


T = TypeVar("T")
U = TypeVar("U")


def _costs(
    question: Question[Opened, T], opened: Opened, options: Options
) -> tuple[tuple[AnswerCost, AnswerCost], Options]:
    """Cost of the answer about each model, whose weights are loaded, and the options of the second."""
    if question.cost is None:
        raise ValueError(f"{question.name} is no long question")
    second = second_model(opened, options)
    there = second_options(opened, second, options)
    return (question.cost(opened, first_options(options)), question.cost(second, there)), there


def _cost(question: Question[Opened, T], opened: Opened, options: Options) -> AnswerCost:
    (first, other), _ = _costs(question, opened, options)
    return AnswerCost(first.steps + other.steps, first.tokens, first.runs + other.runs, short=first.short)


def _both(
    question: Question[Opened, T], opened: Opened, options: Options, job: AnswerJob[Any]
) -> tuple[Answer[T], Answer[T]]:
    """The answer about each model; that about the first is the one that its own view has."""
    costs, there = _costs(question, opened, options)
    before, steps = costs[0].steps, costs[0].steps + costs[1].steps
    first = question(opened, first_options(options), after(job, 0, steps))
    return first, question(second_model(opened, options), there, after(job, before, steps))


def _two_models_compared(
    compared: U, answers: tuple[Answer[T], Answer[T]], notices: tuple[str, ...], **drawn: object
) -> Answer[U]:
    models = tuple(dict.fromkeys((*answers[0].models, *answers[1].models)))
    return Answer(compared, models, answers[0].texts, notices, drawn)


@long_question(
    partial(_cost, word_attributions),
    figures=("words-compared",),
    params=(OTHER, TARGET, MEASURE, METHOD, UNITS, IN_PLACE),
)
def compared_words(opened: Opened, options: Options, job: Job[AttributionComparison]) -> Answer[AttributionComparison]:
    """Contribution of each word to the same target in two models, with the difference."""
    both = _both(word_attributions, opened, options, job)
    whole_words = options.choice(UNITS) == UNITS.options[0]
    compared = compared_attributions(both[0].result, both[1].result, whole_words)
    return _two_models_compared(compared, both, compared.notices, attribution_comparison=compared)


@long_question(partial(_cost, zero_effects), figures=("effects-compared",), params=(OTHER, TARGET, MEASURE))
def compared_effects(opened: Opened, options: Options, job: Job[TwoModelEffects]) -> Answer[TwoModelEffects]:
    """Effect of taking away each head on the same target in two models, with the difference."""
    both = _both(zero_effects, opened, options, job)
    first, other = (each.result for each in both)
    sizes = [f"{each.heads.shape[0]} layers of {each.heads.shape[1]} heads" for each in (first, other)]
    uneven = [f"{first.model} has {sizes[0]} and {other.model} {sizes[1]}, so their heads have no difference."]
    about = [*([] if sizes[0] == sizes[1] else uneven), *first.notices, *other.notices]
    compared = TwoModelEffects(first, other, notices=comparison_notices(first.model, other.model, about))
    return _two_models_compared(compared, both, compared.notices, effects_of_two=compared)
