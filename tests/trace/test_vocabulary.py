"""What texts use of a vocabulary, against counts of transformers' ids, its word ids, and a table of Unicode scripts.

Covers `bertviz_core/trace/vocabulary.py`, `bertviz_core/figures/sentences/vocabulary.py`.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer, PreTrainedTokenizerFast

from bertviz_core import open_model as opened
from bertviz_core.errors import BertvizError, TextError
from bertviz_core.figures.sentences.vocabulary import DRAWN_KINDS, drawn_kinds, table_words, vocabulary_figure
from bertviz_core.models.sources import folder_source
from bertviz_core.settings import Settings
from bertviz_core.trace.results import ScriptUse, VocabularyUse
from bertviz_core.trace.tokenization import load_tokenizer
from bertviz_core.trace.vocabulary import MOST_LISTED, row_kinds, script, script_of, vocabulary_use
from tests.helpers.tiny_models import FAMILIES, save_tiny, tiny_config, tiny_model
from tests.helpers.tiny_tokenizers import LETTERS

TEXTS = [
    "The cat sat on the mat, the mat!",
    "Привет мир, привет the кот",
    "中文 and ひらがな 12 times",
    "naïve 🙂 zzz شيء",
    "pytpytpyt on [MASK]",
]
SETTINGS = Settings.from_environment(any_folder=True)


def wordpiece() -> PreTrainedTokenizerFast:
    """As in BERT: pieces that continue a word begin with ##."""
    pieces = ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "mat", "s", "##at"]
    pieces += [
        "on",
        ",",
        "!",
        "п",
        "##р",
        "##и",
        "##вет",
        "мир",
        "к",
        "##от",
        "中",
        "文",
        "ひ",
        "##ら",
        "12",
        "a",
        "##nd",
        "##я1",
    ]
    backend = Tokenizer(models.WordPiece({piece: row for row, piece in enumerate(pieces)}, unk_token="[UNK]"))
    from tokenizers import normalizers

    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 4), ("[SEP]", 5)]
    )
    names = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"}
    return PreTrainedTokenizerFast(tokenizer_object=backend, mask_token="[MASK]", **names)


def byte_level() -> PreTrainedTokenizerFast:
    """As in RoBERTa: bytes that are merged."""
    alphabet = ["<s>", "</s>", "<pad>", "<mask>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    merges = [("Ġ", "t"), ("Ġt", "h"), ("Ġth", "e"), ("Ð", "¿"), ("Ñ", "Ģ"), ("Ð¿", "ÑĢ"), ("Ġ", "Ð"), ("p", "y")]
    rows = {piece: row for row, piece in enumerate([*alphabet, *map("".join, merges)])}
    backend = Tokenizer(models.BPE(rows, merges))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=True), decoders.ByteLevel()
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    names = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "mask_token": "<mask>"}
    return PreTrainedTokenizerFast(tokenizer_object=backend, **names)


def unigram() -> PreTrainedTokenizerFast:
    """As in EmbeddingGemma and other SentencePiece models with byte fallback."""
    pieces = ["<unk>", "<s>", "</s>", "<pad>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "▁the", "▁cat", "at"]
    pieces += [
        "▁Привет",
        "▁мир",
        "мир",
        "中",
        "文",
        "▁ひ",
        "ら",
        "▁12",
        *(letter for letter in LETTERS if letter != "▁"),
    ]
    backend = Tokenizer(models.Unigram([(piece, -2.0) for piece in pieces], unk_id=0, byte_fallback=True))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(), decoders.Fuse()])
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    names = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=backend, **names)


KINDS: dict[str, tuple[Callable[[], PreTrainedTokenizerFast], str]] = {
    "WordPiece": (wordpiece, "bert"),
    "byte-level BPE": (byte_level, "roberta"),
    "Unigram with bytes": (unigram, "xlm-roberta"),
}


def saved(folder: Path, kind: str, spare: int = 3, dtype: torch.dtype = torch.float32, **changes: Any) -> Path:
    """A folder with a tokenizer and a model whose table has some more rows."""
    make, family = KINDS[kind]
    tokenizer = make()
    tiny_model(family, vocab_size=len(tokenizer) + spare, **changes).to(dtype).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return saved(tmp_path / "tiny", request.param)


