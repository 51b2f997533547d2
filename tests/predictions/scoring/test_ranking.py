"""Scores of pairs against sentence-transformers' CrossEncoder, the settings it reads, and refusals.

Covers `bertviz_core/predictions/scoring.py`, `bertviz_core/predictions/saturation.py`,
`bertviz_core/questions/predictions/ranking.py`.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder

from bertviz_core.errors import BertvizError
from bertviz_core.figures.sentences.ranking import equal_words
from bertviz_core.models.sources import folder_source
from bertviz_core.predictions.saturation import equal_scores
from bertviz_core.predictions.scoring import PairScores, activated, pair_scores, ranking_class
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.ranking import ranked, ranking_options
from bertviz_core.settings import Settings
from tests.helpers.tiny_heads import SETTINGS, opened_head, save_tiny_head
from tests.pages.labels import NAMES, named

CLASS = "sequence-classification"
QUERY = "the river bank"
TEXTS = ("I love my pet python.", "the bank", "a river, the river and my bank. " * 6, "pets love a bank")
PAIRS = [(QUERY, text) for text in TEXTS]


def scored(folder: Path, label: str = "") -> PairScores:
    head, tokenizer = opened_head(folder, CLASS)
    return pair_scores(head, tokenizer, folder_source(folder.name, folder), SETTINGS, QUERY, TEXTS, label)


def cross_encoder(folder: Path) -> CrossEncoder:
    """sentence-transformers' own, which reads more positions of RoBERTa than it has unless its length is given."""
    own: CrossEncoder = CrossEncoder(str(folder), device="cpu", max_length=opened_head(folder, CLASS)[1].limit.tokens)
    return own


