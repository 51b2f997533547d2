"""How sentences become vectors, as every view of them says it."""

from collections.abc import Iterator

from bertviz_core.hidden_states.results import state_name
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.sentences import OWN, POOLING, PROMPT, STATE, own_plan, prompt_texts, sentence_plan
from bertviz_core.questions.view import Ask, Button, Notices, Part, Row, Text
from bertviz_core.questions.views.texts import sentences as texts
from bertviz_core.sentences.results import SentencePlan, SentenceVectors
from bertviz_core.text import escape_markdown


def vectors_used(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """How the sentences become vectors, and what is to be known of it; the way back to the model's own vectors."""
    return plan_used(opened, sentence_plan(opened, options))


def plan_used(opened: Opened, plan: SentencePlan) -> Iterator[Part]:
    """What a plan makes of sentences, and the way back to the model's own."""
    own = own_plan(opened)
    if (plan.pooling, plan.layer, plan.prompt) != (own.pooling, own.layer, own.prompt):
        prompt = {PROMPT.key: texts.prompt_name(own, own.prompt)} if prompt_texts(opened) else {}
        values = {POOLING.key: OWN, STATE.key: str(opened.loaded.num_hidden_layers - 1), **prompt}
        words = f"**Not the model's own vectors.** {escape_markdown(plan.reason)}"
        yield Row([Text(words, "caption"), Button("Take the model's own", "own_vectors", values)])
    else:
        yield Text(escape_markdown(plan.reason), "caption")
    yield Notices(plan.notices)


def made_by(vectors: SentenceVectors) -> str:
    """Pooling, hidden state and model, as part of a file name."""
    return f"{vectors.pooling} {state_name(vectors.layer)} {vectors.model}"
