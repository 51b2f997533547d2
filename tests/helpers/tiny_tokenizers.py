"""Tokenizers of families that differ from BERT's: pieces with a leading space, and bytes."""

from string import ascii_letters, digits, punctuation

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

LETTERS = ascii_letters + digits + punctuation


def metaspace() -> PreTrainedTokenizerFast:
    """A tokenizer as in T5, XLM-R, ALBERT: a space becomes U+2581, and punctuation stays with its word."""
    pieces = [
        "<unk>",
        "</s>",
        "▁",
        ".",
        ",",
        "▁I",
        "▁love",
        "▁my",
        "▁pet",
        "▁pyth",
        "on",
        "▁coding",
        "▁in",
        "▁the",
        "s",
        "▁The",
    ]
    scores = [(piece, -1.0) for piece in pieces] + [(letter, -5.0) for letter in LETTERS if letter not in pieces]
    tokenizer = Tokenizer(models.Unigram(scores, unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", eos_token="</s>")


def byte_level() -> PreTrainedTokenizerFast:
    """A tokenizer as in GPT-2 and RoBERTa: bytes, and a space is U+0120 before the next piece."""
    alphabet = {letter: place for place, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    merges = [("p", "y"), ("py", "t"), ("pyt", "h"), ("o", "n")]
    vocabulary = {**alphabet, **{a + b: len(alphabet) + place for place, (a, b) in enumerate(merges)}}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)
