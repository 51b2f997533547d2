"""The question how a model compares a query with a document token by token."""

from dataclasses import replace

from bertviz_core.errors import Named, TextError
from bertviz_core.predictions.late_interaction import InteractionEncoder
from bertviz_core.predictions.late_interaction import late_interaction as compared
from bertviz_core.predictions.late_interaction_plan import InteractionPlan, interaction_plan
from bertviz_core.predictions.results import LateInteraction
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer, question
from bertviz_core.questions.texts.sentences import QUERY
from bertviz_core.text import repair_surrogates


def interaction_options(query: str, document: str) -> Options:
    """Options for the late interaction of a query and a document."""
    return Options((document,), values={QUERY.key: query} if query else {})


def own_interaction(opened: Opened) -> InteractionPlan:
    """How the checkpoint compares a query with a document.

    Raises:
        CheckpointError: the weights are not on this machine, a file is damaged, or a module is missing or unknown.
    """
    return opened.get_or_compute(
        (__name__, "own_interaction"), lambda: interaction_plan(opened.source, opened.settings)
    )


def interaction_encoder(opened: Opened) -> InteractionEncoder:
    """The model, prepared to encode queries and documents.

    Raises:
        BertvizError: the checkpoint's files do not belong together, or the model returns no vector per token.
    """
    return InteractionEncoder(opened.loaded, opened.tokenizer, own_interaction(opened))


@question(figures=("late-interaction",), params=(QUERY,))
def late_interaction(opened: Opened, options: Options) -> Answer[LateInteraction]:
    """The cosine of every token of a query with every token of a document, and the sum of the largest."""
    query, document = repair_surrogates(options.get(QUERY.key)).strip(), repair_surrogates(options.text())
    if options.pair is not None:
        raise TextError("Late interaction compares the query with one text; leave out ", Named("pair"), ".")
    if not query:
        raise TextError("The query is empty; write what the document is compared with.")
    if not document.strip():
        raise TextError("The document is blank; write what the query is compared with.")
    key = (__name__, "late_interaction", query, document)
    result = opened.get_or_compute(key, lambda: compared(interaction_encoder(opened), query, document))
    return replace(answered(opened, result, result.notices, interaction=result), texts=(query, document))