def changed(folder: Path, **values: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    return folder


@pytest.mark.sample(2)
@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({}, "sigmoid"),
        ({"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}}, "logit"),
        ({"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Tanh"}}, "tanh"),
        ({"sentence_transformers": {"activation_fn": None}, "sbert_ce_default_activation_function": None}, "sigmoid"),
        ({"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}, "logit"),
        ({"sbert_ce_default_activation_function": "my_code.Squash"}, "sigmoid"),
    ],
)
def test_scores_are_those_of_the_cross_encoder(family: str, config: dict[str, Any], name: str, tmp_path: Path) -> None:
    folder = changed(save_tiny_head(family, CLASS, tmp_path / "tiny", num_labels=1), **config)
    own, result = cross_encoder(folder), scored(folder)
    assert result.score_name == name
    np.testing.assert_allclose(result.scores, own.predict(PAIRS), atol=1e-5)
    np.testing.assert_allclose(result.logits, own.predict(PAIRS, activation_fn=torch.nn.Identity()), atol=1e-5)
    assert result.truncated == 1
    assert ("code of its own" in " ".join(result.notices)) is ("my_code.Squash" in config.values())


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_saved_cross_encoder_keeps_its_length_activation_and_prompt(family: str, tmp_path: Path) -> None:
    folder = save_tiny_head(family, CLASS, tmp_path / "tiny", num_labels=1)
    longest = scored(folder).scores
    made = CrossEncoder(
        str(folder),
        device="cpu",
        max_length=13,
        activation_fn=torch.nn.Identity(),
        prompts={"ask": "my pet "},
        default_prompt_name="ask",
    )
    made.save_pretrained(str(tmp_path / "saved"))
    own, result = CrossEncoder(str(tmp_path / "saved"), device="cpu"), scored(tmp_path / "saved")
    assert result.score_name == "logit"
    np.testing.assert_allclose(result.scores, own.predict(PAIRS), atol=1e-5)
    assert result.notices == ("The checkpoint puts 'my pet ' in front of the query.",)
    assert not np.allclose(result.scores, longest, atol=1e-3)


@pytest.mark.sample(3)
@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("label", ["", *NAMES])
def test_the_probability_of_a_class_is_the_softmax(family: str, label: str, tmp_path: Path) -> None:
    folder = save_tiny_head(family, CLASS, tmp_path / "tiny", **named(*NAMES))
    expected = cross_encoder(folder).predict(PAIRS, apply_softmax=True)
    result = scored(folder, label)
    assert (result.label, result.score_name) == (label or "entailment", "softmax")
    np.testing.assert_allclose(result.scores, expected[:, NAMES.index(label or "entailment")], atol=1e-5)


def test_the_ranking_has_the_order_of_the_cross_encoder_and_the_cosines_of_the_encoder(tmp_path: Path) -> None:
    folder = save_tiny_head("bert", CLASS, tmp_path / "tiny", num_labels=1)
    opened = OpenedModel(str(folder), Settings.from_environment(any_folder=True))
    steps: list[tuple[int, int]] = []

    class Job:
        def __call__(self, done: int, total: int, /) -> None:
            steps.append((done, total))

        def show(self, so_far: object, /) -> None: ...

    texts = (TEXTS[0], TEXTS[1], TEXTS[3])
    result = ranked(opened, ranking_options(QUERY, texts, "", "own"), Job()).result
    expected = CrossEncoder(str(folder), device="cpu").rank(QUERY, list(texts))
    assert result.order.tolist() == [each["corpus_id"] for each in expected]
    assert sorted(result.rank.tolist()) == sorted(result.cosine_rank.tolist()) == [1, 2, 3]
    assert result.rise.sum() == 0
    assert result.rank[result.order].tolist() == [1, 2, 3]
    vectors = [
        np.asarray(opened.trace(opened.tokens(text, None)).hidden_states[-1]).mean(0) for text in (QUERY, *texts)
    ]
    units = [vector / np.linalg.norm(vector) for vector in vectors]
    np.testing.assert_allclose(result.cosines, [units[0] @ each for each in units[1:]], atol=1e-5)
    assert steps[-1][0] <= steps[-1][1] == 7
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert result.model == result.sentence_model


def test_equal_scores_are_ordered_by_their_logits(tmp_path: Path) -> None:
    folder = save_tiny_head("bert", CLASS, tmp_path / "tiny", num_labels=1)
    opened = OpenedModel(str(folder), Settings.from_environment(any_folder=True))
    head = opened.head(CLASS)
    with torch.no_grad():
        head.model.classifier.weight.mul_(1_000)
        head.model.classifier.bias.fill_(100_000)
    result = ranked(opened, ranking_options(QUERY, TEXTS, "", "own")).result
    assert set(result.scores.tolist()) == {1.0}
    assert (np.diff(result.logits[result.order]) <= 0).all()
    assert result.equal_scores == dict.fromkeys(("float32", "float16", "bfloat16", "printed"), len(TEXTS))
    assert "4 in float32, 4 in float16, 4 in bfloat16 and 4 as printed with 4 decimals equal" in equal_words(result)


def alone(scores: list[Any], logits: list[float]) -> int:
    """Number of scores that no other one with another logit equals, by the definition."""
    rows = list(zip(scores, logits, strict=True))
    return sum(all(score != other or logit == far for other, far in rows) for score, logit in rows)


@pytest.mark.parametrize("seed", range(4))
def test_scores_that_a_number_format_makes_equal_are_counted_as_torch_rounds_them(seed: int) -> None:
    logits = (np.random.default_rng(seed).normal(0, 8, 60)).astype(np.float32)
    logits[:3] = logits[3]  # equal logits: these scores are equal by right
    scores = torch.from_numpy(logits).double().sigmoid().float()
    rounded = {
        "float32": scores.tolist(),
        "float16": scores.half().tolist(),
        "bfloat16": scores.bfloat16().tolist(),
        "printed": [f"{score:.4f}" for score in scores.tolist()],
    }
    expected = {name: 60 - alone(each, logits.tolist()) for name, each in rounded.items()}
    assert equal_scores(activated(logits, "sigmoid"), logits) == expected
    assert expected["bfloat16"] > expected["float16"] >= expected["float32"]


@pytest.mark.parametrize(("name", "least"), [("float32", 17.33), ("float16", 8.32), ("bfloat16", 6.24)])
def test_a_sigmoid_is_one_from_this_logit_on(name: str, least: float) -> None:
    for logit, count in ((least, 2), (least - 1, 0)):
        logits = np.array([logit, 30, -2], dtype=np.float32)
        assert equal_scores(activated(logits, "sigmoid"), logits)[name] == count


@pytest.mark.parametrize(
    ("task", "changes", "options", "message"),
    [
        (CLASS, {"num_labels": 1}, ranking_options("  ", TEXTS, "", "own"), "query is empty"),
        (CLASS, {"num_labels": 1}, ranking_options(QUERY, (), "", "own"), "no texts to rank"),
        (CLASS, {"num_labels": 1}, ranking_options(QUERY, ("a", " "), "", "own"), "Text 2 is blank"),
        (CLASS, {"num_labels": 1}, Options(TEXTS, QUERY, values={"query_sentence": "a"}), "leave out pair"),
        (CLASS, {"num_labels": 1}, ranking_options(QUERY, TEXTS, "", "no-such"), "no-such"),
        (CLASS, {"num_labels": 1}, ranking_options(QUERY, TEXTS, "good", "own"), "no class 'good'"),
        (CLASS, named("a", "b"), ranking_options(QUERY, TEXTS, "", "own"), "name one that ranks"),
        (CLASS, named(*NAMES), ranking_options(QUERY, TEXTS, "good", "own"), "no class 'good'"),
        (CLASS, named(*NAMES), ranking_options(QUERY, TEXTS, "", "own", "masked-lm"), "a task head for masked-lm"),
        ("masked-lm", {}, ranking_options(QUERY, TEXTS, "", "own"), "a task head for masked-lm"),
        ("base", {}, ranking_options(QUERY, TEXTS, "", "own"), "no such head"),
    ],
)
def test_what_cannot_be_ranked_is_refused_in_a_sentence(
    task: str, changes: dict[str, Any], options: Options, message: str, tmp_path: Path
) -> None:
    folder = save_tiny_head("bert", task, tmp_path / "tiny", **changes)
    opened = OpenedModel(str(folder), Settings.from_environment(any_folder=True))
    for ask in (lambda: ranked(opened, options), lambda: ranked.cost and ranked.cost(opened, options)):
        with pytest.raises(BertvizError, match=message) as refused:
            ask()
        assert "\n" not in str(refused.value)


def test_a_damaged_file_of_settings_is_refused(tmp_path: Path) -> None:
    folder = save_tiny_head("bert", CLASS, tmp_path / "tiny", num_labels=1)
    (folder / "modules.json").write_text("[]")
    (folder / "config_sentence_transformers.json").write_text("{")
    with pytest.raises(BertvizError, match="config_sentence_transformers.json"):
        scored(folder)


def test_an_activation_that_is_not_computed_leaves_the_logit(tmp_path: Path) -> None:
    folder = save_tiny_head("bert", CLASS, tmp_path / "tiny", num_labels=1)
    result = scored(changed(folder, sentence_transformers={"activation_fn": "torch.nn.modules.activation.Mish"}))
    assert result.score_name == "logit"
    np.testing.assert_array_equal(result.scores, result.logits)
    assert any("Mish" in notice for notice in result.notices)


def test_a_head_with_one_output_has_no_class_to_choose(tmp_path: Path) -> None:
    head, _ = opened_head(save_tiny_head("bert", CLASS, tmp_path / "tiny", num_labels=1), CLASS)
    assert ranking_class(head) == (0, "", ())


@pytest.mark.network
def test_a_real_cross_encoder() -> None:
    name = "cross-encoder/ms-marco-MiniLM-L6-v2"
    opened = OpenedModel(name, Settings.from_environment(any_folder=True))
    try:
        _ = opened.loaded
    except BertvizError as error:
        pytest.skip(f"{name} is not on this machine and cannot be fetched: {type(error).__name__}")
    texts = ("Berlin has a population of 3.7 million.", "Berlin is known for its museums.")
    result = ranked(opened, ranking_options("How many people live in Berlin?", texts, "", "")).result
    own = CrossEncoder(name, device="cpu").predict([(result.query, text) for text in texts])
    np.testing.assert_allclose(result.scores, own, atol=1e-5)
    assert result.order.tolist() == [0, 1]
