"""The drawing of a journey: its message, its code for the browser, and a self-contained file."""
