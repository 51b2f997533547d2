"""Sentence vectors for one reader: from the board of jobs, with progress, a question before a long run, and an end."""

from collections.abc import Sequence
from hashlib import sha256
from math import inf

import streamlit as st

from bertviz_core.errors import Progress
from bertviz_core.models.loading import LoadedModel
from bertviz_core.questions.byte_cache import retained_nbytes
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts import sentences as questions
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
from ui.session import settings
from ui.views.sentences.controls import allow_job, job_allowed
from ui.widgets.lists.progress import awaited
from ui.widgets.run_model import run_tokens

SHORT_LIST_SENTENCES = 512
"""Up to so many sentences the page waits for the vectors."""
CONFIRM_ABOVE_SENTENCES = 4_000
"""A list of more begins when the reader says so."""
BOARD_WAIT_S = 1.0
"""Seconds for which the page waits for a long list without a way to end the work."""
COMPARED_SENTENCES = 64
"""Most sentences whose poolings are compared, so that every pair can be drawn."""


class SentenceModel(SharedModel):
    """A model of this instance with a tokenizer for sentences alone: jobs cut and pad with it in their threads."""

    def __init__(self, name: str, *runs: Trace) -> None:
        """The model of a name; the weights that are in memory stay with it while a job goes on."""
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


def prompts(own: SentencePlan) -> dict[str, str]:
    """The checkpoint's prompts by name, those that are a text."""
    return {name: (own.prompts or {})[name] for name in offered_prompts(own)}


def edges(name: str) -> EdgeTokens:
    """The special tokens that a model's tokenizer puts around a sentence."""
    return edge_tokens(_tokenizer(source_key(name)))


def sampled(count: int) -> list[int]:
    """Places of the sentences whose poolings are compared: all, or COMPARED_SENTENCES evenly over the list."""
    chosen = min(count, COMPARED_SENTENCES)
    return [place * count // chosen for place in range(chosen)] if count else []


def compared(name: str, sentences: tuple[str, ...]) -> PoolingComparison:
    """The sentences, or those of a long list that `sampled` takes, under every pooling and layer."""
    chosen = tuple(sentences[place] for place in sampled(len(sentences)))
    return questions.poolings(SentenceModel(name), Options(chosen)).result


@st.cache_resource(max_entries=1, show_spinner=False)
def vector_store() -> SentenceStore:
    """The vectors kept on disk."""
    return SentenceStore.of(settings())


@cached_by_bytes("Loading the tokenizer", models.tokenizer_nbytes)
def _tokenizer(key: SourceKey) -> TextTokenizer:
    return load_tokenizer(source(key.name), settings())


def vectors(name: str, sentences: Sequence[str], chosen: SentencePlan, dtype: SentenceDtype) -> SentenceVectors:
    """Vectors of the sentences; computed once for whoever asks, and kept on disk.

    A long list is worked on beside the page, which shows how far it is and ends there until it is done.

    Raises:
        BertvizError: as bertviz_core.sentences.encoding.sentence_vectors and load_model.
    """
    opened, key = SentenceModel(name), job_key(name, sentences, chosen, dtype)
    if board().find(key) is None and len(sentences) > CONFIRM_ABOVE_SENTENCES and not job_allowed(key):
        _confirm(len(sentences), key)
    store = vector_store()

    def work(progress: Progress) -> SentenceVectors:
        return questions.encoded_by(opened, chosen, sentences, dtype, progress, store).result

    given, short = retained_nbytes(sentences), SHORT_LIST_SENTENCES
    job = board().start(key, len(sentences), work, given, turns="sentences", long=short)
    patience_s = inf if len(sentences) <= SHORT_LIST_SENTENCES else BOARD_WAIT_S
    vectors: SentenceVectors = awaited(board, key, job, "sentences", patience_s, allow_job)
    return vectors


def pair_shares(name: str, first: str, second: str, chosen: SentencePlan) -> TokenPairShares:
    """The cosine of two sentences as a sum over pairs of their tokens.

    Raises:
        BertvizError: as bertviz_core.sentences.token_pairs.token_pair_shares and the trace.
    """
    model, tokenizer = models.loaded(name), _tokenizer(source_key(name))
    runs = [run_tokens(model, sentence_tokens(tokenizer, each, chosen)) for each in (first, second)]
    return questions.pair_shares(SentenceModel(name, *runs), chosen, first, second)


def _confirm(count: int, key: str) -> None:
    st.info(
        f"{count:,} sentences take a while the first time; what this model has computed before comes from the store. "
        "You see how far it is, and can cancel.",
        icon=":material/timer:",
    )
    st.button("Compute the vectors", type="primary", key="start_job", on_click=allow_job, args=(key,))
    st.stop()


def job_key(name: str, sentences: Sequence[str], chosen: SentencePlan, dtype: SentenceDtype) -> str:
    """What a result depends on; the dense layers and the maximum length belong to the revision."""
    model = models.loaded(name)
    way = chosen.pooling, chosen.layer, chosen.normalize, chosen.prompt, len(chosen.dense), chosen.truncate_dim
    facts = (model.name, model.revision, *way, dtype)
    digest = sha256(repr(facts).encode())
    for sentence in sentences:
        digest.update(sentence.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()
