"""Lines of Python that load the model and read the text, which begin many a "How this is computed"."""

from inspect import signature
from typing import Any

from bertviz_core.models.own import TOWERS
from bertviz_core.models.sentence_folder import STATIC_TYPE
from bertviz_core.models.sources import ModelSource
from bertviz_core.questions.opened import Opened
from bertviz_core.trace.results import Tokens

LONGEST = 300
"""Most characters of texts that are written out; longer ones are variables."""


def model_lines(opened: Opened, tokens: Tokens | None = None, with_head: str = "") -> str:
    """Lines that load a model, and that read a text as `inputs` if there is one.

    Args:
        tokens: the text as the model reads it.
        with_head: class of transformers for a model with a task head.
    """
    if tokens is None:
        return _loading(opened)
    return f"{_loading(opened, True, with_head)}inputs = tokenizer({_input_arguments(tokens, opened.loaded.model)})\n"


def reader_lines(opened: Opened) -> str:
    """Lines that load a model as `model` and its tokenizer as `tokenizer`."""
    return _loading(opened, reads=True)


def base_class(source: ModelSource) -> str:
    """The class of transformers that loads the base of a model: AutoModel, or that of a text tower it lacks."""
    return TOWERS.get(source.model_type, "AutoModel")


def static_lines(source: ModelSource, model: bool = True, tokenizer: bool = False, built: bool = False) -> str:
    """Lines that load a static model, for which transformers has no class.

    Args:
        built: whether it is built without values, as its file has it.
    """
    made = "build_skeleton(source.name, source.config)" if built else "load_model(source, settings).model"
    module = "skeleton import build_skeleton" if built else "loading import load_model"
    lines = [
        "import torch",
        *([f"from bertviz_core.models.{module}"] if model else []),
        "from bertviz_core.models.sources import resolve",
        "from bertviz_core.settings import Settings",
        *(["from bertviz_core.trace.tokenization import load_tokenizer"] if tokenizer else []),
        "",
        "settings = Settings.from_environment(any_folder=True)",
        f"source = resolve({source.path or source.name!r}, settings)",
        *([f"model = {made}"] if model else []),
        *(["tokenizer = load_tokenizer(source, settings).tokenizer"] if tokenizer else []),
    ]
    return "\n".join([*lines, ""])


def _loading(opened: Opened, reads: bool = False, with_head: str = "") -> str:
    source = opened.source
    if source.model_type == STATIC_TYPE:
        return static_lines(source, tokenizer=reads)
    kind = type(opened.loaded.model).__name__
    # For an encoder-decoder model, the encoder is used; T5 and its relatives have a class that loads nothing else.
    auto = with_head or ("AutoModelForTextEncoding" if kind.endswith("Stack") else base_class(source))
    part = ".get_encoder()" if kind.endswith(("Stack", "Encoder")) and not with_head else ""
    lines = ["import torch", f"from transformers import {auto}{f', {source.tokenizer_class}' if reads else ''}", ""]
    lines.append(f"name = {source.pretrained_name!r}")
    lines.append(f"model = {auto}.from_pretrained(name){part}.eval()")
    lines += [f"tokenizer = {source.tokenizer_class}.from_pretrained(name)"] if reads else []
    return "\n".join([*lines, ""])


def reading(tokens: Tokens, model: Any, limit: int | None = None) -> str:
    """Further arguments of the tokenizer besides the text.

    Args:
        tokens: the text, or a similar one, as the model reads it.
        limit: most tokens of any text; None for the limit of this text, if it was truncated.
    """
    most = limit if limit is not None else tokens.limit if any(tokens.tokens_cut) else None
    takes = signature(model.forward).parameters
    unwanted = tokens.token_type_ids is not None and "token_type_ids" not in takes
    more = [
        'return_tensors="pt"',
        *(["add_special_tokens=False"] if tokens.filled is not None else []),
        *(["return_token_type_ids=False"] if unwanted else []),
        *([f"truncation=True, max_length={most}"] if most is not None else []),
    ]
    return ", ".join(more)


def _input_arguments(tokens: Tokens, model: Any) -> str:
    texts, short = tokens.read_texts, sum(map(len, tokens.read_texts)) <= LONGEST or tokens.filled is not None
    written = [repr(each) for each in texts] if short else ["text", "pair"][: len(texts)]
    return ", ".join([*written, reading(tokens, model)])
