"""Tokenize sentences and group them into batches."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import Any

import numpy as np
from jaxtyping import Int

from bertviz_core.errors import BertvizError, TextError
from bertviz_core.models.device import device_kind
from bertviz_core.models.families import family
from bertviz_core.models.loading import BatchOf, LoadedModel
from bertviz_core.sentences.results import EdgeTokens, SentencePlan
from bertviz_core.text import repair_surrogates
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import (
    PYTHON_MAX_CHARACTERS,
    TextTokenizer,
    check_ids,
    check_room,
    tokenize,
)
from bertviz_core.trace.verification import check_batches

CHUNK_SENTENCES = 512
"""Number of sentences tokenized in one call: enough to make its overhead negligible, few enough to cancel soon."""
MAX_BATCH_TOKENS: Mapping[str, int] = {"cpu": 1024, "cuda": 32_768, "mps": 8192}
"""Maximum number of tokens per batch, padding included. On a CPU, activations of this size still fit into the cache."""


@dataclass(frozen=True, slots=True, eq=False)
class SentenceRow:
    """A tokenized sentence, for bertviz_core.trace.inputs.model_inputs."""

    input_ids: Int[np.ndarray, " seq"]
    """Vocabulary index of every token."""
    token_type_ids: Int[np.ndarray, " seq"] | None
    """Token types; None if the tokenizer has none."""
    other_inputs: Mapping[str, np.ndarray]
    """Further ids per token."""
    truncated: bool
    """Whether tokens were cut off at its end."""

    def __len__(self) -> int:
        """Number of tokens."""
        return len(self.input_ids)


def limited(tokenizer: TextTokenizer, plan: SentencePlan) -> TextTokenizer:
    """Return the tokenizer with the plan's token limit, if it has one."""
    length = plan.max_seq_length
    return tokenizer.limited(length, f"the model's sentence vectors are made of at most {length or 0:,} tokens")


def sentence_tokens(tokenizer: TextTokenizer, sentence: str, plan: SentencePlan) -> Tokens:
    """Return the tokens of one sentence under a plan, with prompt and token limit; input for token_pair_shares.

    Raises:
        TextError: the sentence cannot be tokenized or is too long.
    """
    return tokenize(limited(tokenizer, plan), read_text(plan, sentence))


def edge_tokens(tokenizer: TextTokenizer) -> EdgeTokens:
    """Return the special tokens that the tokenizer adds before and after a sentence."""
    tokens = tokenize(tokenizer, "a")
    first, last = (tokens.tokens[at] if tokens.special[at] else None for at in (0, -1))
    return EdgeTokens(first, last)


def read_text(plan: SentencePlan, sentence: str) -> str:
    """Return the tokenizer's input: prompt and sentence, in lower case if the plan requires it."""
    text = repair_surrogates(plan.prompt + sentence)
    # Letter by letter, like the normaliser of the tokenizers: str.lower depends on the context for a Greek sigma.
    return "".join(map(str.lower, text)) if plan.lower_case else text


def prompt_tokens(tokenizer: TextTokenizer, plan: SentencePlan) -> int:
    """Return the number of leading tokens that the plan does not pool; 0 if it pools the prompt too."""
    if not plan.prompt or plan.include_prompt:
        return 0
    tokens = sentence_tokens(tokenizer, "", plan)
    return len(tokens) - int(len(tokens) > 1 and bool(tokens.special[-1]))


def tokenized(tokenizer: TextTokenizer, sentences: Sequence[str], plan: SentencePlan) -> Iterator[list[SentenceRow]]:
    """Yield the token ids of the sentences in chunks, in their order.

    Raises:
        TextError: a sentence is too long, or has no token.
    """
    limited_tokenizer = limited(tokenizer, plan)
    max_characters = (
        limited_tokenizer.max_characters
        if limited_tokenizer.tokenizer.is_fast
        else min(limited_tokenizer.max_characters, PYTHON_MAX_CHARACTERS)
    )
    for start in range(0, len(sentences), CHUNK_SENTENCES):
        chunk = sentences[start : start + CHUNK_SENTENCES]
        for sentence in chunk:
            if len(sentence) > max_characters:
                raise TextError(
                    f"A sentence has {len(sentence):,} characters ({sentence[:40]!r}...); "
                    f"at most {max_characters:,} are read. Cut it into parts (or raise INSIDE_BERT_MAX_CHARACTERS)."
                )
        yield _rows(limited_tokenizer, [read_text(plan, sentence) for sentence in chunk])


