"""Sentences: how does the model compare sentences?"""

from bertviz_core.questions.views.sentences import VIEWS, about_sentences, offered
from ui.cache.shared_model import SentenceModel
from ui.engine import show_page
from ui.views.prompts import compared_prompts_view
from ui.views.sentences import (
    labelled_view,
    map_view,
    outside_vectors_view,
    sentence_input,
    smaller_vectors_view,
    two_models_view,
)

SPECIAL = {
    "Two models": two_models_view,
    "Smaller vectors": smaller_vectors_view,
    "Prompts": compared_prompts_view,
    "Outside vectors": outside_vectors_view,
    "Threshold": labelled_view,
    "Map": map_view,
}
show_page("sentences", VIEWS, about_sentences, (), SPECIAL, sentence_input, SentenceModel, views_of=offered)
