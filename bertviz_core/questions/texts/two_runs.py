"""Questions about the runs of two models on one text: attention of a head, changes of all heads, hidden states."""

from dataclasses import replace

from bertviz_core.attention.results import OF_LAYERS, AttentionComparison, AttentionMap
from bertviz_core.attention.value_zeroing import compared_attention as compared_maps
from bertviz_core.attention.value_zeroing import relative_place
from bertviz_core.checkpoints.behaviour import compared_heads, compared_states, require_same_tokens
from bertviz_core.checkpoints.results import Behaviour
from bertviz_core.predictions.two_models import comparison_notices
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.models.rounded_copy import second_model
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.question import Answer, AnswerCost, AnswerJob, long_question, question
from bertviz_core.questions.texts.attention import MAP, WEIGHTS, attending_run, attention_map
from bertviz_core.questions.texts.heads import HEAD, LAYER
from bertviz_core.questions.texts.hidden_states import run
from bertviz_core.trace.results import Trace

OTHER_LAYER = Param("other_layer", "layer", "the layer of the second model, by default at the same relative depth")
OTHER_HEAD = Param("other_head", "head", "the head of the second model, by default at the same relative place")
SAME_STATES = "The same model twice: every cosine is 1, but for rounding."


@question(
    figures=("attention-compared",),
    params=(OTHER, LAYER, HEAD, OTHER_LAYER, OTHER_HEAD, WEIGHTS, *MAP),
)
def compared_attention(opened: Opened, options: Options) -> Answer[AttentionComparison]:
    """Attention of one head in each of two models, with the difference where their rows and columns are the same."""
    second = second_model(opened, options)
    reading = {param.key: options.get(param.key) for param in (WEIGHTS, *MAP) if options.get(param.key)}
    texts = (options.text(),), options.pair
    first_values = {key: value for key in (LAYER.key, HEAD.key) if (value := options.get(key))}
    one = attention_map(opened, Options(*texts, values={**reading, **first_values}))
    runs = one.drawn["trace"], attending_run(second, Options(*texts)).result
    place = _second_place(second, options, one.result, runs)
    there = {LAYER.key: str(place[0]), HEAD.key: str(place[1])}
    other = attention_map(second, Options(*texts, values={**reading, **there}))
    names = runs[0].model, runs[1].model
    compared = compared_maps(names, (runs[0].tokens, runs[1].tokens), (one.result, other.result))
    about = [*compared.notices, *_place_notice(names, runs, compared), *one.notices, *other.notices]
    same_place = (one.result.layer, one.result.head) == (other.result.layer, other.result.head)
    notices = comparison_notices(*names, about) if same_place else tuple(dict.fromkeys(about))
    compared = replace(compared, notices=notices)
    models = tuple(dict.fromkeys((*one.models, *other.models)))
    return Answer(compared, models, one.texts, compared.notices, {"attention_comparison": compared})


def second_sizes(opened: Opened, options: Options) -> tuple[int, int]:
    """Number of layers and of heads a layer of the second model, which is run on the text.

    Raises:
        BertvizError: there is no such model, or its attention is not known.
    """
    ran = attending_run(second_model(opened, options), Options((options.text(),), options.pair)).result
    return ran.num_hidden_layers, ran.num_attention_heads


def _second_place(
    second: Opened, options: Options, first: AttentionMap, runs: tuple[Trace, Trace]
) -> tuple[int, int]:  # fmt: skip
    """Layer and head of the second model: the given ones, or those at the same relative place."""
    layers, heads = ([run.num_hidden_layers for run in runs], [run.num_attention_heads for run in runs])
    layer, head = relative_place(first.layer, *layers), relative_place(first.head or 0, *heads)
    return (
        options.numbered(OTHER_LAYER.key, layers[1], layer, second.name),
        options.numbered(OTHER_HEAD.key, heads[1], head, second.name),
    )


def _place_notice(names: tuple[str, str], runs: tuple[Trace, Trace], compared: AttentionComparison) -> list[str]:
    """Which layer and head of the second model is shown, in one sentence, where it has other numbers of them."""
    sizes = [(each.num_hidden_layers, each.num_attention_heads) for each in runs]
    if sizes[0] == sizes[1]:
        return []
    of_layer = compared.first.options.weights in OF_LAYERS
    where = f"layer {compared.second.layer}" + ("" if of_layer else f", head {compared.second.head}")
    numbers = [f"{layers} layers of {heads} heads" for layers, heads in sizes]
    return [f"{names[0]} has {numbers[0]} and {names[1]} {numbers[1]}: of the second, {where} is shown."]


def _heads_cost(opened: Opened, options: Options) -> AnswerCost:
    first, other = _attending_runs(opened, options)
    require_same_tokens(first, other, "their heads have no divergence")
    return AnswerCost(first.num_hidden_layers, first.tokens, 2)


@long_question(_heads_cost, figures=("attention-changed",), params=(OTHER,), noun="layers")
def changed_heads(opened: Opened, options: Options, job: AnswerJob[Answer[Behaviour]]) -> Answer[Behaviour]:
    """Jensen-Shannon divergence of the attention of every head in two models."""
    compared = compared_heads(*_attending_runs(opened, options), job)
    return _answer(opened, options, compared, comparison_notices(compared.first, compared.second, compared.notices))


@question(figures=("states-compared",), params=(OTHER,))
def cosines_of_states(opened: Opened, options: Options) -> Answer[Behaviour]:
    """Cosine of every token's hidden states in two models."""
    plain = Options((options.text(),), options.pair)
    compared = compared_states(run(opened, plain).result, run(second_model(opened, options), plain).result)
    same = [SAME_STATES] if compared.first == compared.second else []
    return _answer(opened, options, compared, (*same, *compared.notices))


def _attending_runs(opened: Opened, options: Options) -> tuple[Trace, Trace]:
    plain = Options((options.text(),), options.pair)
    return attending_run(opened, plain).result, attending_run(second_model(opened, options), plain).result


def _answer(opened: Opened, options: Options, compared: Behaviour, notices: tuple[str, ...]) -> Answer[Behaviour]:
    compared = replace(compared, notices=notices)
    both = opened, second_model(opened, options)
    models = tuple(dict.fromkeys((each.source.name, each.source.revision) for each in both))
    texts = compared.tokens.text, compared.tokens.pair
    return Answer(compared, models, texts, notices, {"run_comparison": compared})
