"""Commands for checkpoints: what their files hold, and what two or many of them differ in."""
