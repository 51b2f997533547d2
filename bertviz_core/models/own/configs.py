"""Configs of Inside BERT's own classes. Torch is not imported, since tokenizers are read without it."""

from huggingface_hub.dataclasses import strict
from transformers import BertConfig, LlamaConfig

GATES = {"geglu": "gelu", "reglu": "relu"}
"""feed_forward_type of JinaBERT -> activation of the gate."""


@strict
class JinaBertConfig(BertConfig):
    """The config of both variants."""

    model_type = "jina_bert"

    position_embedding_type: str = "absolute"
    feed_forward_type: str = "original"
    emb_pooler: str | None = None
    qk_post_norm: bool = False
    """Whether queries and keys are normalised, and a layer's input is added twice (jina-embeddings-v2-base-code)."""

    def validate_architecture(self) -> None:
        """Refuse what no checkpoint of the family has."""
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(f"{self.num_attention_heads} heads do not divide a hidden_size of {self.hidden_size}")
        if self.position_embedding_type not in ("alibi", "absolute"):
            raise ValueError("its positions are alibi or absolute")
        if self.feed_forward_type not in ("original", *GATES):
            raise ValueError(f"its feed-forward layers are original, {' or '.join(GATES)}")


@strict
class NeoBertConfig(LlamaConfig):
    """The config with the names of transformers; intermediate_size is the width of the gated layer."""

    model_type = "neo_bert"

    vocab_size: int = 30_522
    hidden_size: int = 768
    intermediate_size: int = 2_048
    num_hidden_layers: int = 28
    num_attention_heads: int = 12
    max_position_embeddings: int = 1_024
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    classifier_dropout: float = 0.1

    def validate_architecture(self) -> None:
        """Refuse sizes that do not fit each other."""
        if self.hidden_size % self.num_attention_heads or self.hidden_size // self.num_attention_heads % 2:
            raise ValueError(
                f"{self.num_attention_heads} heads do not divide a hidden_size of {self.hidden_size} into even parts"
            )
