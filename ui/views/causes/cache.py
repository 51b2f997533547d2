"""Interventions for whoever asks: each kept by what it is made from, from a board of jobs with progress and an end.

A target holds a model, so it is opened for the work and let go with it; what is kept are results of plain numbers.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import Any, TypeVar

import streamlit as st

from bertviz_core.causes.effects import compared, gradient_nbytes, part_effects
from bertviz_core.causes.gates import head_gates
from bertviz_core.causes.means import part_means
from bertviz_core.causes.patches import patches
from bertviz_core.causes.removal import RANDOM_ORDERS, joint_removal, removal_curves
from bertviz_core.causes.results import (
    EffectComparison,
    EffectKind,
    JointRemoval,
    PartMeans,
    Patches,
    RemovalCurve,
)
from bertviz_core.causes.runs import InterventionRuns
from bertviz_core.causes.targets import Target
from bertviz_core.errors import Progress
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.trace.results import Tokens
from ui.cache import ledgers, models
from ui.cache.byte_cache import held_nbytes
from ui.cache.decorator import cached_by_bytes, results
from ui.cache.jobs import JobBoard
from ui.cache.ledgers import SourceKey, source_key
from ui.session import settings
from ui.widgets.lists.progress import awaited
from ui.widgets.run_model import agreed_cost
from ui.widgets.target import ChosenTarget, class_answers, opened_target

SHORT = 512
"""Work of more steps waits for its turn."""
PATIENCE_S = 2.0
"""Seconds for which the page waits without a way to end the work."""
T = TypeVar("T")
Place = tuple[int, int]
"""Layer and head."""


@st.cache_resource(max_entries=1, show_spinner=False)
def jobs() -> JobBoard[Any]:
    """The interventions that this server works on."""
    return JobBoard(SHORT, held_nbytes, results())


def effects(name: str, chosen: ChosenTarget, kinds: tuple[EffectKind, ...]) -> EffectComparison:
    """The effects of every part, of each kind; the page ends here until they are there.

    Raises:
        BertvizError: as part_effects and open_target.
    """
    layers = model_layers(name)

    def work(tell: Progress) -> EffectComparison:
        target, found = opened_target(name, chosen), []
        means = part_means_of(name) if "mean" in kinds else None
        for place, kind in enumerate(kinds):
            found.append(_effects(target, kind, means, _after(tell, place * layers, layers * len(kinds))))
        return compared(found)

    return _awaited("effects", name, chosen, kinds, work, layers * len(kinds), _rows(name, len(kinds)))


def joint(name: str, chosen: ChosenTarget, places: tuple[Place, ...], kind: EffectKind) -> JointRemoval:
    """Some heads removed together, and each alone.

    Raises:
        BertvizError: as joint_removal and open_target.
    """

    def work(tell: Progress) -> JointRemoval:
        return joint_removal(InterventionRuns(opened_target(name, chosen)), places, _means(name, kind))

    return _awaited("joint", name, chosen, (places, kind), work, len(places), len(places) + 1)


def curves(name: str, chosen: ChosenTarget, count: int, kind: EffectKind) -> tuple[RemovalCurve, ...]:
    """The target as heads are removed: greedy, by the gradient estimate where it has room, and in random orders.

    Raises:
        BertvizError: as removal_curve and open_target.
    """

    def work(tell: Progress) -> tuple[RemovalCurve, ...]:
        runs, means = InterventionRuns(opened_target(name, chosen)), _means(name, kind)
        return removal_curves(runs, count, means, tell, settings().max_gradient_bytes)

    rows = count * head_count(name) * model_layers(name) + RANDOM_ORDERS * (count + 1)
    return _awaited("curves", name, chosen, (count, kind), work, count + RANDOM_ORDERS, rows)


def patched(name: str, chosen: ChosenTarget, other: str) -> Patches:
    """Every state and head of the text, copied into the run of another.

    Raises:
        BertvizError: as patches and open_target.
    """
    tokens = models.tokens(name, other, None)

    def work(tell: Progress) -> Patches:
        return patches(InterventionRuns(opened_target(name, chosen)), tokens, tell)

    layers = model_layers(name)
    return _awaited("patches", name, chosen, other, work, layers, layers * (len(tokens) + head_count(name)))


def part_means_of(name: str) -> PartMeans:
    """The means of a model's parts over the default reference set."""
    return _part_means(source_key(name))


@cached_by_bytes()
def _part_means(key: SourceKey) -> PartMeans:
    return part_means(models.loaded(key.name), models.tokenizer(key.name))


def gradient_need(name: str, chosen: ChosenTarget) -> tuple[int, int]:
    """About how many bytes a run with gradients keeps, and how many are allowed; known before any run."""
    return gradient_nbytes(
        models.loaded(name), len(read(name, chosen)), head_count(name)
    ), settings().max_gradient_bytes


def classes_without(name: str, chosen: ChosenTarget, place: Place, kind: EffectKind) -> tuple[ClassPrediction, ...]:
    """Every class of a head or probe, of the unchanged model and with one head changed; () for any other target."""
    if chosen.kind not in ("class", "probe"):
        return ()
    return _classes_without(source_key(name), chosen, place, kind)


@cached_by_bytes("Asking without the head")
def _classes_without(
    key: SourceKey, chosen: ChosenTarget, place: Place, kind: EffectKind
) -> tuple[ClassPrediction, ...]:
    target = opened_target(key.name, chosen)
    runs = InterventionRuns(target)
    gates = head_gates([[place]], runs.layers, max(runs.head_counts), target.loaded.device)
    ask = class_answers(key.name, chosen)
    with runs.removed(gates, _means(key.name, kind)):
        without = ask()
    return ask(), without


def read(name: str, chosen: ChosenTarget) -> Tokens:
    """The text as the target's model reads it."""
    return models.tokens(name, chosen.text, None if chosen.kind == "cosine" else chosen.pair)


def model_layers(name: str) -> int:
    """Layers of a model."""
    return models.loaded(name).num_hidden_layers


def head_count(name: str) -> int:
    """Heads of a layer; 1 where the config does not say."""
    return ledgers.architecture(name).num_attention_heads or 1


def _effects(target: Target, kind: EffectKind, means: PartMeans | None, tell: Progress) -> Any:
    limits = settings()
    return part_effects(
        target, kind, means if kind == "mean" else None, tell, limits.max_batch_bytes, limits.max_gradient_bytes
    )


def _means(name: str, kind: EffectKind) -> PartMeans | None:
    return part_means_of(name) if kind == "mean" else None


def _rows(name: str, kinds: int) -> int:
    """About how many whole runs of a text the effects of all parts are: rows share the layers below a changed part."""
    return (model_layers(name) * (head_count(name) + 2) // 2 + 1) * kinds


def _after(tell: Progress | None, before: int, total: int) -> Progress:
    """A part of the work tells how far the whole is."""
    return lambda done, _: tell(before + done, total) if tell is not None else None


def _awaited(
    what: str, name: str, chosen: ChosenTarget, more: object, work: Callable[[Progress], T], steps: int, rows: int
) -> T:
    """The result of a job; a long one begins when the reader agrees."""
    facts = (what, source_key(name), chosen, more)
    key = sha256(repr(facts).encode("utf-8", "backslashreplace")).hexdigest()
    job = jobs().find(key)
    if job is None:
        agreed_cost(models.loaded(name), read(name, chosen), rows)
        job = jobs().start(key, steps, work)
    result: T = awaited(jobs, key, job, "steps", PATIENCE_S)
    return result
