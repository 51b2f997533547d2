"""Corpora: folders of many texts and their vectors, embedded on one or several machines and read lazily."""
