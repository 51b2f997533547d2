"""Rerankers that answer yes or no, read a chat template, or pool, against sentence-transformers' CrossEncoder.

Covers `bertviz_core/models/rerankers.py`, `bertviz_core/predictions/rerankers.py`,
`bertviz_core/trace/pair_template.py`, `bertviz_core/trace/isolated/chat_template.py`.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
import transformers
from sentence_transformers import CrossEncoder
from sentence_transformers.cross_encoder.modules import Dense, LogitScore, Transformer
from sentence_transformers.sentence_transformer.modules import LayerNorm, Normalize, Pooling

from bertviz_core.attribution.words import leave_one_out
from bertviz_core.errors import BertvizError, CheckpointError, TextError, UnsupportedModelError
from bertviz_core.figures.sentences.ranking import ranking_frame
from bertviz_core.interventions.target_parsing import open_target
from bertviz_core.models.rerankers import CARDS
from bertviz_core.models.sources import folder_source
from bertviz_core.predictions.run import load_head
from bertviz_core.predictions.scoring import PairScores, pair_scores
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.predict import classes
from bertviz_core.questions.predictions.ranking import ranked, ranking_head, ranking_options
from bertviz_core.questions.tables.predictions import RANKING
from bertviz_core.questions.views.texts.predictions import classes_code
from bertviz_core.sentences.plan import CROSS_ENCODER_NOTICE, recommended
from bertviz_core.settings import Settings
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.tiny_rerankers import STRUCTURED_TEMPLATE, TEMPLATE, save_causal, save_classifier

SETTINGS = Settings.from_environment(any_folder=True)
QUERY = "  the river bank "
TEXTS = ("money flows", "my <b>pet</b>\n{{ python }} ", "Yes! a bank, 'no'", "the river flows into a bank. " * 30)
PAIRS = [(QUERY, text) for text in TEXTS]
CLASS = "sequence-classification"


def scored(folder: Path) -> PairScores:
    source = folder_source(folder.name, folder, SETTINGS)
    head, tokenizer = load_head(source, SETTINGS, CLASS), load_tokenizer(source, SETTINGS)
    return pair_scores(head, tokenizer, source, SETTINGS, QUERY, TEXTS)


def same_as_cross_encoder(folder: Path) -> PairScores:
    """The scores of a folder, which are those of sentence-transformers, as are their logits."""
    own, result = CrossEncoder(str(folder), device="cpu"), scored(folder)
    np.testing.assert_allclose(result.scores, own.predict(PAIRS, batch_size=1), atol=2e-6)
    np.testing.assert_allclose(
        result.logits, own.predict(PAIRS, activation_fn=torch.nn.Identity()), atol=2e-5, rtol=1e-5
    )
    assert len(set(result.logits.tolist())) == len(TEXTS)
    return result


def saved(folder: Path, place: Path, **options: Any) -> Path:
    CrossEncoder(str(folder), device="cpu", **options).save_pretrained(str(place))
    return place


def changed(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.sample(2)
@pytest.mark.parametrize("model_type", ["qwen3", "llama", "gemma2"])
@pytest.mark.parametrize("template", [TEMPLATE, STRUCTURED_TEMPLATE], ids=["flat", "structured"])
def test_a_folder_with_logit_score_gives_the_scores_of_the_cross_encoder(
    model_type: str, template: str, tmp_path: Path
) -> None:
    plain = save_causal(tmp_path / "plain", model_type, template, model_max_length=123)
    prompts = {"prompts": {"find": "Find passages"}, "default_prompt_name": "find"}
    result = same_as_cross_encoder(saved(plain, tmp_path / "saved", activation_fn=torch.nn.Identity(), **prompts))
    assert (result.score_name, result.answers, result.truncated) == ("logit", ("yes", "no"), 1)
    assert result.token_logits is not None
    np.testing.assert_allclose(result.token_logits[:, 0] - result.token_logits[:, 1], result.logits, atol=1e-6)
    assert any("'Find passages'" in notice for notice in result.notices)
    assert not any("not followed" in notice for notice in result.notices)


def test_a_causal_model_whose_template_names_both_texts_ranks_as_in_the_cross_encoder(tmp_path: Path) -> None:
    result = same_as_cross_encoder(save_causal(tmp_path / "plain", template=TEMPLATE))
    assert result.score_name == "sigmoid"
    assert any("where a folder names no tokens" in notice for notice in result.notices)


def test_one_token_alone_is_the_score(tmp_path: Path) -> None:
    plain = save_causal(tmp_path / "plain", template=TEMPLATE)
    transformer = Transformer(str(plain), transformer_task="text-generation")
    made = CrossEncoder(modules=[transformer, LogitScore(true_token_id=97)], device="cpu")
    made.save_pretrained(str(tmp_path / "saved"))
    assert same_as_cross_encoder(tmp_path / "saved").answers == ()


def test_a_folder_without_a_template_joins_the_texts_as_its_tokenizer_does(tmp_path: Path) -> None:
    plain = save_causal(tmp_path / "plain")
    transformer = Transformer(str(plain), transformer_task="text-generation")
    CrossEncoder(modules=[transformer, LogitScore(97, 98)], device="cpu").save_pretrained(str(tmp_path / "saved"))
    result = same_as_cross_encoder(tmp_path / "saved")
    assert not any("template" in notice for notice in result.notices)
    with pytest.raises(UnsupportedModelError, match="a chat template that names query and document"):
        ranking_head(OpenedModel(str(plain), SETTINGS))


@pytest.mark.slow
def test_a_tokenizer_of_its_own_process_reads_the_same(tmp_path: Path) -> None:
    source = folder_source("plain", save_classifier(tmp_path / "plain", template=STRUCTURED_TEMPLATE))
    own, apart = (load_tokenizer(source, replace(SETTINGS, isolate_models=alone)) for alone in (False, True))
    read = [tokenize(each, "the river", "money flows") for each in (own, apart)]
    assert read[0].tokens == read[1].tokens
    assert read[0].offsets == read[1].offsets
    assert read[0].filled == "<|im_start|>query: the river\nText: money flows Answer:"


def test_a_plain_qwen3_reranker_is_read_as_its_card_says(tmp_path: Path) -> None:
    folder = save_causal(tmp_path / "Qwen3-Reranker-tiny")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    yes, no = tokenizer.convert_tokens_to_ids(["yes", "no"])
    prefix = (
        "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
        'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
    )
    task = "Given a web search query, retrieve relevant passages that answer the query"
    suffix = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    start, end = (tokenizer.encode(each, add_special_tokens=False) for each in (prefix, suffix))
    expected, room = [], 251 - len(start) - len(end)
    for query, text in PAIRS:
        body = f"<Instruct>: {task}\n<Query>: {query}\n<Document>: {text}"
        ids = tokenizer.encode(body, add_special_tokens=False)[:room]
        with torch.no_grad():
            logits = model(torch.tensor([[*start, *ids, *end]])).logits[0, -1]
        expected.append(logits[[no, yes]].log_softmax(-1)[1].exp().item())
    result = scored(folder)
    np.testing.assert_allclose(result.scores, expected, atol=2e-6)
    assert result.truncated == 1
    assert sum("the model card of Qwen3-Reranker" in notice for notice in result.notices) == 2
    assert all(card.model_type == "qwen3" for card in CARDS.values())


@pytest.mark.parametrize("model_type", ["qwen3", "llama"])
def test_a_classifier_with_a_chat_template_reads_it_as_the_cross_encoder_does(model_type: str, tmp_path: Path) -> None:
    plain = save_classifier(tmp_path / "plain", model_type, TEMPLATE)
    result = same_as_cross_encoder(plain)
    assert "Query and text are read in the chat template of the folder." in result.notices
    without = scored(save_classifier(tmp_path / "without", model_type))
    assert np.abs(result.logits - without.logits).max() > 0.01
    same_as_cross_encoder(saved(plain, tmp_path / "saved"))


def test_a_template_that_a_folder_does_not_apply_is_said(tmp_path: Path) -> None:
    folder = saved(save_classifier(tmp_path / "plain"), tmp_path / "saved")
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    result = same_as_cross_encoder(folder)
    assert any("sentence_bert_config.json does not name it" in notice for notice in result.notices)
    other = save_classifier(tmp_path / "other", template="{% for m in messages if m.role == 'user' %}x{% endfor %}")
    assert any("does not show the query and the text" in notice for notice in scored(other).notices)


@pytest.mark.slow
def test_the_named_template_and_its_settings_are_followed(tmp_path: Path) -> None:
    templates = {"default": "no texts", "rerank": TEMPLATE + "{% if add_generation_prompt %}more{% endif %}"}
    plain = save_causal(tmp_path / "plain", template=templates)  # type: ignore[arg-type]
    asked = {"chat_template": "rerank", "add_generation_prompt": True}
    transformer = Transformer(
        str(plain), transformer_task="text-generation", processing_kwargs={"chat_template": asked}
    )
    transformer.input_formatter.message_format = "flat"
    transformer.modality_config["message"]["format"] = "flat"
    made = CrossEncoder(modules=[transformer, LogitScore(301, 98)], device="cpu")
    made.save_pretrained(str(tmp_path / "saved"))
    result = same_as_cross_encoder(tmp_path / "saved")
    assert not any("not followed" in notice for notice in result.notices)


MODULES: dict[str, Callable[[int], list[Any]]] = {
    "cls and a dense layer": lambda width: [Pooling(width, "cls"), Dense(width, 1, module_output_name="scores")],
    "mean, dense, layer norm, normalised, dense": lambda width: [
        Pooling(width, "mean"),
        Dense(width, 17, activation_function=torch.nn.GELU()),
        LayerNorm(17),
        Normalize(),
        Dense(17, 1, bias=False, activation_function=None, module_output_name="scores"),
    ],
    "last token": lambda width: [
        Pooling(width, "lasttoken"),
        Dense(width, 1, activation_function=torch.nn.Identity(), module_output_name="scores"),
    ],
}


@pytest.mark.parametrize(
    ("model_type", "modules"),
    [*((name, each) for name in ("bert", "modernbert") for each in MODULES), ("qwen3", "last token")],
)
def test_a_modular_cross_encoder_gives_its_scores(model_type: str, modules: str, tmp_path: Path) -> None:
    if model_type == "qwen3":
        plain = save_classifier(tmp_path / "plain", template=TEMPLATE)
    else:
        plain = save_tiny_head(model_type, CLASS, tmp_path / "plain", num_labels=1)
    torch.manual_seed(5)
    transformer = Transformer(str(plain), transformer_task="feature-extraction")
    transformer.max_seq_length = 91 if model_type == "qwen3" else 29
    chain = MODULES[modules](transformer.get_embedding_dimension())
    for each in chain:
        for parameter in each.parameters():
            parameter.data.add_(torch.randn_like(parameter))
    CrossEncoder(modules=[transformer, *chain], device="cpu").save_pretrained(str(tmp_path / "saved"))
    same_as_cross_encoder(tmp_path / "saved")
    plan = recommended(folder_source("saved", tmp_path / "saved"), SETTINGS)
    assert CROSS_ENCODER_NOTICE in plan.notices


def test_words_have_the_difference_of_the_logits_and_belong_to_query_and_text(tmp_path: Path) -> None:
    folder = save_causal(tmp_path / "plain", template=TEMPLATE)
    source = folder_source(folder.name, folder)
    tokenizer = load_tokenizer(source, SETTINGS)
    target = open_target(source, SETTINGS, "the river", "money flows", "class:yes")
    shares = leave_one_out(target, tokenizer, replacement="drop")
    assert (shares.words, target.title) == (("the", "river", "money", "flows"), "logit of 'yes' minus that of 'no'")
    own = CrossEncoder(str(folder), device="cpu", activation_fn=torch.nn.Identity())
    np.testing.assert_allclose(shares.clean, own.predict(("the river", "money flows")), atol=1e-5)
    model, ids = own.transformers_model, list(target.tokens.input_ids)
    yes, no = own.tokenizer.convert_tokens_to_ids(["yes", "no"])
    for share, places in zip(shares.shares, shares.positions, strict=True):
        rest = torch.tensor([[each for place, each in enumerate(ids) if place not in places]])
        with torch.no_grad():
            logits = model(rest).logits[0, -1]
        np.testing.assert_allclose(shares.clean - share, logits[yes] - logits[no], atol=1e-5)
    with pytest.raises(TextError, match="scores a text for a query"):
        open_target(source, SETTINGS, "the river", None, "class:yes")


def test_faces_show_both_logits_and_lines_of_python_give_the_score(tmp_path: Path) -> None:
    opened = OpenedModel(str(save_causal(tmp_path / "plain", template=TEMPLATE)), SETTINGS)
    job = Mock()
    ranking = ranked(opened, ranking_options("the river", TEXTS[:3], "", "own"), job).result
    frame = ranking_frame(ranking)
    np.testing.assert_allclose(frame["logit of yes"] - frame["logit of no"], frame["logit"], atol=1e-6)
    rows = RANKING.to_json(ranking)["scores"]
    assert [row["token_logits"]["yes"] for row in rows] == frame["logit of yes"].tolist()
    classifier = OpenedModel(str(save_classifier(tmp_path / "classifier", template=TEMPLATE)), SETTINGS)
    prediction = classes(classifier, Options(("the river",), "money flows")).result
    space: dict[str, Any] = {}
    exec(classes_code(classifier, CLASS, prediction.tokens, prediction.scoring), space)  # noqa: S102
    assert space["inputs"]["input_ids"][0].tolist() == prediction.tokens.input_ids.tolist()
    np.testing.assert_allclose(space["logits"].numpy(), prediction.logits, atol=1e-5)


def test_tokens_of_both_texts_have_their_characters(tmp_path: Path) -> None:
    folder = save_causal(tmp_path / "plain", template=STRUCTURED_TEMPLATE)
    changed(folder / "tokenizer_config.json", model_max_length=60)
    (folder / "chat_template.jinja").write_text(f"{STRUCTURED_TEMPLATE}query document")
    tokenizer = load_tokenizer(folder_source(folder.name, folder), SETTINGS)
    tokens = tokenize(tokenizer, "  the river ", "money flows")
    spelled: Sequence[str] = ["", ""]
    assert tokens.offsets is not None
    for place, sequence in enumerate(tokens.sequence):
        span = tokens.offsets[place]
        assert (sequence is None) == (span is None) == bool(tokens.special[place])
        if sequence is not None and span is not None:
            read = (tokens.text, tokens.pair or "")[sequence][slice(*span)]
            spelled = [text + read * (which == sequence) for which, text in enumerate(spelled)]
    assert spelled == ["the river", "money flows"]
    long = tokenize(tokenizer, "the river", "money flows " * 40)
    whole = tokenize(tokenizer, "the river", "money")
    assert len(long) == 60
    assert long.tokens_cut[1] > 0
    end = whole.sequence[::-1].index(1)
    assert end > 3
    assert long.tokens[-end:] == whole.tokens[-end:]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"true_token_id": 9693, "false_token_id": 2}, "two different ids from 0 to"),
        ({"true_token_id": -1, "false_token_id": None}, "two different ids from 0 to"),
        ({"true_token_id": None, "false_token_id": 2}, "two different ids from 0 to"),
        ({"true_token_id": "yes", "false_token_id": 2}, "'yes' and '2' as true_token_id"),
        ({"true_token_id": 2, "false_token_id": 2}, "two different ids from 0 to"),
    ],
)
def test_wrong_ids_are_refused(config: dict[str, Any], words: str, tmp_path: Path) -> None:
    folder = saved(save_causal(tmp_path / "plain", template=TEMPLATE), tmp_path / "saved")
    changed(folder / "1_LogitScore" / "config.json", **config)
    with pytest.raises(CheckpointError, match=words):
        scored(folder)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{{ messages[0].content }}", "does not show the text as given"),
        ("{{ messages[0].content | upper }} {{ messages[1].content }}", "does not show the query as given"),
        ("{{ messages[0].content.nothing.at_all }}", "cannot be rendered"),
        ("{% for", "cannot be rendered"),
        ("{{ raise_exception('Own words.') }}", r"cannot be rendered \(Own words\)"),
    ],
)
def test_templates_without_both_texts_are_refused(template: str, words: str, tmp_path: Path) -> None:
    folder = saved(save_causal(tmp_path / "plain", template=TEMPLATE), tmp_path / "saved")
    (folder / "chat_template.jinja").write_text(template)
    with pytest.raises(CheckpointError, match=words):
        scored(folder)
    assert len(tokenize(load_tokenizer(folder_source("saved", folder), SETTINGS), "a text"))


def test_a_folder_without_its_template_or_a_token_is_refused(tmp_path: Path) -> None:
    folder = saved(save_causal(tmp_path / "plain", template=TEMPLATE), tmp_path / "saved")
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(CheckpointError, match=r"there is no chat_template\.jinja"):
        scored(folder)
    lacking = save_causal(tmp_path / "Qwen3-Reranker-tiny", words=("no", "river"))
    with pytest.raises(CheckpointError, match="no single token 'yes'"):
        scored(lacking)


@pytest.mark.slow
def test_a_template_that_never_ends_is_stopped(tmp_path: Path) -> None:
    folder = saved(save_causal(tmp_path / "plain", template=TEMPLATE), tmp_path / "saved")
    loops = "{% for a in range(99999) %}" * 4 + "{% endfor %}" * 4
    (folder / "chat_template.jinja").write_text(loops)
    settings = replace(SETTINGS, child_seconds=1)
    source = folder_source("saved", folder)
    with pytest.raises(BertvizError, match="cannot be rendered"):
        tokenize(load_tokenizer(source, settings), "a query", "a text")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda modules: modules[:1] + modules[2:], "not a Pooling first"),
        (lambda modules: [*modules[:2], {**modules[2], "type": "own.Dense"}, modules[2]], "own.Dense"),
    ],
)
def test_modules_that_cannot_be_followed_are_refused(change: Any, words: str, tmp_path: Path) -> None:
    plain = save_classifier(tmp_path / "plain")
    transformer = Transformer(str(plain), transformer_task="feature-extraction")
    chain = [Pooling(24, "cls"), Dense(24, 1, module_output_name="scores")]
    CrossEncoder(modules=[transformer, *chain], device="cpu").save_pretrained(str(tmp_path / "saved"))
    path = tmp_path / "saved" / "modules.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(CheckpointError, match=words):
        scored(tmp_path / "saved")
