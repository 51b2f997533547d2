"""Checkpoint: did it really load, for which task, is it healthy, and what changed?"""

from bertviz_core.questions.views.checkpoint import VIEWS, about_checkpoint
from ui.engine import show_page
from ui.views.checkpoint import compare_view, training_view

SPECIAL = {"Compare with base": compare_view, "Training run": training_view}
show_page("checkpoint", VIEWS, about_checkpoint, special=SPECIAL)
