"""Read how a checkpoint compares a query with a document token by token (ColBERT, Khattab and Zaharia 2020).

Three formats are read: folders of sentence-transformers 6 (MultiVectorEncoder), of PyLate, and of Stanford's ColBERT;
beside them the multi-vector head of BGE-M3. Any other encoder is compared by its last hidden states, with a notice.
"""

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import MODULES_FILE, present
from bertviz_core.isolation.sanitized.entries import described
from bertviz_core.models.local_files import modules_folder, weights_folder
from bertviz_core.models.receipt import PROMPTS_FILE, STANFORD_CLASS
from bertviz_core.models.safetensors.folder import read_json
from bertviz_core.models.sentence_folder import encoder_settings, listed_modules
from bertviz_core.models.sources import ModelSource
from bertviz_core.predictions.late_interaction_modules import (
    MASK_MODULE,
    TokenModules,
    reading_plan,
    stanford_projection,
    string_list,
    token_heads,
    token_modules,
)
from bertviz_core.sentences.plan import MAX_PROMPT, sentence_config
from bertviz_core.sentences.results import DenseLayer
from bertviz_core.settings import Settings
from bertviz_core.text import quoted

Format = Literal["sentence-transformers", "PyLate", "Stanford", "BGE-M3", ""]
METADATA_FILE = "artifact.metadata"
OWN_TYPE, PYLATE_TYPE = "MultiVectorEncoder", "ColBERT"
MARKERS: Mapping[str, str] = {"query": "[unused0] ", "document": "[unused1] "}
"""Markers of Stanford's format."""
QUERY_LENGTH = 32
"""Tokens of an expanded query if the files name no number."""
KNOBS = ("query_length", "document_length", "query_expansion")
OLDER_KEYS = (
    *KNOBS,
    *("do_query_expansion", "attend_to_expansion_tokens", "attend_to_mask_tokens"),
    *("query_prefix", "document_prefix", "skiplist_words"),
)
"""Keys of PyLate in the settings of sentence-transformers."""
STRATEGIES = ("fixed", "min")
MOST_TOKENS = 1_000_000
"""A length above this is no number of tokens."""
MEAN = "meanmaxsim"
UNTRAINED = (
    "This model was not trained for late interaction: its last vectors are compared as they are, and the score says "
    "little about a match."
)


@dataclass(frozen=True, slots=True)
class QueryExpansion:
    """How queries are filled up to a length."""

    length: int
    fixed: bool
    """Whether longer queries are cut to this length."""
    attend: bool
    """Whether the encoder attends to the added tokens."""
    token: str
    """The added token; "" for the mask, or the end of the sequence in a vocabulary without one."""


@dataclass(frozen=True, slots=True)
class TextSide:
    """How a query, or a document, becomes tokens."""

    prompt: str = ""
    """Text in front."""
    marker: str = ""
    """Beginning of the prompt that is one token, if the vocabulary has it; "" for none."""
    length: int | None = None
    """Maximum number of tokens; None for that of the model."""
    skips: bool = False
    """Whether the tokens of the skip list are left out of the score."""


