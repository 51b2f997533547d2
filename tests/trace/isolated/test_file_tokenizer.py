"""The ids of AutoTokenizer beside those of tokenizer.json, which the library tokenizers reads.

Covers `bertviz_core/trace/isolated/file_tokenizer.py`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.models.sources import resolve
from bertviz_core.questions.models.checkpoints import load_report
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.hidden_states import run
from bertviz_core.questions.texts.sentences import encoded_by, own_plan
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.trace.isolated.file_tokenizer import SAMPLES
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, tokenize
from tests.helpers.tiny_models import save_tiny

SETTINGS = replace(Settings.from_environment(any_folder=True), isolate_models=False)
ROLES = {"unk": "<unk>", "bos": "<s>", "eos": "</s>", "cls": "<s>", "sep": "</s>", "pad": "<pad>", "mask": "<mask>"}
SPECIAL = {f"{role}_token": token for role, token in ROLES.items()}
TOKENS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
TEXTS = ["the bank by the river", "my pet python , my love", "the river bank"] * 9
TEXT = "The bank by the river"


def trained(tokenizer: Any, trainer: Any) -> Tokenizer:
    """A tokenizer with a vocabulary of its own, and <s> and </s> around every text."""
    tokenizer.train_from_iterator(TEXTS, trainer)
    ends = {"single": "<s> $A </s>", "pair": "<s> $A </s> $B </s>", "special_tokens": [("<s>", 0), ("</s>", 2)]}
    tokenizer.post_processor = processors.TemplateProcessing(**ends)
    return tokenizer  # type: ignore[no-any-return]


def unigram() -> Tokenizer:
    """A Unigram model as XLM-RoBERTa has one."""
    tokenizer: Any = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    return trained(tokenizer, trainers.UnigramTrainer(vocab_size=51, special_tokens=TOKENS, unk_token="<unk>"))


def words() -> Tokenizer:
    """A BPE of lower-case words, with rules that GPT-2 does not have."""
    tokenizer: Any = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer, tokenizer.normalizer = pre_tokenizers.Whitespace(), normalizers.Lowercase()
    return trained(tokenizer, trainers.BpeTrainer(vocab_size=53, special_tokens=TOKENS))


def pieces() -> Tokenizer:
    """Word pieces as BERT has them, which strip accents, and leave the case of letters."""
    tokenizer: Any = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return trained(tokenizer, trainers.WordPieceTrainer(vocab_size=59, special_tokens=TOKENS))


Case = tuple[Callable[[], Tokenizer], Mapping[str, Any] | None, str]
REBUILT: Mapping[str, Case] = {
    "Unigram as RoBERTa": (unigram, {"tokenizer_class": "RobertaTokenizer"}, "roberta"),
    "Unigram of a BERT without a class": (unigram, {}, "bert"),
    "BPE as GPT-2": (words, {"tokenizer_class": "GPT2Tokenizer"}, "roberta"),
    "BPE as GPT-2, by the fast name": (words, {"tokenizer_class": "GPT2TokenizerFast"}, "roberta"),
    "word pieces that keep the case, as BERT": (pieces, {"tokenizer_class": "BertTokenizer"}, "bert"),
}
ALIKE: Mapping[str, Case] = {
    "Unigram": (unigram, {"tokenizer_class": "PreTrainedTokenizerFast"}, "bert"),
    "BPE": (words, {"tokenizer_class": "PreTrainedTokenizerFast"}, "bert"),
    "word pieces": (pieces, {"tokenizer_class": "TokenizersBackend"}, "bert"),
}


def saved(folder: Path, case: Case) -> tuple[Path, Tokenizer]:
    """A model with such a tokenizer.json and tokenizer_config.json, and the tokenizer."""
    make, config, model_type = case
    tokenizer = make()
    save_tiny(model_type, folder, vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=71)
    for path in folder.glob("*token*"):
        path.unlink()
    tokenizer.save(str(folder / "tokenizer.json"))
    if config is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps({**SPECIAL, **config}))
    return folder, tokenizer


def loaded(name: str, isolated: bool = False) -> TextTokenizer:
    """The tokenizer of a model, in this process or in its own."""
    settings = replace(SETTINGS, isolate_models=isolated)
    return load_tokenizer(resolve(name, settings), settings)


@pytest.mark.parametrize("case", REBUILT.values(), ids=REBUILT)
def test_a_rebuilt_tokenizer_is_said_and_that_of_the_file_is_on_offer(tmp_path: Path, case: Case) -> None:
    folder, by_file = saved(tmp_path / "tiny", case)
    auto = AutoTokenizer.from_pretrained(folder)
    same = sum(auto(text)["input_ids"] == by_file.encode(text).ids for text in SAMPLES)
    assert same < len(SAMPLES)
    read, own = loaded(str(folder)), loaded(f"{folder}+tokenizer.json")
    for tokenizer in (read, own):
        assert tokenizer.receipt is not None
        assert (tokenizer.receipt.same, tokenizer.receipt.texts) == (same, len(SAMPLES))
        (notice,) = tokenizer.notices
        assert f"{len(SAMPLES) - same} of {len(SAMPLES)} sample texts" in notice
        assert type(auto).__name__ in notice
    assert f"{folder}+tokenizer.json" in read.notices[0]
    for text in (*SAMPLES[::20], TEXT):
        assert tokenize(own, text).input_ids.tolist() == by_file.encode(text).ids
    assert tokenize(read, TEXT).input_ids.tolist() == auto(TEXT)["input_ids"]
    assert tokenize(own, TEXT, "my love").input_ids.tolist() == by_file.encode(TEXT, "my love").ids
    assert tokenize(read, TEXT).notices[: len(read.notices)] == read.notices


@pytest.mark.parametrize("case", ALIKE.values(), ids=ALIKE)
def test_nothing_is_said_of_equal_ids(tmp_path: Path, case: Case) -> None:
    folder, tokenizer = saved(tmp_path / "tiny", case)
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=9, pad_id=1, pad_token="<pad>")
    tokenizer.save(str(folder / "tokenizer.json"))
    read = loaded(str(folder))
    assert read.receipt is not None
    assert read.receipt.same == len(SAMPLES)
    assert read.notices == tokenize(read, TEXT).notices == ()


def test_a_model_is_read_by_its_file_in_a_process_of_its_own(tmp_path: Path) -> None:
    folder, by_file = saved(tmp_path / "tiny", REBUILT["BPE as GPT-2"])
    inside, outside = loaded(str(folder)), loaded(str(folder), isolated=True)
    assert (outside.receipt, outside.notices) == (inside.receipt, inside.notices)
    own = loaded(f"{folder}+tokenizer.json", isolated=True)
    assert tokenize(own, TEXT).input_ids.tolist() == by_file.encode(TEXT).ids


OTHER_FILES: Mapping[str, tuple[str, Any]] = {
    "a token of tokenizer_config.json": ("tokenizer_config.json", {"extra_special_tokens": ["<special>"]}),
    "a token of added_tokens.json": ("added_tokens.json", {"<special>": 53}),
    "special tokens as text": ("tokenizer_config.json", {"split_special_tokens": True}),
}


@pytest.mark.parametrize(("file", "values"), OTHER_FILES.values(), ids=OTHER_FILES)
def test_what_other_files_say_of_tokens_is_said(tmp_path: Path, file: str, values: Any) -> None:
    """No sample text has such a token; a list of sentences is said it too."""
    folder, by_file = saved(tmp_path / "tiny", ALIKE["BPE"])
    config = {} if file == "added_tokens.json" else json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps({**config, **values}))
    auto, text = AutoTokenizer.from_pretrained(folder), "the <special> bank <mask>"
    assert auto(text)["input_ids"] != by_file.encode(text).ids
    read, own = loaded(str(folder)), loaded(f"{folder}+tokenizer.json")
    assert read.receipt is not None
    assert read.receipt.same == len(SAMPLES) < read.receipt.texts
    (notice,) = read.notices
    assert "what the folder's other files say of its tokens" in notice
    assert tokenize(read, text).input_ids.tolist() == auto(text)["input_ids"]
    assert tokenize(own, text).input_ids.tolist() == by_file.encode(text).ids


def test_the_letters_of_an_unknown_token_are_no_difference(tmp_path: Path) -> None:
    """The encoding of a Unigram model has them in place of the token."""
    folder, by_file = saved(tmp_path / "tiny", (unigram, {"tokenizer_class": "XLMRobertaTokenizer"}, "roberta"))
    read, text = loaded(str(folder)), "银行"
    assert tokenize(read, text).input_ids.tolist() == by_file.encode(text).ids
    assert by_file.encode(text).tokens != [by_file.id_to_token(each) for each in by_file.encode(text).ids]
    assert not any("read this text differently" in each for each in tokenize(replace(read, receipt=None), text).notices)


@pytest.mark.parametrize("isolated", [False, True])
def test_a_text_that_alone_is_read_differently_is_said(tmp_path: Path, isolated: bool) -> None:
    """The normalizer of the file replaces a word that is in no sample."""
    folder, tokenizer = saved(tmp_path / "tiny", (pieces, {"tokenizer_class": "BertTokenizer"}, "bert"))
    read: Any = tokenizer
    read.normalizer = normalizers.Sequence([normalizers.BertNormalizer(), normalizers.Replace("flubber", "bank")])
    read.save(str(folder / "tokenizer.json"))
    found = loaded(str(folder), isolated)
    assert found.receipt is not None
    assert found.receipt.same == len(SAMPLES)
    assert tokenize(found, TEXT).notices == ()
    (notice,) = tokenize(found, "the flubber").notices
    assert "read this text differently" in notice
    opened = OpenedModel(str(folder), replace(SETTINGS, isolate_models=isolated))
    for texts, notices in (((TEXT, "the flubber"), (notice,)), ((TEXT,), ())):
        assert encoded_by(opened, SentencePlan("mean"), texts).result.notices == notices


def test_a_tokenizer_that_reads_no_text_names_the_one_of_the_file(tmp_path: Path) -> None:
    folder, by_file = saved(tmp_path / "tiny", (unigram, None, "bert"))
    read = loaded(str(folder))
    assert read.receipt is not None
    assert read.receipt.same < len(SAMPLES)
    with pytest.raises(TextError, match=r"\+tokenizer\.json"):
        tokenize(read, TEXT)
    assert tokenize(loaded(f"{folder}+tokenizer.json"), TEXT).input_ids.tolist() == by_file.encode(TEXT).ids


def test_a_tokenizer_without_the_file_has_no_receipt(tmp_path: Path) -> None:
    folder = save_tiny("bert", tmp_path / "tiny")
    for path in folder.glob("*token*"):
        path.unlink()
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "bank"]))
    read = loaded(str(folder))
    assert (read.receipt, read.notices) == (None, ())
    with pytest.raises(CheckpointError, match=r"has no tokenizer\.json"):
        loaded(f"{folder}+tokenizer.json")


def test_runs_vectors_and_the_load_report_say_it(tmp_path: Path) -> None:
    folder, _ = saved(tmp_path / "tiny", REBUILT["Unigram as RoBERTa"])
    opened = OpenedModel(str(folder), SETTINGS)
    (notice,) = opened.tokenizer.notices
    report = load_report(opened, Options())
    assert f"of {len(SAMPLES)} sample texts of all scripts get the same ids" in report.result.suggestion
    text = Options((TEXT,))
    answers = [report, run(opened, text), encoded_by(opened, own_plan(opened), (TEXT,))]
    assert [list(answer.notices).count(notice) for answer in answers] == [1, 1, 1]


def test_the_bundled_model_is_read_as_its_file_says() -> None:
    read = loaded(DEFAULT_MODEL)
    assert read.receipt is not None
    assert read.receipt.same == read.receipt.texts == len(SAMPLES) > 250
