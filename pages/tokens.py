"""Tokens: what does the model read?"""

from bertviz_core.questions.views.tokens import VIEWS, about_tokens
from ui.engine import show_page

show_page("tokens", VIEWS, about_tokens)
