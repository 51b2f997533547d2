"""A chosen target, and the options of questions about it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from bertviz_core.hidden_states.results import state_name
from bertviz_core.interventions.target_parsing import TargetKind, parse_target
from bertviz_core.interventions.targets import BETWEEN, Measure
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.questions.interventions.targets import MEASURE, TARGET
from bertviz_core.questions.parameters import Options
from bertviz_core.text import escape_controls, quoted
from ui.cache.shared_model import SharedModel
from ui.cache.sources import source_key
from ui.session import TRAINED_PROBE, stored

NO_VALUES: Mapping[str, str] = MappingProxyType({})
LONGEST_SHOWN = 60
"""Most characters of a text or name in the line above a figure."""


class ChosenTarget(NamedTuple):
    """A chosen target as plain values, which can be part of a cache key."""

    name: str
    """See bertviz_core.interventions.target_parsing: "cosine", "late-interaction", "class:NAME", "tag:LABEL@POSITION",
    "word:WORD@POSITION", "answer"; for a probe "probe:CLASS"."""
    measure: Measure
    """Measure of a class, a tag or a probe."""
    text: str
    """The text."""
    pair: str | None
    """The second text: the other text of a cosine, the query of a late interaction, the pair that a head reads, or the
    context of an answer."""
    probe: str = ""
    """Digest of the probe; "" for any other target."""

    @property
    def kind(self) -> TargetKind:
        """Kind of the target."""
        return parse_target(self.name, has_pair=True).kind


def target_words(chosen: ChosenTarget) -> str:
    """A short description of a target."""
    request = parse_target(chosen.name, has_pair=True)
    name = quoted(escape_controls(request.argument), LONGEST_SHOWN)
    if chosen.kind == "cosine":
        return f"cosine to {quoted(escape_controls(chosen.pair or ''), LONGEST_SHOWN)}"
    if chosen.kind == "late-interaction":
        return f"late-interaction score for {quoted(escape_controls(chosen.pair or ''), LONGEST_SHOWN)}"
    if chosen.kind == "answer":
        return "start + end logit of the best answer"
    if chosen.kind == "word":
        return f"log-probability of {name} at token {request.places[0]}"
    if chosen.kind == "state":
        entry, place, dimension = request.places
        return f"value of dimension {dimension} of token {place}, {state_name(entry)}"
    if chosen.kind == "direction":
        (entry, place), (first, _, second) = request.places, request.argument.partition(BETWEEN)
        ends = [quoted(escape_controls(each), LONGEST_SHOWN) for each in (first, second)]
        return f"projection of token {place}, {state_name(entry)}, on the way from {ends[0]} to {ends[1]}"
    where = {"tag": f" at token {request.places[0]}" if request.places else "", "probe": " by the probe"}
    return f"{chosen.measure} of {name}{where.get(chosen.kind, '')}"


def shared_model_of(name: str) -> SharedModel:
    """A model for questions about a target, with the session's probe where it belongs to this model."""
    return SharedModel(name).with_probe(session_probe(name))


def target_options(chosen: ChosenTarget, values: Mapping[str, str] = NO_VALUES, pair: str | None = None) -> Options:
    """Options of questions about a target.

    Args:
        chosen: the target.
        values: values of further parameters.
        pair: a second text that is not part of the target; None for its own.
    """
    label = chosen.name.partition(":")[2]
    name = f"probe:{chosen.probe}@{label}" if chosen.kind == "probe" else chosen.name
    target = {TARGET.key: name, MEASURE.key: chosen.measure}
    return Options((chosen.text,), pair or chosen.pair, values={**target, **values})


def session_probe(name: str) -> Probe | None:
    """The session's probe; None if it was not fitted to this model and its current files."""
    probe = stored(TRAINED_PROBE)
    if not isinstance(probe, Probe):
        return None
    return probe if (probe.model, probe.revision) == (name, source_key(name).revision) else None
