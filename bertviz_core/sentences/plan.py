"""Read a checkpoint's recipe for sentence vectors from its sentence-transformers files.

modules.json lists the modules after the encoder (Reimers & Gurevych 2019, section 3, and the files that the library
sentence-transformers writes). No class that it names is imported, and no pickle is opened.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.hidden_states.results import state_name
from bertviz_core.isolation.regular_files import MODULES_FILE, present
from bertviz_core.models.catalog import BUNDLED, verify_bundled
from bertviz_core.models.local_files import modules_folder, weights_folder
from bertviz_core.models.receipt import PROMPTS_FILE, of_model
from bertviz_core.models.safetensors.folder import read_json
from bertviz_core.models.sentence_folder import (
    LIBRARY_PREFIX,
    STATIC_CLASS,
    STATIC_TYPE,
    foreign_module,
    listed_modules,
)
from bertviz_core.models.sources import ModelSource
from bertviz_core.sentences.conventions import convention_notice, convention_of
from bertviz_core.sentences.pooling import dense_layer
from bertviz_core.sentences.results import DenseLayer, Pooling, SentencePlan
from bertviz_core.sentences.similarity import own_similarity
from bertviz_core.settings import Settings
from bertviz_core.text import quoted

LENGTH_FAMILIES = ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
LENGTH_FILES = tuple(f"sentence_{family}_config.json" for family in LENGTH_FAMILIES)
ENCODERS_ALONE = frozenset(
    {
        "blenderbot", "blenderbot-small", "longt5", "m2m_100", "marian", "mt5", "pegasus", "pegasus_x", "prophetnet",
        "switch_transformers", "t5", "t5gemma", "t5gemma2", "udop", "umt5",
    }
)  # fmt: skip
"""Encoder-decoder families for which sentence-transformers runs only the encoder; for others it pools the decoder's
vectors of the text shifted by one token."""
LOADING_KEYS = ("model_args", "model_kwargs", "tokenizer_args", "processor_kwargs", "config_args", "config_kwargs")
VECTOR_TASK, SCORE_TASK = "feature-extraction", "sequence-classification"
OUTPUTS = {VECTOR_TASK: "last_hidden_state", SCORE_TASK: "logits"}
"""What the encoder is run for -> the output of the model that is read."""
MAX_PROMPT, MAX_PROMPTS, MAX_PROMPT_NAME = 10_000, 1_000, 200
"""Maximum length of a prompt in characters, number of prompts, and length of the name of one."""
MAX_NAMED_MODES = 12
"""Maximum number of poolings that a message names."""
NO_PROMPT = "none"
"""Name that selects no prompt, unless a prompt of the checkpoint has this name."""
SENTENCE_OUTPUT, TOKENS = "sentence_embedding", "token_embeddings"
POOLING_SWITCHES: Mapping[str, str] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""Switches of older files, in the order in which the library concatenates several poolings."""
FOLLOWED_POOLINGS: tuple[Pooling, ...] = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
POOLING_PHRASES: Mapping[Pooling, str] = {
    "mean": "the mean of all tokens",
    "cls": "the vector of the first token",
    "max": "the largest value of each dimension over all tokens",
    "pooler": "the pooler's output",
    "weightedmean": "the mean of all tokens, each weighted by its position",
    "lasttoken": "the vector of the last token",
    "mean_sqrt_len_tokens": "the sum of all tokens over the square root of their count",
}
CROSS_ENCODER_NOTICE = (
    "The checkpoint is a cross-encoder, which scores two texts read together; it was not trained for vectors of texts."
)
MODEL2VEC_NOTICE = (
    "The whole text is read, as sentence-transformers reads it; the library model2vec leaves out unknown tokens, and "
    "what is behind the first 512."
)
NO_PLAN_REASON = (
    "The checkpoint says nothing about sentence vectors ({why}), so the mean of all tokens of the last layer is taken; "
    "a model that was not trained to compare sentences does so poorly."
)


class SentenceConfig(NamedTuple):
    """The settings of a checkpoint's sentence vectors."""

    prompts: Mapping[str, str] | None
    prompt: str
    max_seq_length: int | None
    lower_case: bool
    truncate_dim: int | None
    """Number of leading dimensions to keep."""
    similarity: object
    """Name of the similarity that the checkpoint was made for."""
    notices: tuple[str, ...]
    """Unsupported settings, one sentence each."""


