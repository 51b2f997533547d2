"""Tokenize a text or a pair for a model, and report every truncation and replacement."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.isolation.sanitized.entries import described
from bertviz_core.isolation.sanitized.tokenizer import SERIALIZED
from bertviz_core.lazy_imports import transformers
from bertviz_core.models.catalog import verify_bundled
from bertviz_core.models.families import family
from bertviz_core.models.local_files import tokenizer_folder
from bertviz_core.models.skeleton import model_config, text_config
from bertviz_core.models.sources import OWN_TOKENIZER, TOKENIZER_NAMES, ModelSource
from bertviz_core.settings import Settings
from bertviz_core.text import counted, repair_surrogates
from bertviz_core.trace.isolated.file_tokenizer import read_tokenizer, spelled_by_file, text_notice, tokenizer_notice
from bertviz_core.trace.isolated.messages import TokenizerReceipt
from bertviz_core.trace.isolated.tokenizer import IsolatedTokenizer
from bertviz_core.trace.pair_template import Finder, PairTemplate, Placed, template_finder
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.word_alignment import own_span


def longest_piece(tokens: Tokens) -> int:
    """Position of the longest token that is neither special nor unknown (the default selection); 0 if there is none."""
    own = [position for position in range(len(tokens)) if not (tokens.special[position] or tokens.unknown[position])]
    return max(own, key=lambda position: len(tokens.tokens[position]), default=0)


UNSET = 1_000_000
"""A tokenizer without model_max_length reports 1e30; larger values count as no limit."""
POSITION_KEYS = ("max_position_embeddings", "n_positions")


class TokenLimit(NamedTuple):
    """A limit and its reason."""

    tokens: int | None
    reason: str


def position_limit(config: Mapping[str, Any]) -> TokenLimit | None:
    """Number of positions of a model; None for a config without one (T5, XLNet).

    If position ids start after the padding id, the first pad + 1 rows are unused: RoBERTa has 514 rows for 512 tokens.
    For rotary and relative positions it is the length that the model was designed for.

    Args:
        config: all values of the config, including defaults.
    """
    rows = next((config[key] for key in POSITION_KEYS if isinstance(config.get(key), int)), 0)
    if rows <= 0:
        return None
    if not family(str(config.get("model_type", ""))).positions_behind_padding:
        return TokenLimit(rows, f"the model is made for {rows:,} positions")
    unused = int(config.get("pad_token_id") or 0) + 1
    rest = max(rows - unused, 0)
    return TokenLimit(rest, f"the model has {rows:,} positions, of which the first {unused} carry no token")


def token_limit(config: Mapping[str, Any], model_max_length: int, max_tokens: int) -> TokenLimit:
    """The smallest of the limits of model, tokenizer and instance.

    Args:
        config: all values of the config.
        model_max_length: the limit of the tokenizer; very large if it has none.
        max_tokens: the limit of this instance.
    """
    limits = [TokenLimit(max_tokens, f"this instance reads at most {max_tokens:,} (INSIDE_BERT_MAX_TOKENS)")]
    if model_max_length < UNSET:
        limits.append(TokenLimit(model_max_length, f"the tokenizer's model_max_length is {model_max_length:,}"))
    positions = position_limit(config)
    if positions is not None:
        limits.append(positions)
    return min(reversed(limits), key=lambda limit: limit.tokens or 0)


MAX_ID = 2**31 - 1
PYTHON_MAX_CHARACTERS = 20_000
"""Limit for tokenizers written in Python, whose time may grow with the square of the length of a word."""
MOST_COMPARED = 256
"""Maximum number of texts of a list that are also read by tokenizer.json."""
KNOWN_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "special_tokens_mask", "offset_mapping", "length")
BOUNDARY_TOKENS = ("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id", "pad_token_id", "mask_token_id")


PADDED = "Each text is padded to {1:,} tokens, which {0} attends to as to any token: so it was trained."
MAX_IDS = 5
"""Maximum number of ids named in a notice."""
PADDING_ROW = "padding row"
"""Label of a row of the embedding table beyond the vocabulary."""


@dataclass(slots=True, eq=False)
class TextTokenizer:
    """The tokenizer of a model, with the maximum number of tokens."""

    name: str
    """Name of the model."""
    tokenizer: "transformers.PreTrainedTokenizerBase | IsolatedTokenizer"
    """The tokenizer of transformers, in this process or in its own."""
    limit: TokenLimit
    """Maximum number of tokens of a text or pair, and its reason."""
    max_characters: int
    """Maximum number of characters of a text."""
    tokens_by_file: Callable[[str, str | None], Sequence[str]] | None = None
    """Tokenizes a text or pair by tokenizer.json; None where that is the same, or there is no such file."""
    receipt: TokenizerReceipt | None = None
    """Comparison of AutoTokenizer's with the tokenizer of tokenizer.json; None without such a file."""
    notices: tuple[str, ...] = ()
    """How AutoTokenizer and tokenizer.json differ, one sentence."""
    lock: Lock = field(default_factory=Lock)
    """Held during an encoding: a fast tokenizer keeps its truncation settings as state."""
    room: TokenLimit | None = None
    """Maximum number of tokens without the tokenizer's model_max_length; None where that sets no limit."""
    find_template: Finder | None = None
    """Finds how a reranker has query and text joined; None where the tokenizer joins two texts."""
    pads: bool = False
    """Whether every text is padded to the maximum number of tokens."""
    rows: int | None = None
    """Number of rows of the model's word table by its config; None if unknown."""

    @property
    def pair_template(self) -> PairTemplate | None:
        """How two texts are joined; None where the tokenizer joins them."""
        return None if self.find_template is None else self.find_template()

    @property
    def mask_word(self) -> str:
        """The spelling of the mask, as it is typed in a text; "" for a tokenizer without one."""
        token_id = self.tokenizer.mask_token_id
        return "" if token_id is None else self.spelled([token_id])[0]

    def special_roles(self) -> dict[str, str]:
        """Spelling -> role, such as cls, of the special tokens; BERT's roles come first."""
        spellings = self.tokenizer.special_tokens_map
        roles = {role.removesuffix("_token"): str(spelling) for role, spelling in spellings.items()}
        first = sorted(roles, key=lambda role: role in ("bos", "eos"), reverse=True)
        return {roles[role]: role for role in first}

    def limited(self, length: int | None, reason: str) -> "TextTokenizer":
        """The tokenizer with another length in place of model_max_length, as sentence-transformers sets it.

        Args:
            length: maximum number of tokens; None for that of the tokenizer.
            reason: why there are no more.
        """
        if length is None or length == self.limit.tokens:
            return self
        room = self.room or self.limit
        fits = room.tokens is None or length < room.tokens
        return replace(self, limit=TokenLimit(length, reason) if fits else room)

    @property
    def cut_side(self) -> str:
        """Where a long text is cut off, as a word."""
        return "beginning" if getattr(self.tokenizer, "truncation_side", "right") == "left" else "end"

    def spelled(self, ids: Iterable[int]) -> tuple[str, ...]:
        """The spelling of ids in the vocabulary; rows beyond it, which pad the embedding table, by number."""
        rows = [int(token_id) for token_id in ids]
        pieces = self.tokenizer.convert_ids_to_tokens(rows)
        return tuple(
            f"{PADDING_ROW} {row}" if piece is None else str(piece) for row, piece in zip(rows, pieces, strict=True)
        )


