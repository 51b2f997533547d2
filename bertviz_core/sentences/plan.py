"""Read a checkpoint's recipe for sentence vectors from its sentence-transformers files.

modules.json lists the modules after the encoder (Reimers & Gurevych 2019, section 3, and the files that the library
sentence-transformers writes). No class that it names is imported, and no pickle is opened.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.hidden_states.results import state_name
from bertviz_core.isolation.regular_files import MODULES_FILE, present
from bertviz_core.models.catalog import BUNDLED, verify_bundled
from bertviz_core.models.families import family
from bertviz_core.models.local_files import modules_folder, weights_folder
from bertviz_core.models.receipt import PROMPTS_FILE, of_model
from bertviz_core.models.rerankers import LOGIT_SCORE, OF_HEAD, OF_TOKENS, OF_VECTORS, SCORES, module_config
from bertviz_core.models.safetensors.folder import read_header, read_json
from bertviz_core.models.safetensors.values import TensorReader
from bertviz_core.models.sentence_folder import (
    LIBRARY_PREFIX,
    STATIC_CLASS,
    STATIC_TYPE,
    WEIGHTS_CLASS,
    class_end,
    encoder_settings,
    foreign_module,
    listed_modules,
)
from bertviz_core.models.sources import ModelSource
from bertviz_core.sentences.conventions import convention_notice, convention_of
from bertviz_core.sentences.pooling import check_width, dense_layer
from bertviz_core.sentences.results import MEASURES, SPARSE_POOLINGS, DenseLayer, Pooling, SentencePlan, SparsePooling
from bertviz_core.sentences.similarity import own_similarity
from bertviz_core.settings import Settings
from bertviz_core.text import quoted

ENCODERS_ALONE = frozenset(
    {
        "blenderbot", "blenderbot-small", "longt5", "m2m_100", "marian", "mt5", "pegasus", "pegasus_x", "prophetnet",
        "switch_transformers", "t5", "t5gemma", "t5gemma2", "udop", "umt5",
    }
)  # fmt: skip
"""Encoder-decoder families for which sentence-transformers runs only the encoder; for others it pools the decoder's
vectors of the text shifted by one token."""
LOADING_KEYS = ("model_args", "model_kwargs", "tokenizer_args", "processor_kwargs", "config_args", "config_kwargs")
OF_WORDS = "fill-mask"
OUTPUTS = {OF_VECTORS: "last_hidden_state", OF_HEAD: "logits", OF_TOKENS: "logits", OF_WORDS: "logits"}
"""What the encoder is run for -> the output of the model that is read."""
TOKENIZER_SETTINGS = frozenset({"padding", "truncation", "max_length", "return_tensors"})
"""Settings of a chat template that are those of the tokenizer."""
MAX_PROMPT, MAX_PROMPTS, MAX_PROMPT_NAME = 10_000, 1_000, 200
"""Maximum length of a prompt in characters, number of prompts, and length of the name of one."""
MAX_NAMED_MODES = 12
"""Maximum number of poolings that a message names."""
NO_PROMPT = "none"
"""Name that selects no prompt, unless a prompt of the checkpoint has this name."""
SPARSE_POOLING = "SpladePooling"
STRATEGIES: tuple[Literal["max", "sum"], ...] = ("max", "sum")
LOGS: Mapping[str, int] = {"relu": 1, "log1p_relu": 2}
"""Activation of a sparse encoder -> how often log(1 + x) is taken of the positive part of a logit."""
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
    "splade": "a weight for each word of the vocabulary",
    "idf": "the weight of each token that occurs, from a table for all tokens",
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
    encoder = weights_folder(source, settings)
    row = family(source.model_type)
    projection = _projection(source, encoder, row.projection) if row.projection else ()
    if modules is None and row.makes_vectors:
        steps = ["pooler_output", *(["the model's projection"] if projection else [])]
        reason = f"The model's own text vectors, those of get_text_features: {', '.join(steps)}."
        return SentencePlan("pooler", dense=projection, reason=reason, from_checkpoint=True)
    if modules is None:
        reason = NO_PLAN_REASON.format(why=f"it has no {MODULES_FILE}")
        return _with_convention(source, SentencePlan("mean", dense=projection, reason=reason))
    output = "pooler_output" if row.makes_vectors else ""
    sparse = any(name.startswith(LIBRARY_PREFIX) and class_end(name) == SPARSE_POOLING for name, _ in modules)
    reader = _ModuleReader(folder, encoder)
    config = sentence_config(folder, encoder, OF_WORDS if sparse else OF_VECTORS, output=output)
    reader.dense = list(projection)
    if row.makes_vectors:
        reader.pooling = "pooler"
    for class_name, module_folder in modules:
        reader.take(class_name, module_folder)
    plan = SentencePlan(
        pooling=reader.pooling or "mean",
        prompt=config.prompt,
        include_prompt=reader.include_prompt,
        max_seq_length=config.max_seq_length,
        lower_case=config.lower_case,
        prompts=config.prompts,
        notices=_as_in_receipt(source, dict.fromkeys((*_encoder_notices(source), *reader.notices, *config.notices))),
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
        notices=plan.notices
        if plan.pooling in SPARSE_POOLINGS
        else (*plan.notices, *own_similarity(config.similarity, reader.normalize)),
    )
    if plan.pooling in SPARSE_POOLINGS:
        plan = dataclasses.replace(plan, sparse=reader.sparse, **_own_measure(plan, config.similarity))
    return dataclasses.replace(plan, reason=f"The checkpoint's own modules: {_steps(plan)}.{_prompt_note(plan.prompt)}")


def _projection(source: ModelSource, folder: Path, module: str) -> tuple[DenseLayer, ...]:
    """The map of the model's class behind its last layer or pooler, read from its weights."""
    name = f"{module}.weight"
    stored = [each for each in read_header(folder).tensors if f".{each.name}".endswith(f".{name}")]
    if not stored or len(stored[0].shape) != 2:
        raise CheckpointError(f"The files of {source.name!r} lack the matrix {quoted(name)}, which makes its vectors.")
    check_width(f"The module {quoted(module)}", stored[0].shape)
    with TensorReader(folder) as reader:
        return (DenseLayer(reader.read(stored[0]), None, "identity"),)


