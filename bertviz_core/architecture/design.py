"""Determine whether a model is an encoder, a decoder or both."""

import re
from collections import Counter
from typing import Any

from bertviz_core.architecture.cost import windows
from bertviz_core.architecture.results import LM_HEAD, NEXT_TOKEN, Design, DesignKind, ModelFacts, Order
from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.families import family
from bertviz_core.models.skeleton import has_bidirectional_masks_alone, is_stateful
from bertviz_core.parameters.results import Ledger

HEADS = (
    ("ForMaskedLM", "masked-LM head", "a score for every word"),
    ("WithLMHeadModel", "masked-LM head", "a score for every word"),
    ("ForSequenceClassification", "classification head", "labels of the text"),
    ("ForTokenClassification", "token classification head", "labels of every token"),
    ("ForQuestionAnswering", "question answering head", "start and end of a span"),
    ("ForQuestionAnsweringSimple", "question answering head", "start and end of a span"),
    ("ForMultipleChoice", "multiple choice head", "a score for every choice"),
    ("ForNextSentencePrediction", "next-sentence head", "whether the second text follows"),
    ("LMHeadModel", LM_HEAD, NEXT_TOKEN),
    ("ForCausalLM", LM_HEAD, NEXT_TOKEN),
    ("ForConditionalGeneration", LM_HEAD, NEXT_TOKEN),
    ("ForPreTraining", "pre-training heads", "what pre-training asks for"),
)
"""(suffix of a class name, its head, output of the head); the first match counts."""
PAST_THE_POOLER = ("masked-LM head", "token classification head", "question answering head", LM_HEAD)
"""Heads that read the vectors of the tokens even if the class has a pooler."""
CROSS_ATTENTION = re.compile(r"cross|encoder_attn|encdec|enc_dec", re.I)
"""Names of cross-attention modules."""


def design_of(model: "transformers.PreTrainedModel", ledger: Ledger, facts: ModelFacts | None = None) -> Design:
    """The design of a model, from its modules and config; values are not needed.

    Args:
        facts: dataflow of the class; without it windows are unknown.
    """
    config = model.config
    kind = _kind(model, ledger)
    layers = [(row.component, row.applications) for row in ledger.layers]
    # Some families name the layers of a decoder-only model "decoder", others do not.
    runs = {stack: sum(times for name, times in layers if name == stack) for stack in ("encoder", "decoder")}
    alone = sum(runs.values())
    both = kind == "encoder-decoder"
    has_cross = bool(getattr(config, "add_cross_attention", False)) and any(
        CROSS_ATTENTION.search(row.name) for row in ledger.parameters
    )
    local = [] if facts is None else [window for window in windows(facts) if window is not None]
    pooler, head, output = _outputs(ledger, kind)
    return Design(
        kind=kind,
        encoder_layers=runs["encoder"] if both else alone if kind == "encoder" else 0,
        decoder_layers=runs["decoder"] if both else alone if kind == "decoder" else 0,
        cross_attention=both or has_cross,
        mixes=not family(ledger.model_type).has_attention or is_stateful(model),
        local_layers=len(local),
        order=_order(facts),
        window=Counter(local).most_common(1)[0][0] if local else None,
        encoder_norm=_ends_with_norm(facts, ledger, kind, "encoder"),
        decoder_norm=_ends_with_norm(facts, ledger, kind, "decoder"),
        pooler=pooler,
        head=head,
        output=output,
    )


def _ends_with_norm(facts: ModelFacts | None, ledger: Ledger, kind: DesignKind, stack: str) -> bool:
    if facts is None or (kind != "encoder-decoder" and kind != stack):
        return False
    behind = {"encoder": facts.encoder_behind, "decoder": facts.decoder_behind}
    passed = behind[stack] if kind == "encoder-decoder" else (*facts.encoder_behind, *facts.decoder_behind)
    matrices = {row.name.rpartition(".")[0] for row in ledger.parameters if len(row.shape) > 1}
    return any(path not in matrices for path in passed)


def _outputs(ledger: Ledger, kind: DesignKind) -> tuple[bool, str, str]:
    """(whether the output passes a pooler, name of the head, description of the output)."""
    components = {component.name for component in ledger.components}
    pooler, vectors = "pooler" in components, "a vector per token"
    if "task head" not in components and not any(row.component == "task head" for row in ledger.parameters):
        pooled = "one from the first token, which sees no other" if kind == "decoder" else "one for the text"
        return pooler, "", f"{vectors} and {pooled}" if pooler else vectors
    words = (each[1:] for each in HEADS if ledger.architecture.endswith(each[0]))
    head, output = next(words, ("task head", "what its task asks for"))
    if kind == "decoder" and head == "masked-LM head":
        head, output = LM_HEAD, NEXT_TOKEN
    return pooler and head not in PAST_THE_POOLER, head, output


def _kind(model: "transformers.PreTrainedModel", ledger: Ledger) -> DesignKind:
    config = model.config
    if config.is_encoder_decoder and any(component.name == "decoder" for component in ledger.components):
        return "encoder-decoder"
    return "decoder" if _is_causal(model, config) else "encoder"


def _is_causal(model: "transformers.PreTrainedModel", config: "transformers.PreTrainedConfig") -> bool:
    """Whether attention is causal.

    Decided, in this order, by a config that disables causal masks (transformers.masking_utils), by attention modules
    that agree, by further entries of the config, and by whether the family has a class for causal but none for masked
    language modelling.
    """
    if getattr(config, "is_causal", True) is False:
        return False
    answers = _module_flags(model)
    if len(answers) == 1:
        return answers.pop()
    classes = transformers.models.auto.modeling_auto
    predicts_next = config.model_type in classes.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    if "is_decoder" in _fields(config) and config.is_decoder:
        return predicts_next and not has_bidirectional_masks_alone(model)  # else the entry is without effect
    if "causal" in _fields(config):  # XLM and FlauBERT (Lample and Conneau 2019, section 3.2)
        return bool(config.causal)
    if "attn_type" in _fields(config):  # XLNet (Yang et al. 2019): without a permutation it sees everything
        return bool(config.attn_type == "uni")
    return predicts_next and config.model_type not in classes.MODEL_FOR_MASKED_LM_MAPPING_NAMES


def _module_flags(model: "torch.nn.Module") -> set[bool]:
    """Values of is_causal among the self-attention modules."""
    answers = (
        getattr(module, "is_causal", None) for path, module in model.named_modules() if not CROSS_ATTENTION.search(path)
    )
    return {bool(answer) for answer in answers if answer is not None}


def _fields(config: "transformers.PreTrainedConfig") -> Any:
    """Fields of the config class; other entries of a file have no effect."""
    return getattr(type(config), "__dataclass_fields__", {})


def _order(facts: ModelFacts | None) -> Order:
    """Position of the normalisations; "" if the layers differ."""
    orders = {row.order for row in facts.layers} if facts else set()
    return orders.pop() if len(orders) == 1 else ""
