"""Export the hidden states of a run."""

from io import BytesIO
from typing import Any

import numpy as np

from bertviz_core.hidden_states.results import state_name
from bertviz_core.trace.results import Trace


def hidden_states_npz(trace: Trace) -> bytes:
    """All hidden states of a run as a NumPy archive; np.load reads it without pickle.

    Arrays: hidden_states (states, seq, hidden) float32, states (the name of each
    entry), tokens, input_ids and special by position, sequence (0 and 1 for the first and second text,
    -1 for an added token), model, revision, and pooler_output where the model has a pooler.
    """
    tokens, buffer = trace.tokens, BytesIO()
    arrays: dict[str, Any] = {
        "hidden_states": trace.hidden_states,
        "states": np.array([state_name(entry) for entry in range(len(trace.hidden_states))]),
        "tokens": np.array(tokens.tokens),
        "input_ids": tokens.input_ids,
        "special": tokens.special,
        "sequence": np.array([-1 if each is None else each for each in tokens.sequence], dtype=np.int8),
        "model": np.array(trace.model),
        "revision": np.array(trace.revision),
    }
    if trace.pooler_output is not None:
        arrays["pooler_output"] = trace.pooler_output
    np.savez(buffer, **arrays)
    return buffer.getvalue()