def tokenize(tokenizer: TextTokenizer, text: str, pair: str | None = None) -> Tokens:
    """Tokenize a text or a pair as the model expects it.

    If it is too long, the longer text is truncated; tokens + tokens_cut is the number of tokens of the whole text. The
    tokens of a template around a pair are special ones.
    """
    notices: list[str] = []
    text, pair = _repaired(text, notices), None if pair is None else _repaired(pair, notices)
    check_characters(tokenizer, len(text) + len(pair or ""))
    template = tokenizer.pair_template if pair is not None else None
    if template is not None:
        notices.append(template.notice)
    if template is not None and pair is not None and template.parts:
        with tokenizer.lock:
            whole, encoded = _in_template(tokenizer, template, text, pair)
        tokens = _tokens(tokenizer, text, pair, whole, encoded, notices)
        return replace(tokens, filled=template.filled(text, pair)[0])
    whole, encoded = _limited(tokenizer, text, pair)
    by_file = _by_file(tokenizer, text, pair, whole["input_ids"])
    tokens = _tokens(tokenizer, text, pair, whole, encoded, notices)
    return replace(tokens, notices=(*tokens.notices, *by_file))


def tokenize_words(tokenizer: TextTokenizer, words: Sequence[str], add_prefix_space: bool = False) -> Tokens:
    """Tokenize words that are cut already, as transformers does with `is_split_into_words`; without offsets.

    Args:
        add_prefix_space: whether each word has the space in front of it that it has in a text, whatever the folder
            of the tokenizer says.
    """
    if not tokenizer.tokenizer.is_fast:
        raise TextError(
            f"The tokenizer of {tokenizer.name!r} is written in Python and does not say which word a token is of, so "
            f"words that are cut already have no tags here; {SERIALIZED} is needed, which is not in its folder."
        )
    text = " ".join(words)
    check_characters(tokenizer, len(text))
    whole, encoded = _limited(tokenizer, [f" {word}" if add_prefix_space else word for word in words], None)
    return _tokens(tokenizer, text, None, whole, encoded, [])


