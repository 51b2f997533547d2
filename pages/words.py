"""Words that matter: which words does a number depend on?"""

from ui.views.words.views import VIEWS
from ui.widgets.errors import shown_to_user
from ui.widgets.heading import heading
from ui.widgets.models import fields
from ui.widgets.view_and_layer import view_choice

name_model = heading("words")
with shown_to_user():
    name = fields.model_name()
    name_model(name, "words are taken away, and one number is measured")
    VIEWS[view_choice(tuple(VIEWS))]()
