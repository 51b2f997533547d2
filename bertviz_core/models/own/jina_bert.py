"""JinaBERT v2: BERT with ALiBi instead of a table of positions, and gated feed-forward layers.

The embedding models jina-embeddings-v2 and the rerankers jina-reranker-v1 are of this family (Günther et al. 2023). It
was written from the paper, the names of the tensors and the configs; names of modules are those of the files.
"""

import math
from typing import ClassVar

import torch
from torch import nn
from transformers import (
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    PreTrainedModel,
)
from transformers.activations import ACT2FN
from transformers.masking_utils import create_bidirectional_mask
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.bert.modeling_bert import (
    BertIntermediate,
    BertOutput,
    BertPooler,
    BertSelfOutput,
    eager_attention_forward,
)
from transformers.utils.generic import merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

from bertviz_core.models.own.configs import GATES, JinaBertConfig
from bertviz_core.models.recording import attention_implementation

__all__ = [
    *("JinaBertForMaskedLM", "JinaBertForQuestionAnswering", "JinaBertForSequenceClassification"),
    *("JinaBertForTokenClassification", "JinaBertModel"),
]


def slopes(heads: int) -> list[float]:
    """ALiBi's slope of each head: a geometric series, filled up with every other term of a finer one."""
    power = 2 ** int(math.log2(heads))
    series = [2 ** (-8 * (head + 1) / power) for head in range(power)]
    finer = [2 ** (-4 * (head + 1) / power) for head in range(0, 2 * power, 2)]
    return [*series, *finer[: heads - power]]


def alibi(heads: int, like: torch.Tensor) -> torch.Tensor:
    """The bias (1, heads, seq, seq) for states (batch, seq, hidden): the distance of two tokens times -slope."""
    places = torch.arange(like.shape[1], device=like.device)
    distances = (places[None, :] - places[:, None]).abs()
    per_head = torch.tensor(slopes(heads), device=like.device)
    return (-per_head[None, :, None, None] * distances).to(like.dtype)


class JinaBertEmbeddings(nn.Module):
    """The sum of a word's vector, its type's and, without ALiBi, its position's; normalised."""

    def __init__(self, config: JinaBertConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        if config.position_embedding_type == "absolute":
            self.position_embeddings = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self, words: torch.Tensor, token_type_ids: torch.Tensor | None, position_ids: torch.Tensor | None
    ) -> torch.Tensor:
        """The first hidden states."""
        if token_type_ids is None:
            token_type_ids = torch.zeros(words.shape[:-1], dtype=torch.long, device=words.device)
        states = words + self.token_type_embeddings(token_type_ids)
        if hasattr(self, "position_embeddings"):
            if position_ids is None:
                position_ids = torch.arange(words.shape[1], device=words.device)[None]
            states = states + self.position_embeddings(position_ids)
        return self.dropout(self.LayerNorm(states))


