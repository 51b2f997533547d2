"""How much every token hands over through every head: the length of its value behind W_o."""

import numpy as np
from jaxtyping import Float

from bertviz_core.heads.layer_inputs import capture_layer_io
from bertviz_core.heads.weights import head_projections
from bertviz_core.models.loading import LoadedModel
from bertviz_core.trace.results import Trace


def value_norms(loaded: LoadedModel, trace: Trace, layer: int) -> Float[np.ndarray, "heads seq"]:
    """Length of W_o^h v_j of every head and token: the norm of f(x) of Kobayashi et al. (2020).

    Times the attention weight it is the length of what token j hands over to token i through head h. The bias of the
    output, which no head has a part of, is left out.

    Raises:
        UnsupportedModelError: the family has no such projections, or keeps them in a way that is not known.
        ValueError: there is no such layer.
    """
    parts = head_projections(loaded, layer)
    if trace.value is not None:
        values = trace.value[layer].astype(np.float64)
    else:
        inputs = capture_layer_io(loaded, trace.tokens, layer).value_input.astype(np.float64)
        values = inputs @ parts.value.astype(np.float64).transpose(0, 2, 1)
        if parts.value_bias is not None:
            values = values + parts.value_bias[:, None]
    values = np.repeat(values, parts.num_heads // len(values), axis=0)
    output = parts.output.astype(np.float64)
    # |O v|^2 = v^T (O^T O) v: no vector of the hidden size is made for each head and token.
    gram = output.transpose(0, 2, 1) @ output
    squares = np.einsum("hsd,hde,hse->hs", values, gram, values, optimize=True)
    norms: np.ndarray = np.sqrt(np.maximum(squares, 0)).astype(np.float32)
    return norms
