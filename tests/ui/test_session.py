"""Streamlit's session state is touched in few modules, all of them named here."""

from pathlib import Path

UI = Path(__file__).parents[2] / "ui"
PLACES = {
    "address/bounds.py",
    "address/following.py",
    "address/visit.py",
    "session.py",
    "lessons/own_texts.py",
    "lessons/tour.py",
    "widgets/cell_controls.py",
    "widgets/controls.py",
    "widgets/files/theme.py",
    "widgets/lists/files.py",
    "widgets/models/select.py",
    "widgets/view_and_layer.py",
    *(f"views/{page}/controls.py" for page in ("architecture", "attention", "causes", "checkpoint", "corpus")),
    *(f"views/{page}/controls.py" for page in ("predictions", "representations", "sentences", "tokens")),
    *(f"views/predictions/{part}/controls.py" for part in ("many", "probes")),
}
"""Modules that read or write the session's values by key; others ask these."""


def modules_with_session_state(root: Path) -> set[str]:
    """Modules below a folder that name Streamlit's session state in their code."""
    return {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if "st.session_state" in path.read_text(encoding="utf-8")
    }


def test_the_session_is_touched_in_few_named_modules() -> None:
    assert modules_with_session_state(UI) <= PLACES
    assert not modules_with_session_state(UI.parent / "pages")


def test_another_module_that_touches_it_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "other.py").write_text('import streamlit as st\nst.session_state["key"] = 1\n')
    assert modules_with_session_state(tmp_path) == {"views/other.py"}
