"""Lessons: guided tours through the pages."""
