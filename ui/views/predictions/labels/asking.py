"""What the views of heads that label tell beside an answer: what must be known."""

from collections.abc import Sequence

from streamlit.delta_generator import DeltaGenerator

from ui.cache import models
from ui.widgets.formatting import escape_markdown


def notices(place: DeltaGenerator, told: Sequence[str], name: str, task: str) -> None:
    """Say what a reader must know of an answer, but for what the page says of its head anyway.

    Args:
        place: where it is written.
        told: sentences.
        name: name of the model.
        task: of its head.
    """
    for notice in dict.fromkeys(told):
        if notice not in models.with_head(name, task).notices:
            place.warning(escape_markdown(notice), icon=":material/info:")
