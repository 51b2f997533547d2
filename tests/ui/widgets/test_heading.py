"""The heading of a page shows its title, and names as text.

Covers `ui/widgets/heading.py`.
"""

from streamlit.testing.v1 import AppTest

from bertviz_core.text import escape_markdown


def heading_page() -> None:
    from ui.widgets.heading import heading

    name_model = heading("parameters", "Where are they?")
    name_model("![x](http://evil.example/x.png)", "Bert<b>Model</b>, $x$")


def test_a_heading_shows_names_as_text() -> None:
    at = AppTest.from_function(heading_page).run()
    assert [title.value for title in at.title] == ["Parameters"]
    (line,) = at.markdown
    assert line.value.startswith("Where are they? ")
    assert escape_markdown("![x](http://evil.example/x.png)") in line.value
    assert escape_markdown("Bert<b>Model</b>, $x$") in line.value
