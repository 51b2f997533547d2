"""Links from a text of the list to views that explain its answer."""

import streamlit as st

from bertviz_core.predictions.probing.results import GoldScores, TextPredictions
from bertviz_core.text import escape_markdown
from ui.components.step_links import LONGEST_LINKED, Link, address, step_links
from ui.views.predictions.many.controls import PROBE

KEY = "predictions_several_open"
VIEW_OF_TASK = {
    "sequence-classification": "Classes",
    "token-classification": "Tags",
    "masked-lm": "Masked words",
    "question-answering": "Answers",
    "next-sentence": "Next sentence",
}
"""Task of a head -> view with its answer to one text."""
TARGET_OF_TASK = {
    "sequence-classification": "class",
    "next-sentence": "class",
    "masked-lm": "word",
    "question-answering": "answer",
    PROBE: "probe",
}
"""Task of a head, or PROBE -> kind of target of its answer."""
CAUSES = (("words", "Words that matter"), ("causes", "Heads that matter"))


def opened_text(
    name: str, answered_by: str, predictions: TextPredictions, scores: GoldScores | None, place: int
) -> None:
    """Show one text in full, its gold label and its answer, and links that open it in other views.

    Args:
        name: name of the model.
        answered_by: task of the head that answered, or PROBE.
        predictions: the answers.
        scores: the gold labels; None if there are none.
        place: index of the text in the list.
    """
    text, pair = predictions.texts[place], predictions.pairs[place] if predictions.pairs is not None else ""
    st.markdown(escape_markdown(text))
    if pair:
        st.markdown(f":gray[second text:] {escape_markdown(pair)}")
    summary = f"answer **{escape_markdown(predictions.answers[place] or 'none')}**"
    if scores is not None and place in scores.compared:
        summary = f"gold label **{escape_markdown(scores.gold[place])}**, {summary}"
    st.markdown(summary)
    if len(text) + len(pair) > LONGEST_LINKED:
        st.caption(f"The text has more than {LONGEST_LINKED:,} characters, too many for a link: copy it there.")
        return
    links = onward_links(name, answered_by, text, pair, predictions.answers[place] if predictions.labels else "")
    step_links(links, KEY, "Open this text in another view")


def onward_links(name: str, answered_by: str, text: str, pair: str, label: str) -> list[Link]:
    """Links to views of one text, with the answer as the target.

    Args:
        name: name of the model.
        answered_by: task of the head that answered, or PROBE.
        text: the text.
        pair: its second text; "" for none, which removes the page's second text.
        label: the predicted class; "" if the answer is not a class.
    """
    read = [("model", name), ("text", text), ("pair", pair)]
    kind = TARGET_OF_TASK.get(answered_by)
    target = [("target", kind)] if kind else []
    if kind in ("class", "probe") and label:
        target.append(("target_class", label))
    view = VIEW_OF_TASK.get(answered_by)
    own = [Link(f"Open in {view}", address("predictions", [("view", view), *read]), main=True)] if view else []
    return [*own, *(Link(f"Open in {title}", address(page, [*read, *target])) for page, title in CAUSES)]
