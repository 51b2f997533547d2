"""How a model is put together: sizes, module tree, shapes, layer flow and cost."""
