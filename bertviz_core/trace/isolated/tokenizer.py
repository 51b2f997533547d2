"""A tokenizer in a child process, with the part of transformers' interface that is used here."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import msgspec

from bertviz_core.errors import BertvizError, CheckpointError
from bertviz_core.isolation.pool import VERDICTS, spare_of
from bertviz_core.isolation.regular_files import VOCABULARY_NBYTES
from bertviz_core.isolation.run import ChildError, Limits
from bertviz_core.isolation.sanitized.tokenizer import check_tokenizer_files
from bertviz_core.isolation.worker import Worker
from bertviz_core.models.sources import ModelSource
from bertviz_core.settings import Settings, terms_of
from bertviz_core.trace.isolated.messages import (
    Encoded,
    Encoding,
    Joining,
    Loading,
    ReadingByFile,
    Request,
    Spelling,
    TokenizerFacts,
)

TASK = "bertviz_core.trace.isolated.child.answered"
ANSWER_NBYTES = 64 * 1024**2
LEAST_NBYTES = 1024**3
"""Minimum address space in bytes; the largest known vocabularies have 250,000 words."""


def warm_tokenizers(settings: Settings) -> None:
    """Keep a spare process ready for the next tokenizer, if tokenizers are isolated."""
    if settings.isolate_models:
        spare_of(TASK, _limits(settings)).fill()


class IsolatedEncoding(dict[str, Any]):
    """An encoding like transformers' BatchEncoding; `encodings` has the offsets, if they are known."""

    encodings: list[Any] | None = None


class IsolatedTokenizer:
    """The tokenizer of a model in a child process, which is restarted after it was killed."""

    def __init__(self, source: ModelSource, folder: Path, settings: Settings) -> None:
        """Load the tokenizer and test it; a failure is cached as long as the model's files stay the same."""
        check_tokenizer_files(folder)
        self._name = source.name
        self._scratch = TemporaryDirectory(prefix="inside-bert-", ignore_cleanup_errors=True)
        terms = terms_of(source.config)
        loading = Loading(
            name=source.name,
            folder=str(folder),
            scratch=self._scratch.name,
            config=dict(source.config),
            max_layers=terms.max_layers,
            max_labels=terms.max_labels,
            own=source.own_tokenizer,
        )
        limits = _limits(settings)
        self._worker = Worker(TASK, msgspec.msgpack.encode(loading), limits, spare_of(TASK, limits))
        self._facts = self._loaded((TASK, str(folder), source.revision, settings, source.own_tokenizer))

    def __call__(
        self, text: str | Sequence[str], pair: str | None = None, **options: bool | int | str | None
    ) -> IsolatedEncoding:
        """Encode a text, a pair, the words of a text or several texts, like transformers.

        Windows (return_overflowing_tokens) have a row each.
        """
        single = isinstance(text, str) or bool(options.get("is_split_into_words"))
        request = Encoding([text] if isinstance(text, str) else list(text), pair, single, options)
        encoded = msgspec.msgpack.decode(self._worker.ask(msgspec.msgpack.encode(request)), type=Encoded)
        one_row = single and not options.get("return_overflowing_tokens")
        encoding = IsolatedEncoding({name: rows[0] if one_row else rows for name, rows in encoded.columns.items()})
        if encoded.places is not None:
            encoding.encodings = [SimpleNamespace(**msgspec.structs.asdict(each)) for each in encoded.places]
        return encoding

    def __len__(self) -> int:
        """Size of the vocabulary."""
        return self._facts.count

    def __getattr__(self, name: str) -> Any:
        """Attributes of the tokenizer: is_fast, model_max_length, pad_token_id and others."""
        if name.startswith("_"):
            raise AttributeError(name)
        return self._facts.ids[name] if name in self._facts.ids else getattr(self._facts, name)

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str | None]:
        """The spelling of ids; None for an id beyond the vocabulary."""
        return msgspec.msgpack.decode(self._request(Spelling(list(ids))), type=list[str | None])

    def convert_tokens_to_string(self, tokens: Sequence[str]) -> str:
        """The text of some tokens."""
        return msgspec.msgpack.decode(self._request(Joining(list(tokens))), type=str)

    def tokens_by_file(self, text: str, pair: str | None) -> list[str]:
        """The tokens of a text or pair by tokenizer.json."""
        return msgspec.msgpack.decode(
            self._worker.ask(msgspec.msgpack.encode(ReadingByFile(text, pair))), type=list[str]
        )

    def _request(self, request: Request) -> bytes:
        try:
            return self._worker.ask(msgspec.msgpack.encode(request))
        except ChildError as error:
            raise CheckpointError(f"The tokenizer of {self._name!r} did not answer: {error}.") from error

    def _loaded(self, key: Hashable) -> TokenizerFacts:
        def prepared() -> bytes:
            try:
                return self._worker.prepared()
            except BertvizError as error:
                raise CheckpointError(str(error)) from error

        def as_error(error: ChildError) -> CheckpointError:
            return CheckpointError(f"The tokenizer of {self._name!r} could not be read: {error}.")

        # Only failures are cached: the facts are of no use without the child that loaded the tokenizer.
        return msgspec.msgpack.decode(VERDICTS.of(key, prepared, as_error, failures_only=True), type=TokenizerFacts)


def _limits(settings: Settings) -> Limits:
    """Limits of the process of a tokenizer."""
    limits = Limits.of(settings, ANSWER_NBYTES)
    return replace(limits, memory_nbytes=max(limits.memory_nbytes, LEAST_NBYTES), file_nbytes=VOCABULARY_NBYTES)
