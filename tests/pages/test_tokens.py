"""The tokens page: every number, every bad input, every refusal.

Covers `bertviz_core/questions/views/tokens.py`.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.models.sources import resolve
from bertviz_core.questions.views.tokens import tokenizer_lines as reproduction
from bertviz_core.trace.pieces import BYTES, REFERENCE_TOKENIZERS, SMALL
from bertviz_core.trace.tokenization import tokenize
from tests.helpers.charts import sent_charts
from tests.helpers.tiny_models import save_tiny, tiny_tokenizer, vocabulary
from tests.pages.opened import metrics, opened, visible_text
from tests.pages.snippets import printed
from tests.trace.isolated.test_file_tokenizer import REBUILT, SETTINGS, TEXT, loaded, saved

TEACHING = "Sinan loves a beautiful day"


def rows(at: AppTest) -> list[dict[str, Any]]:
    """The rows of the token table, which is above the neighbours' table."""
    found: list[dict[str, Any]] = at.dataframe[0].value.to_dict("records")
    return found


def charts(at: AppTest) -> dict[str, dict[str, Any]]:
    """Key of each chart -> the chart as sent to the browser."""
    keys = ("tokens_text", "tokens_neighbours", "tokens_second")
    return {each.key: each.figure for each in sent_charts(at) if each.key in keys}


def pieces(at: AppTest, key: str = "tokens_text") -> list[str]:
    """The visible texts of the drawn tokens."""
    words = next(trace for trace in charts(at)[key]["data"] if trace["mode"] == "text")
    return [re.sub("<[^>]*>", "", text) for text in words["text"]]


def words(at: AppTest) -> str:
    """All Markdown of the page."""
    return " ".join(visible_text(line.value) for line in (*at.markdown, *at.caption))


def test_the_default_text_is_read_by_the_bundled_model() -> None:
    at = opened("tokens")
    assert not at.exception
    assert not at.error
    assert not at.warning
    assert [row["token"] for row in rows(at)] == ["[CLS]", "i", "love", "my", "pet", "python", ".", "[SEP]"]
    assert pieces(at) == ["[CLS]", "I", "love", "my", "pet", "python", ".", "[SEP]"]
    assert metrics(at) == {
        "Tokens": "8",
        "Of the text": "6",
        "Special": "2",
        "Token limit": "512; 256 for vectors",
        "Words": "5",
        "Unknown": "0",
        "Cut off": "0",
        "Characters": "21",
    }
    assert "(8,)` becomes `(1, 8)`" in words(at)
    assert "8 tokens = 6 of the text + 2 special: [CLS], [SEP]." in words(at)


def test_the_teaching_sentence_has_its_ids() -> None:
    at = opened("tokens", text=TEACHING)
    assert [row["id"] for row in rows(at)] == [101, 8254, 2319, 7459, 1037, 3376, 2154, 102]
    assert [row["characters"] for row in rows(at)][1:4] == ["0:3", "3:5", "6:11"]
    assert "[[101, 8254, 2319, 7459, 1037, 3376, 2154, 102]]" in at.code[0].value
    assert TEACHING in at.code[1].value
    assert not at.query_params.get("text")


def test_the_code_on_the_page_gives_the_ids_on_the_page(models_dir: Path) -> None:
    save_tiny("bert", models_dir / "tiny")
    at = opened("tokens", model="tiny", text="I love my pets", pair="the 'river' bank")
    printed: list[Any] = []
    exec(at.code[1].value, {"print": printed.append})
    assert printed[0].tolist() == [[row["id"] for row in rows(at)]]


def test_special_tokens_and_types_are_explained_where_they_are() -> None:
    alone, pair = words(opened("tokens")), words(opened("tokens", pair="It is a snake [MASK] [PAD]"))
    for token in ("[CLS]", "[SEP]"):
        assert f"**{token}** " in alone
        assert f"**{token}** " in pair
    for token in ("[MASK]", "[PAD]"):
        assert f"**{token}** " not in alone
        assert f"**{token}** " in pair
    assert "8 of type 0." in alone
    assert "distinguish the two texts: 8 of type 0, 7 of type 1" in pair


