"""What the sentences page keeps for everyone: tokenizers, each model's plan, jobs, the store, poolings compared."""

from hashlib import sha256

import streamlit as st

from bertviz_core.byte_cache import held_nbytes
from bertviz_core.pooling_comparison import pooling_comparison
from bertviz_core.results.sentences import (
    BlockSummary,
    MapMethod,
    Measure,
    Pooling,
    PoolingComparison,
    ScoredPairs,
    SentenceMap,
    SentencePlan,
    SentenceVectors,
)
from bertviz_core.sentence_config import offered_prompts
from bertviz_core.sentence_map import sentence_map
from bertviz_core.sentence_modules import recommended
from bertviz_core.sentence_store import SentenceStore
from bertviz_core.similarity import block_summary, closest_pairs
from bertviz_core.sources import resolve
from bertviz_core.tokenization import TextTokenizer
from bertviz_core.tokenizer_loading import load_tokenizer
from ui import models
from ui.controls import settings
from ui.jobs import JobBoard, Progress
from ui.kept import kept

SHORT = 512
"""Up to so many sentences the page waits for the vectors."""
COMPARED = 64
"""Most sentences whose poolings are compared, so that every pair can be drawn."""


def plan(name: str) -> SentencePlan:
    """The model's own way of making sentence vectors."""
    found = resolve(name, settings())
    return _plan(found.name, found.kind, found.revision)


def prompts(own: SentencePlan) -> dict[str, str]:
    """The checkpoint's prompts by name, those that are a text."""
    return {name: (own.prompts or {})[name] for name in offered_prompts(own)}


def compared(name: str, sentences: tuple[str, ...]) -> PoolingComparison:
    """The first sentences under every pooling and layer."""
    model = models.loaded(name)
    own = plan(name)
    first = sentences[:COMPARED]
    digest = sha256(repr(first).encode("utf-8", "backslashreplace")).hexdigest()
    return _compared(model.name, model.revision, digest, own.max_seq_length, own.pooling, first)


def tokenizer_of(name: str) -> TextTokenizer:
    """A model's tokenizer for sentences."""
    found = resolve(name, settings())
    return _tokenizer(found.name, found.kind, found.revision)


@st.cache_resource(max_entries=1, show_spinner=False)
def jobs() -> JobBoard[SentenceVectors]:
    """The jobs of this server."""
    return JobBoard(long=SHORT, nbytes=held_nbytes)


@st.cache_resource(max_entries=1, show_spinner=False)
def vector_store() -> SentenceStore:
    """The vectors kept on disk."""
    return SentenceStore.of(settings())


@st.cache_resource(max_entries=16, show_spinner=False)
def _plan(name: str, kind: str, revision: str) -> SentencePlan:
    return recommended(resolve(name, settings()), settings())


@kept("Loading the tokenizer", models.tokenizer_nbytes)
def _tokenizer(name: str, kind: str, revision: str) -> TextTokenizer:
    """One of its own: jobs cut and pad with it in their threads."""
    return load_tokenizer(resolve(name, settings()), settings())


@kept("Comparing the poolings")
def _compared(
    name: str, revision: str, digest: str, max_seq_length: int | None, own: Pooling, _sentences: tuple[str, ...]
) -> PoolingComparison:
    return pooling_comparison(models.loaded(name), tokenizer_of(name), _sentences, "all", max_seq_length, own=own)


@kept("Placing the sentences")
def placed(key: str, method: MapMethod, _found: SentenceVectors) -> SentenceMap:
    """Vectors, named by the key of their job, as points."""
    return sentence_map(_found.vectors, method)


@kept("Putting similar sentences together")
def in_blocks(key: str, blocks: int, _found: SentenceVectors) -> BlockSummary:
    """Vectors, named by the key of their job, as blocks of similar ones."""
    return block_summary(_found.vectors, blocks)


@kept()
def closest(key: str, count: int, measure: Measure, _found: SentenceVectors, _tell: Progress) -> ScoredPairs:
    """The pairs of vectors most alike, the vectors named by the key of their job; tells how far the search is."""
    return closest_pairs(_found.vectors, count, measure, _tell)
