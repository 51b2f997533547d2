"""Configs of Inside BERT's own classes. Torch is not imported, since tokenizers are read without it."""

from huggingface_hub.dataclasses import strict
from transformers import BertConfig

GATES = {"geglu": "gelu", "reglu": "relu"}
"""feed_forward_type of JinaBERT -> activation of the gate."""


@strict
class JinaBertConfig(BertConfig):  # type: ignore[misc]
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
