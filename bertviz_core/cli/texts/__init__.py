"""Commands for one text: its tokens, hidden states and attention."""
