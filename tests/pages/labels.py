"""Tiny models of all task heads, with their own label names, for tests of pages and figures."""

import json
from pathlib import Path
from typing import Any

from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.written_adapters import write_adapter

NAMES = ("contradiction", "entailment", "neutral")
TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
QUESTION = "the pet?"
CONTEXT = "I love my pet python, the river."
LONG = " ".join(f"w{place % 17} the python." for place in range(23))


def named(*labels: str) -> dict[str, Any]:
    """Changes of a config that give a head these labels."""
    return {"id2label": dict(enumerate(labels)), "label2id": {label: place for place, label in enumerate(labels)}}


HEADS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "classes": ("bert", "sequence-classification", named(*NAMES)),
    "roberta-classes": ("roberta", "sequence-classification", named(*NAMES)),
    "distilbert-classes": ("distilbert", "sequence-classification", named("negative", "positive")),
    "deberta-classes": ("deberta-v2", "sequence-classification", named(*NAMES)),
    "topics": (
        "bert",
        "sequence-classification",
        {**named(*(f"<b>topic</b> {place}" for place in range(40))), "problem_type": "multi_label_classification"},
    ),
    "number": ("bert", "sequence-classification", {"num_labels": 1}),
    "tags": ("bert", "token-classification", named(*TAGS)),
    "roberta-tags": ("roberta", "token-classification", named(*TAGS)),
    "answers": ("bert", "question-answering", {}),
    "distilbert-answers": ("distilbert", "question-answering", {}),
    "pretraining": ("bert", "pretraining", {}),
    "words": ("bert", "masked-lm", {}),
}
"""Name of a folder -> family, task, changes of the config."""


def save_heads(folder: Path) -> Path:
    """Save all of them, one with a wrong number of labels, and an adapter of the first, to a folder."""
    for name, (family, task, changes) in HEADS.items():
        save_tiny_head(family, task, folder / name, **changes)
    write_adapter(folder / "adapter", "classes", folder / "classes")
    lying = save_tiny_head("bert", "token-classification", folder / "lying", **named(*TAGS))
    config = json.loads((lying / "config.json").read_text())
    config["id2label"] = {"0": "O", "1": "PER", "2": "PER", "3": "LOC", "9": "LOC"}
    (lying / "config.json").write_text(json.dumps(config))
    return folder


LABELLED = ("the bank\tcontradiction", "my pet\tentailment", "i love\tentailment")
TEXT, EDITED = "I love my pet python.", "I love the pet bank."
ROUNDED = "itself, rounded to float8_e4m3fn"
COMPARED_TEXTS = tuple(cell for line in LABELLED for cell in line.split("\t"))
"""Texts, each followed by its gold label."""
COMPARED = {
    "view": "Compare with base",
    "compared": "answers to many texts",
    "other": ROUNDED,
    "answers_from": "my own list",
    "answered_texts": "\n".join("\t".join(reversed(line.split("\t"))) for line in LABELLED),
}
"""Address of the page that compares the answers to them."""
TAGGED = ("I O\nlove O\npythons B-PER", "the O\nriver B-LOC\nbank I-LOC\n. O")
"""Sentences in CoNLL lines, a word with its gold tag each."""
OF_TAGGED = {"view": "Gold tags", "tags_from": "typed", "tagged_words": "\n\n".join(TAGGED)}
FIGURES: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
    "gold-tags --set tag_mode=strict": ("tags", TAGGED, {**OF_TAGGED, "tag_mode": "strict"}),
    "gold-labels --set tagged_sentence=2 --set 'aligned=all pieces'": (
        "tags",
        TAGGED,
        {**OF_TAGGED, "tagged_sentence": "2", "aligned": "all pieces"},
    ),
    "null-threshold --set null_threshold=-0.5": (
        "answers",
        (),
        {"view": "Answers over a list", "null_threshold": "-0.5"},
    ),
    "classes --set 'order=as in the model'": ("classes", (TEXT,), {"order": "as in the model"}),
    f"next-sentence --task next-sentence --pair '{CONTEXT}'": (
        "pretraining",
        (TEXT,),
        {"view": "Next sentence", "pair": CONTEXT},
    ),
    "ranking --set 'query_sentence=the pet' --set label=neutral": (
        "classes",
        (TEXT, EDITED, CONTEXT),
        {
            "view": "Rank",
            "sentences": "\n".join((TEXT, EDITED, CONTEXT)),
            "query_sentence": "the pet",
            "label": "neutral",
        },
    ),
    "adapter-updates --set 'update_measure=stable rank'": (
        "adapter",
        (TEXT,),
        {"view": "Compare with base", "other": "classes", "update_measure": "stable rank"},
    ),
    "accuracy --set count=2": (
        "classes",
        LABELLED,
        {
            "view": "Many sentences",
            "target": "class",
            "count": "2",
            "effect_list": "my own list",
            "effect_sentences": "\n".join(LABELLED),
        },
    ),
    f"answers-compared --set 'other={ROUNDED}' --set with_gold=true": ("classes", COMPARED_TEXTS, COMPARED),
    f"scores-compared --set 'other={ROUNDED}' --set with_gold=true": ("classes", COMPARED_TEXTS, COMPARED),
    f"slices-compared --set 'other={ROUNDED}' --set with_gold=true --set slices=length": (
        "classes",
        COMPARED_TEXTS,
        {**COMPARED, "answers_by": "length"},
    ),
    "word-classes --set measure=probability --set units=tokens": (
        "classes",
        (TEXT,),
        {"view": "Classes", "classes_by": "probability", "units": "tokens"},
    ),
    "predictions-compared --set other=roberta-classes": ("classes", (TEXT,), {"other": "roberta-classes"}),
    f"predictions-compared --set 'other={ROUNDED}'": ("tags", (TEXT,), {"other": ROUNDED}),
    f"predictions-compared --set other=distilbert-answers --pair '{CONTEXT}'": (
        "answers",
        (QUESTION,),
        {"pair": CONTEXT, "other": "distilbert-answers"},
    ),
    "tags --set joined=none": ("tags", (TEXT,), {"joined": "none"}),
    f"answers --set longest=4 --pair '{CONTEXT}'": ("answers", (QUESTION,), {"pair": CONTEXT, "longest": "4"}),
    f"answer-map --set window=2 --pair '{LONG}'": ("answers", (QUESTION,), {"pair": LONG, "window": "2"}),
    f"classes-change --set 'edited={EDITED}'": ("classes", (TEXT,), {"view": "Change a word", "edited": EDITED}),
    f"tags-change --set 'edited={EDITED}'": ("tags", (TEXT,), {"view": "Change a word", "edited": EDITED}),
    f"answers-change --set 'edited_pair={TEXT}' --pair '{CONTEXT}'": (
        "answers",
        (QUESTION,),
        {"view": "Change a word", "pair": CONTEXT, "edited_pair": TEXT},
    ),
    f"words-change --set 'edited={EDITED}' --set guess=4": (
        "words",
        (TEXT,),
        {"view": "Change a word", "edited": EDITED, "guess": "4"},
    ),
}
"""Arguments of the command `figure` -> folder, texts, and the address of the page that shows the same."""
