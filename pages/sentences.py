"""Sentences: how does the model compare sentences?"""

from bertviz_core.questions.views.sentences import VIEWS, about_sentences
from ui.cache.sentence_model import SentenceModel
from ui.engine import show_page
from ui.views.sentences.gold import two_models_view
from ui.views.sentences.input import sentence_input
from ui.views.sentences.map import map_view

SPECIAL = {"Two models": two_models_view, "Map": map_view}
show_page("sentences", VIEWS, about_sentences, (), SPECIAL, sentence_input, SentenceModel)
