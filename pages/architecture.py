"""Architecture: how is it put together?"""

from bertviz_core.questions.models import architecture
from ui.cache import ledgers
from ui.views.architecture.model_class import chosen_class
from ui.views.architecture.views import VIEWS
from ui.widgets.errors import shown_to_user
from ui.widgets.heading import heading
from ui.widgets.models import fields
from ui.widgets.view_and_layer import view_choice

name_model = heading("architecture")
with shown_to_user():
    name = fields.model_name()
    model_class = chosen_class(name)
    tree = architecture.modules(model_class.opened, model_class.options()).result

title = f"{tree.architecture}, {ledgers.architecture(name).title}, {tree.total:,} parameters"
name_model(name, title, ledgers.ledger(name).notices)

chosen = view_choice(list(VIEWS))
with shown_to_user():
    VIEWS[chosen](model_class)
