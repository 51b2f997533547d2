"""Words that matter: which words does a number depend on?"""

from bertviz_core.questions.views.words import about_words
from ui.engine import show_page
from ui.views.words import SPECIAL, VIEWS
from ui.widgets.target_controls import shared_model_of

show_page("words", VIEWS, about_words, special=SPECIAL, open_model=shared_model_of)
