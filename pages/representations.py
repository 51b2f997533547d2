"""Representations: how does a token change on its way up?"""

from bertviz_core.questions.views.representations import VIEWS, about_representations
from ui.engine import show_page, with_run
from ui.views.representations import SPECIAL

show_page("representations", VIEWS, about_representations, special=SPECIAL, open_model=with_run)
