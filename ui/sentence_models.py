"""What the sentences page keeps for everyone: tokenizers, each model's plan, jobs, the store, poolings compared."""

import streamlit as st

from bertviz_core.pooling_comparison import pooling_comparison
from bertviz_core.results.sentences import PoolingComparison, SentencePlan, SentenceVectors
from bertviz_core.sentence_modules import recommended
from bertviz_core.sentence_store import SentenceStore
from bertviz_core.sources import resolve
from bertviz_core.tokenization import TextTokenizer
from bertviz_core.tokenizer_loading import load_tokenizer
from ui import models
from ui.controls import settings
from ui.jobs import JobBoard
from ui.kept import kept

SHORT = 512
"""Up to so many sentences the page waits for the vectors."""
COMPARED = 64
"""Most sentences whose poolings are compared, so that every pair can be drawn."""


def plan(name: str) -> SentencePlan:
    """The model's own way of making sentence vectors."""
    found = resolve(name, settings())
    return _plan(found.name, found.kind, found.revision)


def compared(name: str, sentences: tuple[str, ...]) -> PoolingComparison:
    """The first sentences under every pooling and layer."""
    model = models.loaded(name)
    return _compared(model.name, model.revision, sentences[:COMPARED], plan(name).max_seq_length)


def tokenizer_of(name: str) -> TextTokenizer:
    """A model's tokenizer for sentences."""
    found = resolve(name, settings())
    return _tokenizer(found.name, found.kind, found.revision)


@st.cache_resource(max_entries=1, show_spinner=False)
def jobs() -> JobBoard[SentenceVectors]:
    """The jobs of this server."""
    return JobBoard(long=SHORT, nbytes=lambda result: int(result.vectors.nbytes))


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


@st.cache_resource(max_entries=16, show_spinner="Comparing the poolings")
def _compared(name: str, revision: str, sentences: tuple[str, ...], max_seq_length: int | None) -> PoolingComparison:
    return pooling_comparison(models.loaded(name), tokenizer_of(name), sentences, max_seq_length=max_seq_length)
