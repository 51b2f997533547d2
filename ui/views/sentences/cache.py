"""Sentence vectors and results about them, with confirmation, progress and cancellation of long runs."""

from collections.abc import Sequence
from hashlib import sha256
from math import inf

import streamlit as st

from bertviz_core.errors import Progress
from bertviz_core.models.loading import LoadedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts import sentences as questions
from bertviz_core.resources.byte_cache import retained_nbytes
from bertviz_core.sentences.batches import edge_tokens, sentence_tokens
from bertviz_core.sentences.plan import offered_prompts
from bertviz_core.sentences.results import (
    EdgeTokens,
    PoolingComparison,
    SentenceDtype,
    SentencePlan,
    SentenceVectors,
    TokenPairShares,
)
from bertviz_core.sentences.store.vectors import SentenceStore
from bertviz_core.trace.results import Trace
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer
from ui.cache import models
from ui.cache.jobs import board
from ui.cache.memoize import cached_by_bytes
from ui.cache.shared_model import SharedModel
from ui.cache.sources import SourceKey, source, source_key
from ui.session import allow_run, settings
from ui.widgets.lists.progress import awaited
from ui.widgets.models.run_model import agreed_work, run_tokens

SHORT_LIST_SENTENCES = 512
"""Most sentences whose vectors are computed while the page waits."""
CONFIRM_ABOVE_SENTENCES = 4_000
"""Longer lists need the reader's confirmation."""
CONFIRM = (
    "{count:,} sentences take a while the first time; vectors that this model has computed before come from the store. "
    "You will see the progress, and can cancel."
)
BOARD_WAIT_S = 1.0
"""Seconds that the page waits for a long list before it offers to cancel the work."""
COMPARED_SENTENCES = 64
"""Most sentences whose poolings are compared, so that every pair can be drawn."""


class SentenceModel(SharedModel):
    """A model of this instance with its own tokenizer for jobs, which truncate and pad in their threads."""

    def __init__(self, name: str, *runs: Trace) -> None:
        """Open a model; loaded weights stay in memory during a job."""
        super().__init__(name, *runs)
        self._loaded, self._tokenizer = models.loaded(name), _tokenizer(source_key(name))

    @property
    def loaded(self) -> LoadedModel:
        """The model with its weights."""
        return self._loaded

    @property
    def tokenizer(self) -> TextTokenizer:
        """Its tokenizer for sentences."""
        return self._tokenizer

    def other(self, name: str) -> "SentenceModel":
        """Another model in the same way; values that use it are recomputed when its files change."""
        return self if super().other(name) is self else SentenceModel(name)


def prompts(own: SentencePlan) -> dict[str, str]:
    """The prompts of the checkpoint that are offered, by name."""
    return {name: (own.prompts or {})[name] for name in offered_prompts(own)}


def edges(name: str) -> EdgeTokens:
    """The special tokens that a model's tokenizer puts around a sentence."""
    return edge_tokens(_tokenizer(source_key(name)))


def sampled(count: int) -> list[int]:
    """Indices of the sentences whose poolings are compared: all, or COMPARED_SENTENCES spread evenly over the list."""
    chosen = min(count, COMPARED_SENTENCES)
    return [place * count // chosen for place in range(chosen)] if count else []


def compared(name: str, sentences: tuple[str, ...]) -> PoolingComparison:
    """Compare every pooling and layer on the sentences, or on those that `sampled` selects from a long list."""
    chosen = tuple(sentences[place] for place in sampled(len(sentences)))
    return questions.poolings(SentenceModel(name), Options(chosen)).result


@st.cache_resource(max_entries=1, show_spinner=False)
def vector_store() -> SentenceStore:
    """The store of vectors on disk."""
    return SentenceStore.of(settings())


@cached_by_bytes("Loading the tokenizer", models.tokenizer_nbytes)
def _tokenizer(key: SourceKey) -> TextTokenizer:
    return load_tokenizer(source(key.name), settings())


def vectors(name: str, sentences: Sequence[str], chosen: SentencePlan, dtype: SentenceDtype) -> SentenceVectors:
    """Vectors of sentences, computed once for all readers and stored on disk.

    A long list is computed in the background; the page shows its progress and ends here until it is done.

    Raises:
        BertvizError: the model cannot be loaded, or cannot embed these sentences.
    """
    opened, key = SentenceModel(name), job_key(name, sentences, chosen, dtype)
    if board().find(key) is None and len(sentences) > CONFIRM_ABOVE_SENTENCES:
        agreed_work(key, CONFIRM.format(count=len(sentences)), "Compute the vectors", "start_job")
    store = vector_store()

    def work(progress: Progress) -> SentenceVectors:
        return questions.encoded_by(opened, chosen, sentences, dtype, progress, store).result

    input_nbytes, short = retained_nbytes(sentences), SHORT_LIST_SENTENCES
    job = board().start(key, len(sentences), work, input_nbytes, turns="sentences", long=short)
    patience_s = inf if len(sentences) <= SHORT_LIST_SENTENCES else BOARD_WAIT_S
    vectors: SentenceVectors = awaited(board, key, job, "sentences", patience_s, allow_run)
    return vectors


def pair_shares(name: str, first: str, second: str, chosen: SentencePlan) -> TokenPairShares:
    """The cosine of two sentences as a sum over pairs of their tokens.

    Raises:
        BertvizError: the model cannot be run on the sentences, or its pooling is not a sum over tokens.
    """
    model, tokenizer = models.loaded(name), _tokenizer(source_key(name))
    runs = [run_tokens(model, sentence_tokens(tokenizer, each, chosen)) for each in (first, second)]
    return questions.pair_shares(SentenceModel(name, *runs), chosen, first, second)


def job_key(name: str, sentences: Sequence[str], chosen: SentencePlan, dtype: SentenceDtype) -> str:
    """Key of the vectors; dense layers and maximum length are part of the revision."""
    model = models.loaded(name)
    way = chosen.pooling, chosen.layer, chosen.normalize, chosen.prompt, len(chosen.dense), chosen.truncate_dim
    facts = (model.name, model.revision, *way, dtype)
    digest = sha256(repr(facts).encode())
    for sentence in sentences:
        digest.update(sentence.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()
