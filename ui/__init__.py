"""What pages share: controls, cache, errors, downloads, the frame."""
