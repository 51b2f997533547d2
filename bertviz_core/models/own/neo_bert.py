"""NeoBERT: a deep BERT without biases, with rotary positions, RMS norms before each block, and gated layers.

The family of Le Breton et al. (2025). It was written from the paper, the names of the tensors and the config; names of
modules are those of the files.
"""

from typing import ClassVar

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.masking_utils import create_bidirectional_mask
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutput, MaskedLMOutput, SequenceClassifierOutput
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.bert.modeling_bert import eager_attention_forward
from transformers.models.cohere.modeling_cohere import CohereRotaryEmbedding, apply_rotary_pos_emb
from transformers.utils.generic import can_return_tuple, merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

from bertviz_core.models.own.configs import NeoBertConfig
from bertviz_core.models.recording import attention_implementation

__all__ = ["NeoBertForMaskedLM", "NeoBertForSequenceClassification", "NeoBertModel"]

Rotation = tuple[torch.Tensor, torch.Tensor]
"""Cosines and sines of the angles, (batch, seq, head_dim); the numbers of a head are turned in neighbouring pairs."""


class NeoBertAttention(nn.Module):
    """Attention of projected states; the projections are the layer's."""

    def __init__(self, config: NeoBertConfig) -> None:
        super().__init__()
        self.config = config
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.is_causal = False

    def forward(
        self, projected: torch.Tensor, attention_mask: torch.Tensor | None, rotation: Rotation, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The heads' outputs side by side, and the probabilities if the implementation returns them."""
        heads = projected.view(*projected.shape[:-1], -1, 3 * self.head_dim).transpose(1, 2)
        query, key, value = heads.chunk(3, dim=-1)
        query, key = apply_rotary_pos_emb(query, key, *rotation)
        attention = ALL_ATTENTION_FUNCTIONS.get_interface(
            attention_implementation(self.config), eager_attention_forward
        )
        output, weights = attention(
            self, query, key, value, attention_mask, dropout=0.0, scaling=self.head_dim**-0.5, **kwargs
        )
        return output.flatten(2), weights


class NeoBertMLP(nn.Module):
    """Gated feed-forward layer."""

    def __init__(self, config: NeoBertConfig) -> None:
        super().__init__()
        self.w12 = nn.Linear(config.hidden_size, 2 * config.intermediate_size, bias=False)
        self.w3 = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)
        self.act = nn.SiLU()

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """The first half of the wide vector is the gate."""
        gate, up = self.w12(hidden_states).chunk(2, dim=-1)
        return self.w3(self.act(gate) * up)


class NeoBertLayer(GradientCheckpointingLayer):
    """One layer, whose blocks add to their input."""

    def __init__(self, config: NeoBertConfig) -> None:
        super().__init__()
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size, bias=False)
        self.attention = NeoBertAttention(config)
        self.wo = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.ffn = NeoBertMLP(config)
        self.attention_norm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.ffn_norm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(
        self, hidden_states: torch.Tensor, attention_mask: torch.Tensor | None, rotation: Rotation, **kwargs: object
    ) -> torch.Tensor:
        """The layer's output."""
        projected = self.qkv(self.attention_norm(hidden_states))
        states = hidden_states + self.wo(self.attention(projected, attention_mask, rotation, **kwargs)[0])
        return states + self.ffn(self.ffn_norm(states))


class NeoBertPreTrainedModel(PreTrainedModel):
    """What the model has with and without a task head."""

    config: NeoBertConfig
    base_model_prefix = "model"
    _supports_sdpa = True
    _supports_attention_backend = True
    _can_record_outputs: ClassVar = {"hidden_states": NeoBertLayer, "attentions": NeoBertAttention}


class NeoBertModel(NeoBertPreTrainedModel):
    """The model without a task head."""

    def __init__(self, config: NeoBertConfig) -> None:
        super().__init__(config)
        self.encoder = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        self.rotary_emb = CohereRotaryEmbedding(config)
        self.transformer_encoder = nn.ModuleList(NeoBertLayer(config) for _ in range(config.num_hidden_layers))
        self.layer_norm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        """The table of words."""
        return self.encoder

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        """Replace the table of words."""
        self.encoder = value

    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        **kwargs: object,
    ) -> BaseModelOutput:
        """The outputs by name."""
        states = self.encoder(input_ids) if inputs_embeds is None else inputs_embeds
        if position_ids is None:
            position_ids = torch.arange(states.shape[1], device=states.device)[None]
        mask = create_bidirectional_mask(config=self.config, inputs_embeds=states, attention_mask=attention_mask)
        rotation = self.rotary_emb(states, position_ids=position_ids)
        for layer in self.transformer_encoder:
            states = layer(states, mask, rotation, **kwargs)
        return BaseModelOutput(last_hidden_state=self.layer_norm(states))


class NeoBertForMaskedLM(NeoBertPreTrainedModel):
    """A table of words of its own on the last states."""

    def __init__(self, config: NeoBertConfig) -> None:
        super().__init__(config)
        self.model = NeoBertModel(config)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    def get_output_embeddings(self) -> nn.Linear:
        """The table of words behind the model."""
        return self.decoder

    @can_return_tuple
    def forward(self, input_ids: torch.Tensor | None = None, **kwargs: object) -> MaskedLMOutput:
        """The logits of every word at every place."""
        outputs = self.model(input_ids, **kwargs)
        logits = self.decoder(outputs.last_hidden_state)
        return MaskedLMOutput(logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions)


class NeoBertForSequenceClassification(NeoBertPreTrainedModel):
    """A classifier of two layers on the first token."""

    def __init__(self, config: NeoBertConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = NeoBertModel(config)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.classifier_dropout)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    @can_return_tuple
    def forward(self, input_ids: torch.Tensor | None = None, **kwargs: object) -> SequenceClassifierOutput:
        """The logits of the classes."""
        outputs = self.model(input_ids, **kwargs)
        turned = torch.tanh(self.dense(self.dropout(outputs.last_hidden_state[:, 0])))
        logits = self.classifier(self.dropout(turned))
        return SequenceClassifierOutput(
            logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )
