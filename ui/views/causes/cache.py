"""Interventions for whoever asks: each kept by what it is made from, from a board of jobs with progress and an end.

A target holds a model, so it is opened for the work and let go with it; what is kept are results of plain numbers.
"""

from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar

import streamlit as st

from bertviz_core.causes.effects import all_effects, effect_spread, gradient_nbytes, part_effects
from bertviz_core.causes.gates import head_gates
from bertviz_core.causes.means import part_means, reference_texts
from bertviz_core.causes.patches import patches
from bertviz_core.causes.removal import (
    RANDOM_ORDERS,
    accuracy_curves,
    accuracy_steps,
    joint_removal,
    removal_curves,
)
from bertviz_core.causes.results import (
    EffectComparison,
    EffectKind,
    EffectSpread,
    JointRemoval,
    PartEffects,
    PartMeans,
    Patches,
    RemovalCurve,
)
from bertviz_core.causes.runs import InterventionRuns
from bertviz_core.causes.targets import Target
from bertviz_core.errors import Progress
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.labelled.results import LabelledTexts
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.questions.byte_cache import held_nbytes
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer
from ui.cache import ledgers, models
from ui.cache.decorator import cached_by_bytes, results
from ui.cache.jobs import Job, JobBoard
from ui.cache.sources import SourceKey, source_key
from ui.session import settings
from ui.widgets.lists.progress import awaited
from ui.widgets.run_model import agreed_cost
from ui.widgets.target.opened import ChosenTarget, class_answers, list_answers, opened_target

SHORT = 60
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


def effects(
    name: str, chosen: ChosenTarget, kinds: tuple[EffectKind, ...], draw: Callable[[EffectComparison], None]
) -> EffectComparison:
    """The effects of every part, of each kind; the page ends here until they are there, and draws those that are.

    Raises:
        BertvizError: as part_effects and open_target.
    """
    layers, tokenizer, limits = model_layers(name), models.tokenizer(name), settings()
    before = len(reference_texts())
    total = before + layers * len(kinds)

    def work(target: Target, job: Job[EffectComparison]) -> EffectComparison:
        means, done = _means(name, target, tokenizer, _after(job, 0, total)), _after(job, before, total)
        bounds = limits.max_batch_bytes, limits.max_gradient_bytes
        return all_effects(target, kinds, means, done, *bounds, job.show)

    return _awaited("effects", name, chosen, kinds, work, total, _rows(name, len(kinds)), draw)


def joint(name: str, chosen: ChosenTarget, places: tuple[Place, ...], kind: EffectKind) -> JointRemoval:
    """Some heads removed together, and each alone.

    Raises:
        BertvizError: as joint_removal and open_target.
    """
    tokenizer, limits = models.tokenizer(name), settings()

    def work(target: Target, tell: Progress) -> JointRemoval:
        means = _means(name, target, tokenizer, tell) if kind == "mean" else None
        return joint_removal(InterventionRuns(target, limits.max_batch_bytes), places, means)

    steps = len(reference_texts()) if kind == "mean" else len(places)
    return _awaited("joint", name, chosen, (places, kind), work, steps, len(places) + 1)


def removals(
    name: str, chosen: ChosenTarget, count: int, kind: EffectKind
) -> tuple[tuple[RemovalCurve, ...], JointRemoval]:
    """The target as heads are removed, in all orders, and the heads of the greedy one removed together.

    Raises:
        BertvizError: as removal_curves and open_target.
    """
    tokenizer, limits = models.tokenizer(name), settings()
    before = len(reference_texts()) if kind == "mean" else 0
    steps = before + count + RANDOM_ORDERS

    def work(target: Target, tell: Progress) -> tuple[tuple[RemovalCurve, ...], JointRemoval]:
        means = _means(name, target, tokenizer, _after(tell, 0, steps)) if kind == "mean" else None
        runs = InterventionRuns(target, limits.max_batch_bytes)
        curves = removal_curves(runs, count, means, _after(tell, before, steps), limits.max_gradient_bytes)
        greedy = [(int(layer), int(head)) for layer, head in curves[0].places[0]]
        return curves, joint_removal(runs, greedy, means)

    rows = count * head_count(name) * model_layers(name) + RANDOM_ORDERS * (count + 1)
    return _awaited("removals", name, chosen, (count, kind), work, steps, rows)


def patched(name: str, chosen: ChosenTarget, other: str) -> Patches:
    """Every state and head of the text, copied into the run of another.

    Raises:
        BertvizError: as patches and open_target.
    """
    tokens, limits = models.tokens(name, other, None), settings()

    def work(target: Target, tell: Progress) -> Patches:
        return patches(InterventionRuns(target, limits.max_batch_bytes), tokens, tell)

    layers = model_layers(name)
    return _awaited("patches", name, chosen, other, work, layers, layers * (len(tokens) + head_count(name)))


def spread(
    name: str,
    chosen: ChosenTarget,
    texts: tuple[str, ...],
    kind: EffectKind,
    draw: Callable[[EffectSpread], None],
) -> EffectSpread:
    """Mean and standard deviation of each head's effect over texts; until all are run, over the first of them.

    Raises:
        BertvizError: as part_effects and open_target.
    """
    tokenizer, limits, layers = models.tokenizer(name), settings(), model_layers(name)
    before = len(reference_texts()) if kind == "mean" else 0
    steps = before + layers * len(texts)

    def work(targets: Sequence[Target], job: Job[EffectSpread]) -> EffectSpread:
        means = _means(name, targets[0], tokenizer, _after(job, 0, steps)) if kind == "mean" else None
        found: list[PartEffects] = []
        for target in targets:
            done = _after(job, before + len(found) * layers, steps)
            found.append(part_effects(target, kind, means, done, limits.max_batch_bytes))
            if len(found) > 1:
                job.show(effect_spread(found))
        return effect_spread(found)

    asked = [chosen._replace(text=text) for text in texts]
    return _awaited_list("spread", name, asked, kind, work, steps, _rows(name, len(texts)), draw)


