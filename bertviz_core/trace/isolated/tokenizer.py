"""A tokenizer in a process of its own, with as much of transformers' interface as is used of one here."""

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
from bertviz_core.isolation.sanitized.terms import terms_of
from bertviz_core.isolation.sanitized.tokenizer_files import check_tokenizer_files
from bertviz_core.isolation.worker import Worker
from bertviz_core.models.sources import ModelSource
from bertviz_core.settings import Settings
from bertviz_core.trace.isolated.messages import Encoded, Encoding, Joining, Loading, Request, Spelling, TokenizerFacts

TASK = "bertviz_core.trace.isolated.child.answered"
ANSWER_NBYTES = 64 * 1024**2
LEAST_NBYTES = 1024**3
"""Address space without which the largest known vocabularies, of a quarter of a million words, cannot be read."""


def warm_tokenizers(settings: Settings) -> None:
    """From now on have a process ready for the next tokenizer, where the settings ask for processes of their own."""
    if settings.isolate_models:
        spare_of(TASK, _limits(settings)).fill()


class IsolatedEncoding(dict[str, Any]):
    """Columns of an encoding by name, as transformers' BatchEncoding; encodings where the places are known."""

    encodings: list[Any] | None = None


class IsolatedTokenizer:
    """A model's tokenizer at work in a process of its own, which can be ended and comes back."""

    def __init__(self, source: ModelSource, folder: Path, settings: Settings) -> None:
        """Read the tokenizer and try it once; a refusal is kept while the model's files are the same.

        Raises:
            CheckpointError: it is missing, damaged, or takes more time or memory than a tokenizer does.
        """
        check_tokenizer_files(folder)
        self._name = source.name
        self._scratch = TemporaryDirectory(prefix="inside-bert-", ignore_cleanup_errors=True)
        terms = terms_of(source.config)
        loading = Loading(
            source.name, str(folder), self._scratch.name, dict(source.config), terms.max_layers, terms.max_labels
        )
        limits = _limits(settings)
        self._worker = Worker(TASK, msgspec.msgpack.encode(loading), limits, spare_of(TASK, limits))
        self._facts = self._loaded((TASK, str(folder), source.revision, settings))

    def __call__(
        self, text: str | Sequence[str], pair: str | None = None, **options: bool | int | str | None
    ) -> IsolatedEncoding:
        """The encoding of a text or a pair, or of several texts, as transformers gives it.

        Of windows (return_overflowing_tokens) there is a row for each; their places are in `encodings`.

        Raises:
            ChildError: it takes more time or memory than a text may.
        """
        single = isinstance(text, str)
        asked = Encoding([text] if isinstance(text, str) else list(text), pair, single, options)
        encoded = msgspec.msgpack.decode(self._worker.ask(msgspec.msgpack.encode(asked)), type=Encoded)
        one_row = single and not options.get("return_overflowing_tokens")
        encoding = IsolatedEncoding({name: rows[0] if one_row else rows for name, rows in encoded.columns.items()})
        if encoded.places is not None:
            encoding.encodings = [SimpleNamespace(**msgspec.structs.asdict(each)) for each in encoded.places]
        return encoding

    def __len__(self) -> int:
        """Entries of the vocabulary."""
        return self._facts.count

    def __getattr__(self, name: str) -> Any:
        """What the tokenizer says of itself: is_fast, model_max_length, pad_token_id and the like."""
        if name.startswith("_"):
            raise AttributeError(name)
        return self._facts.ids[name] if name in self._facts.ids else getattr(self._facts, name)

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str | None]:
        """The vocabulary's spelling of some ids; None for a row that it has not.

        Raises:
            CheckpointError: the vocabulary takes too long to look them up.
        """
        return msgspec.msgpack.decode(self._asked(Spelling(list(ids))), type=list[str | None])

    def convert_tokens_to_string(self, tokens: Sequence[str]) -> str:
        """The text that some tokens stand for.

        Raises:
            CheckpointError: the vocabulary takes too long to join them.
        """
        return msgspec.msgpack.decode(self._asked(Joining(list(tokens))), type=str)

    def _asked(self, request: Request) -> bytes:
        try:
            return self._worker.ask(msgspec.msgpack.encode(request))
        except ChildError as error:
            raise CheckpointError(f"The tokenizer of {self._name!r} could not be asked: {error}.") from error

    def _loaded(self, key: Hashable) -> TokenizerFacts:
        def prepared() -> bytes:
            try:
                return self._worker.prepared()
            except BertvizError as error:
                raise CheckpointError(str(error)) from error

        def why(error: ChildError) -> CheckpointError:
            return CheckpointError(f"The tokenizer of {self._name!r} could not be read: {error}.")

        # The facts alone are no tokenizer: the child that told them has it.
        return msgspec.msgpack.decode(VERDICTS.of(key, prepared, why, refusals_alone=True), type=TokenizerFacts)


def _limits(settings: Settings) -> Limits:
    """What the process of a tokenizer may take."""
    limits = Limits.of(settings, ANSWER_NBYTES)
    return replace(limits, memory_nbytes=max(limits.memory_nbytes, LEAST_NBYTES), file_nbytes=VOCABULARY_NBYTES)
