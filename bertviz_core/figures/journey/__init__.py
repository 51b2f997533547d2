"""The drawing of a journey: its message, its layout and drawing in the browser, and a file that needs nothing else."""
