"""Run every family once from a folder to a trace and in eager mode, for the tables of docs/families.md."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.hidden_states.embeddings import embedding_sum, pooler_check
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel, load_model
from bertviz_core.models.sources import ModelSource, folder_source
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.settings import Settings
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, tokenize
from bertviz_core.trace.verification import model_inputs
from tests.helpers.tiny_heads import NOT_RUN, families_with, head_difference
from tests.helpers.tiny_models import FAMILIES, PAIR, TEXT, save_tiny

DOCUMENT = Path(__file__).parents[2] / "docs" / "families.md"
HEAD = """# What works for which family

Made by `python -m tests.helpers.families_document` from the runs of `tests/trace/test_families.py`: a tiny random model
of every family, saved, loaded, tokenized and traced, its hidden states, pooler output and every head of every layer
compared with the model's own eager run (1e-5). Do not edit; a test compares the file with the runs.

* **parameters**: whether the ledger's count equals the loaded model's.
* **tokens**: how many of the config's positions a text may use ("-" where only the tokenizer sets a limit).
* **hidden states**: the embedding output and the output of every layer.
* **embedding sum**: word + position + type, normalised and projected, gives entry 0 of the hidden states.
* **pooler**: whether there is one; "checked" where a linear layer and tanh computed by hand give its output.
* **attention**: recorded (from query and key, on demand), eager (the model's own maps) or none.
* **q/k/v**: whether query, key and value of every layer and head are known.
* **padding changes**: nothing, where a padded text has the same numbers as the text alone.

"""
COLUMNS = (
    "family", "model type", "parameters", "tokens", "hidden states", "embedding sum", "pooler", "attention", "q/k/v",
    "padding changes", "remarks",
)  # fmt: skip
HEADS_HEAD = """
## Task heads

From the runs of `tests/predictions/test_run.py`: a tiny random model with the head, saved, loaded around the base model
in memory, and its outputs compared with those of transformers' own class for a text and a pair, alone and padded
(1e-5). "exact" where they agree, "not run" where the tiny model lacks what transformers' own class needs, "-" where
transformers has no such class.

"""
HEAD_COLUMNS: Mapping[str, str] = {
    "masked-lm": "masked words",
    "sequence-classification": "classes",
    "token-classification": "tags",
    "question-answering": "answers",
    "next-sentence": "next sentence",
}
EXACT = 1e-5
POSITIONS = {False: "all positions", True: "positions - (padding id + 1)"}


@dataclass(frozen=True)
class FamilyRun:
    """Results for one family."""

    model_type: str
    source: ModelSource
    loaded: LoadedModel
    tokenizer: TextTokenizer
    texts: tuple[Tokens, Tokens]
    """A text, and a longer pair of texts."""
    traces: tuple[Trace, Trace] | None
    """A trace of each input; None if the family is refused."""
    refusal: str
    own: Sequence[Any]
    """The model's own eager outputs: for the text, for the pair, for both padded."""
    counted: tuple[int, int]
    """Number of parameters in the ledger, and in the loaded torch model."""


@cache
def family_run(model_type: str) -> FamilyRun:
    """Run one family through the library, and through transformers."""
    with tempfile.TemporaryDirectory() as folder:
        path = save_tiny(model_type, Path(folder))
        source, settings = folder_source(model_type, path), Settings.from_environment()
        tokenizer, loaded = load_tokenizer(source, settings), load_model(source, settings)
        texts = (tokenize(tokenizer, TEXT), tokenize(tokenizer, TEXT, PAIR))
        counted = (source_ledger(source, settings).total, own_model(path, 1).num_parameters())
        try:
            traces = (trace(loaded, texts[0]), trace(loaded, texts[1]))
        except UnsupportedModelError as error:
            return FamilyRun(model_type, source, loaded, tokenizer, texts, None, str(error), (), counted)
        own = [own_output(path, loaded, chosen) for chosen in (texts[:1], texts[1:], texts)]
        return FamilyRun(model_type, source, loaded, tokenizer, texts, traces, "", own, counted)


def own_output(path: Path, loaded: LoadedModel, texts: Sequence[Tokens]) -> Any:
    """The output of an independent from_pretrained with eager attention, for the same inputs."""
    model = own_model(path, max(len(tokens) for tokens in texts))
    if model.config.is_encoder_decoder:
        model = model.get_encoder()
    inputs = model_inputs(loaded, texts)
    with torch.no_grad():
        return model(**inputs, output_hidden_states=True, output_attentions=True)


def own_model(path: Path, seq: int) -> Any:
    """The model as loaded by transformers, with eager attention.

    BigBird is configured for short texts: if it switches at run time, it loses its attention maps.
    """
    model = AutoModel.from_pretrained(path, attn_implementation="eager").eval()
    if (
        hasattr(model, "set_attention_type")
        and seq <= (5 + 2 * model.config.num_random_blocks) * model.config.block_size
    ):
        model.set_attention_type("original_full")
    return model


def heads_part() -> str:
    """The table of task heads, each of which is run."""
    rows = [["family", *HEAD_COLUMNS.values()], ["---"] * (1 + len(HEAD_COLUMNS))]
    rows += ([family(name).title, *(head_cell(name, task) for task in HEAD_COLUMNS)] for name in FAMILIES)
    return HEADS_HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def head_cell(name: str, task: str) -> str:
    """Whether the outputs of a task head are those of transformers' own class."""
    if name not in families_with(task):
        return "-"
    if (name, task) in NOT_RUN:
        return "not run"
    return "exact" if head_difference(name, task) <= EXACT else "differ"


def families_part() -> str:
    """The table of the outputs of every family's base model."""
    rows = [COLUMNS, ["---"] * len(COLUMNS), *(_cells(family_run(name)) for name in FAMILIES)]
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cells(run: FamilyRun) -> list[str]:
    names = [
        family(run.model_type).title,
        f"`{run.model_type}`",
        "exact" if run.counted[0] == run.counted[1] else "differ",
        _tokens(run),
    ]
    if run.traces is None:
        return [*names, "no", "-", "-", "none", "no", "-", run.refusal]
    single = run.traces[0]
    sums = embedding_sum(run.loaded, single)
    row = family(run.model_type)
    pooler = "no" if single.pooler_output is None else "yes" if pooler_check(run.loaded, single) is None else "checked"
    why = "" if single.attention_source == "recorded" else single.attention_note
    remarks = [row.embedding_note, *run.loaded.notices, why]
    return [
        *names,
        "yes",
        "exact" if sums.exact else "in part",
        pooler,
        single.attention_source,
        "yes" if single.query else "no",
        row.padding_acts or "nothing",
        " ".join(remark for remark in remarks if remark),
    ]


def _tokens(run: FamilyRun) -> str:
    return (
        POSITIONS[family(run.model_type).positions_behind_padding] if "positions" in run.tokenizer.limit.reason else "-"
    )
