"""Caches that all sessions share, under one budget of bytes."""
