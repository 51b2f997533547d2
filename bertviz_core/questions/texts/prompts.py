"""Questions what prompts change: in the cosines of a list, and in the ranks of documents with gold relevance."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import Progress, TextError
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.question import Answer, AnswerCost, Job, after, long_question
from bertviz_core.questions.texts.sentences import (
    POOLING,
    STATE,
    check_width,
    option_sentences,
    own_plan,
    query_model,
    sentence_plan,
)
from bertviz_core.resources import retained_nbytes
from bertviz_core.sentences.analysis.prompts import (
    E5,
    MOST_PROMPTS,
    MOST_SENTENCES,
    Arrangement,
    Judged,
    judged,
    list_arrangements,
    prompt_comparison,
    prompt_ranking,
    prompts_of,
    search_arrangements,
)
from bertviz_core.sentences.analysis.results import PromptComparison, PromptRanking
from bertviz_core.sentences.conventions import CONVENTIONS, convention_notice, own_pair
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.results import PromptPair, SentencePlan
from bertviz_core.sentences.two_models import evenly_chosen
from bertviz_core.text import escape_controls, quoted, repair_surrogates

OWN, TYPED = "own", "typed"
"""Values for the prompts of the model's folder, and for those that the reader writes."""
FAMILIES: Mapping[str, PromptPair] = {pair.name: pair for pair in (E5, *CONVENTIONS.values())}


def offered_pairs(opened: Opened, options: Options) -> Mapping[str, str]:
    """The pairs of prompts with their words, the default first: of the folder, of the model's family, or E5's."""
    plan = own_plan(opened)
    first = {OWN: "the folder's own"} if own_pair(plan) is not None else {}
    first |= {plan.convention.name: plan.convention.name} if plan.convention is not None else {}
    return {**first, **{name: name for name in FAMILIES if name not in first}, TYPED: "my own"}


def _is_typed(opened: Opened, options: Options) -> bool:
    return options.get(PAIR.key) == TYPED


PAIR = Param(
    "prompt_pair",
    "choice",
    "prompts of queries and documents: own, a family of models, or typed",
    (OWN, *FAMILIES, TYPED),
    "Prompts",
    offered_pairs,
)
QUERY_TEXT = Param(
    "query_prompt_text", "text", "prompt of queries, if prompts are typed", (), "Prompt of queries", applies=_is_typed
)
DOCUMENT_TEXT = Param(
    "document_prompt_text",
    "text",
    "prompt of documents, if prompts are typed",
    (),
    "Prompt of documents",
    applies=_is_typed,
)
PAIRED = (POOLING, STATE, PAIR, QUERY_TEXT, DOCUMENT_TEXT)
UNKNOWN = (
    "The model's folder names no prompts, and its name is of no family that is known to use any: the prompts of {name} "
    "are an example, with which this model was not trained."
)


def chosen_pair(opened: Opened, options: Options) -> PromptPair:
    """The prompts that are compared, by default those of the folder, of the model's family, or E5's."""
    typed = options.get(QUERY_TEXT.key), options.get(DOCUMENT_TEXT.key)
    name = options.get(PAIR.key) or (TYPED if any(typed) else next(iter(offered_pairs(opened, options))))
    if name == TYPED:
        return PromptPair("the reader", *typed)
    if name in FAMILIES:
        return FAMILIES[name]
    if name != OWN:
        known = ", ".join((OWN, *FAMILIES, TYPED))
        raise TextError(f"There are no prompts {quoted(escape_controls(name), 40)}; choose {known}.")
    pair = own_pair(own_plan(opened))
    if pair is None:
        raise TextError(f"The folder of {quoted(opened.name)} names no prompts; choose {', '.join(FAMILIES)} or typed.")
    return pair


def pair_notices(opened: Opened, pair: PromptPair) -> tuple[str, ...]:
    """What is to be known of the prompts that are compared."""
    plan = own_plan(opened)
    default = f"The folder's default is the prompt {quoted(plan.prompt, 40)} in front of every text."
    example = pair.name in FAMILIES and plan.convention is None and own_pair(plan) is None
    return (*((default,) if plan.prompt else ()), *((UNKNOWN.format(name=pair.name),) if example else ()))


def pair_options(
    texts: Sequence[str], pair: str = "", query: str = "", document: str = "", values: Mapping[str, str] | None = None
) -> Options:
    """Options for the comparison of prompts on texts.

    Args:
        pair: own, a family, or typed; "" for the default.
        query: prompt of queries; "" for none.
        document: prompt of documents; "" for none.
        values: further options.
    """
    named = {PAIR.key: pair, QUERY_TEXT.key: query, DOCUMENT_TEXT.key: document, **(values or {})}
    return Options(tuple(texts), values={key: value for key, value in named.items() if value})


def _of_list(opened: Opened, options: Options) -> tuple[PromptPair, tuple[str, ...], tuple[Arrangement, ...]]:
    """The pair, the sentences that are compared, and the arrangements of prompts."""
    sentences, pair = option_sentences(options), chosen_pair(opened, options)
    if len(sentences) < 2:
        raise TextError("Prompts are compared by the cosines of pairs; give a second sentence.")
    own = own_plan(opened).prompts or {}
    others = own if options.get(PAIR.key, OWN) == OWN and own_pair(own_plan(opened)) == pair else {}
    chosen = tuple(sentences[place] for place in evenly_chosen(len(sentences), MOST_SENTENCES))
    return pair, chosen, list_arrangements(pair, others)