def ids_of(folder: Path, texts: list[str]) -> tuple[Any, list[list[int]]]:
    """The tokenizer of transformers, and the ids that it makes."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return tokenizer, tokenizer(texts)["input_ids"]


def specials(tokenizer: Any) -> set[int]:
    return {*tokenizer.all_special_ids} - {tokenizer.unk_token_id}


def test_counts_are_those_of_the_ids_of_transformers(folder: Path) -> None:
    use = opened(folder).vocabulary(TEXTS).data
    tokenizer, rows = ids_of(folder, TEXTS)
    counts = Counter(each for row in rows for each in row)
    own = {row: count for row, count in counts.items() if row not in specials(tokenizer)}
    assert dict(zip(use.ids.tolist(), use.counts.tolist(), strict=True)) == own
    assert list(use.counts) == sorted(own.values(), reverse=True)
    assert list(use.spelled) == tokenizer.convert_ids_to_tokens(use.ids.tolist())
    assert use.rows - use.untouched == len(counts)
    assert use.special_tokens == counts.total() - sum(own.values()) >= 2 * len(TEXTS)
    assert sum(each.used for each in use.by_script) == len(counts)
    assert sum(each.tokens for each in use.by_script) == counts.total()
    for percent in (50, 90, 99, 100):
        fewest = next(n for n in range(1, 999) if 100 * sum(use.counts[:n]) >= percent * sum(own.values()))
        assert use.covering(percent) == fewest


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_bytes_are_those_of_the_table(tmp_path: Path, dtype: torch.dtype) -> None:
    folder = saved(tmp_path / "tiny", "WordPiece", spare=5, dtype=dtype)
    use = opened(folder).vocabulary(TEXTS).data
    model = AutoModel.from_pretrained(folder, dtype=dtype)
    weight = model.get_input_embeddings().weight
    (table,) = use.tables
    _, rows = ids_of(folder, TEXTS)
    untouched = len(weight) - len({each for row in rows for each in row})
    assert (table.shape, table.nbytes) == (tuple(weight.shape), weight.numel() * weight.element_size())
    assert use.untouched == untouched
    assert use.untouched_nbytes(table) == untouched * weight.shape[1] * weight.element_size()
    assert table.share == pytest.approx(weight.numel() / sum(each.numel() for each in model.parameters()))
    assert f"{untouched:,} untouched rows of the input table" in table_words(use)[0]


@pytest.mark.parametrize("tied", [True, False])
def test_the_output_table_counts_where_it_is_not_the_input_table(tmp_path: Path, tied: bool) -> None:
    folder = saved(tmp_path / "tiny", "WordPiece")
    config = tiny_config("bert", vocab_size=33, tie_word_embeddings=tied)
    model = AutoModelForMaskedLM.from_config(config)
    model.save_pretrained(folder)
    use = opened(folder).vocabulary(TEXTS).data
    assert [each.role for each in use.tables] == (["input"] if tied else ["input", "output"])
    out = model.get_output_embeddings().weight
    assert use.tables[-1].nbytes == out.numel() * 4
    assert use.tables[-1].share == pytest.approx(out.numel() / sum(each.numel() for each in model.parameters()))


def test_words_are_those_of_the_word_ids(folder: Path) -> None:
    texts = [text for text in TEXTS if "[MASK]" not in text]
    use = opened(folder).vocabulary(texts).data
    tokenizer, _ = ids_of(folder, texts)
    kinds = row_kinds(load_tokenizer(folder_source("tiny", folder), SETTINGS), len(tokenizer))
    expected: dict[str, list[int]] = {}
    for text in texts:
        encoding = tokenizer(text)
        for word in dict.fromkeys(each for each in encoding.word_ids() if each is not None):
            places = [place for place, each in enumerate(encoding.word_ids()) if each == word]
            characters = text[slice(*encoding.word_to_chars(word))]
            own = [encoding["input_ids"][place] for place in places]
            row = expected.setdefault(by_hand(characters), [0, 0, 0, 0])
            unknown = sum(each == tokenizer.unk_token_id for each in own)
            in_bytes = sum(kinds[each] == "bytes" for each in own)
            for at, more in enumerate((bool(characters.strip()), len(places), unknown, in_bytes)):
                row[at] += more
    assert {each.kind: list(each[4:]) for each in use.by_script if each.words} == expected
    assert sum(each.pieces for each in use.by_script) == use.tokens
    lengths = [len(pieces) for _, pieces in use.split_words]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] > 1


HAND: dict[str, str] = {
    "Latin": "azAZéßıªﬁ𝐀Ω"[:-1],
    "Greek": "αΩ",
    "Cyrillic": "пЯё",
    "Arabic": "شيء",
    "Hebrew": "שם",
    "Devanagari": "कआ",
    "Han": "中文漢",
    "Hiragana": "ひら",
    "Katakana": "カﾅ",
    "Hangul": "한글",
    "Thai": "ก",
    "digits": "09٣४½Ⅷ",
    "punctuation, symbols": "!?。-_▁+€🙂 \n",
    "": "\u0301\u094dー",
}
"""Kind -> some of its characters."""


def by_hand(text: str) -> str:
    """The kind of a word by the table above and Unicode's script property."""
    letters = {name for name in HAND if name[:1].isupper() and regex.search(rf"\p{{Script={name}}}", text)}
    if len(letters) > 1:
        return "several scripts"
    return next(iter(letters), "digits" if regex.search(r"\p{N}", text) else "punctuation, symbols")


