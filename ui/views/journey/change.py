"""The change of the run: the field for an edited text, what the drawing shows, and the number at the end."""

from dataclasses import replace

import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.figures.journey.payload import DrawnChange, Ending
from bertviz_core.journey.results import Journey
from bertviz_core.questions.interventions.journey_change import CHANGE, TEXT, changed_number, drawn_change
from bertviz_core.questions.interventions.single_text import MEAN, REMOVED_FOR
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.heads import QUERY
from bertviz_core.questions.texts.tokens import EDITED
from bertviz_core.text import escape_markdown
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import longest_piece
from bertviz_core.trace.two_tokenizers import unchanged_positions
from ui.address.query import whole
from ui.address.values import put
from ui.cache.shared_model import SharedModel
from ui.session import store, stored
from ui.widgets import text_fields
from ui.widgets.target_controls.opened import ChosenTarget, shared_model_of, target_options

EDITS = "journey_edits"
"""How often an edited text was compared, or the text replaced, in this session. It names the popover and its field:
under a new name the browser closes it, and has no old text to send for it."""
SHOWN = "journey_tokens"
"""The tokens that the drawing shows, of the text or of its edited version."""
HELP = "Change, add or remove words: the drawing then shows this text, and its cells the difference from the text."


def edit_button(name: str) -> None:
    """Show a button that opens a field for the edited text, with which the drawing of a model is compared."""
    text, of = text_fields.text(), f"{EDITED.key}_of"
    if stored(of, text) != text:  # another text: nothing that was typed for the one before is an edit of it
        store(EDITED.key, text)
        store(EDITS, stored(EDITS, 0) + 1)
        if st.query_params.get(CHANGE.key, "").partition("-")[0] in (TEXT, "mask"):  # made for the text before
            put(CHANGE.key, None)
    store(of, text)
    key = f"{EDITS}_{stored(EDITS, 0)}"
    label = "Edit the text and compare"
    with (
        st.popover(label, type="tertiary", icon=":material/edit:", key=key, on_change="rerun"),
        st.form(f"{key}_form", border=False),
    ):
        st.text_area("The edited text", stored(EDITED.key, text), key=f"{key}_text", height=68, help=HELP)
        st.form_submit_button("Compare", on_click=_compare, args=(name, f"{key}_text"))


def _compare(name: str, field: str) -> None:
    edit, text, shown = str(stored(field) or ""), text_fields.text(), stored(SHOWN)
    store(EDITED.key, edit)
    if edit != text or st.query_params.get(CHANGE.key) == TEXT:  # an unchanged text undoes no other change
        put(CHANGE.key, TEXT if edit != text else None)
    if shown is not None:
        token = whole(st.query_params.get(QUERY.key))
        try:
            after = SharedModel(name).tokens(edit or text, shown.pair)
            put(QUERY.key, _followed(shown, longest_piece(shown) if token is None else token, after))
            store(SHOWN, after)
        except BertvizError:  # which the drawing shows
            put(QUERY.key, None)
    store(EDITS, stored(EDITS, 0) + 1)


def _followed(before: Tokens, token: int, after: Tokens) -> str | None:
    """Position of a token after an edit; if it is gone that of the first new token, None if there is none."""
    unchanged = unchanged_positions(before, after)
    fresh = set(range(len(after))) - set(unchanged.values())
    return str(unchanged[token]) if token in unchanged else str(min(fresh)) if fresh else None


def change_values() -> dict[str, str]:
    """The change in the address and its edited text, as values of parameters; {} for none."""
    named = {param.key: st.query_params.get(param.key, "") for param in (CHANGE, REMOVED_FOR)}
    if named[CHANGE.key] == TEXT:
        named[EDITED.key] = str(stored(EDITED.key) or "")
    return {key: value for key, value in named.items() if value} if named[CHANGE.key] else {}


def page_change(name: str, journey: Journey) -> DrawnChange | None:
    """Run the text with the change in the address; None if it has none, or if the model was not run.

    A change that is not possible is refused in one sentence, and the drawing stays.
    """
    tokens, values = journey.tokens, change_values()
    if not values or journey.missing or tokens is None:
        return None
    try:
        with st.spinner("Running the model with the change"):
            return drawn_change(SharedModel(name), Options((tokens.text,), tokens.pair, values=values))
    except BertvizError as error:
        return DrawnChange(values[CHANGE.key], values.get(REMOVED_FOR.key) == MEAN, None, str(error))


def with_change(
    name: str, target: ChosenTarget | None, ending: Ending | None, change: DrawnChange | None
) -> Ending | None:
    """Add the number in the changed run to the end of the drawing; if it cannot be computed, a caption says why."""
    if target is None or ending is None or change is None or change.both is None:
        return ending
    if change.both.origin is not None:
        ending = replace(ending, tokens=None)  # shares of the tokens before
    try:
        changed = changed_number(shared_model_of(name), target_options(target, change_values()))
    except BertvizError as error:
        st.caption(escape_markdown(str(error)))
        return ending
    return replace(ending, changed=changed.result)