def _list_cost(opened: Opened, options: Options) -> AnswerCost:
    _, sentences, arrangements = _of_list(opened, options)
    return AnswerCost(len(sentences) * len(prompts_of(arrangements)), nbytes=retained_nbytes(sentences))


@long_question(_list_cost, figures=("prompts",), params=PAIRED, noun="sentences")
def compared_prompts(opened: Opened, options: Options, job: Job[PromptComparison]) -> Answer[PromptComparison]:
    """Cosines of a list without a prompt, with prompts of queries and documents, and with swapped ones."""
    pair, sentences, arrangements = _of_list(opened, options)
    made = _Vectors(opened, options, job, len(sentences) * len(prompts_of(arrangements)))
    vectors = {prompt: made.of(prompt, sentences) for prompt in prompts_of(arrangements)}
    total, prompts = len(options.texts), len({text for text in (own_plan(opened).prompts or {}).values() if text})
    notices = [*pair_notices(opened, pair)]
    if len(sentences) < total:
        compared = f"{len(sentences)} of the {total:,} sentences are compared, evenly spaced in the list"
        notices.append(f"{compared}; numbers count these.")
    if prompts > MOST_PROMPTS and pair == own_pair(own_plan(opened)):
        notices.append(f"The folder has {prompts:,} different prompts; not all of them are compared.")
    result = prompt_comparison(opened.source.name, pair, sentences, arrangements, vectors)
    result = replace(result, notices=tuple(dict.fromkeys((*notices, *made.notices))))
    return replace(answered(opened, result, result.notices, prompt_comparison=result), texts=sentences)


def _judged(options: Options) -> Judged:
    """Queries, documents and their relevance, which are given one after the other."""
    texts = options.texts
    if not texts or len(texts) % 3:
        raise TextError(f"Give query, document, relevance, one after the other; {len(texts) or 'no'} texts came.")
    try:
        gold = [float(each) for each in texts[2::3]]
    except ValueError as error:
        raise TextError("Every third text must be the relevance of the document before it, a number.") from error
    queries, documents = (tuple(map(repair_surrogates, texts[start::3])) for start in (0, 1))
    return judged(queries, documents, gold)


def _ranking_cost(opened: Opened, options: Options) -> AnswerCost:
    rows, arrangements = _judged(options), search_arrangements(chosen_pair(opened, options))
    return AnswerCost(_steps(rows, arrangements), nbytes=retained_nbytes(rows.documents))


def _steps(rows: Judged, arrangements: Sequence[Arrangement]) -> int:
    queries, documents = ({getattr(each, side) for each in arrangements} for side in ("query", "document"))
    return len(rows.queries) * len(queries) + len(rows.documents) * len(documents)


@long_question(_ranking_cost, figures=("prompt-ranks",), params=PAIRED, noun="texts")
def ranked_prompts(opened: Opened, options: Options, job: Job[PromptRanking]) -> Answer[PromptRanking]:
    """MRR, nDCG, recall and ranks of relevant documents without a prompt, with prompts, and with swapped ones."""
    rows, pair = _judged(options), chosen_pair(opened, options)
    arrangements = search_arrangements(pair)
    prompts, steps = dict.fromkeys(each.query for each in arrangements), _steps(rows, arrangements)
    of_queries = _Vectors(query_model(opened), options, job, steps)
    queries = {prompt: of_queries.of(prompt, rows.queries) for prompt in prompts}
    made = _Vectors(opened, options, job, steps, len(rows.queries) * len(prompts))
    documents = {
        prompt: made.of(prompt, rows.documents) for prompt in dict.fromkeys(each.document for each in arrangements)
    }
    check_width(opened, queries[arrangements[0].query][0], documents[arrangements[0].document].shape[1])
    result = prompt_ranking(opened.source.name, pair, rows, arrangements, queries, documents)
    few = len(rows.queries) < FEW_QUERIES
    notices = [*pair_notices(opened, pair), *rows.notices]
    notices += [f"{len(rows.queries)} queries are few: small differences may be chance."] if few else []
    result = replace(result, notices=tuple(dict.fromkeys((*notices, *of_queries.notices, *made.notices))))
    texts = (*rows.queries, *rows.documents)
    return replace(answered(opened, result, result.notices, prompt_ranking=result), texts=texts)


FEW_QUERIES = 50
"""Number of queries below which a notice says that differences may be chance."""


class _Vectors:
    """Vectors of texts with one prompt after the other, by a model's plan; progress of the whole; notices."""

    def __init__(self, opened: Opened, options: Options, progress: Progress, steps: int, done: int = 0) -> None:
        self._opened, self._progress, self._steps = opened, progress, steps
        self._plan: SentencePlan = sentence_plan(opened, options)
        self._done = done
        self.notices: tuple[str, ...] = () if self._plan.from_checkpoint else (self._plan.reason,)

    def of(self, prompt: str, texts: Sequence[str]) -> Float[np.ndarray, "texts dimensions"]:
        """Vectors of the texts with a prompt in front."""
        opened, plan = self._opened, replace(self._plan, prompt=prompt)
        progress = after(self._progress, self._done, self._steps)
        made = sentence_vectors(
            opened.loaded, opened.tokenizer, texts, plan, progress=progress, store=opened.vector_store
        )
        self._done += len(texts)
        known = () if plan.convention is None else (convention_notice(plan.convention),)
        self.notices = tuple(dict.fromkeys((*self.notices, *(each for each in made.notices if each not in known))))
        return made.vectors