def test_a_chosen_token_shows_its_nearest_rows() -> None:
    from bertviz_core.models.loading import load_model
    from bertviz_core.models.sources import resolve
    from bertviz_core.settings import Settings

    settings = Settings.from_environment()
    table = load_model(resolve("all-MiniLM-L6-v2", settings), settings).model.get_input_embeddings().weight.detach()
    at = opened("tokens", token="2", tokens_neighbours_table="true")
    assert at.number_input(key="token").value == 2
    bars, _ = charts(at)["tokens_neighbours"]["data"]
    unit = table / table.norm(dim=1, keepdim=True)
    cosines = unit @ unit[2293]
    cosines[2293] = -1
    best = cosines.topk(10)
    assert bars["x"] == pytest.approx(best.values.tolist(), abs=1e-5)
    rows = at.dataframe[1].value  # the numbers of the files, which are not rounded
    assert rows["id"].tolist() == best.indices.tolist()
    assert rows["cosine"].tolist() == pytest.approx(best.values.tolist(), abs=1e-6)
    assert rows["norm"].tolist() == pytest.approx(table.norm(dim=1)[best.indices].tolist(), abs=1e-6)
    assert f"**love** has the id 2,293; its row has the norm **{float(table[2293].norm()):.4f}**" in words(at)
    at.number_input(key="token").set_value(1).run()
    assert 'Tokens nearest to "i"' in charts(at)["tokens_neighbours"]["layout"]["title"]["text"]


def test_padding_rows_of_the_table_are_named_as_such(models_dir: Path) -> None:
    save_tiny("bert", models_dir / "padded", vocab_size=len(vocabulary()) + 200)
    at = opened("tokens", model="padded", tokens_neighbours_table="true")
    names = at.dataframe[1].value["token"].tolist()
    assert any(name.startswith("padding row ") for name in names)
    assert "None" not in names
    assert "padding rows, which no text uses." in words(at)


def test_the_code_on_the_page_gives_the_numbers_on_the_page(models_dir: Path) -> None:
    save_tiny("bert", models_dir / "tiny")
    at = opened("tokens", model="tiny", tokens_text_explained="true", tokens_neighbours_table="true")
    printed: list[Any] = []
    exec(at.code[0].value, {"print": lambda *arguments: printed.append(arguments)})
    (norm,), (names, cosines) = printed
    bars = charts(at)["tokens_neighbours"]
    assert bars["data"][0]["x"] == pytest.approx(cosines.tolist(), abs=1e-5)
    assert at.dataframe[1].value["token"].tolist() == names
    assert f"**{float(norm):.4f}**" in words(at)


def test_a_position_beyond_a_shorter_text_is_let_go() -> None:
    at = opened("tokens", token="6")
    at.sidebar.text_area(key="text").set_value("hi").run()
    assert not at.exception
    assert at.number_input(key="token").value == 1


def test_a_position_that_nobody_chose_follows_the_text() -> None:
    at = opened("tokens")
    at.sidebar.text_area(key="text").set_value("I unbelievable like it").run()
    assert at.number_input(key="token").value == 2
    at.number_input(key="token").set_value(3).run()
    at.sidebar.text_area(key="text").set_value("unbelievable things go on").run()
    assert at.number_input(key="token").value == 3


@pytest.mark.parametrize(
    ("text", "notice"),
    [
        ("", "no token of its own"),
        ("   ", "no token of its own"),
        ("\x00\x01\x1b\u200b", "no token of its own"),
        ("word " * 600, "90 tokens cut off at the end of the text: the model is made for 512 positions"),
        ("a" * 100_000, "none known to the vocabulary"),
        ("x y " * 25_000, "49,490 tokens cut off"),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467", "none known to the vocabulary"),
        ("y" * 250_000, None),
        ("שלום עולם", None),
        ("a\x1b[31mb\u202ec", None),
        ("<img src=x onerror=alert(1)> **bold** $x$ :red[r] ![a](http://evil.example/x.png)", None),
    ],
    ids=["empty", "spaces", "controls", "long", "one word", "100,000", "emoji", "too long", "rtl", "escape", "markup"],
)
@pytest.mark.sample(1)
def test_no_text_is_too_strange(text: str, notice: str | None) -> None:
    at = opened("tokens")
    at.sidebar.text_area(key="text").set_value(text).run()
    assert not at.exception
    assert at.error if len(text) > 200_000 else not at.error
    if notice:
        assert any(notice in visible_text(each.value) for each in at.warning)
    for line in (*at.markdown, *at.caption, *at.warning):
        assert re.search(r"(?<!\\)<img", line.value) is None  # the caption quotes the text, with its marks escaped
        assert "evil.example" not in line.value


