"""What a checkpoint scores a query and a text by: a head of its class, the logits of tokens, or modules over a vector.

The facts are those of the files of sentence-transformers, and of model cards where a folder says nothing.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import CONFIG_NBYTES, VOCABULARY_NBYTES, json_object, present, read_file
from bertviz_core.models.local_files import saved_class, tokenizer_folder
from bertviz_core.models.receipt import PROMPTS_FILE, TOKENIZER_CONFIG
from bertviz_core.models.safetensors.folder import read_json
from bertviz_core.models.sentence_folder import LIBRARY_PREFIX, class_end, encoder_settings, listed_modules
from bertviz_core.models.sources import ModelSource
from bertviz_core.settings import Settings
from bertviz_core.text import quoted

OF_HEAD, OF_TOKENS, OF_VECTORS = "sequence-classification", "text-generation", "feature-extraction"
"""What scores are made of, by the tasks of sentence-transformers: a classification head, logits of tokens in the place
of the next one, or modules over a vector of the text."""
CROSS_ENCODER, LOGIT_SCORE, SCORES = "CrossEncoder", "LogitScore", "scores"
TEMPLATE_FILE, TEMPLATES_FOLDER, DEFAULT_TEMPLATE = "chat_template.jinja", "additional_chat_templates", "default"
MOST_TEMPLATES = 20
"""Maximum number of further chat templates that are read."""
VOCABULARY_FILE = "tokenizer.json"
SPACE_MARKS = "\u2581\u0120"
YES_NO = ("yes", "no")
"""The tokens that sentence-transformers takes where a folder names none."""


class Card(NamedTuple):
    """How a model card has query and text read and scored, for folders that do not say so."""

    source: str
    """The card, in words."""
    model_type: str
    parts: tuple[str, str, str]
    """What stands in front of the query, between query and text, and behind the text."""


WEB_SEARCH = "Given a web search query, retrieve relevant passages that answer the query"
CARDS: Mapping[str, Card] = {
    r"(?:^|[^a-z0-9])qwen3-reranker": Card(
        "the model card of Qwen3-Reranker",
        "qwen3",
        (
            "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
            'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
            f"<Instruct>: {WEB_SEARCH}\n<Query>: ",
            "\n<Document>: ",
            "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
        ),
    )
}
"""Pattern of a model's name -> what the card of its family says."""


class AnswerTokens(NamedTuple):
    """The tokens whose logits, in the place of the next token, make a score: the first minus the second."""

    ids: tuple[int, ...]
    """One or two ids."""
    names: tuple[str, ...]
    """Their spellings, without a mark for a space."""
    notice: str
    """Where they are from, in a sentence."""

    @property
    def compared(self) -> tuple[str, ...]:
        """The spellings of two tokens; () for one alone."""
        return self.names if len(self.names) > 1 else ()


def card_of(source: ModelSource) -> Card | None:
    """The model card of a reranker's family, by its names; None for none."""
    cards = (card for name in source.last_names for pattern, card in CARDS.items() if re.search(pattern, name))
    return next((card for card in cards if card.model_type == source.model_type), None)


def own_folder(source: ModelSource) -> Path | None:
    """The folder with the files of sentence-transformers; None for a model of which only the config is known."""
    return source.modules_folder or source.folder


def saved_as_cross_encoder(folder: Path) -> bool:
    """Whether the files of sentence-transformers say that a folder was saved as a CrossEncoder."""
    return present(folder, PROMPTS_FILE) and read_json(folder, PROMPTS_FILE).get("model_type") == CROSS_ENCODER


def scored_by(source: ModelSource) -> str:
    """What the scores of a checkpoint are made of: OF_HEAD, OF_TOKENS or OF_VECTORS.

    A causal model without modules.json scores by tokens if its chat template names query and document, or a card says
    how it is asked.
    """
    folder = own_folder(source)
    modules = listed_modules(folder) if folder is not None else None
    if folder is not None and modules:
        if _last_of(modules, LOGIT_SCORE) is not None:
            return OF_TOKENS
        dense = _last_of(modules, "Dense")
        makes = dense is not None and module_config(folder, dense).get("module_output_name") == SCORES
        encoder = encoder_settings(source.folder or folder)
        return OF_VECTORS if makes and encoder.get("transformer_task", OF_VECTORS) == OF_VECTORS else OF_HEAD
    if not saved_class(source.config).endswith("ForCausalLM"):
        return OF_HEAD
    template = {} if source.folder is None else chat_templates(source.folder)
    named = all(role in template.get(DEFAULT_TEMPLATE, "") for role in ("query", "document"))
    return OF_TOKENS if named or card_of(source) else OF_HEAD


def _last_of(modules: Sequence[tuple[str, str]], end: str) -> str | None:
    """The folder of the last module of a class of the library."""
    paths = (path for name, path in reversed(modules) if class_end(name) == end and name.startswith(LIBRARY_PREFIX))
    return next(paths, None)


