"""Options of questions: typed values are parsed, missing ones have defaults, and a wrong value gives one message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_core.errors import TextError
from bertviz_core.questions.parameters import Options, choice, flag, joined_names
from bertviz_core.questions.question import figure_questions

CUT = choice("cut", ("none", "heads", "apart"), "how it is drawn")
SHOWN = flag("shown", "whether it is shown")
MOST_KINDS = 8


def refusal(error: pytest.ExceptionInfo[TextError]) -> str:
    """The message as printed by the command line."""
    return error.value.spelled(lambda name: f"--{name}")


def test_a_choice_is_its_first_word_until_another_is_typed() -> None:
    assert Options().choice(CUT) == "none"
    assert Options(values={"cut": "apart"}).choice(CUT) == "apart"
    assert Options().choice(CUT, ("heads", "apart")) == "heads"
    with pytest.raises(TextError) as error:
        Options(values={"cut": "<b>"}).choice(CUT)
    assert refusal(error) == "There is no --cut=<b>; choose none, heads, apart."
    assert str(error.value) == "There is no cut=<b>; choose none, heads, apart."
    with pytest.raises(TextError, match="choose heads, apart"):
        Options(values={"cut": "none"}).choice(CUT, ("heads", "apart"))


def test_a_flag_is_off_until_it_is_switched_on() -> None:
    assert not Options().flag(SHOWN)
    assert Options(values={"shown": "true"}).flag(SHOWN)


@pytest.mark.slow
@given(st.integers(1, 50), st.text(max_size=30))
def test_a_number_is_one_of_those_that_there_are(count: int, typed: str) -> None:
    options = Options(values={"layer": typed, "token": typed})
    known = [str(number) for number in range(count)]
    if typed in known:
        assert options.whole("token", count, 0) == options.numbered("layer", count, 0, "m") == int(typed)
        return
    with pytest.raises(TextError) as error:
        options.whole("token", count, 0)
    assert f"give 0 to {count - 1}" in refusal(error)
    if typed.strip() and typed.strip() not in known:
        with pytest.raises(TextError) as error:
            options.numbered("layer", count, 0, "m", " (the embedding output)")
        assert refusal(error).endswith(f"in 'm'; give --layer 0 (the embedding output) to {count - 1}.")


def test_what_was_not_typed_is_the_default() -> None:
    assert Options().whole("token", 9, 4) == Options(values={"layer": " "}).numbered("layer", 9, 4, "m") == 4
    assert Options().span("tokens", 9, 5) == (0, 5)
    assert Options().span("tokens", 3, 5) == (0, 3)


@pytest.mark.parametrize(
    "typed",
    [
        "",
        ":",
        "3",
        "3:2",
        "0:9",
        "-1:2",
        "0:999999999999999999999",
        "a:b",
        "²:3",
        f"{'0' * 9}99:{'0' * 9}9",
        f"0:{'0' * 5_000}",
    ],
)
def test_a_part_lies_within_the_text(typed: str) -> None:
    assert Options(values={"tokens": "2:4"}).span("tokens", 9, 5) == (2, 5)
    with pytest.raises(TextError, match="give FIRST:LAST, from 0 to 8"):
        Options(values={"tokens": typed}).span("tokens", 9, 5)


@pytest.mark.parametrize("texts", [(), ("a", "b")])
def test_one_text_is_one(texts: tuple[str, ...]) -> None:
    assert Options(("a",)).text() == "a"
    with pytest.raises(TextError, match=f"{len(texts) or 'none'} came"):
        Options(texts).text()


def test_options_differ_in_whatever_an_answer_may_depend_on() -> None:
    every = [
        Options(), Options(("a",)), Options(("a",), "b"), Options(("a", "b")), Options(task="base"),
        Options(values={"a": "b"}), Options(values={"b": "a"}),
    ]  # fmt: skip
    assert len({options.key() for options in every}) == len(every)
    assert Options(values={"a": "1", "b": "2"}).key() == Options(values={"b": "2", "a": "1"}).key()


def test_parameters_have_few_kinds_and_one_meaning_in_a_question() -> None:
    questions = set(figure_questions().values())
    assert len({param.kind for question in questions for param in question.params}) <= MOST_KINDS
    for question in questions:
        keys = [param.key for param in question.params]
        assert len(set(keys)) == len(keys), question.name
        for param in question.params:
            assert param.help
            assert not param.help.endswith(".")


@pytest.mark.slow
@given(st.lists(st.text(min_size=1, max_size=20), max_size=5))
def test_names_come_back_as_they_were_whatever_is_in_them(names: list[str]) -> None:
    assert Options(values={"classes": joined_names(names)}).names("classes") == names


def test_names_are_typed_with_commas_between_them() -> None:
    assert Options(values={"classes": "joy,anger"}).names("classes") == ["joy", "anger"]
    assert Options(values={"classes": '"joy, or so",anger'}).names("classes") == ["joy, or so", "anger"]
    assert Options().names("classes") == []
