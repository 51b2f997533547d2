"""Commands about gold labels: thresholds of labelled pairs, likely wrong labels, tags, answers to questions."""

from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.cli.opened import opened_model, opened_table, progress_bar
from bertviz_core.cli.options import JsonOption, ModelArgument, app, file_or_input, print_notices, show, write_file
from bertviz_core.errors import Named, TextError
from bertviz_core.figures.predictions.answer_list import answer_frame
from bertviz_core.predictions.answers import MAX_ANSWER_TOKENS
from bertviz_core.predictions.probing.label_errors import FOUND_BY, RANKED_BY
from bertviz_core.predictions.probing.reading import (
    LABEL_COLUMNS,
    checked_rows,
    column_labels,
    gold_column,
    label_column,
)
from bertviz_core.predictions.tables import decision_table
from bertviz_core.questions.predictions import gold_tags as tagging
from bertviz_core.questions.predictions.answer_list import (
    ANSWER_COLUMNS,
    CONTEXT_COLUMNS,
    NULL_THRESHOLD,
    QUESTION_COLUMN,
    answer_options,
    listed_answers,
    listed_options,
    scored_answers,
)
from bertviz_core.questions.predictions.label_errors import (
    PROBABILITIES_FROM,
    SOURCES,
    SUSPECTS_BY,
    SUSPECTS_ORDER,
    label_errors,
    label_options,
    label_probabilities,
    probability_options,
)
from bertviz_core.questions.predictions.labelled_texts import CLASS_NAMES, SEED
from bertviz_core.questions.predictions.predict import LONGEST
from bertviz_core.questions.predictions.ranking import LABEL
from bertviz_core.questions.predictions.thresholds import (
    CUT,
    NUMBER,
    NUMBERS,
    PRECISION,
    PRECISIONS,
    SCORED_BY,
    SCORED_BY_OPTIONS,
    threshold_options,
    thresholds,
)
from bertviz_core.questions.tables.labelled.answer_list import ANSWER_LIST
from bertviz_core.questions.tables.labelled.label_errors import GOLD_LABELS, GOLD_TAGS, LABEL_ERRORS
from bertviz_core.questions.tables.thresholds import THRESHOLDS
from bertviz_core.questions.texts.sentences import POOLING, PROMPT, QUERY_PROMPT, STATE
from bertviz_core.sentences.two_models import SCORE_COLUMNS, SECOND_COLUMNS, table_pairs, usual_column
from bertviz_core.tables.decoding import file_bytes
from bertviz_core.tables.tagged_words import read_tagged
from bertviz_core.tables.typeset import csv_text
from bertviz_core.text import quoted

FILE_HELP = "Labelled pairs: .csv, .tsv, .jsonl or .parquet; - for the standard input."
FIRST_HELP = "Column with the first texts, the queries of a reranker."
SECOND_HELP = f"Column with the second texts; {', '.join(SECOND_COLUMNS)} by default."
GOLD_HELP = f"Column with the labels, 0 and 1 or similarities; {', '.join(SCORE_COLUMNS)} by default."
PRECISION_HELP = f"Precision that is to be reached, {PRECISIONS[0]} by default."
CUT_HELP = "Least similarity of a positive pair; 1 for labels 0 and 1, otherwise the middle of the scale."
BY_HELP = f"What scores the pairs: {', '.join(SCORED_BY_OPTIONS).replace('late i', 'late-i')}; the head of a reranker."
NUMBER_HELP = f"Of a head: {' or '.join(NUMBERS)}, the number that is divided."
CLASS_HELP = "Class whose probability is the score; entailment by default."
POOLING_HELP = "Pooling of the vectors; the checkpoint's own by default."
LAYER_HELP = "Entry of the hidden states to pool; the last by default."
PROMPT_HELP = "Prompt in front of every text, by its name in the checkpoint."
QUERY_PROMPT_HELP = "Prompt in front of the first texts, if they have one of their own."


