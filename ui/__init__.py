"""Code shared by the pages: controls, cache, errors, downloads and the frame."""