def module_config(folder: Path, module_folder: str) -> dict[str, Any]:
    """The config of a module; {} for none."""
    name = f"{module_folder}/config.json"
    return read_json(folder, name) if present(folder, name) else {}


def chat_templates(folder: Path) -> dict[str, str]:
    """Name -> chat template of a tokenizer's folder; the files go before tokenizer_config.json, as in transformers."""
    templates = {}
    if present(folder, TEMPLATE_FILE):
        templates[DEFAULT_TEMPLATE] = _text(folder, TEMPLATE_FILE)
    if present(folder, TEMPLATES_FOLDER):
        paths = sorted((folder / TEMPLATES_FOLDER).glob("*.jinja"))[:MOST_TEMPLATES]
        templates |= {path.stem: _text(folder, f"{TEMPLATES_FOLDER}/{path.name}") for path in paths}
    if templates or not present(folder, TOKENIZER_CONFIG):
        return templates
    listed = read_json(folder, TOKENIZER_CONFIG).get("chat_template")
    if isinstance(listed, str):
        return {DEFAULT_TEMPLATE: listed}
    rows = listed if isinstance(listed, list) else []
    pairs = ((row.get("name"), row.get("template")) for row in rows if isinstance(row, dict))
    return {name: template for name, template in pairs if isinstance(name, str) and isinstance(template, str)}


def _text(folder: Path, name: str) -> str:
    return read_file(folder, name, CONFIG_NBYTES).decode("utf-8", "replace")


def answer_tokens(source: ModelSource, settings: Settings) -> AnswerTokens:
    """The tokens that a checkpoint's scores are made of."""
    folder = own_folder(source)
    modules = listed_modules(folder) if folder is not None else None
    place = None if modules is None else _last_of(modules, LOGIT_SCORE)
    vocabulary = _vocabulary(tokenizer_folder(source, settings))
    if folder is not None and place is not None:
        return _named_by_module(source, module_config(folder, place), place, vocabulary)
    lacking = next((word for word in YES_NO if word not in vocabulary), None)
    if lacking is not None:
        raise CheckpointError(
            f"{source.name!r} is scored by the tokens {YES_NO[0]} and {YES_NO[1]}, and its tokenizer has no single "
            f"token {quoted(lacking)}; put in the tokenizer that the model was trained with."
        )
    card = card_of(source)
    why = card.source if card is not None else "what sentence-transformers takes where a folder names no tokens"
    notice = f"The score compares the logits of the tokens 'yes' and 'no' in the place of the next token: {why}."
    return AnswerTokens(tuple(vocabulary[word] for word in YES_NO), YES_NO, notice)


def _named_by_module(
    source: ModelSource, config: Mapping[str, Any], place: str, vocabulary: Mapping[str, int]
) -> AnswerTokens:
    """The tokens that a LogitScore module names."""
    true_id, false_id = config.get("true_token_id"), config.get("false_token_id")
    ids = tuple(each for each in (true_id, false_id) if each is not None)
    rows = source.config.get("vocab_size")
    most = rows if isinstance(rows, int) else max(vocabulary.values(), default=0) + 1
    wrong = [each for each in ids if not isinstance(each, int) or isinstance(each, bool) or not 0 <= each < most]
    if true_id is None or wrong or len(set(ids)) < len(ids):
        raise CheckpointError(
            f"The module {quoted(place)} of {source.name!r} (LogitScore) has {quoted(str(true_id), 20)} and "
            f"{quoted(str(false_id), 20)} as true_token_id and false_token_id; two different ids from 0 to "
            f"{most - 1:,} are needed, or one and null: correct its config.json."
        )
    spelled = {number: token for token, number in vocabulary.items()}
    names = tuple(spelled.get(each, "").strip(SPACE_MARKS) or f"token {each}" for each in ids)
    listed = " minus that of ".join(quoted(name, 40) for name in names)
    notice = f"The logit of a score is that of {listed} in the place of the next token, as its LogitScore says."
    return AnswerTokens(ids, names, notice)


def _vocabulary(folder: Path) -> dict[str, int]:
    """Token -> id in tokenizer.json; {} without one."""
    if not present(folder, VOCABULARY_FILE):
        return {}
    content = json_object(VOCABULARY_FILE, read_file(folder, VOCABULARY_FILE, VOCABULARY_NBYTES))
    model, added = content.get("model"), content.get("added_tokens")
    listed = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(listed, list):  # of a unigram model: pieces with their log-probabilities
        listed = {row[0]: index for index, row in enumerate(listed) if isinstance(row, list) and row}
    tokens = dict(listed) if isinstance(listed, dict) else {}
    tokens |= {row.get("content"): row.get("id") for row in added or () if isinstance(row, dict)}
    return {token: number for token, number in tokens.items() if isinstance(token, str) and isinstance(number, int)}