def recommended(source: ModelSource, settings: Settings) -> SentencePlan:
    """Return the checkpoint's own plan; mean pooling, with a notice, if it has none."""
    folder = modules_folder(source, settings)
    if source.kind == "bundled":
        verify_bundled(source.name, BUNDLED[source.name].small_files)
    modules = listed_modules(folder, source.way)
    if modules is None and source.model_type == STATIC_TYPE:
        plan = SentencePlan("mean", normalize=source.config.get("normalize") is True, from_checkpoint=True)
        notices = (MODEL2VEC_NOTICE,) if "normalize" in source.config else ()
        return dataclasses.replace(plan, reason=f"The table's own rule: {_steps(plan)}.", notices=notices)
    if modules is None:
        reason = NO_PLAN_REASON.format(why=f"it has no {MODULES_FILE}")
        return _with_convention(source, SentencePlan("mean", reason=reason))
    encoder = weights_folder(source, settings)
    reader, config = _ModuleReader(folder, encoder), sentence_config(folder, encoder)
    for class_name, module_folder in modules:
        reader.take(class_name, module_folder)
    plan = SentencePlan(
        pooling=reader.pooling or "mean",
        prompt=config.prompt,
        include_prompt=reader.include_prompt,
        max_seq_length=config.max_seq_length,
        lower_case=config.lower_case,
        prompts=config.prompts,
        notices=_as_in_receipt(source, (*_encoder_notices(source), *reader.notices, *config.notices)),
    )
    plan = _with_convention(source, plan)
    if reader.pooling is None:
        why = f"its {MODULES_FILE} names no pooling that is offered here"
        return dataclasses.replace(plan, reason=f"{NO_PLAN_REASON.format(why=why)}{_prompt_note(plan.prompt)}")
    plan = dataclasses.replace(
        plan,
        normalize=reader.normalize,
        dense=tuple(reader.dense),
        truncate_dim=config.truncate_dim,
        from_checkpoint=True,
        notices=(*plan.notices, *own_similarity(config.similarity, reader.normalize)),
    )
    return dataclasses.replace(plan, reason=f"The checkpoint's own modules: {_steps(plan)}.{_prompt_note(plan.prompt)}")


def _with_convention(source: ModelSource, plan: SentencePlan) -> SentencePlan:
    """The plan with the prompts of the model's family, which are not applied, where the checkpoint names none."""
    pair = None if offered_prompts(plan) else convention_of(source)
    if pair is None:
        return plan
    return dataclasses.replace(plan, convention=pair, notices=(*plan.notices, convention_notice(pair)))


def _as_in_receipt(source: ModelSource, notices: Iterable[str]) -> tuple[str, ...]:
    """The notices, in the words of the model's own notices where these have the same, so that each is shown once."""
    known = source.notices
    return tuple(named if (named := of_model(source.name, each)) in known else each for each in notices)


def adapted(plan: SentencePlan, pooling: Pooling, layer: int | None, prompt: str | None = None) -> SentencePlan:
    """Return a checkpoint's plan with another pooling, layer or prompt.

    The dense layers and the truncation of the plan apply only to its own pooling and last layer, and are left out
    otherwise; length, normalisation and prompt stay.

    Args:
        layer: entry of hidden_states; None for the last. The index of the last counts as another layer.
        prompt: prefix of every sentence; None for the plan's own.
    """
    prompt = plan.prompt if prompt is None else prompt
    if (pooling, layer) == (plan.pooling, plan.layer):
        reason = f"{plan.reason.removesuffix(_prompt_note(plan.prompt))}{_prompt_note(prompt)}"
        return dataclasses.replace(plan, prompt=prompt, reason=reason)
    notices = plan.notices
    if plan.dense:
        notices = (*notices, "The checkpoint's dense layers belong to its own pooling and are left out.")
    if plan.truncate_dim is not None:
        notices = (*notices, f"The checkpoint's cut to {plan.truncate_dim:,} dimensions is left out with its pooling.")
    where = "of the last layer" if layer is None else "of the embeddings" if layer == 0 else state_name(layer)
    reason = f"As chosen: {POOLING_PHRASES[pooling]}, {where}.{_prompt_note(prompt)}"
    changes: dict[str, Any] = {"pooling": pooling, "layer": layer, "prompt": prompt, "dense": (), "truncate_dim": None}
    changes["from_checkpoint"] = False
    return dataclasses.replace(plan, **changes, reason=reason, notices=notices)


