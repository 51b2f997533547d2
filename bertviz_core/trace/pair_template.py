"""How a reranker's query and text become one text: by the chat template of its folder, or by its model card.

A template is rendered once, with two marks in the places of query and text. So it is taken to treat all texts alike;
one that changes them, as by other letters, is refused.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import msgspec

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import present
from bertviz_core.isolation.run import ChildError, Limits
from bertviz_core.models.local_files import saved_class, tokenizer_folder
from bertviz_core.models.receipt import PROMPTS_FILE
from bertviz_core.models.rerankers import (
    DEFAULT_TEMPLATE,
    OF_HEAD,
    TEMPLATE_FILE,
    card_of,
    chat_templates,
    own_folder,
    saved_as_cross_encoder,
    scored_by,
)
from bertviz_core.models.safetensors.folder import read_json
from bertviz_core.models.sentence_folder import encoder_settings, listed_modules
from bertviz_core.models.sources import ModelSource
from bertviz_core.settings import Settings
from bertviz_core.text import quoted
from bertviz_core.trace.isolated.chat_template import RENDERED_NBYTES, Rendering, rendered

SPACE = "\t\x0b"
"""White space around the marks, by which a template that trims its texts is known."""
MARKS = ("Query7mArk", "Text7mArk")
FLAT_TYPES = frozenset({"apertus", "deepseek_v3", "gpt_oss", "seed_oss"})
STRUCTURED = ("content[0]", ".type", "'type'", '"type"', "item.type", "message.content[")
"""Families with plain messages, and parts of templates that read messages in parts, both as sentence-transformers has
them."""
FLAT = "flat"


class Slot(NamedTuple):
    """A place of a template for one of the two texts."""

    sequence: int
    """0 for the query, 1 for the text."""
    trims_left: bool
    trims_right: bool


class Placed(NamedTuple):
    """A text in a filled template."""

    sequence: int
    start: int
    end: int
    """Its characters in the filled template, end exclusive."""
    shift: int
    """Number of characters of the text that were trimmed in front."""


class PairTemplate(NamedTuple):
    """How two texts are joined."""

    parts: tuple[str | Slot, ...]
    """Texts of the template, and places; () for two texts that are joined as the tokenizer does it."""
    notice: str
    """What is done, in a sentence."""
    keeps_end: bool = True
    """Whether a long text is cut in front of the template's end, and not at it."""

    def filled(self, text: str, pair: str) -> tuple[str, tuple[Placed, ...]]:
        """The template with both texts, and where they are."""
        whole, placed = "", []
        for part in self.parts:
            if isinstance(part, str):
                whole += part
                continue
            own = pair if part.sequence else text
            trimmed = own.lstrip() if part.trims_left else own
            shift = len(own) - len(trimmed)
            trimmed = trimmed.rstrip() if part.trims_right else trimmed
            placed.append(Placed(part.sequence, len(whole), len(whole) + len(trimmed), shift))
            whole += trimmed
        return whole, tuple(placed)


Finder = Callable[[], PairTemplate | None]
"""Returns how a checkpoint has a query and a text joined, None where its tokenizer joins them."""


def template_finder(source: ModelSource, settings: Settings, special_tokens: Mapping[str, str]) -> Finder:
    """Read the files that say how a query and a text are joined; what is returned reads no file.

    Args:
        special_tokens: name of a special token -> its spelling, which a template may use.
    """
    try:
        return cache(_finder(source, settings, special_tokens))
    except CheckpointError as error:
        refusal = error

    def refused() -> PairTemplate | None:
        raise refusal

    return refused


def _finder(source: ModelSource, settings: Settings, special_tokens: Mapping[str, str]) -> Finder:
    top, encoder = own_folder(source), source.folder
    scored = scored_by(source)
    if top is None or encoder is None:
        return lambda: None if scored == OF_HEAD else _of_card(source)
    templates = chat_templates(tokenizer_folder(source, settings))
    if listed_modules(top) is None:
        if scored == OF_HEAD and not saved_class(source.config).endswith("ForSequenceClassification"):
            return lambda: None
        return partial(_without_modules, _Reader(source, settings, templates, special_tokens, {}, ""))
    if scored == OF_HEAD and not saved_as_cross_encoder(top):
        return lambda: None
    own = encoder_settings(encoder)
    modality = own.get("modality_config")
    if not isinstance(modality, dict) or "message" not in modality:
        return lambda: _not_applied("its sentence_bert_config.json does not name it") if templates else None
    saved = read_json(top, PROMPTS_FILE) if present(top, PROMPTS_FILE) else {}
    return partial(_named_by_modules, _Reader(source, settings, templates, special_tokens, own, _prompt(saved)))


