"""Attention: what does each head look at?"""

from bertviz_core.questions.views.attention import VIEWS, about_attention
from ui.engine import show_page, with_run
from ui.views.attention import SPECIAL, views_of

show_page("attention", VIEWS, about_attention, special=SPECIAL, open_model=with_run, views_of=views_of)