@app.command("thresholds")
def thresholds_command(
    model: ModelArgument,
    file: Annotated[Path, typer.Option("--file", metavar="FILE", help=FILE_HELP)],
    column: Annotated[str, typer.Option("--column", metavar="C", help=FIRST_HELP)] = "",
    pair: Annotated[str, typer.Option("--pair", metavar="C", help=SECOND_HELP)] = "",
    gold: Annotated[str, typer.Option("--gold", metavar="C", help=GOLD_HELP)] = "",
    precision: Annotated[str, typer.Option("--precision", metavar="P", help=PRECISION_HELP)] = "",
    cut: Annotated[str, typer.Option("--cut", metavar="G", help=CUT_HELP)] = "",
    scored_by: Annotated[str, typer.Option("--scored-by", metavar="HOW", help=BY_HELP), SCORED_BY] = "",
    number: Annotated[str, typer.Option("--threshold-of", metavar="NUMBER", help=NUMBER_HELP), NUMBERS] = "",
    label: Annotated[str, typer.Option("--label", metavar="CLASS", help=CLASS_HELP)] = "",
    pooling: Annotated[str, typer.Option("--pooling", metavar="POOLING", help=POOLING_HELP), POOLING] = "",
    layer: Annotated[str, typer.Option("--layer", metavar="L", help=LAYER_HELP), STATE] = "",
    prompt: Annotated[str, typer.Option("--prompt", metavar="NAME", help=PROMPT_HELP)] = "",
    query_prompt: Annotated[str, typer.Option("--query-prompt", metavar="NAME", help=QUERY_PROMPT_HELP)] = "",
    as_json: JsonOption = False,
) -> None:
    """Find a threshold of a score from labelled pairs: precision, recall and F1 of every one, with intervals."""
    table = opened_table(file, column)
    names = [str(name) for name in table.frame.columns]
    second = pair or usual_column(names, SECOND_COLUMNS) or SECOND_COLUMNS[0]
    firsts, seconds, labels, notices = table_pairs(table, second, gold or usual_column(names, SCORE_COLUMNS) or "label")
    print_notices(notices[len(table.notices) :])
    values = {PRECISION.key: precision, CUT.key: cut, SCORED_BY.key: scored_by.replace("-", " "), NUMBER.key: number}
    values |= {LABEL.key: label, POOLING.key: pooling, STATE.key: layer, PROMPT.key: prompt}
    values[QUERY_PROMPT.key] = query_prompt
    with progress_bar(len(labels), "Texts") as bar:
        answer = thresholds(opened_model(model), threshold_options((firsts, seconds, labels), values), bar)
    show(THRESHOLDS, answer.result, answer.notices, as_json)


TEXTS_HELP = "Labelled texts: .csv, .tsv, .jsonl or .parquet; - for the standard input."
TEXT_COLUMN_HELP = "Column with the texts."
LABEL_COLUMN_HELP = f"Column with the labels; {', '.join(LABEL_COLUMNS[:4])} ... by default."
FROM_HELP = f"{' or '.join(SOURCES)}: probes that are fitted without the text, or the model's own head."
SUSPECTS_HELP = f"What makes a label suspect: {', '.join(FOUND_BY)}."
ORDER_HELP = f"What ranks the suspects: {' or '.join(RANKED_BY)}."
CLASS_NAMES_HELP = "Names for the classes of a head that only numbers them, in its order, such as negative,positive."
ClassNamesOption = Annotated[
    str, typer.Option("--class-names", metavar="NAME,NAME,...", help=CLASS_NAMES_HELP), CLASS_NAMES
]
OUT_HELP = "CSV of the suspects with an empty column decision, for keep, change or drop."


@app.command("label-errors")
def label_errors_command(
    model: ModelArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help=TEXTS_HELP)],
    column: Annotated[str, typer.Option("--column", metavar="C", help=TEXT_COLUMN_HELP)] = "",
    gold: Annotated[str, typer.Option("--gold", metavar="G", help=LABEL_COLUMN_HELP)] = "",
    source: Annotated[str, typer.Option("--probabilities-from", metavar="WHAT", help=FROM_HELP), SOURCES] = "",
    by: Annotated[str, typer.Option("--suspects-by", metavar="HOW", help=SUSPECTS_HELP), FOUND_BY] = "",
    order: Annotated[str, typer.Option("--suspects-order", metavar="HOW", help=ORDER_HELP), RANKED_BY] = "",
    pooling: Annotated[str, typer.Option("--pooling", metavar="POOLING", help=POOLING_HELP), POOLING] = "",
    layer: Annotated[str, typer.Option("--layer", metavar="L", help=LAYER_HELP), STATE] = "",
    seed: Annotated[str, typer.Option("--seed", metavar="N", help="Seed of the division into folds."), SEED] = "",
    names: ClassNamesOption = "",
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help=OUT_HELP)] = None,
    as_json: JsonOption = False,
) -> None:
    """Name the labels of a file that are likely wrong, by confident learning, and what they should be."""
    if out is not None and out.suffix.lower() != ".csv":
        raise TextError(f"The decisions are written as CSV; give {quoted(out.name)} the ending .csv.")
    table = opened_table(file, column)
    labels = gold or label_column(table)
    if labels is None:
        raise TextError(
            f"{quoted(table.name)} has no column beside its texts; name the one with labels: ", Named("gold")
        )
    labelled = column_labels(table, labels, checked_rows)
    values = {PROBABILITIES_FROM.key: source, SUSPECTS_BY.key: by, SUSPECTS_ORDER.key: order, POOLING.key: pooling}
    values |= {STATE.key: layer, SEED.key: seed, CLASS_NAMES.key: names}
    options, opened = label_options(labelled, values), opened_model(model)
    for param in (SUSPECTS_BY, SUSPECTS_ORDER):
        options.choice(param)
    with progress_bar(len(labelled.texts), "Texts") as bar:
        label_probabilities(opened, probability_options(options), bar)
    answer = label_errors(opened, options)
    if out is not None:
        write_file(out, csv_text(decision_table(answer.result)).encode())
    shown = set(table.notices)
    show(LABEL_ERRORS, answer.result, [each for each in answer.notices if each not in shown], as_json)
    if out is not None:
        print_notices((f"{len(answer.result.suspects):,} suspects written to {out}.",))