def _without_modules(reader: "_Reader") -> PairTemplate | None:
    """The folder's template if it shows both texts, or that of the model card."""
    template, refusal = reader.attempt()
    unused = _not_applied(refusal) if reader.template else None
    return template or _of_card(reader.source) or unused


def _named_by_modules(reader: "_Reader") -> PairTemplate:
    template, refusal = reader.attempt()
    if template is None:
        raise CheckpointError(
            f"{reader.source.name!r} has query and text read in a chat template, which cannot be followed: {refusal}. "
            "Put in the template that the model was trained with."
        )
    return template


def _prompt(saved: Mapping[str, Any]) -> str:
    prompts = saved.get("prompts")
    prompt = prompts.get(saved.get("default_prompt_name")) if isinstance(prompts, dict) else None
    return prompt if isinstance(prompt, str) else ""


def _of_card(source: ModelSource) -> PairTemplate | None:
    card = card_of(source)
    if card is None:
        return None
    first, between, last = card.parts
    query, text = (Slot(sequence, False, False) for sequence in (0, 1))
    return PairTemplate(
        (first, query, between, text, last),
        f"The folder names no template for query and text; they are read in that of {card.source}.",
    )


def _not_applied(why: str) -> PairTemplate:
    return PairTemplate(
        (),
        f"The folder has a chat template, in which query and text are not read here, since {why}; if the model was "
        "trained with one, its scores differ.",
    )


class _Reader:
    """Reads the template of a folder."""

    def __init__(
        self,
        source: ModelSource,
        settings: Settings,
        templates: Mapping[str, str],
        special_tokens: Mapping[str, str],
        own: Mapping[str, Any],
        prompt: str,
    ) -> None:
        processing = own.get("processing_kwargs")
        own_variables = processing.get("chat_template") if isinstance(processing, dict) else None
        self._variables: dict[str, Any] = dict(special_tokens)
        if isinstance(own_variables, dict):
            self._variables |= own_variables
        name = self._variables.pop("chat_template", None)
        self._keeps_end = self._variables.pop("restore_suffix", True) is not False
        usual = templates.get(DEFAULT_TEMPLATE, "")
        self.source, self.template = source, templates.get(name, name) if isinstance(name, str) else usual
        self._flat = _is_flat(source, own, templates)
        self._limits = Limits.of(settings, RENDERED_NBYTES)
        self._prompt = prompt

    def attempt(self) -> tuple[PairTemplate | None, str]:
        """The template, or None and why it does not show both texts."""
        if not self.template:
            return None, f"there is no {TEMPLATE_FILE} in its folder"
        query, text = (f"{SPACE}{mark}{SPACE[::-1]}" for mark in MARKS)
        messages = [("query", query), ("document", text)]
        if self._prompt:
            messages.insert(0, ("system", self._prompt))
        chat = [{"role": role, "content": self._content(content)} for role, content in messages]
        request = msgspec.msgpack.encode(Rendering(self.template, chat, self._variables))
        try:
            whole = rendered(request, self._limits)
        except (CheckpointError, ChildError) as error:
            return None, f"the template cannot be rendered ({str(error).rstrip('.')})"
        parts = _parted(whole)
        lacking = [
            role
            for sequence, role in enumerate(("query", "text"))
            if not any(isinstance(part, Slot) and part.sequence == sequence for part in parts)
        ]
        if lacking:
            return None, f"the template does not show the {' and the '.join(lacking)} as given"
        prompt = f", with the prompt {quoted(self._prompt, 80)}" if self._prompt else ""
        notice = f"Query and text are read in the chat template of the folder{prompt}."
        return PairTemplate(parts, notice, self._keeps_end), ""

    def _content(self, text: str) -> str | list[dict[str, str]]:
        return text if self._flat else [{"type": "text", "text": text}]


def _is_flat(source: ModelSource, own: Mapping[str, Any], templates: Mapping[str, str]) -> bool:
    """Whether a message is a text, and not a list of parts, as sentence-transformers decides it."""
    modality = own.get("modality_config")
    message = modality.get("message") if isinstance(modality, dict) else None
    named = message.get("format", "auto") if isinstance(message, dict) else "auto"
    if named != "auto":
        return bool(named == FLAT)
    if source.model_type in FLAT_TYPES:
        return True
    alone = templates[DEFAULT_TEMPLATE] if list(templates) == [DEFAULT_TEMPLATE] else STRUCTURED[0]
    return not any(part in alone for part in STRUCTURED)


def _parted(whole: str) -> tuple[str | Slot, ...]:
    """A rendered template, cut at the marks."""
    parts: list[str | Slot] = []
    last = 0
    for match in re.finditer(rf"({SPACE})?({'|'.join(MARKS)})({SPACE[::-1]})?", whole):
        before, mark, after = match.groups()
        parts += [whole[last : match.start()], Slot(MARKS.index(mark), before is None, after is None)]
        last = match.end()
    return (*parts, whole[last:])
