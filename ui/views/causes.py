"""What the page Heads that matter chooses by controls of its own: a second text for patching, and sentences."""

from typing import Any

import streamlit as st

from bertviz_core.interventions.donor_texts import same_length_text
from bertviz_core.questions.interventions.effects import nearest_other_answer
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.view import Ask
from bertviz_core.questions.views.causes import SENTENCES, VIEWS, OtherDonor, TypedList
from bertviz_core.text import escape_markdown
from ui.cache.shared_model import SharedModel
from ui.engine import Specials, draw, draw_parts
from ui.session import end_page
from ui.targets import show_target, targeted
from ui.widgets.heading import page_pair, page_text, put_text_button, say_example
from ui.widgets.uploads import within_upload


def _show_patch(opened: SharedModel, ask: Ask, options: Options) -> None:
    """The view Patch, whose second text has as many tokens as the first."""
    show_target(VIEWS[2], opened, ask, options, (page_text(), _other_text(opened)))


def _other_text(opened: SharedModel) -> str:
    """The second text of the sidebar, or an example of as many tokens; the page ends where none was found."""
    second, first = page_pair(), opened.tokens(page_text(), None)
    words = "What is copied goes from a position to the same position, so both texts need equally many tokens"
    if second is not None:
        count = len(opened.tokens(second, None))
        if count == len(first):
            return second
        words += f", and yours has {count:,} where the text has {len(first):,}"
    donor = _donor(opened, page_text(), second or "")
    if donor is None:
        st.info(escape_markdown(f"{words}. Write one under Second text."), icon=":material/info:")
        end_page()
    say_example(donor, f"{words}. Write your own under Second text.")
    return donor


def _donor(opened: SharedModel, first: str, second: str) -> str | None:
    """A text with as many tokens as the first, different from the second; None if none was found."""
    near = opened.get_or_compute((__name__, first), lambda: (nearest_other_answer(opened, first),))[0]
    if near not in (None, second):
        return near
    return same_length_text(opened.tokens(first, None), second, lambda words: opened.tokens(words, None))


@draw.register
def _offer(part: OtherDonor, opened: SharedModel, ask: Any, options: Options) -> None:
    donor = _donor(opened, options.text(), options.pair or "")
    way = "Change words under Second text" + ("." if donor is None else ", or take this one.")
    st.info(escape_markdown(f"{part.words} {way}"), icon=":material/info:")
    if donor is not None:
        put_text_button(donor)


@draw.register
def _typed(part: TypedList, opened: SharedModel, ask: Any, options: Options) -> None:
    typed = st.text_area(
        "Sentences, one a line",
        key=SENTENCES.key,
        height=150,
        persist_state="session",
        placeholder="one sentence a line; a label, if there is one, after a tab",
        help="Two columns of a spreadsheet, sentence and label, have this form when they are pasted.",
    )
    draw_parts(part.show(within_upload(str(typed)) if (typed or "").strip() else ""), opened, ask, options)


SPECIAL: Specials = {**targeted(VIEWS), VIEWS[2].title: _show_patch}
