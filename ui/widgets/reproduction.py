"""Lines of Python that load the chosen model and read the text: what stands first in every "How this is computed"."""

from inspect import signature
from typing import Any

from bertviz_core.trace.results import Tokens
from ui.cache import ledgers, models

LONGEST = 300
"""Characters of the texts that are written out; longer ones are left to the reader."""


def model_name_in_code(name: str) -> str:
    """What from_pretrained must be given to load a model: a folder, or an id on the Hub."""
    return ledgers.source(name).pretrained_name


def model_lines(name: str, tokens: Tokens | None = None) -> str:
    """Lines that load a model, and that read a text as `inputs` where there is one.

    Args:
        name: name of the model.
        tokens: the text as the model reads it.
    """
    model = models.loaded(name).model
    kind = type(model).__name__
    # Of an encoder-decoder model the encoder is taken; T5 and its kin have a class that loads nothing else.
    auto = "AutoModelForTextEncoding" if kind.endswith("Stack") else "AutoModel"
    part = ".get_encoder()" if kind.endswith(("Stack", "Encoder")) else ""
    imports = f"{auto}, AutoTokenizer" if tokens is not None else auto
    lines = ["import torch", f"from transformers import {imports}", "", f"name = {model_name_in_code(name)!r}"]
    lines.append(f"model = {auto}.from_pretrained(name){part}.eval()")
    if tokens is not None:
        lines += ["tokenizer = AutoTokenizer.from_pretrained(name)", f"inputs = tokenizer({_given(tokens, model)})"]
    return "\n".join([*lines, ""])


def reading(tokens: Tokens, model: Any) -> str:
    """What the tokenizer is given besides the text."""
    takes = signature(model.forward).parameters
    unwanted = tokens.token_type_ids is not None and "token_type_ids" not in takes
    more = [
        'return_tensors="pt"',
        *(["return_token_type_ids=False"] if unwanted else []),
        *([f"truncation=True, max_length={tokens.limit}"] if any(tokens.tokens_cut) else []),
    ]
    return ", ".join(more)


def _given(tokens: Tokens, model: Any) -> str:
    texts = [each for each in (tokens.text, tokens.pair) if each is not None]
    written = [repr(each) for each in texts] if sum(map(len, texts)) <= LONGEST else ["text", "pair"][: len(texts)]
    return ", ".join([*written, reading(tokens, model)])
