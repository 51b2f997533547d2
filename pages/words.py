"""Words that matter: which words does a number depend on?"""

from ui.views.words.views import classes_view, curves_view, pairs_view, words_view
from ui.widgets import controls
from ui.widgets.errors import shown_to_user
from ui.widgets.formatting import heading
from ui.widgets.view_and_layer import view_choice

name_model = heading("words")
VIEWS = {"Words": words_view, "Curves": curves_view, "Pairs": pairs_view, "Classes": classes_view}
with shown_to_user():
    name = controls.model_name()
    name_model(name, "words are taken away, and one number is measured")
    VIEWS[view_choice(tuple(VIEWS))]()