def prompt_named(plan: SentencePlan, name: str) -> str:
    """Return the text of a prompt by its name; "none" is no prompt."""
    prompts = plan.prompts or {}
    if name in prompts:
        return prompts[name]
    if name == NO_PROMPT:
        return ""
    known = ", ".join(quoted(prompt_name) for prompt_name in prompts)
    available = f"the checkpoint has {known}" if prompts else "the checkpoint names none"
    raise TextError(f"There is no prompt {quoted(name, 40)}: {available}; {NO_PROMPT} is no prompt at all.")


def offered_prompts(plan: SentencePlan) -> tuple[str, ...]:
    """Return the names of all nonempty prompts, in the checkpoint's order."""
    return tuple(name for name, text in (plan.prompts or {}).items() if text)


def sentence_config(folder: Path, encoder: Path | None = None, task: str = VECTOR_TASK) -> SentenceConfig:
    """Read the settings in a checkpoint's folder; empty ones if it has no such files.

    Args:
        encoder: the folder of the encoder; None for the same.
        task: what the encoder is run for: vectors, or the scores of a cross-encoder.
    """
    library_config = read_json(folder, PROMPTS_FILE) if present(folder, PROMPTS_FILE) else {}
    inside = encoder or folder
    length_config = next((read_json(inside, name) for name in LENGTH_FILES if present(inside, name)), {})
    prompt_table = library_config.get("prompts")
    prompts = (
        {str(name): text for name, text in prompt_table.items() if isinstance(text, str)}
        if isinstance(prompt_table, dict)
        else {}
    )
    if len(prompts) > MAX_PROMPTS:
        raise CheckpointError(f"{PROMPTS_FILE} names {len(prompts):,} prompts; at most {MAX_PROMPTS:,} are read.")
    if long := [name for name, text in prompts.items() if len(text) > MAX_PROMPT or len(name) > MAX_PROMPT_NAME]:
        raise CheckpointError(
            f"The prompt {quoted(long[0], 40)} in {PROMPTS_FILE} has more than {MAX_PROMPT:,} characters, or its name "
            f"more than {MAX_PROMPT_NAME}; shorten it."
        )
    return SentenceConfig(
        prompts=prompts or None,
        prompt=prompts.get(str(library_config.get("default_prompt_name")), ""),
        max_seq_length=_count(length_config.get("max_seq_length")),
        lower_case=length_config.get("do_lower_case") is True,
        truncate_dim=_count(library_config.get("truncate_dim")),
        similarity=library_config.get("similarity_fn_name"),
        notices=tuple(_not_followed(length_config, task)),
    )


class _ModuleReader:
    """Reads the modules after the encoder one by one."""

    def __init__(self, folder: Path, encoder: Path) -> None:
        self.folder, self.encoder = folder, encoder
        self.pooling: Pooling | None = None
        self.include_prompt, self.normalize = True, False
        self.dense: list[DenseLayer] = []
        self.notices: list[str] = []
        self.first = True
        self.broken = False  # a module is unsupported, so dense layers after it cannot be applied either

    def take(self, class_name: str, module_folder: str) -> None:
        """Read the next module, by its class name."""
        name = class_name.rpartition(".")[2] if class_name.startswith(LIBRARY_PREFIX) else ""
        first, self.first = self.first, False
        if first and name == STATIC_CLASS:
            self.pooling = "mean"
            return
        if first and name == "Transformer":
            if module_folder != "." and self.encoder == self.folder:
                self.notices.append(
                    f"The checkpoint's encoder is in its folder {quoted(module_folder)}, and the one beside "
                    f"{MODULES_FILE} is run here; its vectors differ."
                )
            return
        of_tokens = name in ("Dense", "Normalize") and _output(self.folder, module_folder) == TOKENS
        if of_tokens and self.pooling is not None:
            return  # they were pooled before
        if name == "Pooling" and self.pooling is None:
            self._pooling(module_folder)
        elif name == "Dense" and self.pooling is not None and not self.normalize:
            layer, notice = dense_layer(self.folder, module_folder)
            self.broken = self.broken or layer is None
            self.dense = [*self.dense, layer] if layer is not None and not self.broken else []
            self.notices += [notice] if notice else []
        elif name == "Normalize" and self.pooling is not None and _of_sentences(self.folder, module_folder):
            self.normalize = True
        elif first or name != "Dropout":  # dropout is only for training
            self.broken = True
            self.notices.append(foreign_module(class_name))

    def _pooling(self, module_folder: str) -> None:
        config = read_json(self.folder, f"{module_folder}/config.json")
        switched = [mode for key, mode in POOLING_SWITCHES.items() if config.get(key)]
        modes = config.get("pooling_mode") or switched or ["mean"]
        modes = list(modes) if isinstance(modes, (list, tuple)) else [modes]
        self.include_prompt = config.get("include_prompt") is not False
        self.pooling = next((mode for mode in FOLLOWED_POOLINGS if modes == [mode]), None)
        if self.pooling is None:
            names = " and ".join(quoted(str(mode)) for mode in modes[:MAX_NAMED_MODES])
            self.notices.append(f"The checkpoint pools by {names}, which is not offered here.")


