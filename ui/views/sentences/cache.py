"""Sentence vectors for one reader: from the board of jobs, with progress, a question before a long run, and an end."""

from collections.abc import Sequence
from hashlib import sha256
from math import inf

import streamlit as st

from bertviz_core.errors import Progress
from bertviz_core.questions.byte_cache import held_nbytes
from bertviz_core.sentences.batches import edge_tokens, prompt_tokens, sentence_tokens
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.plan import offered_prompts, recommended
from bertviz_core.sentences.pooling_comparison import pooling_comparison
from bertviz_core.sentences.projection import sentence_map
from bertviz_core.sentences.results import (
    BlockSummary,
    EdgeTokens,
    MapMethod,
    Measure,
    Pooling,
    PoolingComparison,
    ScoredPairs,
    SentenceDtype,
    SentenceMap,
    SentencePlan,
    SentenceVectors,
    TokenPairShares,
)
from bertviz_core.sentences.similarity import block_summary, closest_pairs
from bertviz_core.sentences.store.vectors import SentenceStore
from bertviz_core.sentences.token_pairs import token_pair_shares
from bertviz_core.trace.results import Trace
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer
from ui.cache import models
from ui.cache.decorator import cached_by_bytes, results
from ui.cache.jobs import JobBoard
from ui.cache.sources import SourceKey, source, source_key
from ui.session import settings
from ui.views.sentences.controls import allow_job, job_allowed
from ui.widgets.lists.progress import awaited
from ui.widgets.run_model import run_tokens

SHORT_LIST_SENTENCES = 512
"""Up to so many sentences the page waits for the vectors."""
COMPARED_SENTENCES = 64
"""Most sentences whose poolings are compared, so that every pair can be drawn."""


def plan(name: str) -> SentencePlan:
    """The model's own way of making sentence vectors."""
    return _plan(source_key(name))


def prompts(own: SentencePlan) -> dict[str, str]:
    """The checkpoint's prompts by name, those that are a text."""
    return {name: (own.prompts or {})[name] for name in offered_prompts(own)}


