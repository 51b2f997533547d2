"""What all figures share: style, axes, captions and export."""
