"""A target as it is chosen, and what is opened by it: the number itself, the classes of its head or probe."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import NamedTuple

from bertviz_core.causes.requests import TargetKind, open_target, target_request
from bertviz_core.causes.states import BETWEEN
from bertviz_core.causes.targets import Measure, Target, probe_target
from bertviz_core.causes.words.classes import ClassOutputs, head_classes, probe_classes, tag_classes
from bertviz_core.errors import TextError
from bertviz_core.hidden_states.results import state_name
from bertviz_core.predictions.classes import class_predictions, output_scoring
from bertviz_core.predictions.labelled.probe import probe_predictions
from bertviz_core.predictions.labelled.results import Probe
from bertviz_core.predictions.labels import output_names
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.predictions.tags import tag_predictions, token_classes
from bertviz_core.text import escape_controls, quoted
from ui.cache import models
from ui.cache.sources import source, source_key
from ui.session import TRAINED_PROBE, settings, stored

MOST_SAID = 60
"""Characters of a text or a name that the line above a picture repeats."""


class ChosenTarget(NamedTuple):
    """A target as it is chosen: plain values by which results can be kept."""

    name: str
    """As bertviz_core.causes.requests has it: "cosine", "class:NAME", "tag:LABEL@POSITION", "word:WORD@POSITION",
    "answer"; of a probe "probe:CLASS"."""
    measure: Measure
    """Of a class, a tag or a probe."""
    text: str
    """The text."""
    pair: str | None
    """The second text: the cosine's other one, the pair that a head reads, or an answer's context."""
    probe: str = ""
    """Digest of the probe; "" for any other target."""

    @property
    def kind(self) -> TargetKind:
        """Which kind it is."""
        return target_request(self.name, has_pair=True).kind


def target_words(chosen: ChosenTarget) -> str:
    """What a target is, in a few words, known before any run."""
    request = target_request(chosen.name, has_pair=True)
    name = quoted(escape_controls(request.argument), MOST_SAID)
    if chosen.kind == "cosine":
        return f"cosine to {quoted(escape_controls(chosen.pair or ''), MOST_SAID)}"
    if chosen.kind == "answer":
        return "start + end logit of the best answer"
    if chosen.kind == "word":
        return f"log-probability of {name} at token {request.places[0]}"
    if chosen.kind == "state":
        entry, place, dimension = request.places
        return f"value of dimension {dimension} of token {place}, {state_name(entry)}"
    if chosen.kind == "direction":
        (entry, place), (first, _, second) = request.places, request.argument.partition(BETWEEN)
        ends = [quoted(escape_controls(each), MOST_SAID) for each in (first, second)]
        return f"projection of token {place}, {state_name(entry)}, on the way from {ends[0]} to {ends[1]}"
    where = {"tag": f" at token {request.places[0]}" if request.places else "", "probe": " by the probe"}
    return f"{chosen.measure} of {name}{where.get(chosen.kind, '')}"


def opened_classes(name: str, chosen: ChosenTarget, probe: Probe | None = None) -> ClassOutputs:
    """All classes of the head or the probe of a target; a job, which knows no session, gives the session's probe.

    Raises:
        BertvizError: as head_classes and probe_classes.
    """
    if chosen.kind == "probe":
        same = _same_probe(chosen, probe or session_probe(name))
        return probe_classes(same, models.loaded(name), models.tokenizer(name), chosen.text)
    request = target_request(chosen.name, chosen.pair is not None)
    head, tokens = models.with_head(name, request.task or ""), models.tokens(name, chosen.text, chosen.pair)
    return tag_classes(head, tokens, request.places[0]) if chosen.kind == "tag" else head_classes(head, tokens)


def opened_target(name: str, chosen: ChosenTarget, probe: Probe | None = None) -> Target:
    """The target, on the model that sessions share; a job, which knows no session, gives the session's probe.

    Raises:
        BertvizError: as bertviz_core.causes.requests.open_target.
    """
    base, tokenizer = models.loaded(name), models.tokenizer(name)
    if chosen.kind == "probe":
        same = _same_probe(chosen, probe or session_probe(name))
        label = chosen.name.partition(":")[2]
        return probe_target(same, base, tokenizer, chosen.text, label, chosen.measure)
    task = target_request(chosen.name, chosen.pair is not None).task
    head = None if task is None else models.with_head(name, task)
    return open_target(
        source(name), settings(), chosen.text, chosen.pair, chosen.name, chosen.measure, base=base, head=head
    )


def class_answers(name: str, chosen: ChosenTarget) -> Callable[[], ClassPrediction]:
    """Asks the head or the probe of a target for all its classes; each call is a run of the model as it is then."""
    probe = session_probe(name)
    if probe is not None and chosen.kind == "probe":
        return lambda: probe_predictions(probe, models.loaded(name), models.tokenizer(name), (chosen.text,))[0]
    request = target_request(chosen.name, chosen.pair is not None)
    head, tokens = models.with_head(name, request.task or ""), models.tokens(name, chosen.text, chosen.pair)
    if chosen.kind == "tag":
        return lambda: token_classes(tag_predictions(head, [tokens])[0], request.places[0])
    return lambda: class_predictions(head, [tokens])[0]


def list_classes(name: str, chosen: ChosenTarget) -> tuple[str, ...]:
    """The classes of which a head or a probe names one for each text; () for any other target."""
    probe = session_probe(name)
    if chosen.kind == "probe":
        return () if probe is None else probe.classes
    if chosen.kind != "class":
        return ()
    head = models.with_head(name, "sequence-classification")
    return output_names(head, int(head.model.config.num_labels))[0] if output_scoring(head) == "softmax" else ()


def list_answers(name: str, chosen: ChosenTarget, texts: Sequence[str]) -> Callable[[], list[str]]:
    """Asks the head or the probe of a target for the class of each text; each call runs the model as it is then."""
    probe, base, tokenizer = session_probe(name), models.loaded(name), models.tokenizer(name)
    if probe is not None and chosen.kind == "probe":
        return lambda: [_best(each) for each in probe_predictions(probe, base, tokenizer, texts)]
    head, tokens = (
        models.with_head(name, "sequence-classification"),
        [models.tokens(name, each, None) for each in texts],
    )
    return lambda: [_best(each) for each in class_predictions(head, tokens)]


def _best(prediction: ClassPrediction) -> str:
    return prediction.labels[prediction.best]


def session_probe(name: str) -> Probe | None:
    """The probe of this session, where it was fitted on this model as it is now."""
    probe = stored(TRAINED_PROBE)
    if not isinstance(probe, Probe):
        return None
    return probe if (probe.model, probe.revision) == (name, source_key(name).revision) else None


def _same_probe(chosen: ChosenTarget, probe: Probe | None) -> Probe:
    """The probe that was chosen, where the session still has it."""
    if probe is None or probe_digest(probe) != chosen.probe:
        raise TextError("The probe has changed; open the page Predictions, Train a head, and come back.")
    return probe


def probe_digest(probe: Probe) -> str:
    """What tells one probe from another, as hexadecimal digits."""
    facts = (probe.classes, probe.pooling, probe.layer, probe.texts)
    return sha256(probe.weight.tobytes() + probe.bias.tobytes() + repr(facts).encode()).hexdigest()
