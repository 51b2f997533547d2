"""Figures of the parameters: the tree of modules, bars of layers, components and models."""
