"""Heads that matter: which parts of the model does a number depend on?"""

from bertviz_core.questions.views.causes import VIEWS, about_causes
from ui.engine import show_page
from ui.views.causes import SPECIAL
from ui.widgets.target_controls import shared_model_of

show_page("causes", VIEWS, about_causes, special=SPECIAL, open_model=shared_model_of)
