"""Models that encode lists of sentences in jobs, with the store of vectors."""

import streamlit as st

from bertviz_core.models.loading import LoadedModel
from bertviz_core.sentences.store.vectors import SentenceStore
from bertviz_core.trace.results import Trace
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer
from ui.cache import models
from ui.cache.figures import cached_by_bytes
from ui.cache.models import SourceKey, source, source_key
from ui.cache.shared_model import SharedModel
from ui.session import settings


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

    @property
    def vector_store(self) -> SentenceStore:
        """The store of vectors on disk."""
        return vector_store()

    def other(self, name: str) -> "SentenceModel":
        """Another model in the same way; values that use it are recomputed when its files change."""
        return self if super().other(name) is self else SentenceModel(name)


@st.cache_resource(max_entries=1, show_spinner=False)
def vector_store() -> SentenceStore:
    """The store of vectors on disk."""
    return SentenceStore.of(settings())


@cached_by_bytes("Loading the tokenizer", models.tokenizer_nbytes)
def _tokenizer(key: SourceKey) -> TextTokenizer:
    return load_tokenizer(source(key.name), settings())