def test_scripts_of_characters_by_a_table_made_by_hand() -> None:
    for kind, characters in HAND.items():
        assert {each: script(each) for each in characters} == dict.fromkeys(characters, kind)
    assert script_of("naïve") == script_of("e\u0301") == script_of("##ing12") == "Latin"
    assert script_of("क्या") == "Devanagari"
    assert script_of("ひら中") == "several scripts"
    assert script_of("3.5%") == "digits"
    assert script_of("") == script_of("ー") == "punctuation, symbols"


def test_scripts_of_all_letters_are_those_of_unicode() -> None:
    names = "Latin Greek Cyrillic Armenian Georgian Hebrew Arabic Syriac Thaana Ethiopic Devanagari Bengali Gurmukhi "
    names += "Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Khmer Mongolian Han "
    names += "Hiragana Katakana Hangul Bopomofo Cherokee"
    every = {name: regex.compile(rf"\p{{Script={name}}}") for name in names.split()}
    letters = [chr(code) for code in range(0x30000) if unicodedata.category(chr(code)) in ("Lu", "Ll", "Lt", "Lo")]
    wrong = {}
    for letter in letters:
        known = next((name for name, pattern in every.items() if pattern.match(letter)), None)
        if known and script(letter) != known:
            wrong[letter] = (known, script(letter))
    assert len(letters) > 120_000
    assert not wrong


def test_kinds_of_rows(tmp_path: Path) -> None:
    def kinds(kind: str) -> dict[str, str]:
        tokenizer = load_tokenizer(folder_source("tiny", saved(tmp_path / kind, kind)), SETTINGS)
        rows = len(tokenizer.tokenizer) + 2
        return dict(zip(tokenizer.spelled(range(rows)), row_kinds(tokenizer, rows), strict=True))

    pieces = kinds("WordPiece")
    assert [pieces[each] for each in ("[CLS]", "[UNK]", "[unused1]", "##вет", "文", "##ら", "12", "!")] == [
        *("special", "unknown", "reserved", "Cyrillic", "Han", "Hiragana", "digits", "punctuation, symbols")
    ]
    assert pieces["padding row 30"] == "padding rows"
    merged = kinds("byte-level BPE")
    assert [merged[each] for each in ("Ġthe", "ÑĢ", "Ð¿ÑĢ", "Ð", "ĠÐ", "Ġ", "a", "7", "<mask>")] == [
        *("Latin", "Cyrillic", "Cyrillic", "bytes", "bytes", "punctuation, symbols", "Latin", "digits", "special")
    ]
    assert list(merged.values()).count("bytes") == 128 + 1
    fallen = kinds("Unigram with bytes")
    assert [fallen[each] for each in ("<0x41>", "▁мир", "▁12", "<unk>")] == ["bytes", "Cyrillic", "digits", "unknown"]
    assert list(fallen.values()).count("bytes") == 256


def test_batches_give_what_single_texts_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = load_tokenizer(folder_source("tiny", saved(tmp_path / "tiny", "WordPiece")), SETTINGS)
    kinds, done = row_kinds(tokenizer, 33), []
    whole = vocabulary_use(tokenizer, TEXTS * 7, kinds)
    monkeypatch.setattr("bertviz_core.trace.vocabulary.BATCH_CHARACTERS", 40)
    parts = vocabulary_use(tokenizer, TEXTS * 7, kinds, progress=lambda at, of: done.append((at, of)))
    assert len(done) > 5
    assert done[-1] == (35, 35)
    for name in ("by_script", "split_words", "unknown_texts", "spelled"):
        assert getattr(parts, name) == getattr(whole, name)
    assert np.array_equal(parts.counts, whole.counts)
    unknown = [row.count(3) for row in ids_of(tmp_path / "tiny", TEXTS)[1]]
    assert [each[0] for each in whole.unknown_texts] == sorted(7 * [n for n in unknown if n], reverse=True)[
        :MOST_LISTED
    ]
    assert all(text == (TEXTS * 7)[place] for _, place, text in whole.unknown_texts)


