"""What kind of transformer a model is: an encoder, a decoder, or an encoder with a decoder."""

from dataclasses import dataclass
from typing import Literal

DesignKind = Literal["encoder", "encoder-decoder", "decoder"]
"""Who sees whom: every token all others; both; every token itself and those before."""


@dataclass(frozen=True, slots=True)
class Design:
    """Which stacks a model has and how far their tokens see."""

    kind: DesignKind
    """Which of the three."""
    encoder_layers: int
    """Layers of the encoder that one run passes; 0 for a decoder alone."""
    decoder_layers: int
    """Layers of the decoder that one run passes; 0 for an encoder alone."""
    cross_attention: bool
    """Whether the decoder attends to vectors of an encoder, its own or another model's."""
    mixes: bool
    """Whether its layers mix tokens in another way than attention (Fourier transform, recurrence), in part at least."""
    local_layers: int
    """Layers of a stack that stands alone in which a token sees a window of neighbours only."""
