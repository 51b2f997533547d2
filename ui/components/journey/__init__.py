"""The interactive drawing of a journey, and the reader's selection in it."""

from collections.abc import Callable, Mapping
from typing import Any

from bertviz_core.figures.journey.html_file import HTML, script, style
from bertviz_core.figures.journey.payload import Path, path_of_message
from ui.components import component, file_text
from ui.components.frame import HISTORY_JS, PLACES_JS
from ui.session import stored

_JS = f"""
const pages = (() => {{
{HISTORY_JS}
return {{ LINK, EXACT, follow, later, root }};
}})();
{PLACES_JS}
{file_text(__file__, "links.js")}
{script()}
export default (component) => {{
  component.parentElement.querySelector(".journey").drawn = drawLinks;
  return journeyView(component);
}};
"""
_component = component("journey_view", html=HTML, css=style() + file_text(__file__, "links.css"), js=_JS)
_parts = component(
    "journey_parts", js=f"{script(('data',))}\nexport default (component) => {{ partsView(component); }};"
)


def journey_view(payload: bytes, key: str, on_change: Callable[[], None]) -> None:
    """Show the drawing, which stays mounted while its data changes.

    `on_change` is called when the reader selects a token, opens or closes a part, or changes the options.
    """
    _component(key=key, data=payload, default={"path": None}, on_path_change=on_change, height="content")


def journey_parts(payload: bytes, key: str) -> None:
    """Give the drawing the details of parts that the reader may open next, which then open at once."""
    _parts(key=key, data=payload, height=0)


def browser_message(key: str) -> Mapping[str, Any]:
    """Return the browser's last message, which is not trusted: its values are validated where they are used."""
    state = stored(key)
    path = state.get("path") if isinstance(state, Mapping) else None
    return path if isinstance(path, Mapping) else {}


def serial(key: str) -> int:
    """Serial number of the browser's last message; 0 before the first."""
    number = browser_message(key).get("serial")
    return number if isinstance(number, int) else 0


def chosen_path(key: str) -> Path | None:
    """Validate the reader's selection and open parts in the browser's message; None if it has none."""
    return path_of_message(browser_message(key))
