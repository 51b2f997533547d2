"""Name a head's outputs from the checkpoint's id2label."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from bertviz_core.predictions.loading import HeadModel
from bertviz_core.text import counted

NEXT_SENTENCE = ("is the next sentence", "is another sentence")
"""The two outputs of BERT's next-sentence head (Devlin et al. 2019)."""


def output_names(head: HeadModel, count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a name for each output of the head, and notices.

    An output without an entry in id2label is named by its index; duplicate names get the index appended.
    """
    if head.task == "next-sentence":
        return NEXT_SENTENCE, ()
    named: Mapping[Any, Any] = head.model.config.id2label or {}
    listed = [named.get(index) for index in range(count)]
    names = [str(name) if isinstance(name, str | int) and str(name).strip() else "" for name in listed]
    notices = []
    if unnamed := names.count(""):
        notices.append(
            f"id2label of {head.name!r} names {counted(count - unnamed, 'output')} of {count:,}; "
            "the others are called by their number."
        )
    repeated = {name for name, times in Counter(names).items() if times > 1 and name}
    if repeated:
        notices.append(f"id2label of {head.name!r} gives several outputs the same name; their number is added.")
    return tuple(
        f"LABEL_{index}" if not name else f"{name} ({index})" if name in repeated else name
        for index, name in enumerate(names)
    ), tuple(notices)
