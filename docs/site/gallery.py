"""The gallery of the documentation site: every figure of the registry, its line of Python, its command, its picture.

A figure that is declared appears here by itself, drawn for the example of its page. EXAMPLES has those that need
another one; a figure that cannot be drawn for its example ends the build.
"""

import html
import io
import logging
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from PIL import Image

from bertviz_core.figures.base.export import WIDTH, caption_of
from bertviz_core.figures.base.spec import DeclaredFigure, FigureSpec
from bertviz_core.figures.base.style import theme_named, width_class
from bertviz_core.figures.pages import PAGES
from bertviz_core.questions.figures import all_figures, drawn_by, subject_of
from bertviz_core.questions.parameters import COMMON, Options
from bertviz_core.questions.question import Answer, figure_questions
from bertviz_core.questions.report.figure_files import browser, by_browser, image_content
from bertviz_core.questions.report.library_lines import figure_line
from bertviz_core.settings import Settings

PIXELS = 1400
"""Width of a picture."""
TEXT, EDITED = "The bank of the river was steep.", "The bank of the city was steep."
PYTHON, CODING = "I love my pet python.", "I love coding in python."
MASKED = "The capital of France is [MASK]."
SENTENCES = (
    "The cat sleeps on the sofa.",
    "A kitten naps on the couch.",
    "Interest rates rose again.",
    "The bank rose.",
)
OTHER = {"other": "sre-embedding-model"}
LABELLED = ("good\tI love it.", "bad\tIt broke at once.", "good\tWell made.", "bad\tA waste of money.")
SEARCH = (
    *("Who wrote Hamlet?", "Shakespeare finished the tragedy around 1600.", "1"),
    *("Who wrote Hamlet?", "Who wrote Macbeth?", "0"),
    *("Why is the sky blue?", "Air scatters short waves more than long ones.", "1"),
    *("Why is the sky blue?", "Why is the sea salty?", "0"),
)
REVIEWS = ("I love it.", "good", "It broke at once.", "bad")


@dataclass(frozen=True)
class Example:
    """What a figure is drawn for."""

    subject: str = "all-MiniLM-L6-v2"
    """Name of the model, or folder of the corpus or training run."""
    texts: tuple[str, ...] = (TEXT,)
    pair: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    """Key of an option -> its value."""
    task: str | None = None
    needs: str = ""
    """What a reader must bring; "" where the bundled models will do, so that there is a picture."""

    @property
    def options(self) -> Options:
        """Its texts and options, as questions take them."""
        return Options(self.texts, self.pair, self.task, self.values)

    def of(self, **values: str) -> "Example":
        """This example with options."""
        return replace(self, values=values)