def _own_measure(plan: SentencePlan, name: object) -> dict[str, Any]:
    """What compares the vectors of a sparse encoder, by default their dot product, and a notice of what is not here."""
    measure = next((each for each in MEASURES if each == (name or "dot")), None)
    if measure is not None:
        return {"measure": measure}
    what = f"The checkpoint compares its vectors by {quoted(str(name), 40)}, and here their dot product is computed."
    return {"measure": "dot", "notices": (*plan.notices, what)}


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
    changes |= {"from_checkpoint": False, "sparse": None, "head": None, "measure": "cosine"}
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


def sentence_config(
    folder: Path, encoder: Path | None = None, task: str = OF_VECTORS, numbers: str = "vectors", output: str = ""
) -> SentenceConfig:
    """Read the settings in a checkpoint's folder; empty ones if it has no such files.

    Args:
        encoder: the folder of the encoder; None for the same.
        task: what the encoder is run for, one of OUTPUTS.
        numbers: what is made of its output, vectors or scores.
        output: the output of the model that is read; that of the task by default.
    """
    library_config = read_json(folder, PROMPTS_FILE) if present(folder, PROMPTS_FILE) else {}
    length_config = encoder_settings(encoder or folder)
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
        notices=tuple(_not_followed(length_config, task, numbers, output or OUTPUTS[task])),
    )


class _ModuleReader:
    """Reads the modules after the encoder one by one."""

    def __init__(self, folder: Path, encoder: Path) -> None:
        self.folder, self.encoder = folder, encoder
        self.pooling: Pooling | None = None
        self.include_prompt, self.normalize = True, False
        self.sparse: SparsePooling | None = None
        self.dense: list[DenseLayer] = []
        self.notices: list[str] = []
        self.first = True
        self.broken = False  # a module is unsupported, so dense layers after it cannot be applied either

    def take(self, class_name: str, module_folder: str) -> None:
        """Read the next module, by its class name."""
        name = class_name.rpartition(".")[2] if class_name.startswith(LIBRARY_PREFIX) else ""
        first, self.first = self.first, False
        if name == LOGIT_SCORE or (name == "Dense" and _output(self.folder, module_folder) == SCORES):
            self.notices.append(CROSS_ENCODER_NOTICE)
            return
        if first and name in (STATIC_CLASS, WEIGHTS_CLASS, "Transformer", "MLMTransformer", "CLIPModel"):
            self._encoder(name, module_folder)
            return
        of_tokens = name in ("Dense", "Normalize") and _output(self.folder, module_folder) == TOKENS
        if of_tokens and self.pooling is not None:
            return  # they were pooled before
        if name == "Pooling" and self.pooling is None:
            self._pooling(module_folder)
        elif name == SPARSE_POOLING and self.pooling is None:
            self.pooling, self.sparse = "splade", _sparse_pooling(self.folder, module_folder)
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

    def _encoder(self, name: str, module_folder: str) -> None:
        if name in (STATIC_CLASS, WEIGHTS_CLASS):
            self.pooling = "mean" if name == STATIC_CLASS else "idf"
        elif module_folder != "." and self.encoder == self.folder:
            self.notices.append(
                f"The checkpoint's encoder is in its folder {quoted(module_folder)}, and the one beside {MODULES_FILE} "
                "is run here; its vectors differ."
            )

    def _pooling(self, module_folder: str) -> None:
        config = read_json(self.folder, f"{module_folder}/config.json")
        self.include_prompt = config.get("include_prompt") is not False
        self.pooling, notice = pooling_of(config)
        self.notices += [notice] if notice else []


