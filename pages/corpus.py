"""Corpus: what is in many texts, as a model sees them?"""

from bertviz_core.questions.views.corpus import VIEWS, about_corpus
from ui.engine import show_page
from ui.views.corpus import chosen_corpus

show_page("corpus", VIEWS, about_corpus, subject=chosen_corpus)