RUN, MODEL, LISTED = Example(), Example(texts=()), Example(texts=SENTENCES)
COSINE = Example(texts=(PYTHON,), pair=CODING)
WORDS = Example("splade-tiny", (MASKED,))
CLASSES = Example("models/my-classifier", (PYTHON,), needs="a model with a head for classes")
TAGS = Example("models/my-tagger", ("Sinan lives in Ankara.",), needs="a model with a head for tags")
ANSWERS = Example(
    "models/my-reader",
    ("Where is Paris?",),
    "Paris is in France.",
    needs="a model that answers questions about a second text",
)
CORPUS = Example("corpora/mine", (), needs="a corpus, made with `corpus embed`")
TRAINING = Example("models/my-training", (), needs="the folder of a training run")
BY_PAGE: Mapping[str, Example] = {
    **dict.fromkeys(("overview", "parameters", "checkpoint"), MODEL),
    "sentences": LISTED,
    "predictions": WORDS,
    "causes": COSINE,
    "words": COSINE,
    "corpus": CORPUS,
}
"""Page -> the usual example of its figures; those of other pages are drawn for TEXT."""
EXAMPLES: Mapping[str, Example] = {
    "models": Example("bert-base-uncased", ("bert-large-uncased", "distilbert-base-uncased")),
    "load-report": replace(MODEL, task="masked-lm"),
    "task-head": replace(MODEL, task="sequence-classification"),
    "values": MODEL.of(tensor="embeddings.LayerNorm.bias"),
    **dict.fromkeys(("change", "changes", "layer-similarity", "text-cosines"), replace(MODEL, values=OTHER)),
    **dict.fromkeys(
        ("cosines", "divergences", "attention-changed", "attention-compared", "states-compared"),
        replace(RUN, values=OTHER),
    ),
    "adapter-updates": Example("models/my-lora", (), needs="a LoRA adapter, as peft saves it"),
    **dict.fromkeys(("answers-compared", "scores-compared"), replace(CLASSES, texts=REVIEWS)),
    "training-log": TRAINING,
    "training-movement": TRAINING,
    "training-text": replace(TRAINING, texts=(PYTHON,)),
    "training-scores": replace(TRAINING, texts=REVIEWS).of(with_gold="true"),
    **dict.fromkeys(("training-cka", "training-entropy"), replace(TRAINING, texts=SENTENCES)),
    "nearest": replace(RUN, values={"token": "2"}),
    "word": Example(texts=(TEXT, "The bank raised its interest rates.")).of(word="bank"),
    **dict.fromkeys(("attention", "lines", "long", "readings"), RUN.of(layer="0", head="4")),
    "pair": replace(LISTED, texts=SENTENCES[:2]),
    "query": LISTED.of(query_sentence="Where is the pet?"),
    "late-interaction": replace(LISTED, texts=SENTENCES[1:2]).of(query_sentence="Where is the pet?"),
    **dict.fromkeys(("sentences-compared", "pair-cosines"), replace(LISTED, values=OTHER)),
    "prompt-ranks": replace(LISTED, texts=SEARCH),
    "late-chunks": replace(LISTED, texts=(" ".join(SENTENCES),)).of(chunk_tokens="8"),
    "position-shares": replace(LISTED, texts=(" ".join(SENTENCES),)),
    "gold-cosines": replace(
        LISTED, texts=(*SENTENCES[:2], "4.5", *SENTENCES[1:3], "0.5", *SENTENCES[2:], "2.0"), values=OTHER
    ),
    "thresholds": replace(
        LISTED, texts=(*SENTENCES[:2], "0", *SENTENCES[1:3], "0", SENTENCES[2], SENTENCES[2], "1", *SENTENCES[2:], "1")
    ),
    "ranking": Example(
        "models/my-cross-encoder", SENTENCES, needs="a cross-encoder, or another model that scores two texts"
    ).of(query_sentence="Where is the pet?"),
    "three-heads": Example("models/my-bge-m3", SENTENCES, needs="a model with the heads of BGE-M3 in its folder").of(
        query_sentence="Where is the pet?"
    ),
    **dict.fromkeys(("surprise", "terms"), replace(WORDS, texts=(TEXT,))),
    "lens": replace(WORDS, texts=(TEXT,)).of(mask="2,5"),
    "term-score": replace(WORDS, texts=("Where is Paris?",), pair="Paris is in France."),
    "words-change": Example("splade-tiny", ("The [MASK] of the river was steep.",)).of(
        edited="The [MASK] of the city was steep."
    ),
    "predictions-compared": WORDS.of(other="itself, rounded to nf4"),
    "confusion": replace(WORDS, texts=("city\tThe capital of France is [MASK].", "moon\tThe [MASK] shone all night.")),
    **dict.fromkeys(("calibration", "coverage"), Example("negations/checkpoint-80", ())),
    "word-swaps": replace(RUN, texts=("The soup {} good.", "My room {} clean.")).of(word_pairs="is / is not"),
    **dict.fromkeys(("probe", "label-errors"), replace(RUN, texts=LABELLED)),
    **dict.fromkeys(("classes", "word-classes"), CLASSES),
    "classes-change": CLASSES.of(edited="I hate my pet python."),
    "next-sentence": Example(
        "models/my-bert", (PYTHON,), CODING, task="next-sentence", needs="a model with a head for the next sentence"
    ),
    "tags": TAGS,
    **dict.fromkeys(
        ("gold-tags", "gold-labels"), replace(TAGS, texts=("Sinan B-PER\nlives O\nin O\nAnkara B-LOC\n. O",))
    ),
    "tags-change": TAGS.of(edited="Sinan lives in Paris."),
    **dict.fromkeys(("answers", "answer-map"), ANSWERS),
    "null-threshold": replace(ANSWERS, texts=(), pair=None),
    "answers-change": ANSWERS.of(edited_pair="Paris is in Texas."),
    "accuracy": replace(CLASSES, texts=LABELLED),
    "joint-ablation": COSINE.of(removed_heads="0.1,2.0,5.3"),
    "effect-spread": replace(COSINE, texts=SENTENCES, pair=CODING),
    **dict.fromkeys(("effects-compared", "words-compared"), replace(COSINE, values=OTHER)),
    **dict.fromkeys(("patched-heads", "patched-states"), replace(WORDS, pair="The capital of Spain is [MASK].")),
    "corpus-search": replace(CORPUS, texts=("the delivery was late",)),
    "corpus-probe": CORPUS.of(probe_labels="topic"),
    "slices-compared": replace(CLASSES, texts=(*REVIEWS, "Well made.", "good")).of(
        other="models/my-new-classifier", with_gold="true", slices="length"
    ),
}
"""Figure -> its example, where that of its page will not do."""


