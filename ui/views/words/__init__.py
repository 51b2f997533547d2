"""Views of the page Words that matter."""
