"""Open the target of an intervention by name: a class, tag, word, answer, cosine, score or probe."""

from collections.abc import Callable

from bertviz_core.errors import Named, TextError
from bertviz_core.interventions.target_parsing import OF_TWO_TEXTS, needed_task, open_target, parse_target
from bertviz_core.interventions.targets import MEASURES, Target
from bertviz_core.predictions.classes import class_predictions, tag_predictions, token_classes
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.probing.scores import probe_predictions
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.questions.models.architecture import architecture
from bertviz_core.questions.opened import Opened, names_of
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.question import Answer
from bertviz_core.trace.results import Tokens

TARGET = Param("target", "target", "the number that is looked at, by default the cosine or what the model answers")
MEASURE = choice("measure", MEASURES, "what of a class is looked at")


def target(opened: Opened, options: Options) -> Answer[Target]:
    """The target of the text or pair; not cached, since it references the model."""
    return target_of(opened, options, options.text(), options.pair)


def target_of(opened: Opened, options: Options, text: str, pair: str | None) -> Answer[Target]:
    """The target of another text than that of the options."""
    name, measure = options.values.get(TARGET.key), options.choice(MEASURE, MEASURES)
    task = needed_task(opened.source, name, pair is not None)
    head = None if task is None else opened.head(task)
    number = open_target(
        opened.source, opened.settings, text, pair, name, measure, opened.loaded, head, probe_of=opened.probe
    )
    return Answer(number, names_of(opened), (text, pair), number.notices)


def read_tokens(opened: Opened, options: Options, text: str | None = None) -> Tokens:
    """Tokens of a text (by default that of the options), without the second text if that is run by itself."""
    name = options.values.get(TARGET.key)
    apart = (name or "cosine") in OF_TWO_TEXTS
    return opened.tokens(options.text() if text is None else text, None if apart else options.pair)


def chosen_probe(opened: Opened, options: Options) -> Probe | None:
    """The probe of the target (probe:FILE); None for the head of the model."""
    kind, _, argument = options.get(TARGET.key).partition(":")
    if kind not in ("", "probe"):
        name = Named(TARGET.key)
        raise TextError("This figure is of all classes; leave ", name, " out, or give ", name, "=probe:FILE.")
    return opened.probe(argument)[0] if kind else None


def all_classes(opened: Opened, options: Options) -> Callable[[], ClassPrediction]:
    """A function that predicts all classes of a head or probe; each call runs the model in its current state."""
    request = parse_target(options.values.get(TARGET.key), options.pair is not None)
    if request.kind == "probe":
        (probe, _), text = opened.probe(request.argument), options.text()
        return lambda: probe_predictions(probe, opened.loaded, opened.tokenizer, (text,))[0]
    head, tokens = opened.head(request.task), opened.tokens(options.text(), options.pair)
    if request.kind == "tag":
        return lambda: token_classes(tag_predictions(head, [tokens])[0], request.places[0])
    return lambda: class_predictions(head, [tokens])[0]


def layers_and_heads(opened: Opened) -> tuple[int, int]:
    """Number of layers, and of heads per layer; 1 head if the config does not state it."""
    heads = architecture(opened, Options()).result.num_attention_heads
    return opened.loaded.num_hidden_layers, heads or 1