def _of_sentences(folder: Path, module_folder: str) -> bool:
    """Return whether a normalisation applies to the sentence vector, as it did before it had a file of its own."""
    name = f"{module_folder}/config.json"
    config = read_json(folder, name) if present(folder, name) else {}
    return all(config.get(name) in (None, SENTENCE_OUTPUT) for name in ("module_input_name", "module_output_name"))


def _output(folder: Path, module_folder: str) -> object:
    """The name of the values that a module makes."""
    name = f"{module_folder}/config.json"
    config = read_json(folder, name) if present(folder, name) else {}
    return config.get("module_output_name") or config.get("module_input_name")


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _not_followed(length_config: Mapping[str, Any], task: str) -> list[str]:
    """Describe unsupported settings of newer files that change the model's input or output."""
    notices, numbers = [], "vectors" if task == VECTOR_TASK else "scores"
    own = length_config.get("transformer_task", task)
    if own == SCORE_TASK != task:
        return [CROSS_ENCODER_NOTICE]
    if own != task:
        notices.append(
            f"The checkpoint runs its encoder for {quoted(str(own))}, not for {numbers}; its {numbers} differ."
        )
    if length_config.get("processing_kwargs"):
        notices.append(
            f"The checkpoint's tokenizer settings (processing_kwargs) are not followed; its {numbers} differ."
        )
    if any(length_config.get(key) for key in ("query_expansion", "query_length", "document_length")):
        notices.append(
            f"Its query expansion or length of queries or documents is not followed; those {numbers} differ."
        )
    loading = [key for key in LOADING_KEYS if length_config.get(key)]
    if loading:
        notices.append(
            f"The checkpoint's settings for loading ({', '.join(loading)}) are not followed; its {numbers} may differ."
        )
    output = length_config.get("modality_config")
    method = output.get("text") if isinstance(output, dict) else None
    own_output = OUTPUTS[task]
    name = method.get("method_output_name", own_output) if isinstance(method, dict) else own_output
    if name != own_output:
        notices.append(f"The checkpoint reads the model's output {quoted(str(name))}, which is not offered here.")
    return notices


def _encoder_notices(source: ModelSource) -> Iterator[str]:
    """Yield notices on differences of the checkpoint's encoder in sentence-transformers."""
    model_type, config = source.model_type, source.config
    if config.get("is_encoder_decoder", "decoder_layers" in config) and model_type not in ENCODERS_ALONE:
        yield (
            f"The library sentence-transformers pools the vectors of a {model_type} model's decoder; here its encoder "
            "alone is run, so that its vectors differ."
        )


def _prompt_note(prompt: str) -> str:
    return f" Each sentence is prefixed with {quoted(prompt)}." if prompt else ""


def _steps(plan: SentencePlan) -> str:
    steps = [POOLING_PHRASES[plan.pooling]]
    if plan.dense:
        steps.append(f"{len(plan.dense)} dense layer{'' if len(plan.dense) == 1 else 's'}")
    if plan.normalize:
        steps.append("normalised to unit length")
    if plan.truncate_dim is not None:
        steps.append(f"the first {plan.truncate_dim:,} dimensions")
    if plan.max_seq_length is not None:
        steps.append(f"at most {plan.max_seq_length:,} tokens of a sentence")
    if plan.lower_case:
        steps.append("in lower case")
    return ", ".join(steps)
