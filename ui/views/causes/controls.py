"""Widgets of the page Heads that matter."""

from collections.abc import Sequence

import streamlit as st

from bertviz_core.interventions.results import AblationEffects, EffectKind
from bertviz_core.predictions.probing.results import LabelledTexts
from bertviz_core.questions.interventions.many_texts import TEXTS_DRAWN
from bertviz_core.questions.interventions.single_text import (
    COUNT,
    FIRST_REMOVED,
    MOST_REMOVED,
    REMOVED,
    REMOVED_FOR,
    Place,
)
from bertviz_core.text import escape_markdown
from bertviz_core.trace.results import Tokens
from ui.address.registry import param
from ui.address.widgets import BOUND, choice, level, select
from ui.cache import models
from ui.views.causes.donor import same_length_text
from ui.widgets.lists.uploads import within_upload
from ui.widgets.text_fields import pair, put_text_button, say_example

HEAD = param("changed_head")
TYPED, MOST_TYPED = "effect_sentences", 100
"""Key of the reader's own sentences, and the most of them that are run."""
LARGEST = ""
"""Option for the head with the largest effect."""
IN_PLACE_WORDS: dict[EffectKind, str] = {"zero": "nothing in a head's place", "mean": "its mean in a head's place"}
WIDTH, BOX = 230, 320


def head_name(place: Place) -> str:
    """Name of a head in lists and in the address."""
    return f"layer {place[0]}, head {place[1]}"


def head_select(effects: AblationEffects) -> Place:
    """The selected head, sorted by effect; a click on its cell selects it, too."""
    ranked = [(layer, head) for layer, head, _ in effects.ranked()]
    names = {LARGEST: ranked[0], **{head_name(place): place for place in ranked}}
    chosen = select(
        HEAD,
        "Head",
        list(names),
        format_func=lambda name: name or "the largest effect",
        help="Sorted by the size of the effect of taking it away. A click on a cell chooses it, too.",
        width=WIDTH,
    )
    return names[chosen]


def take_head(place: Place) -> None:
    """Select a head, as a click in the map does."""
    st.session_state[HEAD.key] = head_name(place)


def heads_multiselect(places: Sequence[Place]) -> tuple[Place, ...]:
    """Heads chosen by the reader."""
    names = {head_name(place): place for place in places}
    stored = st.session_state.get(REMOVED.key)
    if stored is not None and any(name not in names for name in stored):
        st.session_state[REMOVED.key] = [name for name in stored if name in names]
    chosen = st.multiselect(
        "Heads removed together",
        list(names),
        key=REMOVED.key,
        max_selections=MOST_REMOVED,
        placeholder="choose heads",
        **BOUND,
    )
    return tuple(names[str(name)] for name in chosen)


def which_choice() -> str:
    """Whether heads are searched for or chosen."""
    return choice(param("which"), "Heads", width="content")


def count_level(most: int) -> int:
    """Number of removed heads."""
    words = "Greedy: at each step the head is removed that moves the target furthest from its clean value."
    return level(COUNT, "How many", min(most, MOST_REMOVED), FIRST_REMOVED, help=words)


def in_place() -> str:
    """What replaces a removed head."""
    words = "Nothing: the head's output is zeros. Its mean: the average of its output over a reference set."
    return choice(REMOVED_FOR, "In its place", help=words)


def patched_choice(has_states: bool) -> str:
    """Whether hidden states or heads are copied."""
    patched = param("patched")
    return choice(patched, "Copied", patched.options if has_states else ("heads",), width="content")


def other_text(name: str, text: str) -> str:
    """The text that parts are copied into: the second text of the sidebar, or an example of as many tokens as the text.

    If no such example was found, the page ends with a message.
    """
    second, first = pair(), models.tokens(name, text, None)
    words = "What is copied goes from a position to the same position, so both texts need equally many tokens"
    if second is not None:
        count = len(models.tokens(name, second, None))
        if count == len(first):
            return second
        words += f", and yours has {count:,} where the text has {len(first):,}"
    donor = _donor(name, first, second or "")
    if donor is None:
        st.info(escape_markdown(f"{words}. Write such a second text in the sidebar."), icon=":material/info:")
        st.stop()
    say_example(donor, f"{words}. Write your own in the sidebar.")
    return donor


def offer_donor(name: str, text: str, second: str, words: str) -> None:
    """Explain why nothing can be copied into a second text, and offer another one.

    Args:
        name: name of the model.
        text: the first text.
        second: the second text.
        words: the explanation.
    """
    donor = _donor(name, models.tokens(name, text, None), second)
    way = "Change words of the second text in the sidebar" + ("." if donor is None else ", or take this one.")
    st.info(escape_markdown(f"{words} {way}"), icon=":material/info:")
    if donor is not None:
        put_text_button(donor)


def _donor(name: str, first: Tokens, second: str) -> str | None:
    """A text with as many tokens as the first, different from the second; None if none was found."""
    return same_length_text(first, second, lambda words: models.tokens(name, words, None))


def answers_level(most: int) -> int:
    """Number of removed heads for the accuracy."""
    words = "The model classifies every labelled sentence again after each removed head."
    with st.container(width=BOX):
        return level(COUNT, "Heads removed one after the other", min(most, MOST_REMOVED), FIRST_REMOVED, help=words)


def list_choice(examples: LabelledTexts) -> str | None:
    """Number of sentences drawn from an example set; None for the reader's own list."""
    lists = param("effect_list")
    if choice(lists, "Sentences", width="content") != lists.options[0]:
        return None
    words = f"Drawn from the {len(examples.texts)} labelled sentences of the example set {examples.name} with seed 0."
    return choice(TEXTS_DRAWN, "How many sentences", width="content", help=words)


def typed_sentences() -> str | None:
    """The reader's own list as typed; None if empty.

    Raises:
        TextError: it is too large.
    """
    typed = st.text_area(
        "Sentences, one a line",
        key=TYPED,
        height=150,
        persist_state="session",
        placeholder="one sentence a line; a label, if there is one, after a tab",
        help="Two columns of a spreadsheet, sentence and label, have this form when they are pasted.",
    )
    return within_upload(str(typed)) if (typed or "").strip() else None
