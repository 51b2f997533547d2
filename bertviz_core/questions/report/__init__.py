"""Files of figures: images, and reports as HTML or as slides."""
