"""Sign-in: off without secrets, and no part of a page is drawn for users who have not signed in."""

import textwrap
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.runtime.secrets import secrets_singleton
from streamlit.testing.v1 import AppTest

from bertviz_core.errors import BertvizError
from bertviz_core.settings import Settings
from ui import session
from ui.server.access import check_sign_in

SCRIPT = """
import streamlit as st
from ui.session import require_sign_in

require_sign_in()
st.write('a text of someone')
"""
ONE = """
    [auth]
    redirect_uri = "http://localhost:8501/oauth2callback"
    cookie_secret = "for this test"
    client_id = "inside-bert"
    client_secret = "for this test too"
    server_metadata_url = "http://127.0.0.1:9/.well-known/openid-configuration"
"""
TWO = """
    [auth]
    redirect_uri = "http://localhost:8501/oauth2callback"
    cookie_secret = "for this test"
    [auth.school]
    client_id = "inside-bert"
    client_secret = "for this test too"
    server_metadata_url = "http://127.0.0.1:9/.well-known/openid-configuration"
    [auth.university]
    client_id = "inside-bert"
    client_secret = "for this test too"
    server_metadata_url = "http://127.0.0.1:9/.well-known/openid-configuration"
"""


@pytest.fixture(autouse=True)
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write the secrets file; there is none without a call. Sign-in's package counts as installed."""
    file = tmp_path / "secrets.toml"
    files = st.get_option("secrets.files")
    monkeypatch.setattr(session, "NEEDED", "streamlit")
    secrets_singleton._reset()
    st.config.set_option("secrets.files", [str(file)])
    yield lambda text: file.write_text(textwrap.dedent(text), encoding="latin-1")
    secrets_singleton._reset()
    st.config.set_option("secrets.files", files)


def opened() -> AppTest:
    return AppTest.from_string(SCRIPT).run()


def shown(at: AppTest) -> list[str]:
    return [each.value for each in at.markdown]


def test_without_secrets_everyone_is_in() -> None:
    at = opened()
    assert shown(at) == ["a text of someone"]
    assert not at.button


def test_secrets_of_other_kinds_ask_no_one_to_sign_in(secrets: Any) -> None:
    secrets("[connections]\nname = 'value'\n")
    assert shown(opened()) == ["a text of someone"]


def test_who_has_not_signed_in_sees_a_button_and_nothing_else(secrets: Any) -> None:
    secrets(ONE)
    at = opened()
    assert "a text of someone" not in shown(at)
    assert [button.label for button in at.button] == ["Sign in"]


def test_each_named_provider_has_its_button(secrets: Any) -> None:
    secrets(TWO)
    assert [button.label for button in opened().button] == ["Sign in with school", "Sign in with university"]


def test_who_has_signed_in_sees_the_page_and_a_way_out(secrets: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets(ONE)

    class Visitor(dict[str, str]):
        is_logged_in = True

    monkeypatch.setattr(st, "user", Visitor(name="Ada *Lovelace*"))
    at = opened()
    assert "a text of someone" in shown(at)
    assert [button.label for button in at.button] == ["Sign out"]
    assert at.caption[0].value == "Signed in as Ada \\*Lovelace\\*"


@pytest.mark.parametrize(
    "text", ["[auth\n", "auth = 'yes'\n", "# \xe9, which is no UTF-8\n[auth]\n", "[auth]\ncookie_secret = 'x'\n"]
)
def test_a_setup_that_cannot_be_used_lets_no_one_in(secrets: Any, text: str) -> None:
    secrets(text)
    at = opened()
    assert "a text of someone" not in shown(at)
    assert len(at.error) == 1


def test_a_missing_package_lets_no_one_in(secrets: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets(ONE)
    monkeypatch.setattr(session, "NEEDED", "a_package_that_no_one_has")
    at = opened()
    assert "a text of someone" not in shown(at)
    assert len(at.error) == 1


INCOMPLETE = {
    "no file": None,
    "an empty file": "",
    "capitals": ONE.replace("[auth]", "[AUTH]"),
    "a typing slip": ONE.replace("[auth]", "[auht]"),
    "no TOML": "[auth\n",
    "a value": "auth = 'yes'\n",
    "no cookie secret": ONE.replace("cookie_secret", "cookie_secrets"),
    "an empty client": ONE.replace('"inside-bert"', '""'),
    "a provider without an address": TWO.replace("server_metadata_url", "metadata_url"),
}


@pytest.mark.parametrize("text", INCOMPLETE.values(), ids=INCOMPLETE)
def test_a_server_that_wants_sign_in_does_not_start_without_it(
    secrets: Any, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    monkeypatch.setenv("INSIDE_BERT_REQUIRE_SIGN_IN", "1")
    if text is not None:
        secrets(text)
    with pytest.raises(BertvizError, match="Sign-in is required"):
        check_sign_in(Settings.from_environment())
    at = opened()  # and if it were running, nobody would get in
    assert "a text of someone" not in shown(at)


def test_a_section_that_cannot_work_stops_the_server_without_the_setting_too(secrets: Any) -> None:
    secrets("[auth]\ncookie_secret = 'x'\n")
    with pytest.raises(BertvizError, match="does not say redirect_uri, client_id"):
        check_sign_in(Settings.from_environment())


@pytest.mark.parametrize("text", [ONE, TWO])
def test_a_complete_sign_in_starts(secrets: Any, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("INSIDE_BERT_REQUIRE_SIGN_IN", "1")
    secrets(text)
    check_sign_in(Settings.from_environment())


def test_secrets_without_the_section_are_told_in_the_log(secrets: Any, capsys: pytest.CaptureFixture[str]) -> None:
    secrets("[connections]\nname = 'value'\n")
    check_sign_in(Settings.from_environment())
    assert "Sign-in is off" in capsys.readouterr().err
