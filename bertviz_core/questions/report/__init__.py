"""Reports: selected figures of a model and a text in a self-contained HTML file."""
