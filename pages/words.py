"""Words that matter: which words does a number depend on?"""

from bertviz_core.text import escape_markdown
from ui.views.words.views import VIEWS
from ui.widgets.errors import shown_to_user
from ui.widgets.heading import heading
from ui.widgets.models import fields
from ui.widgets.models.select import bundled_instead
from ui.widgets.view_and_layer import view_choice

name_model = heading("words")
with shown_to_user():
    name = fields.model_name()
    name_model(name, "words are taken away, and one number is measured")
    lacking = {view: lack for view, each in VIEWS.items() if (lack := each.lacks(name)) is not None}
    VIEWS[view_choice([view for view in VIEWS if view not in lacking])].show(name)
    for lack in dict.fromkeys(lacking.values()):
        bundled_instead(f"words_lack_{lack.bundled}", f"{escape_markdown(name)} {lack.words}", lack.bundled)
