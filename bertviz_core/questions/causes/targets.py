"""The number that is looked at: a class, a word, an answer, a cosine, opened by its name."""

from bertviz_core.causes.requests import named_probe, needed_task, open_target
from bertviz_core.causes.targets import MEASURES, Target
from bertviz_core.errors import Named, TextError
from bertviz_core.predictions.labelled.results import Probe
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.question import Answer

TARGET = Param("target", "target", "the number that is looked at, by default the cosine or what the model answers")
MEASURE = choice("measure", MEASURES, "what of a class is looked at")


def target(opened: Opened, options: Options) -> Answer[Target]:
    """The target of a text, or of a pair; not kept, since it holds the model.

    Raises:
        BertvizError: as open_target.
    """
    return target_of(opened, options, options.text(), options.pair)


def target_of(opened: Opened, options: Options, text: str, pair: str | None) -> Answer[Target]:
    """The target of a text that is not the one of the options."""
    name, measure = options.values.get(TARGET.key), options.choice(MEASURE, MEASURES)
    task = needed_task(opened.source, name, pair is not None)
    head = None if task is None else opened.head(task)
    number = open_target(opened.source, opened.settings, text, pair, name, measure, opened.loaded, head)
    return Answer(number, ((opened.source.name, opened.source.revision),), (text, pair), number.notices)


def chosen_probe(options: Options) -> Probe | None:
    """The probe whose classes are meant (target=probe:FILE); None for the model's own head.

    Raises:
        TextError: the target is no probe.
    """
    kind, _, argument = options.get(TARGET.key).partition(":")
    if kind not in ("", "probe"):
        name = Named(TARGET.key)
        raise TextError("This figure is of all classes; leave ", name, " out, or give ", name, "=probe:FILE.")
    return named_probe(argument)[0] if kind else None
