"""What words do to a target, for whoever asks: each kept by what it is made from, from a board of jobs with an end."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

import streamlit as st

from bertviz_core.causes.targets import Measure
from bertviz_core.causes.words.classes import class_shares
from bertviz_core.causes.words.curves import MOST_STEPS, RANDOM_ORDERS, word_curves
from bertviz_core.causes.words.gradients import GRADIENT_METHODS, LEAST_NODES
from bertviz_core.causes.words.leave_one_out import leave_one_out
from bertviz_core.causes.words.pairs import LEAST_NODES as PAIR_NODES
from bertviz_core.causes.words.pairs import pair_ledger
from bertviz_core.causes.words.results import ClassShares, PairLedger, Replacement, ShareMethod, WordCurves, WordShares
from bertviz_core.errors import Progress
from bertviz_core.predictions.labelled.results import Probe
from bertviz_core.questions.byte_cache import held_nbytes
from bertviz_core.sentences.plan import recommended
from bertviz_core.trace.results import Tokens
from ui.cache import models
from ui.cache.decorator import results
from ui.cache.jobs import JobBoard
from ui.cache.sources import source, source_key
from ui.session import settings
from ui.widgets.lists.progress import awaited
from ui.widgets.run_model import agreed_cost
from ui.widgets.target.opened import ChosenTarget, opened_classes, opened_target, session_probe

SHORT = 512
"""Work of more steps waits for its turn."""
PATIENCE_S = 2.0
"""Seconds for which the page waits without a way to end the work."""
BACKWARD = 3
"""Runs that one with gradients takes as long as."""
T = TypeVar("T")


class ShareRequest(NamedTuple):
    """How the share of a word is found."""

    method: ShareMethod
    """By which method."""
    whole_words: bool
    """Whether a word goes with all its tokens, or each token alone."""
    replacement: Replacement
    """What becomes of a word that is left out."""


class ClassRequest(NamedTuple):
    """Which classes are looked at, and how."""

    labels: tuple[str, ...]
    """The classes."""
    measure: Measure
    """What is read of each."""
    whole_words: bool
    """Whether a word goes with all its tokens, or each token alone."""
    replacement: Replacement
    """What becomes of a word that is left out."""


@st.cache_resource(max_entries=1, show_spinner=False)
def jobs() -> JobBoard[Any]:
    """The work on words that this server does."""
    return JobBoard(SHORT, held_nbytes, results())


def shares(name: str, chosen: ChosenTarget, asked: ShareRequest) -> WordShares:
    """What each word adds to the target; the page ends here until it is known.

    Raises:
        BertvizError: as leave_one_out, integrated_gradients and open_target.
    """
    tokens, probe = read(name, chosen), session_probe(name)
    rows = {"leave-one-out": len(tokens), "integrated-gradients": LEAST_NODES * BACKWARD, "gradient-x-input": BACKWARD}

    def work(tell: Progress) -> WordShares:
        return _shares(name, chosen, probe, asked, tell)

    steps = len(tokens) if asked.method == "leave-one-out" else LEAST_NODES
    return _awaited("shares", name, (chosen, asked), work, steps, (tokens, rows[asked.method]))


def curves(name: str, chosen: ChosenTarget, methods: tuple[ShareMethod, ...], whole_words: bool) -> WordCurves:
    """The target without the strongest words and with them alone, by each method.

    Raises:
        BertvizError: as word_curves and shares.
    """
    tokens, probe = read(name, chosen), session_probe(name)
    rows = (RANDOM_ORDERS + 2 * len(methods)) * min(MOST_STEPS, len(tokens))

    def work(tell: Progress) -> WordCurves:
        found = [_shares(name, chosen, probe, ShareRequest(method, whole_words, "mask"), tell) for method in methods]
        return word_curves(opened_target(name, chosen, probe), models.tokenizer(name), found, tell=tell)

    return _awaited("curves", name, (chosen, methods, whole_words), work, rows, (tokens, rows))


def classes(name: str, chosen: ChosenTarget, asked: ClassRequest) -> ClassShares:
    """What each word adds to each of several classes, all from the same runs.

    Raises:
        BertvizError: as class_shares and opened_classes.
    """
    tokens, probe = read(name, chosen), session_probe(name)

    def work(tell: Progress) -> ClassShares:
        found = opened_classes(name, chosen, probe)
        labels, measure, whole_words, replacement = asked
        return class_shares(found, models.tokenizer(name), labels, measure, whole_words, replacement, tell)

    return _awaited("classes", name, (chosen, asked), work, len(tokens), (tokens, len(tokens)))


def pairs(name: str, text: str, pair: str, layer: int) -> PairLedger:
    """The cosine of two texts by pairs of their tokens, from an entry of the hidden states on.

    Raises:
        BertvizError: as pair_ledger.
    """
    model = models.loaded(name)
    tokens, others = models.tokens(name, text, None), models.tokens(name, pair, None)
    steps = PAIR_NODES * len(tokens)
    share = (model.num_hidden_layers - layer) / model.num_hidden_layers
    rows = max(1, round(2 * PAIR_NODES * (len(tokens) + len(others)) * share))
    longer = tokens if len(tokens) >= len(others) else others

    def work(tell: Progress) -> PairLedger:
        plan, limit = recommended(source(name), settings()), settings().max_batch_bytes
        return pair_ledger(model, models.tokenizer(name), text, pair, plan, layer, tell, limit)

    return _awaited("pairs", name, (text, pair, layer), work, steps, (longer, rows))


def read(name: str, chosen: ChosenTarget) -> Tokens:
    """The text as the target's model reads it."""
    return models.tokens(name, chosen.text, None if chosen.kind == "cosine" else chosen.pair)


def _shares(name: str, chosen: ChosenTarget, probe: Probe | None, asked: ShareRequest, tell: Progress) -> WordShares:
    target, tokenizer = opened_target(name, chosen, probe), models.tokenizer(name)
    if asked.method == "leave-one-out":
        return leave_one_out(target, tokenizer, asked.whole_words, asked.replacement, tell)
    limit = settings().max_gradient_bytes
    return GRADIENT_METHODS[asked.method](target, tokenizer, asked.whole_words, tell, limit)


def _awaited(
    what: str, name: str, more: object, work: Callable[[Progress], T], steps: int, cost: tuple[Tokens, int]
) -> T:
    """The result of a job; a long one begins when the reader agrees."""
    facts = (what, source_key(name), more)
    key = sha256(repr(facts).encode("utf-8", "backslashreplace")).hexdigest()
    job = jobs().find(key)
    if job is None:
        tokens, rows = cost
        agreed_cost(models.loaded(name), tokens, rows)
        job = jobs().start(key, steps, work)
    result: T = awaited(jobs, key, job, "steps", PATIENCE_S, kind=what)
    return result
