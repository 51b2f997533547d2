"""Architecture: how is it put together?"""

from ui import architecture_cache, architecture_tree_view, architecture_views, cache, controls
from ui.errors import told
from ui.text import heading

name_model = heading("Architecture", "How is it put together?")
with told():
    name = controls.model_name()
    asked = architecture_cache.asked(name)
    tree = architecture_cache.tree(asked)

name_model(name, f"{tree.architecture}, {cache.architecture(name).title}, {tree.total:,} parameters")

views = {
    "Module tree": architecture_tree_view.tree_view,
    "One layer": architecture_views.layer_view,
    "Cost": architecture_views.cost_view,
    "Encoder or decoder": architecture_views.encoder_view,
}
chosen = controls.choice("View", list(views), "architecture", label_visibility="collapsed")
with told():
    views[chosen](asked)