@dataclass(frozen=True, slots=True, eq=False)
class InteractionPlan:
    """How a model compares a query with documents."""

    format: Format
    """Format of the checkpoint; "" for a model that was not trained for it."""
    query: TextSide
    """How the query becomes tokens."""
    document: TextSide
    """How a document becomes tokens."""
    expansion: QueryExpansion | None = None
    """How queries are filled up; None for not."""
    dense: tuple[DenseLayer, ...] = ()
    skiplist: tuple[str, ...] = ()
    normalize: bool = True
    mean: bool = False
    """Whether the score is the mean over the tokens of the query."""
    lower_case: bool = False
    """Whether texts are lowercased."""
    skips_first: bool = False
    """Whether the first token of a text, such as [CLS], is not scored."""

    @property
    def trained(self) -> bool:
        """Whether the checkpoint was trained for late interaction."""
        return self.format != ""

    @property
    def reason(self) -> str:
        """The steps, in one sentence."""
        if not self.trained:
            return UNTRAINED
        steps = [f"a projection to {layer.weight.shape[0]:,} dimensions" for layer in self.dense]
        steps += ["unit length"] if self.normalize else []
        steps += ["the first token left out of the score"] if self.skips_first else []
        if self.expansion is not None:
            least = "" if self.expansion.fixed else "at least "
            filler = quoted(self.expansion.token, 20) if self.expansion.token else "masks"
            steps.append(f"queries filled up with {filler} to {least}{self.expansion.length:,} tokens")
        if self.skiplist:
            steps.append(f"{len(self.skiplist):,} tokens, such as punctuation, left out of the score")
        return f"Late interaction as the checkpoint was trained, in the format of {self.format}: {', '.join(steps)}."


def interaction_plan(source: ModelSource, settings: Settings) -> InteractionPlan:
    """Return how a checkpoint compares a query with a document."""
    folder, encoder = modules_folder(source, settings), weights_folder(source, settings)
    listed = listed_modules(folder, source.way)
    saved = read_json(folder, PROMPTS_FILE) if present(folder, PROMPTS_FILE) else {}
    kind, masked = saved.get("model_type"), any(name.endswith(f".{MASK_MODULE}") for name, _ in listed or ())
    if listed is not None and (kind in (OWN_TYPE, PYLATE_TYPE) or "query_prefix" in saved or masked):
        return _library_plan(folder, encoder, listed, saved, older=kind != OWN_TYPE and not masked)
    if (heads := token_heads(source, settings)) is not None:
        reading = reading_plan(source, settings)
        side = TextSide(reading.prompt, length=reading.max_seq_length)
        return InteractionPlan(
            "BGE-M3", side, side, None, (heads.colbert,), mean=True, lower_case=reading.lower_case, skips_first=True
        )
    architectures = source.config.get("architectures")
    if listed is None and isinstance(architectures, Sequence) and STANFORD_CLASS in architectures:
        return _stanford_plan(source, settings, folder)
    length = sentence_config(folder, encoder)
    side = TextSide(length=length.max_seq_length)
    return InteractionPlan("", side, side, lower_case=length.lower_case)


def _library_plan(
    folder: Path, encoder: Path, listed: Sequence[tuple[str, str]], saved: Mapping[str, Any], older: bool
) -> InteractionPlan:
    """Read a folder of sentence-transformers, or of PyLate, whose masking and normalisation have no files."""
    modules, config = token_modules(folder, listed), sentence_config(folder, encoder)
    if older:
        _complete(modules, saved)
    own = encoder_settings(encoder)
    knobs = {**_older_knobs(saved), **{key: own[key] for key in KNOBS if key in own}}
    sides = {name: _side(name, saved, config.prompts or {}, name in modules.skipping) for name in ("query", "document")}
    expansion = _expansion(knobs.get("query_expansion"))
    lengths = {name: _count(knobs.get(f"{name}_length")) or config.max_seq_length for name in sides}
    return InteractionPlan(
        format="PyLate" if older else "sentence-transformers",
        query=_long(sides["query"], _query_length(expansion, knobs, lengths["query"])),
        document=_long(sides["document"], lengths["document"]),
        expansion=expansion,
        dense=modules.dense,
        skiplist=modules.skiplist,
        normalize=modules.normalize,
        mean=saved.get("similarity_fn_name") == MEAN,
        lower_case=config.lower_case,
    )


def _complete(modules: TokenModules, saved: Mapping[str, Any]) -> None:
    """Add the steps that PyLate runs without a module: the skip list of punctuation and the normalisation."""
    if not modules.dense:
        raise CheckpointError(
            f"The checkpoint is a ColBERT of PyLate, and {MODULES_FILE} names no Dense, which is its projection; put "
            "in all folders of the trained model."
        )
    listed = saved.get("skiplist_words")
    modules.skiplist = tuple(string.punctuation) if listed is None else string_list(listed, "skiplist_words")
    modules.normalize = True