def _limited(
    tokenizer: TextTokenizer, text: str | list[str], pair: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The encoding of a text or pair, or of words, whole and truncated."""
    with tokenizer.lock:
        whole = _encode(tokenizer, text, pair, None)
        limit = tokenizer.limit.tokens
        cut = limit is not None and (tokenizer.pads or len(whole["input_ids"]) > limit)
        encoded = _encode(tokenizer, text, pair, limit) if cut else whole
    check_room(tokenizer, len(encoded["input_ids"]), pair is not None)
    if not encoded["input_ids"]:
        raise TextError(
            f"The tokenizer of {tokenizer.name!r} produces no token for this text, so there is nothing to run; "
            "write at least one word."
        )
    return whole, encoded


def _tokens(
    tokenizer: TextTokenizer,
    text: str,
    pair: str | None,
    whole: Mapping[str, Any],
    encoded: Mapping[str, Any],
    notices: Sequence[str],
) -> Tokens:
    """The tokens of an encoding, of which `whole` is not truncated."""
    sequence, limit = encoded["sequence"], tokenizer.limit.tokens
    tokens_cut = (whole["sequence"].count(0) - sequence.count(0), whole["sequence"].count(1) - sequence.count(1))
    special, unknown = _flags(tokenizer.tokenizer, encoded)
    notices = [*notices, *_notices(tokenizer, encoded, tokens_cut, special, unknown)]
    return Tokens(
        text=text,
        pair=pair,
        tokens=tokenizer.spelled(encoded["input_ids"]),
        input_ids=_read_only(encoded["input_ids"]),
        token_type_ids=_read_only(encoded["token_type_ids"]) if "token_type_ids" in encoded else None,
        word_ids=encoded["word_ids"],
        offsets=encoded["offsets"],
        sequence=tuple(sequence),
        special=_read_only(special, bool),
        unknown=_read_only(unknown, bool),
        other_inputs=encoded["other"],
        limit=limit,
        limit_reason=tokenizer.limit.reason,
        tokens_cut=tokens_cut,
        notices=(*tokenizer.notices, *notices),
    )


def _by_file(tokenizer: TextTokenizer, text: str, pair: str | None, ids: Iterable[int]) -> list[str]:
    """A notice if tokenizer.json reads this text otherwise, where it gives all sample texts the same ids."""
    if tokenizer.tokens_by_file is None or (tokenizer.receipt is not None and tokenizer.receipt.difference):
        return []
    by_file = tokenizer.tokens_by_file(text, pair)
    notice = text_notice(tokenizer.name, text, tokenizer.spelled(ids), by_file, OWN_TOKENIZER)
    return [notice] if notice else []


def first_by_file(tokenizer: TextTokenizer, texts: Sequence[str]) -> tuple[str, ...]:
    """The notice about the first text that tokenizer.json reads otherwise, of the first `MOST_COMPARED`."""
    texts = texts[: MOST_COMPARED if tokenizer.tokens_by_file is not None else 0]
    with tokenizer.lock:
        rows = tokenizer.tokenizer(list(texts), truncation=False, verbose=False)["input_ids"] if texts else []
    each = zip(texts, rows, strict=True)
    return next((tuple(found) for text, ids in each if (found := _by_file(tokenizer, text, None, ids))), ())


def _repaired(text: str, notices: list[str]) -> str:
    """The text with lone surrogates replaced, and a notice that counts them."""
    repaired = repair_surrogates(text)
    lone = repaired.count("\ufffd") - text.count("\ufffd")
    if lone:
        notices.append(f"{counted(lone, 'half character')} in the text (lone surrogates) became \ufffd each.")
    return repaired


def check_characters(tokenizer: TextTokenizer, characters: int) -> None:
    """Check the number of characters of a text."""
    fast = tokenizer.tokenizer.is_fast
    most = tokenizer.max_characters if fast else min(tokenizer.max_characters, PYTHON_MAX_CHARACTERS)
    if characters > most:
        why = "" if fast or most < PYTHON_MAX_CHARACTERS else " by this tokenizer, which is written in Python"
        raise TextError(
            f"The text has {characters:,} characters; at most {most:,} are read{why}. "
            "Shorten it (or raise INSIDE_BERT_MAX_CHARACTERS)."
        )


def check_room(tokenizer: TextTokenizer, length: int, pair: bool = False) -> None:
    """Check the length after truncation, which does not remove the tokens that the tokenizer adds."""
    limit = tokenizer.limit
    if limit.tokens is not None and length > limit.tokens:
        trial = tokenizer.tokenizer("a", "a" if pair else None, return_special_tokens_mask=True, verbose=False)
        added = counted(sum(trial["special_tokens_mask"]), "token")
        raise TextError(
            f"No text can be read: the tokenizer of {tokenizer.name!r} adds {added} of its own, and {limit.reason}. "
            "Raise that limit, or choose another model."
        )


def _in_template(
    tokenizer: TextTokenizer, template: PairTemplate, text: str, pair: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two texts in a template, whole and truncated; tokens of the template count as added ones."""
    if not tokenizer.tokenizer.is_fast:
        raise TextError(
            f"{tokenizer.name!r} has query and text read in a template, for which its tokenizer must say where each "
            f"token is; {SERIALIZED} is needed, which is not in its folder."
        )
    filled, placed = template.filled(text, pair)
    whole = _encode(tokenizer, filled, None, None, add_special_tokens=False)
    spans = whole["offsets"]
    owners = [next((each for each in placed if _overlap(span, each)), None) for span in spans]
    whole["sequence"] = [None if owner is None else owner.sequence for owner in owners]
    whole["added"] = [int(owner is None) for owner in owners]
    whole["word_ids"] = tuple(
        None if owner is None else word for owner, word in zip(owners, whole["word_ids"], strict=True)
    )
    whole["offsets"] = tuple(
        None if owner is None else _within(span, owner) for span, owner in zip(spans, owners, strict=True)
    )
    count, limit = len(owners), tokenizer.limit.tokens
    if limit is None or count <= limit:
        return whole, whole
    end = next((place for place, owner in enumerate(reversed(owners)) if owner is not None), count)
    if limit <= owners.count(None):
        raise TextError(
            f"No text can be read: the template of {tokenizer.name!r} has {counted(owners.count(None), 'token')} of "
            f"its own, and {tokenizer.limit.reason}. Raise that limit."
        )
    if tokenizer.cut_side == "beginning":
        places = tuple(range(count - limit, count))
    elif template.keeps_end:
        places = (*range(limit - end), *range(count - end, count))
    else:
        places = tuple(range(limit))
    return whole, {name: _selected(values, places) for name, values in whole.items()}


def _selected(values: Any, places: Sequence[int]) -> Any:
    if isinstance(values, Mapping):
        return {name: _selected(row, places) for name, row in values.items()}
    return tuple(values[place] for place in places)


def _overlap(span: tuple[int, int], placed: Placed) -> bool:
    """Whether a token has a character of a text; one without any is inside, or at its beginning."""
    start, end = span
    return max(start, placed.start) < min(end, placed.end) or (start == end and placed.start <= start < placed.end)


def _within(span: tuple[int, int], placed: Placed) -> tuple[int, int]:
    """The part of a span that is in a text, in characters of that text."""
    start, end = (min(max(each, placed.start), placed.end) - placed.start + placed.shift for each in span)
    return start, end


def _encode(
    tokenizer: TextTokenizer, text: str | list[str], pair: str | None, limit: int | None, **options: bool
) -> dict[str, Any]:
    """Ids with their words, offsets and sequences, without or with truncation; without offsets of words."""
    backend = tokenizer.tokenizer
    options |= {} if isinstance(text, str) else {"is_split_into_words": True}
    try:
        encoding: Any = backend(
            text,
            pair,
            truncation=limit is not None,
            padding="max_length" if tokenizer.pads and limit is not None else False,
            max_length=limit,
            return_special_tokens_mask=True,
            return_attention_mask=False,
            verbose=False,
            **options,
        )
    except Exception as error:  # a text or a limit may lead to any exception
        sentences = (f"The tokenizer of {tokenizer.name!r} cannot read this text: {error}", *tokenizer.notices)
        raise TextError(" ".join(sentences)) from error
    ids = list(encoding["input_ids"])
    if not backend.is_fast:  # a fast one always returns integers
        check_ids(tokenizer.name, ids)
    encoded: dict[str, Any] = {"input_ids": ids, "added": list(encoding["special_tokens_mask"])}
    encoded["other"] = _other_inputs(encoding, len(ids))
    if "token_type_ids" in encoding:
        encoded["token_type_ids"] = encoding["token_type_ids"]
    if backend.is_fast:
        rows = encoding.encodings[0]
        encoded["sequence"] = list(rows.sequence_ids)
        encoded["word_ids"] = tuple(rows.word_ids)
        encoded["offsets"] = None
        if isinstance(text, str):
            texts = (text, pair or "")
            encoded["offsets"] = tuple(
                None if place is None else own_span(texts[place], spelling, span)
                for spelling, span, place in zip(rows.tokens, rows.offsets, rows.sequence_ids, strict=True)
            )
    else:
        encoded["sequence"] = _sequence(encoded["added"], pair is not None)
        encoded["word_ids"] = encoded["offsets"] = None
    return encoded


def check_ids(name: str, ids: Iterable[Any]) -> None:
    """Check that a tokenizer returns ids: a vocabulary may lack its unknown token, or map words to strings."""
    for token_id in ids:
        if isinstance(token_id, bool) or not isinstance(token_id, int) or not 0 <= token_id <= MAX_ID:
            raise CheckpointError(
                f"The tokenizer of {name!r} gives {described(token_id)} where an id belongs, a whole number: its "
                "vocabulary is damaged. Put in the files that tokenizer.save_pretrained writes."
            )


def _other_inputs(encoding: Mapping[str, Any], count: int) -> dict[str, Any]:
    """Further integers per token, such as the shape and pronunciation ids of RoCBert."""
    rows = {key: value for key, value in encoding.items() if key not in KNOWN_INPUTS and isinstance(value, list)}
    return {
        key: _read_only(value)
        for key, value in rows.items()
        if len(value) == count and all(isinstance(item, int) for item in value)
    }


def _sequence(added: list[int], has_pair: bool) -> list[int | None]:
    """The text of each token, inferred from the added tokens: the pair starts after those behind the text."""
    sequence: list[int | None] = []
    current = 0
    for position, flag in enumerate(added):
        if flag and has_pair and 0 in sequence:
            current = 1
        sequence.append(None if added[position] else current)
    return sequence


def _read_only(values: Any, dtype: type = np.int64) -> Any:
    """The values as a read-only array."""
    array: Any = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


def special_and_unknown(backend: "transformers.PreTrainedTokenizerBase | IsolatedTokenizer") -> tuple[list[int], int]:
    """Ids of the special tokens without the unknown one, and the id of that; -1 where it also begins or ends a text."""
    boundary = {None, *(getattr(backend, name, None) for name in BOUNDARY_TOKENS)}
    unknown_id = -1 if backend.unk_token_id in boundary else int(backend.unk_token_id)
    return [special_id for special_id in backend.all_special_ids if special_id != unknown_id], unknown_id


def _flags(
    backend: "transformers.PreTrainedTokenizerBase | IsolatedTokenizer", encoded: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Whether each token is special, and whether it is unknown; never both."""
    ids, added = np.asarray(encoded["input_ids"]), np.asarray(encoded["added"], dtype=bool)
    special_ids, unknown_id = special_and_unknown(backend)
    special = added | np.isin(ids, special_ids)
    return special, (ids == unknown_id) & ~special


def _notices(
    tokenizer: TextTokenizer, encoded: Mapping[str, Any], tokens_cut: tuple[int, int], special: Any, unknown: Any
) -> list[str]:
    notices = []
    for count, what in zip(tokens_cut, ("the text", "the second text"), strict=True):
        if count:
            cut = f"{counted(count, 'token')} cut off at the {tokenizer.cut_side} of {what}"
            notices.append(f"{cut}: {tokenizer.limit.reason}.")
    if tokenizer.rows and (beyond := sorted({each for each in encoded["input_ids"] if each >= tokenizer.rows})):
        ids = ", ".join(map(str, beyond[:MAX_IDS])) + (", ..." if len(beyond) > MAX_IDS else "")
        notices.append(
            f"The word table has {tokenizer.rows:,} rows by the config (ids to {tokenizer.rows - 1}) and none for "
            f"{'the id' if len(beyond) == 1 else 'the ids'} {ids}, so the model cannot read this text: its tokenizer "
            "belongs to another model, or tokens were added without resizing the model."
        )
    content = int((~special).sum())
    if not content:
        notices.append("The text has no token of its own: the model reads only what the tokenizer adds.")
    elif unknown.sum() == content:
        notices.append(
            f"{counted(content, 'token')} in the text, none known to the vocabulary: the model cannot tell them apart."
        )
    return notices


def load_tokenizer(source: ModelSource, settings: Settings) -> TextTokenizer:
    """Load the tokenizer of a model; its weights are not needed.

    If the settings say so, the tokenizer of a model that is neither bundled nor in the catalogue runs in a process of
    its own (bertviz_core.trace.isolated).
    """
    folder = tokenizer_folder(source, settings)
    # The example has no tokenizer of its own.
    owner = source.adapter.base if source.kind == "example" and source.adapter is not None else source
    if owner.kind == "bundled":
        verify_bundled(owner.name, TOKENIZER_NAMES)
    config = text_config(model_config(source.name, source.config))
    backend: Any
    by_file: Callable[[str, str | None], Sequence[str]] | None
    if settings.isolate_models and owner.kind not in ("bundled", "catalogue"):
        backend = IsolatedTokenizer(source, folder, settings)
        receipt, by_file = backend.receipt, backend.tokens_by_file if backend.rebuilt else None
    else:
        backend, file, receipt = read_tokenizer(source.name, folder, source.config, source.own_tokenizer)
        by_file = None if file is None else lambda text, pair: spelled_by_file(file, file.encode(text, pair).ids)
    limit, room = (
        token_limit(config.to_dict(), length, settings.max_tokens) for length in (int(backend.model_max_length), UNSET)
    )
    notices = tokenizer_notice(source.name, receipt, source.own_tokenizer, OWN_TOKENIZER)
    pads = family(source.model_type).pads
    if pads:
        notices = (*notices, PADDED.format(family(source.model_type).title, limit.tokens))
    return TextTokenizer(
        source.name,
        backend,
        limit,
        settings.max_characters,
        by_file,
        receipt,
        notices,
        room=room,
        find_template=template_finder(source, settings, dict(backend.special_tokens_map)),
        pads=pads,
        rows=getattr(config, "vocab_size", None) if source.adapter is None else None,  # an adapter may add rows
    )
