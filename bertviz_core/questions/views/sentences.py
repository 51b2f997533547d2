"""The page Sentences: similarities and vectors, poolings, pairs of tokens, queries, and a second model."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.figures.base.axes import MEASURE_WORDS
from bertviz_core.figures.sentences.poolings import pooling_maps_figure, poolings_figure, token_pairs_figure
from bertviz_core.figures.sentences.ranking import ROWS as RANKED_ROWS
from bertviz_core.figures.sentences.ranking import (
    answer_logits,
    equal_words,
    has_logits,
    interaction_frame,
    late_interaction_figure,
    moved_words,
    ranking_figure,
    ranking_frame,
    scorer,
)
from bertviz_core.figures.sentences.similarity import (
    EVERY_PAIR,
    ROWS,
    blocks_figure,
    pairs_figure,
    query_figure,
    vectors_figure,
)
from bertviz_core.figures.sentences.two_models import (
    gold_cosines_figure,
    gold_frame,
    pair_cosines_figure,
    sentences_compared_figure,
)
from bertviz_core.hidden_states.results import state_name
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.results import Ranking
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param, choice, flag
from bertviz_core.questions.predictions.ranking import (
    BESIDE,
    BY_TOKENS,
    LABEL,
    RANKED_BY,
    WEIGHTS,
    interaction_options,
    late_interaction,
    own_interaction,
    ranked,
    ranking_head,
    ranking_options,
)
from bertviz_core.questions.report.library_lines import explained, library_lines
from bertviz_core.questions.tables.two_models.sentences import gold_words, what_changed, where_pairs_lie
from bertviz_core.questions.texts.background import SCALED
from bertviz_core.questions.texts.bits import CALIBRATION, NEAREST, OVERSAMPLING, QUERIES_FROM, own_queries
from bertviz_core.questions.texts.prompts import PAIR
from bertviz_core.questions.texts.sentences import (
    BFLOAT16,
    CELLS,
    FIRST_ROW,
    MEASURE,
    ORDER,
    PLACED,
    POOLING,
    PROMPT,
    QUERY,
    QUERY_PROMPT,
    STATE,
    blocks,
    closest_pairs,
    neighbours,
    own_measures,
    own_plan,
    poolings,
    query_prompt,
    sentence_plan,
    sentence_vectors,
    similarity,
    token_pairs,
    vector_options,
    vector_rows,
)
from bertviz_core.questions.texts.two_models import gold_pairs, two_models
from bertviz_core.questions.texts.vectors import MISTAKE, OUTSIDE_FROM
from bertviz_core.questions.view import (
    LONG_LIST,
    LONGEST_LINKED,
    Ask,
    Button,
    Cell,
    Columns,
    Download,
    Figure,
    Link,
    Links,
    Notices,
    Part,
    Row,
    Section,
    Table,
    Text,
    View,
)
from bertviz_core.questions.views.texts import sentences as texts
from bertviz_core.questions.views.texts.sentences import neighbour_parts
from bertviz_core.questions.views.vectors import background as scaling
from bertviz_core.questions.views.vectors import chunks as long
from bertviz_core.questions.views.vectors import heads
from bertviz_core.questions.views.vectors.plan import made_by, plan_used, vectors_used
from bertviz_core.questions.views.vectors.prompts import PROMPTED
from bertviz_core.questions.views.vectors.thresholds import CONTROLS, FOLDED, THRESHOLD
from bertviz_core.questions.views.vectors.vocabulary import VIEW as VOCABULARY
from bertviz_core.sentences.analysis.results import Background
from bertviz_core.sentences.results import SPARSE_POOLINGS, BlockSummary, SentencePlan
from bertviz_core.sentences.store.shards import DOWNLOADS, VECTOR_DTYPES, VectorDtype, stored_as
from bertviz_core.sentences.two_models import LEAST_SENTENCES
from bertviz_core.text import counted, decimals, escape_markdown

SOURCE = choice("source", ("typed", "file"), "where the sentences come from", "Sentences")
EXAMPLE = Param("example", "text", "a worked set of sentences", label="Example")
GOLD_FROM = choice("gold_from", ("my own list", "file"), "where the pairs come from", "Pairs")
OF_LIST, OF_PAIRS = COMPARED = ("the list", "pairs with gold similarity")
TWO_MODELS_OF = replace(
    choice("two_models_of", COMPARED, "what is compared in two models", "What is compared", True),
    values=lambda *_: COMPARED,
)
VECTORS_SHOWN = replace(flag("vectors_shown", "whether the vectors are drawn"), label="Show the vectors")
VECTORS_IN = choice("vectors_in", VECTOR_DTYPES, "number format of the vectors in the files", "Numbers")
DRAWN_FROM = replace(FIRST_ROW, label="First sentence", bounds=lambda _, options: (1, _last_first_row(options), 1))
FIRST_SENTENCE = Param(
    "first_sentence",
    "whole",
    "the first of two sentences of the list, from 0",
    label="First sentence",
    values=lambda _, options: options.texts,
    bounds=lambda _, options: (0, len(options.texts) - 1, 0),
)
SECOND_SENTENCE = Param(
    "second_sentence",
    "whole",
    "the second of them",
    label="Second sentence",
    values=lambda _, options: options.texts,
    bounds=lambda _, options: (0, len(options.texts) - 1, min(1, len(options.texts) - 1)),
)
DOCUMENT = replace(SECOND_SENTENCE, label="Text")
COMPARED_SENTENCES, WORST, LEAST_FOR_LAYERS = 64, 20, 4
"""Most sentences whose poolings are compared, most of the worst pairs, least sentences whose layers are compared."""
SMALL = 240
"""Most rows of a table that is not scrolled, and pixels of tables that are."""
TYPE_A_QUERY = "Type a query: {}"


def about_sentences(opened: Opened, ask: Ask, options: Options) -> tuple[str, Sequence[Part]]:
    """How many sentences there are, and where the model runs."""
    read = "1 text" if len(options.texts) == 1 else counted(len(options.texts), "sentence")
    return f"{read if options.texts else 'run'} on {opened.loaded.device} in float32.", ()


def similarity_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The similarities of all sentences, in blocks for a long list; the closest pairs, and the vectors."""
    plan = sentence_plan(opened, options)
    yield from plan_used(opened, plan)
    plain = vector_options(opened, options, plan)
    vectors = ask(sentence_vectors, plain).result
    yield Notices(vectors.notices, "caption")
    sentences = vectors.sentences
    scale = scaling.scale_of(opened, ask, options, plain)
    if len(sentences) > EVERY_PAIR:
        yield from _blocks(opened, ask, options)
    else:
        yield from _every_pair(opened, ask, options, plan, scale)
    yield from scaling.closest_parts(opened, ask, options, sentences, scale)
    yield Text("**Vectors**")
    yield Section((VECTORS_IN,), _files)
    yield Section((VECTORS_SHOWN, DRAWN_FROM), _drawn_vectors)