TAGGED_HELP = (
    "Words with gold tags: lines with a word and its tag, JSON lines with tokens and tags, or with text and entities; "
    "- for the standard input."
)
MODE_HELP = "Which entities count, as in seqeval: default, or strict for well-formed ones only."
SPACE_HELP = "Put the space in front of each word that it has in a text, whatever the folder of the tokenizer says."
SENTENCE_HELP = "Print instead the labels of the tokens of a sentence, from 1, as a trainer sets them."
ALIGN_HELP = "Which pieces of a word have its label there: first or all."


@app.command("tags")
def tags_command(
    model: ModelArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help=TAGGED_HELP)],
    mode: Annotated[str, typer.Option("--tag-mode", metavar="MODE", help=MODE_HELP), tagging.MODE] = "",
    space: Annotated[bool, typer.Option("--add-prefix-space", help=SPACE_HELP)] = False,
    sentence: Annotated[str, typer.Option("--tagged-sentence", metavar="N", help=SENTENCE_HELP)] = "",
    aligned: Annotated[str, typer.Option("--aligned", metavar="PIECES", help=ALIGN_HELP)] = "",
    as_json: JsonOption = False,
) -> None:
    """Score the entities that a tagger finds in words with gold tags: precision, recall, F1, and every error."""
    name, data = file_or_input(file)
    pieces = dict(zip(("first", "all"), tagging.ALIGNED.options, strict=True)).get(aligned, aligned)
    values = {tagging.MODE.key: mode, tagging.SPACE.key: "true" if space else "", tagging.SENTENCE.key: sentence}
    values |= {tagging.ALIGNED.key: pieces}
    options, opened = tagging.tag_options(read_tagged(name, file_bytes(name, data)), **values), opened_model(model)
    if sentence:
        labels = tagging.gold_labels(opened, options)
        return show(GOLD_LABELS, labels.result, labels.notices, as_json)
    with progress_bar(len(options.texts), "Sentences") as bar:
        tagging.word_tags(opened, options.only(tagging.SPACE, tagging.NOTED), bar)
    answer = tagging.gold_tags(opened, options)
    return show(GOLD_TAGS, answer.result, answer.notices, as_json)


QUESTIONS_HELP = "Questions: a .json of SQuAD, or .csv, .tsv, .jsonl or .parquet; - for the standard input."
QUESTION_HELP = f"Column with the questions; {QUESTION_COLUMN} by default."
CONTEXT_HELP = f"Column with the context of each; {', '.join(CONTEXT_COLUMNS)} by default."
ANSWER_HELP = f"Column with the gold answers, blank for none; {', '.join(ANSWER_COLUMNS)} by default, if there is one."
NULL_HELP = "A question whose null score exceeds that of its best span by more has no answer; 0 by default."
LONGEST_HELP = f"Most tokens of an answer; {MAX_ANSWER_TOKENS} by default."


@app.command("answers")
def answers_command(
    model: ModelArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help=QUESTIONS_HELP)],
    column: Annotated[str, typer.Option("--column", metavar="C", help=QUESTION_HELP)] = "",
    context: Annotated[str, typer.Option("--context", metavar="C", help=CONTEXT_HELP)] = "",
    gold: Annotated[str, typer.Option("--gold", metavar="C", help=ANSWER_HELP)] = "",
    threshold: Annotated[str, typer.Option("--null-threshold", metavar="D", help=NULL_HELP)] = "",
    longest: Annotated[str, typer.Option("--longest", metavar="N", help=LONGEST_HELP)] = "",
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="CSV of all rows.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Answer the questions of a file, or say that there is no answer: exact match, F1, and the best threshold."""
    if out is not None and out.suffix.lower() != ".csv":
        raise TextError(f"The answers are written as CSV; give {quoted(out.name)} the ending .csv.")
    table = opened_table(file, column)
    names = [str(name) for name in table.frame.columns]
    about = gold_column(table, context or usual_column(names, CONTEXT_COLUMNS) or CONTEXT_COLUMNS[0])
    answers = gold or usual_column(names, ANSWER_COLUMNS)
    expected = gold_column(table, answers) if answers else None
    values = {NULL_THRESHOLD.key: threshold, LONGEST.key: longest}
    options, opened = answer_options(table.sentences, about, expected, **values), opened_model(model)
    with progress_bar(len(about), "Questions") as bar:
        listed_answers(opened, listed_options(options), bar)
    answer = scored_answers(opened, options)
    if out is not None:
        write_file(out, csv_text(answer_frame(answer.result)).encode())
    show(ANSWER_LIST, answer.result, answer.notices, as_json)
    if out is not None:
        print_notices((f"{len(answer.result.rows):,} rows written to {out}.",))
