"""Formatting of numbers and words for pages."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bertviz_core.questions.views.overview import BERT_IN_FIVE
from bertviz_core.text import LONGEST_TEXT, bytes_text, count, escape_markdown, short_count

POWERS = {"bytes": 0, "KiB": 1, "MiB": 2, "GiB": 3, "TiB": 4}
DECIMALS = {"": 0, "K": 3, "M": 6, "B": 9, "T": 12}


def test_a_count_has_separators_and_an_absent_size_a_dash() -> None:
    assert count(109_482_240) == "109,482,240"
    assert count(0) == "0"
    assert count(None) == "–"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 bytes"),
        (1_023, "1,023 bytes"),
        (1_024, "1.0 KiB"),
        (22_713_216 * 4, "86.6 MiB"),
        (109_482_240 * 4, "417.6 MiB"),
        (3 * 2**30, "3.0 GiB"),
        (5_000 * 2**40, "5,000.0 TiB"),
    ],
)
def test_bytes_are_told_in_powers_of_1024(value: int, text: str) -> None:
    assert bytes_text(value) == text


@settings(deadline=None)
@given(st.integers(0, 2**53))
def test_bytes_read_back_are_the_bytes(value: int) -> None:
    number, unit = bytes_text(value).split(" ")
    read = float(number.replace(",", "")) * 1024 ** POWERS[unit]
    assert read == pytest.approx(value, abs=0.0501 * 1024 ** POWERS[unit])


@settings(deadline=None)
@example(2**20 - 1)
@given(st.integers(0, 2**50 - 2**40))
def test_bytes_take_the_largest_unit_that_fits(value: int) -> None:
    number, _ = bytes_text(value).split(" ")
    assert float(number.replace(",", "")) < 1024


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0 K"),
        (109_482_240, "109.5 M"),
        (22_713_216, "22.7 M"),
        (7_000_000_000, "7.0 B"),
        (2_500_000_000_000, "2.5 T"),
    ],
)
def test_short_counts_are_told_in_powers_of_1000(value: int, text: str) -> None:
    assert short_count(value) == text


@settings(deadline=None)
@example(999_999)
@given(st.integers(0, 10**15 - 10**12))
def test_short_counts_are_short_and_read_back_near_the_count(value: int) -> None:
    number, _, unit = short_count(value).partition(" ")
    assert float(number) < 1000
    assert float(number) * 10 ** DECIMALS[unit] == pytest.approx(value, abs=0.0501 * 10 ** DECIMALS[unit])


def test_five_sentences_name_what_bert_is() -> None:
    assert len(BERT_IN_FIVE) == 5
    whole = " ".join(BERT_IN_FIVE)
    for word in ("bidirectional", "auto-encoding", "encoder half", "[CLS]", "[SEP]", "[MASK]", "one sequence or two"):
        assert word in whole
    assert all(re.fullmatch(r"[A-Z].*\.", line) for line in BERT_IN_FIVE)


@pytest.mark.parametrize("address", ["http://a.b", "see https://a.b/c", "svn+ssh://a", "www.a.b", "me@a.b", "WWW.A.B"])
def test_an_address_is_parted_so_that_it_becomes_no_link(address: str) -> None:
    parted = escape_markdown(address).replace("\\", "")
    assert parted.replace("\u2060", "") == address
    assert not any(link in parted for link in ("://", "www.", "WWW.", "me@"))


@pytest.mark.parametrize("turn", ["\u202e", "\u202a", "\u202b", "\u202d", "\u202c", "\u2066", "\u2067"])
def test_a_sign_that_turns_what_follows_stands_as_its_code(turn: str) -> None:
    assert escape_markdown(f"a{turn}b") == f"aU+{ord(turn):04X}b"


def test_of_a_text_beyond_what_a_page_shows_the_beginning_is_shown() -> None:
    shown = escape_markdown("x" * 200_000).replace("\\", "")
    assert shown == "x" * LONGEST_TEXT + f"… ({200_000 - LONGEST_TEXT:,} more characters)"
