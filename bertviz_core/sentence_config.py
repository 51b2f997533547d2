"""What a checkpoint's sentence-transformers files say beside its modules: prompts, maximum length, kept dimensions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bertviz_core.checkpoint import read_json
from bertviz_core.errors import TextError
from bertviz_core.own_files import present
from bertviz_core.results.sentences import SentencePlan
from bertviz_core.safetensors_header import shown

PROMPTS_FILE = "config_sentence_transformers.json"
LENGTH_FILES = tuple(
    f"sentence_{name}_config.json"
    for name in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
TASK = "feature-extraction"
NO_PROMPT = "none"
"""Asks for no prompt, where no prompt of the checkpoint is called so."""


class SentenceConfig(NamedTuple):
    """The settings of a checkpoint's sentence vectors."""

    prompts: Mapping[str, str] | None
    """Prompts by name."""
    prompt: str
    """The one that stands in front of every text unless another is asked for."""
    max_seq_length: int | None
    """Most tokens of a sentence."""
    lower_case: bool
    """Whether texts are put into lower case."""
    truncate_dim: int | None
    """Leading dimensions that are kept."""
    notices: tuple[str, ...]
    """What is not followed, one sentence each."""


def sentence_config(folder: Path) -> SentenceConfig:
    """The settings in a checkpoint's folder; none where it has no such files.

    Raises:
        CheckpointError: a file is damaged, or not the folder's own.
    """
    whole = read_json(folder, PROMPTS_FILE) if present(folder, PROMPTS_FILE) else {}
    reader = next((read_json(folder, name) for name in LENGTH_FILES if present(folder, name)), {})
    listed = whole.get("prompts")
    prompts = (
        {str(name): text for name, text in listed.items() if isinstance(text, str)} if isinstance(listed, dict) else {}
    )
    return SentenceConfig(
        prompts=prompts or None,
        prompt=prompts.get(str(whole.get("default_prompt_name")), ""),
        max_seq_length=_count(reader.get("max_seq_length")),
        lower_case=reader.get("do_lower_case") is True,
        truncate_dim=_count(whole.get("truncate_dim")),
        notices=tuple(_not_followed(reader)),
    )


def prompt_named(plan: SentencePlan, name: str) -> str:
    """The text of a prompt by its name; "none" is no prompt at all.

    Raises:
        TextError: the checkpoint has no prompt of this name.
    """
    prompts = plan.prompts or {}
    if name in prompts:
        return prompts[name]
    if name == NO_PROMPT:
        return ""
    known = ", ".join(shown(each) for each in prompts)
    there = f"the checkpoint has {known}" if prompts else "the checkpoint names none"
    raise TextError(f"There is no prompt {shown(name, 40)}: {there}; {NO_PROMPT} is no prompt at all.")


def offered_prompts(plan: SentencePlan) -> tuple[str, ...]:
    """Names of the prompts that are a text, in the checkpoint's order."""
    return tuple(name for name, text in (plan.prompts or {}).items() if text)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _not_followed(reader: Mapping[str, Any]) -> list[str]:
    """Settings of the newer files that change what the model reads or gives."""
    found = []
    task = reader.get("transformer_task", TASK)
    if task != TASK:
        found.append(f"The checkpoint runs its encoder for {shown(str(task))}, not for vectors; its vectors differ.")
    if reader.get("processing_kwargs"):
        found.append(
            "The checkpoint's own tokenizer settings (processing_kwargs) are not followed; its vectors differ."
        )
    if reader.get("query_expansion"):
        found.append("The checkpoint's query expansion is not followed; its vectors of queries differ.")
    output = reader.get("modality_config")
    method = output.get("text") if isinstance(output, dict) else None
    name = method.get("method_output_name", "last_hidden_state") if isinstance(method, dict) else "last_hidden_state"
    if name != "last_hidden_state":
        found.append(f"The checkpoint pools the model's output {shown(str(name))}, which is not offered here.")
    return found