def _every_pair(
    opened: Opened, ask: Ask, options: Options, plan: SentencePlan, scale: scaling.Scale[Background]
) -> Iterator[Part]:
    answer = ask(similarity, options)
    vectors, measure = answer.drawn["vectors"], answer.drawn["similarity_measure"]
    word, clusters = MEASURE_WORDS[measure], answer.drawn["clusters"]
    order = np.arange(len(answer.result)) if clusters is None else clusters.order

    def similarity_words(one: int, other: int, count: int = 7) -> str:
        value = f"{word[0].upper()}{word[1:]} **{answer.result[one, other]:.{count}f}**"
        both = " and ".join(texts.quoted_sentence(each, vectors.sentences[each]) for each in (one, other))
        return f"{value}: {both}"

    def clicked(cell: tuple[int, int] | None) -> Iterator[Part]:
        if cell is None or max(cell) >= len(order):
            if len(order) > 1:
                pairs = ask(closest_pairs, options.only(*closest_pairs.params, task=options.task)).result
                closest = similarity_words(int(pairs.first[0]), int(pairs.second[0]), 4)
                yield Text(f"{closest}, the closest. Choose a cell for another pair.")
            return
        one, other = int(order[cell[0]]), int(order[cell[1]])
        pair = {FIRST_SENTENCE.key: one, SECOND_SENTENCE.key: other}
        numbers = {f"{key}_number": place + 1 for key, place in pair.items()}
        button = Button("Token contributions", "explain_pair", {**pair, **numbers}, "Token contributions")
        yield Row([Text(similarity_words(one, other)), button])
        if one != other:
            yield scaling.rank_line(scale, float(answer.result[one, other]))

    yield Figure.of(
        pairs_figure,
        answer,
        f"sentence {word} {made_by(vectors)}",
        below=[Cell(pairs_figure.chart, clicked)],
        explanation=texts.SIMILARITY[measure],
        code=texts.similarity_code(opened, plan, vectors.sentences, measure),
    )