@pytest.mark.slow
def test_a_tokenizer_in_its_own_process_gives_the_same(folder: Path) -> None:
    own = replace(SETTINGS, isolate_models=True)
    here, there = (load_tokenizer(folder_source("tiny", folder), each) for each in (SETTINGS, own))
    uses = [vocabulary_use(each, TEXTS, row_kinds(each, 400)) for each in (here, there)]
    for name in ("by_script", "split_words", "unknown_texts", "spelled"):
        assert getattr(uses[0], name) == getattr(uses[1], name)


def test_a_text_that_is_one_word_to_the_tokenizer_is_cut_at_white_space(tmp_path: Path) -> None:
    folder = saved(tmp_path / "tiny", "Unigram with bytes")
    tokenizer = unigram()
    from tokenizers import normalizers

    tokenizer.backend_tokenizer.pre_tokenizer = None
    tokenizer.backend_tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.save_pretrained(folder)
    use = opened(folder).vocabulary(["the cat мир", "12  the\ncat"]).data
    assert {each.kind: each.words for each in use.by_script if each.words} == {"Latin": 4, "Cyrillic": 1, "digits": 1}


def test_a_vocabulary_that_does_not_fit_its_table(tmp_path: Path) -> None:
    few = opened(saved(tmp_path / "few", "WordPiece", spare=-4)).vocabulary(["12 the cat", "я1"])
    assert few.data.rows == 26
    (notice,) = (each for each in few.notices if "do not belong together" in each)
    assert (
        "has 30 tokens and the table 26 rows, so they do not belong together; 1 token of the texts has no row" in notice
    )
    more = opened(saved(tmp_path / "more", "WordPiece", spare=9)).vocabulary(["the cat"])
    assert more.data.by_script[-1] == ScriptUse("padding rows", 9, 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ([], "There are no texts"),
        (["", "  "], "No text has a token of its own"),
        (["a" * 300_000], "300,000 characters"),
    ],
)
def test_refusals(tmp_path: Path, texts: list[str], why: str) -> None:
    model = opened(saved(tmp_path / "tiny", "WordPiece"))
    with pytest.raises(TextError, match=why):
        model.vocabulary(texts)


def test_a_model_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    tiny_model("bert").save_pretrained(tmp_path / "bare")
    with pytest.raises(BertvizError, match="vocabulary|tokenizer"):
        opened(tmp_path / "bare").vocabulary(TEXTS)


def test_a_model_without_a_table_of_words_names_no_bytes(tmp_path: Path) -> None:
    config = tiny_config("bert", vocab_size=33)
    folder = saved(tmp_path / "tiny", "WordPiece")
    config.vocab_size = 31  # no table has so many rows
    config.save_pretrained(folder)
    result = opened(folder).vocabulary(TEXTS)
    assert result.data.tables == ()
    assert result.data.rows == 30
    assert any("no table with one row per token" in each for each in result.notices)


def test_all_families_have_their_input_table(tmp_path: Path) -> None:
    for family in ("albert", "mpnet", "deberta-v2", "modernbert", "distilbert"):
        assert family in FAMILIES
        folder = save_tiny(family, tmp_path / family)
        use = opened(folder).vocabulary(["I love my python"]).data
        weight = AutoModel.from_pretrained(folder).get_input_embeddings().weight
        assert [(each.role, each.shape) for each in use.tables] == [("input", tuple(weight.shape))]


def test_what_is_in_use_is_drawn_before_large_scripts() -> None:
    kinds = [ScriptUse(f"S{place:02}", 100 - place, int(place > 20), *[0] * 5) for place in range(25)]
    counts = np.array([3, 1])
    use = VocabularyUse("m", 1, 2, counts, counts, ("a", "b"), tuple(kinds), (), (), ())
    drawn = [each.kind for each in drawn_kinds(use)]
    assert len(drawn) == DRAWN_KINDS + 1
    assert sum(each.rows for each in drawn_kinds(use)) == use.rows
    assert drawn[-5:] == ["S21", "S22", "S23", "S24", "7 other kinds"]
    assert len(vocabulary_figure(use).frame()) == 25
