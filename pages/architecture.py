"""Architecture: how is it put together?"""

from bertviz_core.questions.views.architecture import VIEWS, about_architecture
from ui.engine import show_page
from ui.views.architecture import tree_view

show_page("architecture", VIEWS, about_architecture, special={"Module tree": tree_view})