def sampled(count: int) -> list[int]:
    """Places of the sentences whose poolings are compared: all, or COMPARED_SENTENCES evenly over the list."""
    chosen = min(count, COMPARED_SENTENCES)
    return [place * count // chosen for place in range(chosen)] if count else []


def compared(name: str, sentences: tuple[str, ...]) -> PoolingComparison:
    """The sentences, or those of a long list that `sampled` takes, under every pooling and layer."""
    model = models.loaded(name)
    own = plan(name)
    chosen = tuple(sentences[place] for place in sampled(len(sentences)))
    digest = sha256(repr(chosen).encode("utf-8", "backslashreplace")).hexdigest()
    return _compared(model.name, model.revision, digest, own.max_seq_length, own.pooling, chosen)


def edges(name: str) -> EdgeTokens:
    """The special tokens that a model's tokenizer puts around a sentence."""
    return edge_tokens(tokenizer_of(name))


def tokenizer_of(name: str) -> TextTokenizer:
    """A model's tokenizer for sentences."""
    return _tokenizer(source_key(name))


@st.cache_resource(max_entries=1, show_spinner=False)
def jobs() -> JobBoard[SentenceVectors]:
    """The jobs of this server."""
    return JobBoard(SHORT_LIST_SENTENCES, held_nbytes, results())


@st.cache_resource(max_entries=1, show_spinner=False)
def vector_store() -> SentenceStore:
    """The vectors kept on disk."""
    return SentenceStore.of(settings())


@cached_by_bytes()
def _plan(key: SourceKey) -> SentencePlan:
    return recommended(source(key.name), settings())


@cached_by_bytes("Loading the tokenizer", models.tokenizer_nbytes)
def _tokenizer(key: SourceKey) -> TextTokenizer:
    """One of its own: jobs cut and pad with it in their threads."""
    return load_tokenizer(source(key.name), settings())


@cached_by_bytes("Comparing the poolings")
def _compared(
    name: str, revision: str, digest: str, max_seq_length: int | None, own: Pooling, _sentences: tuple[str, ...]
) -> PoolingComparison:
    return pooling_comparison(models.loaded(name), tokenizer_of(name), _sentences, "all", max_seq_length, own=own)


@cached_by_bytes("Placing the sentences")
def placed(key: str, method: MapMethod, _found: SentenceVectors) -> SentenceMap:
    """Vectors, named by the key of their job, as points."""
    return sentence_map(_found.vectors, method)


@cached_by_bytes("Putting similar sentences together")
def in_blocks(key: str, blocks: int, _found: SentenceVectors) -> BlockSummary:
    """Vectors, named by the key of their job, as blocks of similar ones."""
    return block_summary(_found.vectors, blocks)


@cached_by_bytes()
def closest(key: str, count: int, measure: Measure, _found: SentenceVectors, _tell: Progress) -> ScoredPairs:
    """The pairs of vectors most alike, the vectors named by the key of their job; tells how far the search is."""
    return closest_pairs(_found.vectors, count, measure, _tell)


CONFIRM_ABOVE_SENTENCES = 4_000
"""A list of more begins when the reader says so."""
BOARD_WAIT_S = 1.0
"""Seconds for which the page waits for a long list without a way to end the work."""


def vectors(name: str, sentences: Sequence[str], chosen: SentencePlan, dtype: SentenceDtype) -> SentenceVectors:
    """Vectors of the sentences; computed once for whoever asks, and kept on disk.

    A long list is worked on beside the page, which shows how far it is and ends there until it is done.

    Raises:
        BertvizError: as bertviz_core.sentences.encoding.sentence_vectors and load_model.
    """
    model = models.loaded(name)
    key = job_key(name, sentences, chosen, dtype)
    board = jobs()
    if board.find(key) is None and len(sentences) > CONFIRM_ABOVE_SENTENCES and not job_allowed(key):
        _confirm(len(sentences), key)
    tokenizer, store = tokenizer_of(name), vector_store()

    def work(tell: Progress) -> SentenceVectors:
        return sentence_vectors(model, tokenizer, sentences, chosen, dtype, tell, store)

    job = board.start(key, len(sentences), work, held_nbytes(sentences))
    patience_s = inf if len(sentences) <= SHORT_LIST_SENTENCES else BOARD_WAIT_S
    return awaited(jobs, key, job, "sentences", patience_s, allow_job)


def pair_shares(name: str, first: str, second: str, chosen: SentencePlan) -> TokenPairShares:
    """The cosine of two sentences as a sum over pairs of their tokens.

    Raises:
        BertvizError: as bertviz_core.sentences.token_pairs.token_pair_shares and the trace.
    """
    traces = _traced(name, first, chosen), _traced(name, second, chosen)
    return token_pair_shares(*traces, chosen, prompt_tokens(tokenizer_of(name), chosen))


def _confirm(count: int, key: str) -> None:
    st.info(
        f"{count:,} sentences take a while the first time; what this model has computed before comes from the store. "
        "You see how far it is, and can cancel.",
        icon=":material/timer:",
    )
    st.button("Compute the vectors", type="primary", key="start_job", on_click=allow_job, args=(key,))
    st.stop()


def _traced(name: str, sentence: str, chosen: SentencePlan) -> Trace:
    """One sentence's run, as its plan has it read."""
    return run_tokens(models.loaded(name), sentence_tokens(tokenizer_of(name), sentence, chosen))


def job_key(name: str, sentences: Sequence[str], chosen: SentencePlan, dtype: SentenceDtype) -> str:
    """What a result depends on; the dense layers and the maximum length belong to the revision."""
    model = models.loaded(name)
    way = chosen.pooling, chosen.layer, chosen.normalize, chosen.prompt, len(chosen.dense), chosen.truncate_dim
    facts = (model.name, model.revision, *way, dtype)
    digest = sha256(repr(facts).encode())
    for sentence in sentences:
        digest.update(sentence.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()