def pooling_of(config: Mapping[str, Any]) -> tuple[Pooling | None, str]:
    """The pooling that a module's config names; None, and a sentence, if it is not offered."""
    switched = [mode for key, mode in POOLING_SWITCHES.items() if config.get(key)]
    modes = config.get("pooling_mode") or switched or ["mean"]
    modes = list(modes) if isinstance(modes, (list, tuple)) else [modes]
    pooling = next((mode for mode in FOLLOWED_POOLINGS if modes == [mode]), None)
    names = " and ".join(quoted(str(mode)) for mode in modes[:MAX_NAMED_MODES])
    return pooling, "" if pooling else f"The checkpoint pools by {names}, which is not offered here."


def _sparse_pooling(folder: Path, module_folder: str) -> SparsePooling:
    """Read how a sparse encoder makes weights of logits."""
    name = f"{module_folder}/config.json"
    config = read_json(folder, name) if present(folder, name) else {}
    values = {"pooling_strategy": "max", "activation_function": "relu", **config}
    strategy: Literal["max", "sum"] | None = next(
        (each for each in STRATEGIES if each == values["pooling_strategy"]), None
    )
    logs = next((count for each, count in LOGS.items() if each == values["activation_function"]), 0)
    if strategy is None or not logs:
        key, known = ("pooling_strategy", STRATEGIES) if strategy is None else ("activation_function", LOGS)
        raise CheckpointError(
            f"The checkpoint's {name} has the {key} {quoted(str(values[key]), 40)}, which sentence-transformers does "
            f"not know; it is one of {', '.join(known)}."
        )
    return SparsePooling(strategy, logs)


def _of_sentences(folder: Path, module_folder: str) -> bool:
    """Return whether a normalisation applies to the sentence vector, as it did before it had a file of its own."""
    config = module_config(folder, module_folder)
    return all(config.get(name) in (None, SENTENCE_OUTPUT) for name in ("module_input_name", "module_output_name"))


def _output(folder: Path, module_folder: str) -> object:
    """The name of the values that a module makes."""
    config = module_config(folder, module_folder)
    return config.get("module_output_name") or config.get("module_input_name")


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _not_followed(length_config: Mapping[str, Any], task: str, numbers: str, own_output: str) -> list[str]:
    """Describe unsupported settings of newer files that change the model's input or output."""
    notices = []
    own = length_config.get("transformer_task", task)
    if own in (OF_HEAD, OF_TOKENS) and numbers == "vectors":
        return [CROSS_ENCODER_NOTICE]
    if own != task:
        notices.append(
            f"The checkpoint runs its encoder for {quoted(str(own))}, not for {numbers}; its {numbers} differ."
        )
    processing = length_config.get("processing_kwargs") or {}
    read_by = numbers == "scores" and isinstance(processing, dict) and processing.get("chat_template")
    sized = TOKENIZER_SETTINGS & set(read_by) if isinstance(read_by, dict) else ()
    if processing and (not read_by or sized or set(processing) != {"chat_template"}):
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
    if plan.sparse is not None:
        value = "log(1 + ReLU(logit))" if plan.sparse.logs == 1 else "log(1 + log(1 + ReLU(logit)))"
        kind = "largest" if plan.sparse.strategy == "max" else "sum"
        steps[0] += f", the {kind} of {value} over the tokens"
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