def batch_of(loaded: LoadedModel) -> BatchOf:
    """Which texts can share a batch: what a short run shows, and what is known of the family."""
    with RUN_LOCK:
        together = check_batches(loaded)
    return "one length" if together == "any length" and family(loaded.model_type).padding_acts else together


def batch_notice(loaded: LoadedModel, lengths: Collection[int]) -> tuple[str, ...]:
    """A notice if a batch with padding gives other vectors, as other libraries run it."""
    together = batch_of(loaded) if len(set(lengths)) > 1 else "any length"
    if together == "any length":
        return ()
    alone = "with texts of its length" if together == "one length" else "alone"
    return (
        f"The other texts of a batch, or padding, change the vectors of this {loaded.model_type} model: each text is "
        f"run {alone} here, and what pads its batches, such as sentence-transformers, gives other vectors.",
    )


def batches(loaded: LoadedModel, lengths: Sequence[int], max_tokens: int | None = None) -> list[list[int]]:
    """Group indices of sentences of similar length into batches within a token budget.

    The longest sentences come first, so that insufficient memory shows at once; the rest in shuffled order, so that the
    elapsed time predicts the remaining time. Models with outputs that depend on padding get batches of equal length;
    models with outputs that depend on the rest of the batch get single texts.

    Args:
        loaded: the model.
        lengths: number of tokens of every sentence.
        max_tokens: maximum number of tokens per batch, padding included; None for the default of the device.
    """
    together = batch_of(loaded)
    budget = 0 if together == "one text" else max_tokens or MAX_BATCH_TOKENS[device_kind(loaded.device)]
    same_length = together != "any length"
    order = np.argsort(-np.asarray(lengths), kind="stable").tolist()
    groups: list[list[int]] = []
    for index in order:
        current = groups[-1] if groups else []
        longest = lengths[current[0]] if current else 0
        fits = bool(current) and longest * (len(current) + 1) <= budget
        if fits and (not same_length or lengths[index] == longest):
            current.append(index)
        else:
            groups.append([index])
    rest = groups[1:]
    Random(0).shuffle(rest)  # noqa: S311  # an order, no secret
    return groups[:1] + rest


def _rows(tokenizer: TextTokenizer, texts: list[str]) -> list[SentenceRow]:
    backend, limit = tokenizer.tokenizer, tokenizer.limit.tokens
    options: dict[str, Any] = {"return_attention_mask": False, "verbose": False}
    try:
        with tokenizer.lock:
            encoding = backend(texts, truncation=limit is not None, max_length=limit, **options)
            if not backend.is_fast:
                check_ids(tokenizer.name, chain.from_iterable(encoding["input_ids"]))
            check_room(tokenizer, max(map(len, encoding["input_ids"]), default=0))
            at_limit = [index for index, ids in enumerate(encoding["input_ids"]) if len(ids) == limit]
            whole = backend([texts[index] for index in at_limit], **options)["input_ids"] if at_limit else []
    except BertvizError:
        raise
    except Exception as error:  # tokenizers raises undocumented errors
        raise TextError(f"The tokenizer of {tokenizer.name!r} cannot read these sentences: {error}") from error
    cut = {index for index, ids in zip(at_limit, whole, strict=True) if limit is not None and len(ids) > limit}
    columns = {name: values for name, values in encoding.items() if isinstance(values, list)}
    rows = [
        _row({name: values[index] for name, values in columns.items()}, index in cut) for index in range(len(texts))
    ]
    for row, text in zip(rows, texts, strict=True):
        if not len(row):
            raise TextError(
                f"The tokenizer of {tokenizer.name!r} makes no token of the sentence {text[:40]!r}; leave it out."
            )
    return rows


def _row(columns: Mapping[str, Any], truncated: bool) -> SentenceRow:
    ids = np.asarray(columns["input_ids"], dtype=np.int64)
    others = {
        name: np.asarray(values, dtype=np.int64)
        for name, values in columns.items()
        if name not in ("input_ids", "token_type_ids", "special_tokens_mask") and len(values) == len(ids)
    }
    types = columns.get("token_type_ids")
    return SentenceRow(ids, None if types is None else np.asarray(types, dtype=np.int64), others, truncated)
