"""Tiny models of one task with two kinds of tokenizers: WordPiece, and bytes as in GPT-2 and RoBERTa."""

from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerFast

from bertviz_core.questions.opened import OpenedModel
from bertviz_core.settings import Settings
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.tiny_tokenizers import byte_level

MASKS = ("[MASK]", "<mask>")
"""The mask of each tokenizer."""
MIXED = "Café 🙂 naïve python, pythön 👍🏽!"
"""A text with accents and emoji, one of them of two characters."""


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """The byte-level tokenizer with a mask."""
    tokenizer = byte_level()
    tokenizer.add_special_tokens({"mask_token": MASKS[1], "pad_token": "<pad>"})
    return tokenizer


def save_byte_head(task: str, folder: Path, **changes: Any) -> Path:
    """Write a tiny BERT with a head that reads bytes."""
    tokenizer = byte_tokenizer()
    save_tiny_head("bert", task, folder, vocab_size=len(tokenizer), max_position_embeddings=99, **changes)
    for file in folder.glob("*token*"):
        file.unlink()
    tokenizer.save_pretrained(folder)
    return folder


def opened_model(folder: Path) -> OpenedModel:
    """A folder as the subject of questions."""
    return OpenedModel(str(folder), Settings.from_environment(any_folder=True))