def example_of(figure: DeclaredFigure[...]) -> Example:
    """What a figure of the registry is drawn for."""
    return EXAMPLES.get(figure.name, BY_PAGE.get(page_of(figure), RUN))


def page_of(figure: DeclaredFigure[...]) -> str:
    """Name of the page of the dashboard that has a figure."""
    return figure.chart.partition("_")[0]


def python_line(name: str, example: Example) -> str:
    """The line of Python that draws a figure."""
    return figure_line(name, figure_questions()[name], example.subject, example.options)


def command_line(name: str, example: Example) -> str:
    """The command that writes a figure to a file."""
    words = ["python", "-m", "bertviz_core", "figure", name, example.subject, *example.texts]
    for option, value in (("--pair", example.pair), ("--task", example.task)):
        words += [] if value is None else [option, value]
    for key, value in example.values.items():
        words += [f"--{key}", value] if key in COMMON else ["--set", f"{key}={value}"]
    return shlex.join([*words, "-o", f"{name}.svg"])


@cache
def _subject(name: str, subject: str, task: str | None) -> Any:
    return subject_of(name, subject, Settings.from_environment(any_folder=True), task)


def drawn(name: str, example: Example) -> tuple[FigureSpec, Answer[Any]]:
    """Draw a figure for its example, as the command does; figures of one model share what it computed."""
    kind = figure_questions()[name].subject
    first = next(each for each, question in figure_questions().items() if question.subject is kind)
    return drawn_by(name, _subject(first, example.subject, example.task), example.options)


def write_pictures(figures: Mapping[str, tuple[FigureSpec, Answer[Any]]], folder: Path) -> None:
    """Write the picture of each figure as NAME.webp, all with one browser."""
    theme = theme_named("light", width_class(WIDTH))

    async def write() -> bytes:
        async with browser() as started:
            for name, (spec, answer) in figures.items():
                figure = spec.drawn(theme)
                caption = caption_of(figure, spec.caption or spec.title, answer.models, answer.texts)
                figure.update_layout(width=WIDTH)
                png = await image_content(started, ".png", spec, caption, theme, figure)
                with Image.open(io.BytesIO(png)) as picture:
                    size = PIXELS, round(picture.height * PIXELS / picture.width)
                    picture.convert("RGB").resize(size).save(folder / f"{name}.webp", quality=80)
        return b""

    for library in ("choreographer", "kaleido"):  # which would report every step
        logging.getLogger(library).setLevel(logging.WARNING)
    folder.mkdir(parents=True, exist_ok=True)
    by_browser(".png", write)


def section(figure: DeclaredFigure[...], picture: str) -> str:
    """The section of a figure; picture is its image in HTML, "" for none."""
    example = example_of(figure)
    shows = figure.description.partition(" (")[0]
    options = ", ".join(f"`{param.key}`" for param in figure_questions()[figure.name].params)
    needs = f"No picture: it needs {example.needs}, which is not bundled." if example.needs else ""
    parts = [
        f"(figure-{figure.name})=\n### `{figure.name}`",
        f"{shows[0].upper()}{shows[1:]}.{f' Options: {options}.' if options else ''}",
        needs or picture,
        f"```python\n{python_line(figure.name, example)}\n```",
        f"```sh\n{command_line(figure.name, example)}\n```",
    ]
    return "\n\n".join(part for part in parts if part)


def image(name: str, alt: str, folder: Path) -> str:
    """The image of a written picture in HTML, with its size, so that a page does not jump while it loads."""
    with Image.open(folder / f"{name}.webp") as picture:
        width, height = picture.size
    label = html.escape(alt, quote=True)
    return f'<img src="figures/{name}.webp" alt="{label}" width="{width}" height="{height}" loading="lazy">'


def sections(folder: Path | None) -> str:
    """The sections of all figures, by page of the dashboard.

    Args:
        folder: where the pictures are written; None for a gallery without pictures.
    """
    pictures: dict[str, str] = {}
    if folder is not None:
        figures = {
            name: drawn(name, example)
            for name, figure in all_figures().items()
            if not (example := example_of(figure)).needs
        }
        write_pictures(figures, folder)
        pictures = {name: image(name, spec.alt, folder) for name, (spec, _) in figures.items()}
    parts = []
    for page in PAGES.values():
        figures_of_page = [figure for figure in all_figures().values() if page_of(figure) == page.name]
        if figures_of_page:
            parts.append(f"## {page.title}")
        parts += [section(figure, pictures.get(figure.name, "")) for figure in figures_of_page]
    return "\n\n".join(parts)