def _blocks(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    answer = ask(blocks, vector_options(opened, options))
    measure = options.choice(MEASURE, own_measures(opened, options))
    summary, sentences = answer.result, answer.drawn["vectors"].sentences
    plan = sentence_plan(opened, options)
    yield Text(
        f"More than {EVERY_PAIR} sentences are not drawn cell by cell: similar ones are put into {len(summary.sizes)} "
        "blocks, each named by the sentence nearest to its middle and its size. Choose a cell to list its sentences.",
        "caption",
    )
    yield Figure.of(
        blocks_figure,
        answer,
        f"sentence blocks {made_by(answer.drawn['vectors'])}",
        below=[Cell(blocks_figure.chart, partial(_block_members, summary, sentences))],
        explanation=texts.SIMILARITY[measure],
        code=texts.similarity_code(opened, plan, sentences, measure),
    )


def _block_members(summary: BlockSummary, sentences: Sequence[str], cell: tuple[int, int] | None) -> Iterator[Part]:
    if cell is None or max(cell) >= len(summary.sizes):
        return
    yield Text(f"Block {cell[0] + 1} with block {cell[1] + 1}: mean cosine **{summary.similarity[cell]:.7f}**")
    rows = []
    for block in dict.fromkeys(cell):
        start, size = int(summary.starts[block]), int(summary.sizes[block])
        rows += [(block + 1, index + 1, sentences[index]) for index in summary.order[start : start + size].tolist()]
    frame = pd.DataFrame(rows, columns=["block", "number", "sentence"])
    yield Table(frame, "Sentences of the blocks", SMALL)


def _files(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """All vectors as files with model, revision, pooling and layer, in a JSON file where the format has no metadata."""
    vectors = ask(sentence_vectors, vector_options(opened, options)).result
    dtype = cast(VectorDtype, options.choice(VECTORS_IN))
    name = re.sub(r"[^\w.-]+", "-", f"vectors {made_by(vectors)}").strip("-")
    files = [
        Download(
            label,
            f"sentences_vectors_all_{label.partition(' ')[0].lower()}",
            f"{name}{suffix}",
            media,
            partial(lambda build: build(stored_as(vectors, dtype), name), build),
            words,
        )
        for label, (suffix, media, build, words) in DOWNLOADS.items()
    ]
    yield Row([Text(f"`({len(vectors.sentences):,}, {vectors.dimensions:,})`"), *files])


def _last_first_row(options: Options) -> int:
    """The last number from which all rows of the figure are full; 1 where the vectors are not shown."""
    return max(1, len(options.texts) - ROWS + 1) if options.flag(VECTORS_SHOWN) else 1


def _drawn_vectors(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Some vectors as a heatmap; nothing before they are to be shown."""
    if not options.flag(VECTORS_SHOWN):
        return
    plain, plan = vector_options(opened, options), sentence_plan(opened, options)
    row = {FIRST_ROW.key: options.get(FIRST_ROW.key, "1")}
    answer = ask(vector_rows, replace(plain, values={**plain.values, **row}))
    vectors, first = answer.result, answer.drawn["first_row"]
    shown = vectors.sentences[first : first + ROWS]

    def clicked(cell: tuple[int, int] | None) -> Iterator[Part]:
        if cell is None or cell[0] >= len(shown) or cell[1] >= vectors.dimensions:
            yield Text("Choose a cell for its exact value.", "caption")
            return
        words = f"Sentence {texts.quoted_sentence(first + cell[0], shown[cell[0]])}, dimension {cell[1]}"
        yield Text(f"{words}: **{vectors.vectors[first + cell[0], cell[1]]:.7f}**")

    yield Figure.of(
        vectors_figure,
        answer,
        f"vectors {made_by(vectors)}",
        texts=shown,
        below=[Cell(vectors_figure.chart, clicked)],
        explanation=texts.VECTORS,
        code=f"{texts.vector_code(opened, plan, vectors.sentences)}\nprint(v)",
    )
    yield Button("Fewer bits and dimensions", "smaller_vectors", {}, "Smaller vectors")


def poolings_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Mean and spread of all cosines over the layers, and the maps as small multiples."""
    count, own = len(options.texts), own_plan(opened)
    if count < 2:
        yield Text("Poolings are compared by the cosines of pairs: add a second sentence.", "notice")
        return
    chosen = min(count, COMPARED_SENTENCES)
    answer = ask(poolings, Options(tuple(options.texts[place * count // chosen] for place in range(chosen))))
    compared = answer.result
    if count > chosen:
        yield Text(f"{chosen} of the {count:,} sentences are compared, evenly spaced in the list.", "caption")
    about = texts.about_poolings(own.pooling, own.from_checkpoint, compared.edges, opened.loaded.model_type)
    layered = next(each for each in compared.poolings if each != "pooler")  # the pooler reads the last layer only
    yield Figure.of(
        poolings_figure,
        answer,
        f"poolings {opened.name}",
        below=[Text(f"{texts.last_layer(compared)} {about}"), Notices(answer.notices, "caption")],
        explanation=texts.POOLINGS,
        code=texts.spread_code(opened, own, compared.sentences, layered),
    )
    if compared.matrices is not None:
        yield Figure.of(pooling_maps_figure, answer, f"pooling maps {opened.name}", numbers="in files")
        yield Text(texts.MAPS, "caption")


def pair_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The cosine of two sentences as a sum over pairs of their tokens; of a sparse encoder their score by words."""
    yield from vectors_used(opened, ask, options)
    places = [int(options.get(each.key)) for each in (FIRST_SENTENCE, SECOND_SENTENCE)]
    both = tuple(options.texts[place] for place in places)
    if sentence_plan(opened, options).pooling in SPARSE_POOLINGS:
        yield from heads.shared_terms_parts(opened, ask, both)
        return
    plain, cells = vector_options(opened, replace(options, texts=both)), {CELLS.key: options.choice(CELLS)}
    answer = ask(token_pairs, replace(plain, values={**plain.values, **cells}))
    shares, scale = answer.result, scaling.scale_of(opened, ask, options, plain)
    if not shares.exact:
        yield Text(f"An approximation. {escape_markdown(shares.note)}", "warning")
    words: list[Part] = [Text(texts.pair_sum(shares)), scaling.rank_line(scale, shares.score)]
    if len(options.texts) > LONG_LIST:
        words.append(Text("  \n".join(map(texts.quoted_sentence, places, both))))
    words += [Text(escape_markdown(shares.note), "caption")] if shares.exact else []
    unit, state = cells[CELLS.key][:-1], state_name(shares.layer)
    yield Figure.of(
        token_pairs_figure,
        answer,
        f"{unit} pairs {shares.pooling} {state} {opened.name}",
        below=words,
        explanation=texts.PAIR,
        code=texts.pair_code(opened, sentence_plan(opened, options), both),
    )
    top = [Text("**Largest contributions of token pairs**, without special tokens")]
    by_words = [Text("**Contribution of each word**")]
    yield Columns(
        "pair",
        [*top, Table(texts.largest_pairs(shares), "Token pairs by their contribution", 280)],
        [*by_words, Table(texts.word_shares(shares), "Words of both sentences and their contributions", 280)],
    )
    yield from scaling.other_shares("words", opened.name, *both)


def query_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The sentences of the list nearest to a query."""
    yield from vectors_used(opened, ask, options)
    plain = vector_options(opened, options)
    listed = ask(sentence_vectors, plain).result
    yield Notices(listed.notices, "caption")
    if not options.get(QUERY.key):
        yield Text(TYPE_A_QUERY.format("the nearest sentences of the list are shown here with their scores."), "notice")
        return
    answer, plan = ask(neighbours, options), sentence_plan(opened, options)
    prompt, query = query_prompt(opened, options), answer.drawn["query"]
    scale = scaling.scale_of(opened, ask, options, plain)
    code = (
        explained(texts.NEAREST, neighbours, opened, options)
        if opened.source.query_name
        else {
            "explanation": texts.NEAREST,
            "code": texts.nearest_code(opened, plan, listed.sentences, answer.result.measure, query, prompt),
        }
    )
    if not opened.source.query_name:  # unrelated pairs are pairs of documents, which a query is not
        yield scaling.ranked_neighbours(answer.result, scale)
    yield Figure.of(query_figure, answer, f"nearest sentences {made_by(listed)}", numbers="open", **code)
    if plan.pooling in SPARSE_POOLINGS:
        yield from heads.query_terms_parts(opened, ask, options)


def rank_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The texts by descending score, what moved, and links for one of them."""
    query, by, no_head = options.get(QUERY.key), options.get(RANKED_BY.key), ""
    yield Text("The query is scored with each text.", "caption")
    if not query:
        yield Text(TYPE_A_QUERY.format("the texts of the list are put in order for it."), "notice")
        return
    if not by:
        try:
            ranking_head(opened)
        except UnsupportedModelError as error:
            by, no_head = BY_TOKENS, f"{str(error).partition(';')[0]}, so late interaction puts them in order."
    options = ranking_options(query, options.texts, options.get(LABEL.key), options.get(BESIDE.key), by=by)
    answer = ask(ranked, options)
    ranking = answer.result
    yield Text(f"**{escape_markdown(moved_words(ranking))}**")
    frame, score = ranking_frame(ranking), scorer(ranking)
    falls = (
        f"Left the order by {score}, right that by the cosine of {escape_markdown(ranking.sentence_model)}: "
        f"where a line falls to the right, {score} puts the text higher."
    )
    drawn = f"The first {RANKED_ROWS} of {len(frame):,} texts are drawn; the table has all."
    lines = [falls, *([drawn] if len(frame) > RANKED_ROWS else []), *filter(None, (equal_words(ranking),))]
    how = texts.RANKED_BY_TOKENS if ranking.by_tokens else texts.RANKED_BY_HEAD
    yield Figure.of(
        ranking_figure,
        answer,
        f"ranking {ranking.model}",
        numbers="in files",
        below=[
            *(Text(line, "caption") for line in lines),
            Notices([*filter(None, (no_head,)), *answer.notices], "caption"),
        ],
        rows=[Table(frame, "The texts by descending score", key="ranking_table", opens=heads.RANKED_TEXT.key)],
        **explained(how.format(beside=texts.RANKED_BESIDE), ranked, opened, options),
    )
    yield Section((heads.RANKED_TEXT,), partial(_ranked_text, ranking))


def _ranked_text(ranking: Ranking, opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """One text with its numbers, and links to views of it with the query."""
    place = int(options.get(heads.RANKED_TEXT.key)) - 1
    index = int(ranking.order[place])
    text, query = ranking.texts[index], ranking.query
    score, cosine = float(ranking.scores[index]), float(ranking.cosines[index])
    yield Text(escape_markdown(text))
    by_cosine = f"cosine **{decimals(cosine)}**, place {int(ranking.cosine_rank[index]):,}"
    logit = f", logit **{decimals(float(ranking.logits[index]))}**" if has_logits(ranking) else ""
    compared = [
        f"**{decimals(float(values[0]))}** of {escape_markdown(answer)}"
        for answer, values in zip(ranking.answers, answer_logits(ranking, np.array([index])).values(), strict=True)
    ]
    of_answers = f" ({' minus '.join(compared)})" if compared else ""
    yield Text(f"score **{decimals(score)}**{logit}{of_answers}, place {place + 1}; {by_cosine}")
    if len(text) + len(query) > LONGEST_LINKED:
        words = f"Query and text have more than {LONGEST_LINKED:,} characters, too many for a link: copy them."
        yield Text(words, "caption")
        return
    both = [("text", query), ("pair", text)]
    target = [("target", "class"), *([("target_class", ranking.label)] if ranking.label else [])]
    line = [("source", "typed"), ("sentences", " ".join(text.split())), (QUERY.key, query)]
    tokens = [("model", ranking.model), ("view", "Late interaction"), *line]
    pairs = [("model", ranking.sentence_model), ("view", "Pairs"), *both]
    by_tokens = Link("Late interaction, token by token", "sentences", tokens)
    by_words = Link("Words that matter for the score", "words", [("model", ranking.model), *both, *target])
    links = [by_tokens if ranking.by_tokens else by_words, Link("Word pairs of the cosine", "words", pairs)]
    yield Links("sentences_ranking_open", "Open this text with the query in another view", links)


def late_interaction_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The map of the cosines of the tokens of a query and a text, its sum, and the largest of each row as a table."""
    query, document = options.get(QUERY.key), options.texts[int(options.get(DOCUMENT.key))]
    plan = own_interaction(opened)
    yield Text(escape_markdown(plan.reason))
    if not query:
        yield Text(TYPE_A_QUERY.format("its tokens are compared with those of a text."), "notice")
        return
    options = interaction_options(query, document)
    answer = ask(late_interaction, options)
    result = answer.result
    words: list[Part] = [Text(texts.interaction_sum(result))]
    if result.skipped:
        words.append(Text(f"Not scored: {escape_markdown(' '.join(result.skipped))}", "caption"))
    others = [notice for notice in answer.notices if notice != plan.reason]
    yield Figure.of(
        late_interaction_figure,
        answer,
        f"late interaction {result.model}",
        numbers="in files",
        below=[*words, Notices(others, "caption")],
        rows=[Table(interaction_frame(result), "The tokens of the query and their largest cosines")],
        **explained(texts.LATE_INTERACTION, late_interaction, opened, options),
    )
    if plan.trained and len(query) + len(document) <= LONGEST_LINKED:
        both = [("model", result.model), ("text", document), ("pair", query), ("target", "late-interaction")]
        links = [
            Link("Words of the text that matter for this score", "words", both),
            Link("Heads that matter for this score", "causes", both),
        ]
        yield Links("sentences_interaction_causes", "Open what this score depends on", links)


def list_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Cosines of the sentences in two models and their difference, where all pairs lie, and the neighbours."""
    if len(options.texts) < LEAST_SENTENCES:
        yield Text(texts.MORE, "notice")
        return
    shown, options = options, of_both(opened, options)
    answer = ask(two_models, options)
    compared = answer.result
    scales = scaling.scales_of_both(opened, ask, options, shown)
    if compared.first == compared.second:
        yield Text(texts.SAME, "notice")
    yield Text(f"**{escape_markdown(what_changed(compared))}**")
    both = f"{compared.first} {compared.second}"
    clicked = Cell(sentences_compared_figure.chart, partial(scaling.both_cosines, compared, scales))
    yield Figure.of(
        sentences_compared_figure,
        answer,
        f"cosines of sentences {both}",
        below=[Text(escape_markdown(where_pairs_lie(compared))), clicked],
    )
    yield Notices(answer.notices, "caption")
    code = library_lines(two_models, opened, options)
    yield Figure.of(pair_cosines_figure, answer, f"cosines of pairs {both}", explanation=texts.TWO_MODELS, code=code)
    yield scaling.both_parts(scales, compared)
    yield from neighbour_parts(compared)
    lines = "\n".join(compared.sentences)
    if len(compared.sentences) >= LEAST_FOR_LAYERS and len(lines) <= LONGEST_LINKED:
        query = [("model", opened.name), ("view", "Compare with base"), (OTHER.key, options.get(OTHER.key))]
        query += [("compared", "layers over many texts"), ("compared_list", "my own list"), ("compared_texts", lines)]
        links = [Link("From which layer on?", "checkpoint", query)]
        yield Links("two_models_layers", "The layers of both", links)


def of_both(opened: Opened, options: Options) -> Options:
    """The sentences, the other model, and what is chosen of the vectors; each model's own is left to it."""
    plain = vector_options(opened, options)
    values = {key: value for key, value in plain.values.items() if key != BFLOAT16.key}
    return replace(plain, values={OTHER.key: options.get(OTHER.key), **values})


def gold_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Both correlations in one sentence, cosine against gold for each model, and the worst of the pairs."""
    answer = ask(gold_pairs, options)
    pairs = answer.result
    yield Text(f"**{escape_markdown(gold_words(pairs))}**")
    of = "" if len(pairs.models) == 1 else " of the second model"
    worst = Table(gold_frame(pairs).iloc[:WORST], "The worst pairs, the largest rank error first")
    yield Figure.of(
        gold_cosines_figure,
        answer,
        f"gold similarity {' '.join(dict.fromkeys(each.model for each in pairs.models))}",
        numbers="in files",
        below=[Notices(answer.notices, "caption")],
        rows=[Text(f"**Pairs with the largest rank errors{of}**"), worst],
        **explained(texts.GOLD, gold_pairs, opened, options),
    )


MADE = (POOLING, STATE)
SCALED_TWO = scaling.only_where(lambda options: options.choice(TWO_MODELS_OF) == OF_LIST)
SCALED_QUERY = replace(
    SCALED, applies=lambda opened, options: not opened.source.query_name and SCALED.applies(opened, options)
)
ORDERED = replace(ORDER, applies=lambda _, options: len(options.texts) <= EVERY_PAIR)
OF_TOKENS = replace(
    CELLS, applies=lambda opened, options: sentence_plan(opened, options).pooling not in SPARSE_POOLINGS
)
QUERIES_HAVE_PROMPT = replace(QUERY_PROMPT, label="Prompt of the queries", applies=own_queries)
SMALLER = (*MADE, PROMPT, QUERIES_HAVE_PROMPT, OVERSAMPLING, CALIBRATION, BFLOAT16)
VIEWS = (
    View("Similarity", (*MADE, ORDERED), similarity_view, (MEASURE, PROMPT, SCALED, BFLOAT16)),
    View("Two models", (TWO_MODELS_OF,), None, (*MADE, PROMPT, SCALED_TWO), second=True),
    View("Poolings", (), poolings_view),
    View("Token contributions", (FIRST_SENTENCE, SECOND_SENTENCE, OF_TOKENS), pair_view, (*MADE, PROMPT, SCALED)),
    View("Query", (QUERY,), query_view, (*MADE, MEASURE, PROMPT, QUERY_PROMPT, SCALED_QUERY, BFLOAT16)),
    View("Smaller vectors", (QUERIES_FROM, NEAREST), None, SMALLER),
    View(long.LONG_TEXT, long.PARAMS, long.long_text_view, long.FOLDED),
    View("Prompts", (PROMPTED, PAIR), None, MADE),
    View("Outside vectors", (OUTSIDE_FROM, MISTAKE)),
    View(THRESHOLD, CONTROLS, None, FOLDED),
    View("Rank", (QUERY, RANKED_BY, LABEL, BESIDE), rank_view),
    View("Late interaction", (QUERY, DOCUMENT), late_interaction_view),
    View(heads.THREE_HEADS, (QUERY, WEIGHTS), heads.heads_view),
    View("Map", (*MADE, PLACED), None, (PROMPT, BFLOAT16)),
    VOCABULARY,
)


def offered(opened: Opened) -> list[View]:
    """The views of a model: its three heads are shown where its folder has them."""
    folder = opened.source.folder
    has_heads = folder is not None and any((folder / name).is_file() for name in heads.HEAD_FILES)
    return [view for view in VIEWS if view.title != heads.THREE_HEADS or has_heads]