class JinaBertSelfAttention(nn.Module):
    """Attention, whose mask contains ALiBi's bias."""

    def __init__(self, config: JinaBertConfig) -> None:
        super().__init__()
        self.config = config
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        if config.qk_post_norm:
            self.layer_norm_q = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
            self.layer_norm_k = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)
        self.is_causal = False

    def forward(
        self, hidden_states: torch.Tensor, attention_mask: torch.Tensor | None, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The heads' outputs side by side, and the probabilities if the implementation returns them."""
        query, key, value = self.query(hidden_states), self.key(hidden_states), self.value(hidden_states)
        if self.config.qk_post_norm:
            query, key = self.layer_norm_q(query), self.layer_norm_k(key)
        heads = (*hidden_states.shape[:-1], -1, self.head_dim)
        attention = ALL_ATTENTION_FUNCTIONS.get_interface(
            attention_implementation(self.config), eager_attention_forward
        )
        output, weights = attention(
            self,
            *(each.view(heads).transpose(1, 2) for each in (query, key, value)),
            attention_mask,
            dropout=self.dropout.p if self.training else 0.0,
            scaling=self.head_dim**-0.5,
            **kwargs,
        )
        return output.reshape(hidden_states.shape), weights


class JinaBertAttention(nn.Module):
    """Attention, its output projection, residual connection and normalisation."""

    def __init__(self, config: JinaBertConfig) -> None:
        super().__init__()
        self.self = JinaBertSelfAttention(config)
        self.output = BertSelfOutput(config)

    def forward(
        self, hidden_states: torch.Tensor, attention_mask: torch.Tensor | None, **kwargs: object
    ) -> torch.Tensor:
        """The attention block's output."""
        return self.output(self.self(hidden_states, attention_mask, **kwargs)[0], hidden_states)


class JinaBertGatedMLP(nn.Module):
    """Gated feed-forward layer, with its residual connection and normalisation."""

    def __init__(self, config: JinaBertConfig) -> None:
        super().__init__()
        self.gated_layers = nn.Linear(config.hidden_size, 2 * config.intermediate_size, bias=False)
        self.act = ACT2FN[GATES[config.feed_forward_type]]
        self.wo = nn.Linear(config.intermediate_size, config.hidden_size)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """The first half of the wide vector is the gate."""
        gate, up = self.gated_layers(hidden_states).chunk(2, dim=-1)
        return self.layernorm(self.wo(self.dropout(self.act(gate) * up)) + hidden_states)


class JinaBertUpGatedMLP(nn.Module):
    """Gated feed-forward layer of the variant for code."""

    def __init__(self, config: JinaBertConfig) -> None:
        super().__init__()
        self.up_gated_layer = nn.Linear(config.hidden_size, 2 * config.intermediate_size, bias=False)
        self.act = ACT2FN[GATES[config.feed_forward_type]]
        self.down_layer = nn.Linear(config.intermediate_size, config.hidden_size)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """The second half of the wide vector is the gate."""
        up, gate = self.up_gated_layer(hidden_states).chunk(2, dim=-1)
        return self.dropout(self.down_layer(up * self.act(gate)))


class JinaBertLayer(nn.Module):
    """One layer, of one of three kinds."""

    def __init__(self, config: JinaBertConfig) -> None:
        super().__init__()
        self.attention = JinaBertAttention(config)
        if config.qk_post_norm:
            self.layer_norm_1 = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
            self.mlp: nn.Module = JinaBertUpGatedMLP(config)
            self.layer_norm_2 = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        elif config.feed_forward_type in GATES:
            self.mlp = JinaBertGatedMLP(config)
        else:
            self.intermediate, self.output = BertIntermediate(config), BertOutput(config)
        self.config = config

    def forward(
        self, hidden_states: torch.Tensor, attention_mask: torch.Tensor | None, **kwargs: object
    ) -> torch.Tensor:
        """The layer's output."""
        states = self.attention(hidden_states, attention_mask, **kwargs)
        if self.config.qk_post_norm:
            states = self.layer_norm_1(states + hidden_states)
            return self.layer_norm_2(self.mlp(states) + states)
        if self.config.feed_forward_type in GATES:
            return self.mlp(states)
        return self.output(self.intermediate(states), states)


class JinaBertEncoder(nn.Module):
    """The layers."""

    def __init__(self, config: JinaBertConfig) -> None:
        super().__init__()
        self.layer = nn.ModuleList(JinaBertLayer(config) for _ in range(config.num_hidden_layers))


class JinaBertModel(PreTrainedModel):
    """The model without a task head."""

    config: JinaBertConfig
    base_model_prefix = "bert"
    _supports_sdpa = True
    _supports_attention_backend = True
    _can_record_outputs: ClassVar = {"hidden_states": JinaBertLayer, "attentions": JinaBertSelfAttention}

    def __init__(self, config: JinaBertConfig, add_pooling_layer: bool = True) -> None:
        super().__init__(config)
        self.embeddings = JinaBertEmbeddings(config)
        self.encoder = JinaBertEncoder(config)
        self.pooler = BertPooler(config) if add_pooling_layer else None
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        """The table of words."""
        return self.embeddings.word_embeddings

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        """Replace the table of words."""
        self.embeddings.word_embeddings = value

    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        **kwargs: object,
    ) -> BaseModelOutputWithPooling:
        """The outputs by name."""
        words = self.embeddings.word_embeddings(input_ids) if inputs_embeds is None else inputs_embeds
        states = self.embeddings(words, token_type_ids, position_ids)
        mask = create_bidirectional_mask(config=self.config, inputs_embeds=states, attention_mask=attention_mask)
        if self.config.position_embedding_type == "alibi":
            mask = self._with_alibi(mask, states)
        for layer in self.encoder.layer:
            states = layer(states, mask, **kwargs)
        return BaseModelOutputWithPooling(
            last_hidden_state=states, pooler_output=None if self.pooler is None else self.pooler(states)
        )

    def _with_alibi(self, mask: torch.Tensor | None, states: torch.Tensor) -> torch.Tensor:
        """ALiBi's bias, and the lowest number where a token may not be attended to."""
        bias = alibi(self.config.num_attention_heads, states)
        if mask is None:
            return bias
        return torch.where(mask, bias, torch.finfo(bias.dtype).min) if mask.dtype == torch.bool else bias + mask


class JinaBertForMaskedLM(BertForMaskedLM):
    """BERT's head on JinaBERT."""

    config: JinaBertConfig

    def __init__(self, config: JinaBertConfig) -> None:
        super().__init__(config)
        self.bert = JinaBertModel(config, add_pooling_layer=False)
        self.tie_weights()


class JinaBertForSequenceClassification(BertForSequenceClassification):
    """BERT's head on JinaBERT."""

    config: JinaBertConfig

    def __init__(self, config: JinaBertConfig) -> None:
        super().__init__(config)
        self.bert = JinaBertModel(config)


class JinaBertForTokenClassification(BertForTokenClassification):
    """BERT's head on JinaBERT."""

    config: JinaBertConfig

    def __init__(self, config: JinaBertConfig) -> None:
        super().__init__(config)
        self.bert = JinaBertModel(config, add_pooling_layer=False)


class JinaBertForQuestionAnswering(BertForQuestionAnswering):
    """BERT's head on JinaBERT."""

    config: JinaBertConfig

    def __init__(self, config: JinaBertConfig) -> None:
        super().__init__(config)
        self.bert = JinaBertModel(config, add_pooling_layer=False)
