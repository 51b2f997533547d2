"""How a sentence becomes one vector: the choices, and the maps that a checkpoint puts behind its pooling."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

Pooling = Literal["mean", "cls", "max", "pooler", "weightedmean", "lasttoken", "mean_sqrt_len_tokens"]
"""How one vector comes from many: the tokens' mean, the first token, the largest of each dimension, the pooler; a mean
weighted by place, the last token, the sum over the square root of the count, which some checkpoints ask for."""
POOLINGS: tuple[Pooling, ...] = ("mean", "cls", "max", "pooler")
"""Those offered for every model; the others are followed where a checkpoint names them."""
SUMS: tuple[Pooling, ...] = ("mean", "max", "weightedmean", "mean_sqrt_len_tokens")
"""Those whose vector is a sum of one part per token."""
SentenceDtype = Literal["float32", "bfloat16"]


@dataclass(frozen=True, slots=True, eq=False)
class DenseLayer:
    """A linear map behind the pooling, as a checkpoint's sentence-transformers modules have it."""

    weight: Float[np.ndarray, "rows columns"]
    """Multiplied with the vector: output = activation(weight @ vector + bias)."""
    bias: Float[np.ndarray, " rows"] | None
    """Added to the product; None for none."""
    activation: str
    """Name of the function behind the sum: "identity", "tanh", "relu", "gelu" or "sigmoid"."""

    @property
    def linear(self) -> bool:
        """Whether nothing but a sum and products happens in it."""
        return self.activation == "identity"


@dataclass(frozen=True, slots=True, eq=False)
class SentencePlan:
    """How a sentence becomes one vector."""

    pooling: Pooling
    """How the tokens' vectors become one."""
    layer: int | None = None
    """Entry of hidden_states that is pooled, 0 for the embedding output; None for the last. A pooler reads the last."""
    normalize: bool = False
    """Whether the vector is brought to length 1 at the end."""
    prompt: str = ""
    """Text put in front of every sentence; "" for none."""
    include_prompt: bool = True
    """Whether the prompt's tokens are pooled with those of the sentence."""
    max_seq_length: int | None = None
    """Most tokens of a sentence, special ones included; None for what the model reads at once."""
    lower_case: bool = False
    """Whether prompt and sentence are put into lower case before they are tokenized."""
    dense: tuple[DenseLayer, ...] = ()
    """Maps applied behind the pooling, in their order; they belong to the model's own pooling and last layer."""
    truncate_dim: int | None = None
    """Leading dimensions that are kept at the very end; None for all. Belongs to the model's own pooling too."""
    reason: str = ""
    """Where this plan comes from, one sentence for the reader."""
    prompts: Mapping[str, str] | None = None
    """Prompts that the checkpoint offers, by name; None where it offers none."""
    notices: tuple[str, ...] = ()
    """What of the checkpoint's modules is not followed, one sentence each."""