def test_a_model_without_weights_shows_all_but_the_neighbours(models_dir: Path) -> None:
    folder = save_tiny("bert", models_dir / "light")
    (folder / "model.safetensors").unlink()
    at = opened("tokens", model="light")
    assert not at.exception
    assert not at.error
    assert rows(at)[5]["token"] == "python"
    (message,) = at.info
    assert "need the model's weights" in visible_text(message.value)
    assert set(charts(at)) == {"tokens_text", "tokens_second"}


def test_a_model_without_tokenizer_is_refused_in_one_sentence() -> None:
    at = opened("tokens", model="bert-base-uncased")
    assert not at.exception
    (message,) = at.info
    assert "The tokenizer of 'bert-base-uncased' is not on this machine" in visible_text(message.value)
    assert not at.dataframe


def test_a_second_tokenizer_stands_below_the_first(models_dir: Path) -> None:
    folder = save_tiny("bert", models_dir / "tiny")
    tiny_tokenizer().save_pretrained(folder)
    at = opened("tokens", text="I love pythons", tokenizer="tiny")
    ready = ["splade-tiny", "sre-embedding-model", "tiny"]
    assert at.selectbox(key="tokenizer").options[:5] == [*REFERENCE_TOKENIZERS, *ready]
    assert pieces(at, "tokens_second") == ["[CLS]", "I", "love", "python", "##s", "[SEP]"] * 2
    assert "**tiny**: 6 tokens = 4 of the text + 2 special, 0 unknown" in words(at)


def test_the_second_tokenizer_that_comes_with_the_package_cuts_otherwise() -> None:
    at = opened("tokens")
    assert at.selectbox(key="tokenizer").value == SMALL
    both = pieces(at, "tokens_second")
    assert both[:8] == pieces(at)
    assert both[8:] == ["[CLS]", "I", "love", "my", "p", "##et", "p", "##y", "##th", "##on", ".", "[SEP]"]
    assert "first 4,000 entries of BERT's vocabulary" in words(at)
    at.selectbox(key="tokenizer").set_value(BYTES).run()
    assert len(pieces(at, "tokens_second")) == 8 + len("I love my pet python.") + 1
    assert "Every byte of the text is a token" in words(at)


def test_a_second_tokenizer_that_is_not_here_is_refused_by_name() -> None:
    at = opened("tokens")
    box = at.selectbox(key="tokenizer")
    assert "bert-base-uncased" in box.options
    box.set_value("bert-base-uncased").run()
    assert not at.exception
    assert any("'bert-base-uncased' is not on this machine" in visible_text(each.value) for each in at.warning)
    assert len(rows(at)) == 8


def test_another_familys_spellings_are_explained(models_dir: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    folder = save_tiny("roberta", models_dir / "other")
    found = PreTrainedTokenizerFast.from_pretrained(folder)
    text = found.backend_tokenizer.to_str().replace("[CLS]", "<s>").replace("[SEP]", "</s>")
    from tokenizers import Tokenizer

    PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(text), cls_token="<s>", sep_token="</s>", bos_token="<s>", eos_token="</s>",
        unk_token="[UNK]", pad_token="[PAD]", mask_token="[MASK]", model_input_names=["input_ids", "attention_mask"],
    ).save_pretrained(folder)  # fmt: skip
    message = words(opened("tokens", model="other", pair="the bank"))
    assert "**<s>** begins the input; in models such as BERT its last vector" in message
    assert "**</s>** ends each text" in message
    assert "[CLS]" not in message
    assert "**No token types**" in message


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("family", "size", "sentence"),
    [
        ("distilbert", {}, "but this model does not read them."),
        ("bert", {"type_vocab_size": 1}, "but this model has a single type and gives it to every token."),
        ("bert", {"type_vocab_size": 3}, "**Token types** distinguish the two texts"),
    ],
)
def test_token_types_that_the_model_does_not_read_distinguish_nothing(
    models_dir: Path, family: str, size: dict[str, int], sentence: str
) -> None:
    save_tiny(family, models_dir / "other", **size)
    message = words(opened("tokens", model="other", pair="the bank"))
    assert sentence in message
    assert ("distinguish the two texts" in message) == (size.get("type_vocab_size", 0) > 1)


@pytest.mark.parametrize("suffix", ["", "+tokenizer.json"])
def test_the_code_prints_the_ids_of_the_tokenizer_that_is_read(tmp_path: Path, suffix: str) -> None:
    name = f"{saved(tmp_path / 'tiny', REBUILT['Unigram as RoBERTa'])[0]}{suffix}"
    tokens = tokenize(loaded(name), TEXT)
    (ids,) = printed(reproduction(resolve(name, SETTINGS), tokens))
    assert ids.tolist() == [tokens.input_ids.tolist()]
