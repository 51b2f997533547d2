"""Parameters: where are they, and how do they add up?"""

from bertviz_core.questions.views.parameters import TASK, VIEWS, about_parameters
from ui.engine import show_page

show_page("parameters", VIEWS, about_parameters, (TASK,))
