"""Tokenizers for comparison that need no checkpoint: bytes, and a small WordPiece vocabulary.

They show the effect of the vocabulary: the smaller it is, the more tokens a text has.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

from bertviz_core.isolation.regular_files import VOCABULARY_NBYTES, read_file
from bertviz_core.lazy_imports import transformers
from bertviz_core.models.local_files import tokenizer_folder
from bertviz_core.models.sources import TOKENIZER_NAMES, resolve, verify_bundled
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.trace.tokenization import TextTokenizer, TokenLimit

SMALL, BYTES = "Small WordPiece", "UTF-8 bytes"
SMALL_VOCABULARY = 4_000
"""Number of entries of BERT's vocabulary in the small one: special tokens, characters, and the most frequent words,
since BERT's vocabulary is ordered by frequency."""
BYTE_SPECIALS = ("<pad>", "</s>", "<unk>")


def reference_tokenizer(name: str, settings: Settings) -> TextTokenizer:
    """One of REFERENCE_TOKENIZERS."""
    limit = TokenLimit(
        settings.max_tokens, f"this instance reads at most {settings.max_tokens:,} (INSIDE_BERT_MAX_TOKENS)"
    )
    backend, ends = REFERENCE_TOKENIZERS[name][0](settings)

    return TextTokenizer(
        name, transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **ends), limit, settings.max_characters
    )


def _small(settings: Settings) -> tuple[Tokenizer, dict[str, Any]]:
    """WordPiece with the first entries of the bundled vocabulary and all its single characters; otherwise as BERT."""
    source = resolve(DEFAULT_MODEL, settings)
    verify_bundled(source.name, TOKENIZER_NAMES)
    whole = json.loads(read_file(tokenizer_folder(source, settings), "tokenizer.json", VOCABULARY_NBYTES))
    ordered = sorted(whole["model"]["vocab"], key=whole["model"]["vocab"].__getitem__)
    pieces = [
        piece for place, piece in enumerate(ordered) if place < SMALL_VOCABULARY or len(piece.removeprefix("##")) == 1
    ]
    whole["model"]["vocab"] = {piece: place for place, piece in enumerate(pieces)}
    whole["truncation"] = whole["padding"] = None
    ends = {"cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]", "pad_token": "[PAD]"}
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    return Tokenizer.from_str(json.dumps(whole)), {**ends, "mask_token": "[MASK]", "model_input_names": inputs}


def _bytes(settings: Settings) -> tuple[Tokenizer, dict[str, Any]]:
    """Every UTF-8 byte is a token, with the ids of ByT5 (Xue et al. 2022): byte + 3, then </s>."""
    alphabet = {piece: byte + len(BYTE_SPECIALS) for byte, piece in enumerate(byte_characters())}
    vocabulary = {**{piece: place for place, piece in enumerate(BYTE_SPECIALS)}, **alphabet}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.add_special_tokens([AddedToken(piece, special=True) for piece in BYTE_SPECIALS])
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", 1)])
    return backend, {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}


def byte_characters() -> list[str]:
    """The character for each byte, 0 to 255, in byte-level vocabularies (Radford et al. 2019).

    Bytes that are printable in Latin-1 are represented by themselves, the others by characters from U+0100 on.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte if byte in printable else 0x100 + others.index(byte)) for byte in range(256)]


REFERENCE_TOKENIZERS: Mapping[str, tuple[Callable[[Settings], tuple[Tokenizer, dict[str, Any]]], str]] = {
    SMALL: (
        _small,
        f"WordPiece with the first {SMALL_VOCABULARY:,} entries of BERT's vocabulary and all its single characters, "
        "made here: frequent words stay whole, rare ones fall into more pieces.",
    ),
    BYTES: (
        _bytes,
        "Every byte of the text is a token, as in ByT5 (Xue et al. 2022), made here: 256 bytes and three special "
        "tokens, nothing is unknown, and texts grow long.",
    ),
}
"""Name -> function that builds the tokenizer, and a description."""