def accuracy(
    name: str, chosen: ChosenTarget, listed: LabelledTexts, count: int, kind: EffectKind
) -> tuple[RemovalCurve, ...]:
    """The share of right answers to labelled texts as heads are removed, in all orders.

    Raises:
        BertvizError: as accuracy_curves and open_target.
    """
    tokenizer, limits, texts = models.tokenizer(name), settings(), len(listed.texts)
    before = len(reference_texts()) if kind == "mean" else 0
    steps = before + accuracy_steps(texts, count)
    ask = list_answers(name, chosen, listed.texts)

    def work(targets: Sequence[Target], tell: Progress) -> tuple[RemovalCurve, ...]:
        means = _means(name, targets[0], tokenizer, _after(tell, 0, steps)) if kind == "mean" else None
        runs = [InterventionRuns(target, limits.max_batch_bytes) for target in targets]
        done = _after(tell, before, steps)
        return accuracy_curves(runs, count, ask, listed.labels, means, done, limits.max_gradient_bytes)

    asked = [
        chosen._replace(name=f"{chosen.kind}:{label}", measure="margin", text=text)
        for text, label in zip(listed.texts, listed.labels, strict=True)
    ]
    rows = texts * (count * head_count(name) * model_layers(name) + (2 + RANDOM_ORDERS) * (count + 1))
    return _awaited_list("accuracy", name, asked, (count, kind), work, steps, rows)


def _means(name: str, target: Target, tokenizer: TextTokenizer, tell: Progress) -> PartMeans:
    """The means of a model's parts over the default reference set."""
    return _part_means(source_key(name), target.loaded, tokenizer, tell)


@cached_by_bytes()
def _part_means(key: SourceKey, _loaded: LoadedModel, _tokenizer: TextTokenizer, _tell: Progress) -> PartMeans:
    return part_means(_loaded, _tokenizer, tell=_tell)


def gradient_need(name: str, chosen: ChosenTarget) -> tuple[int, int]:
    """About how many bytes a run with gradients keeps, and how many are allowed; known before any run."""
    return gradient_nbytes(
        models.loaded(name), len(read(name, chosen)), head_count(name)
    ), settings().max_gradient_bytes


def classes_without(name: str, chosen: ChosenTarget, place: Place) -> tuple[ClassPrediction, ...]:
    """Every class of a head or probe, of the unchanged model and without one head; () for any other target."""
    return _classes_without(source_key(name), chosen, place) if chosen.kind in ("class", "tag", "probe") else ()


@cached_by_bytes("Asking without the head")
def _classes_without(key: SourceKey, chosen: ChosenTarget, place: Place) -> tuple[ClassPrediction, ...]:
    runs, ask = InterventionRuns(opened_target(key.name, chosen)), class_answers(key.name, chosen)
    gates = head_gates([[place]], runs.layers, max(runs.head_counts), runs.target.loaded.device)
    with runs.removed(gates):
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


def _rows(name: str, kinds: int) -> int:
    """About how many whole runs of a text the effects of all parts are: rows share the layers below a changed part."""
    return (model_layers(name) * (head_count(name) + 2) // 2 + 1) * kinds


def _after(tell: Progress, before: int, total: int) -> Progress:
    """A part of the work tells how far the whole is."""
    return lambda done, _: tell(before + done, total)


def _awaited(
    what: str,
    name: str,
    chosen: ChosenTarget,
    more: object,
    work: Callable[[Target, Job[T]], T],
    steps: int,
    rows: int,
    draw: Callable[[T], None] | None = None,
) -> T:
    """The result of a job; a long one begins when the reader agrees. The target is opened here, where the session is.

    Args:
        what: is made.
        name: of the model.
        chosen: the target.
        more: what the result depends on besides.
        work: makes it.
        steps: that the work tells.
        rows: about how many runs of the text it takes.
        draw: shows the result as far as it is known.
    """
    return _awaited_list(what, name, [chosen], more, lambda targets, job: work(targets[0], job), steps, rows, draw)


def _awaited_list(
    what: str,
    name: str,
    chosen: Sequence[ChosenTarget],
    more: object,
    work: Callable[[Sequence[Target], Job[T]], T],
    steps: int,
    rows: int,
    draw: Callable[[T], None] | None = None,
) -> T:
    """As _awaited, of the targets of several texts; what it takes is estimated by the longest of them."""
    facts = (what, source_key(name), *chosen, more)
    key = sha256(repr(facts).encode("utf-8", "backslashreplace")).hexdigest()
    job = jobs().find(key)
    if job is None:
        longest = max((read(name, each) for each in chosen), key=len)
        agreed_cost(models.loaded(name), longest, rows)
        job = jobs().start(key, steps, partial(work, [opened_target(name, each) for each in chosen]))
    result: T = awaited(jobs, key, job, "steps", PATIENCE_S, draw=draw, kind=what)
    return result
