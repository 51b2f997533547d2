"""The canvas view of attention: payload, state, address and exported file."""