def _stanford_plan(source: ModelSource, settings: Settings, folder: Path) -> InteractionPlan:
    metadata = read_json(folder, METADATA_FILE) if present(folder, METADATA_FILE) else {}
    markers = {
        name: f"{marker} " if isinstance(marker := metadata.get(key), str) and marker else MARKERS[name]
        for name, key in (("query", "query_token_id"), ("document", "doc_token_id"))
    }
    length = _count(metadata.get("query_maxlen")) or QUERY_LENGTH
    return InteractionPlan(
        format="Stanford",
        query=TextSide(markers["query"], markers["query"], length),
        document=TextSide(markers["document"], markers["document"], _count(metadata.get("doc_maxlen")), skips=True),
        expansion=QueryExpansion(length, True, bool(metadata.get("attend_to_mask_tokens")), ""),
        dense=(stanford_projection(source, settings),),
        skiplist=tuple(string.punctuation) if metadata.get("mask_punctuation", True) else (),
    )


def _older_knobs(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Lengths and expansion in the keys of PyLate, which expands queries to 32 tokens if its files say nothing else."""
    knobs = {
        key: saved[key] for key in KNOBS if saved.get(key) is not None or (key == "query_expansion" and key in saved)
    }
    if "query_expansion" in knobs or not any(key in saved for key in OLDER_KEYS):
        return knobs
    if saved.get("do_query_expansion") is False:
        return {**knobs, "query_expansion": None}
    length = knobs.pop("query_length", None) or QUERY_LENGTH
    attend = saved.get("attend_to_expansion_tokens", saved.get("attend_to_mask_tokens"))
    return {**knobs, "query_expansion": {"strategy": "fixed", "attend": bool(attend), "length": length}}


def _side(name: str, saved: Mapping[str, Any], prompts: Mapping[str, str], skips: bool) -> TextSide:
    """Prompt and marker of a side; PyLate's marker precedes the prompt."""
    prompt, marker = prompts.get(name, ""), saved.get(f"{name}_prefix")
    if not isinstance(marker, str) or not marker:
        return TextSide(prompt, skips=skips)
    if len(marker) > MAX_PROMPT:
        raise CheckpointError(f"The checkpoint's {name}_prefix has more than {MAX_PROMPT:,} characters; shorten it.")
    return TextSide(marker + prompt.removeprefix(marker), marker, skips=skips)


def _long(side: TextSide, length: int | None) -> TextSide:
    return TextSide(side.prompt, side.marker, length, side.skips)


def _query_length(expansion: QueryExpansion | None, knobs: Mapping[str, Any], length: int | None) -> int | None:
    """Maximum number of tokens of a query: an expansion to a fixed length sets it, another only raises it."""
    if expansion is None:
        return length
    if expansion.fixed:
        return expansion.length
    return max(expansion.length, length) if _count(knobs.get("query_length")) and length else length


def _expansion(value: Any) -> QueryExpansion | None:
    """Check the expansion of queries, as sentence-transformers does."""
    if value is None:
        return None
    entries = value if isinstance(value, dict) else {}
    length, attend, token = _count(entries.get("length")), entries.get("attend", False), entries.get("token")
    known = entries.get("strategy") in STRATEGIES and isinstance(attend, bool) and not set(entries) - {
        "strategy", "attend", "token", "length",
    }  # fmt: skip
    if length is None or not known or not (token is None or isinstance(token, str)):
        raise CheckpointError(
            f"The checkpoint's query_expansion is {described(value)}; it is an object with the strategy fixed or min "
            "and a length in tokens."
        )
    return QueryExpansion(length, entries["strategy"] == "fixed", attend, token or "")


def _count(value: Any) -> int | None:
    """A number of tokens above 0; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < MOST_TOKENS else None
