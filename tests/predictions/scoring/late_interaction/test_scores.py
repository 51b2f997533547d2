"""Late interaction against sentence-transformers' MultiVectorEncoder and against its published definition.

Covers `bertviz_core/predictions/late_interaction.py`,
`bertviz_core/predictions/results.py`.
"""

import json
import string
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.util import maxsim
from transformers import AutoTokenizer, BertModel

from bertviz_core.errors import TextError
from bertviz_core.predictions.late_interaction import InteractionEncoder, interaction_scores, late_interaction, max_sims
from bertviz_core.predictions.late_interaction_plan import UNTRAINED, interaction_plan
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.settings import Settings
from tests.helpers.multi_vector import DIMENSIONS, DOCUMENT, EXPANDED, save_multi_vector, save_pylate, save_stanford
from tests.helpers.tiny_models import save_tiny

QUERY = "I love my pet python."
TEXTS = ("the river bank, my pet.", "I love the bank", "my river, the river and my bank. " * 4, "pets , python")
EXPANSIONS = {
    "none": None,
    "fixed": {"strategy": "fixed", "attend": False, "length": EXPANDED},
    "attend": {"strategy": "fixed", "attend": True, "length": EXPANDED},
    "cut": {"strategy": "fixed", "attend": False, "length": 5},
    "min": {"strategy": "min", "attend": False, "length": EXPANDED},
    "longer than min": {"strategy": "min", "attend": False, "length": 4},
    "token": {"strategy": "fixed", "attend": True, "length": EXPANDED, "token": "bank"},
}


def encoder(folder: Path) -> InteractionEncoder:
    opened = OpenedModel(str(folder), Settings.from_environment(any_folder=True))
    return InteractionEncoder(opened.loaded, opened.tokenizer, interaction_plan(opened.source, opened.settings))


def check_equal(folder: Path, query: str = QUERY) -> InteractionEncoder:
    """Vectors, scores and the cosines of single documents are those of the library, to 1e-5."""
    library, own = MultiVectorEncoder(str(folder), device="cpu"), encoder(folder)
    vectors, documents = library.encode_query(query), library.encode_document(list(TEXTS))
    np.testing.assert_allclose(own.query(query).vectors, vectors.numpy(), atol=1e-5)
    expected = library.similarity([vectors], documents)[0].numpy()
    np.testing.assert_allclose(interaction_scores(own, query, TEXTS).scores, expected, atol=1e-5)
    for text, each, score in zip(TEXTS, documents, expected.tolist(), strict=True):
        result = late_interaction(own, query, text)
        np.testing.assert_allclose(result.cosines, (vectors @ each.T).numpy(), atol=1e-5)
        assert result.score == pytest.approx(score, abs=1e-5)
        assert (len(result.query_tokens), len(result.document_tokens)) == (len(vectors), len(each))
    return own


@pytest.mark.sample(1)
@pytest.mark.parametrize("family", ["bert", "modernbert"])
@pytest.mark.parametrize("name", EXPANSIONS)
def test_queries_are_expanded_as_in_the_library(family: str, name: str, tmp_path: Path) -> None:
    own = check_equal(save_multi_vector(family, tmp_path / "tiny", expansion=EXPANSIONS[name]))
    result = late_interaction(own, QUERY, TEXTS[0])
    filler = "bank" if name == "token" else "[MASK]"
    assert set(np.array(result.query_tokens)[result.expanded]) <= {filler}
    assert bool(result.expanded.any()) is (name not in ("none", "cut", "longer than min"))
    assert result.skipped == (",", ".")


@pytest.mark.sample(2)
@pytest.mark.parametrize("family", ["bert", "modernbert", "roberta"])
@pytest.mark.parametrize(
    "changes",
    [
        {"prompts": {}, "skiplist": []},
        {"skiplist": [*string.punctuation, "river"], "skipping": ["query", "document"]},
        {
            "skiplist": ["my", "[UNK]", "nowhere"],
            "skipping": "query",
            "lengths": {"query_length": 17, "document_length": 19},
        },
        {"lengths": {"document_length": 9, "query_length": 6}, "expansion": None},
        {"activation": torch.nn.Tanh(), "similarity": "meanmaxsim"},
        {"normalize": False},
    ],
    ids=str,
)
def test_prompts_skip_lists_lengths_and_modules_are_those_of_the_library(
    family: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    own = check_equal(save_multi_vector(family, tmp_path / "tiny", **changes))
    assert own.plan.mean is ("similarity" in changes)
    assert own.plan.normalize is changes.get("normalize", True)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "config",
    [
        {},
        {"skiplist_words": None, "attend_to_expansion_tokens": True},
        {"do_query_expansion": False, "prompts": {"query": "[Q] my ", "document": "the "}},
        {"query_prefix": "my ", "document_prefix": "", "query_length": None},
    ],
    ids=str,
)
def test_folders_of_pylate_are_read_as_the_library_reads_them(config: dict[str, Any], tmp_path: Path) -> None:
    if "query_length" in config:  # the library's 32 tokens have no room in a tiny model
        config = config | {"query_expansion": {"strategy": "min", "length": 3}}
    folder = save_pylate(tmp_path / "tiny", **config)
    if config.get("skiplist_words", ()) is None:
        path = folder / "config_sentence_transformers.json"
        saved = json.loads(path.read_text())
        path.write_text(json.dumps({key: value for key, value in saved.items() if key != "skiplist_words"}))
    own = check_equal(folder)
    assert own.plan.format == "PyLate"
    if not config:
        assert late_interaction(own, QUERY, TEXTS[0]).query_tokens[1].lower() == "[q] "


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "metadata",
    [{}, {"mask_punctuation": False, "attend_to_mask_tokens": True}, {"query_token_id": "[unused1]"}],
    ids=str,
)
def test_folders_of_stanford_are_read_as_the_library_reads_them(metadata: dict[str, Any], tmp_path: Path) -> None:
    own = check_equal(save_stanford(tmp_path / "tiny", **metadata))
    assert own.plan.format == "Stanford"


def test_the_score_of_stanford_is_its_published_definition(tmp_path: Path) -> None:
    """Khattab and Zaharia 2020, section 3.2: markers behind [CLS], masks up to the length, punctuation filtered."""
    folder = save_stanford(tmp_path / "tiny")
    tokenizer, weights = AutoTokenizer.from_pretrained(folder), load_file(folder / "model.safetensors")
    model = BertModel.from_pretrained(folder, key_mapping={r"^bert\.": ""}).eval()
    ids = tokenizer.get_vocab()

    def encoded(tokens: list[int], seen: int) -> torch.Tensor:
        mask = torch.tensor([[1] * seen + [0] * (len(tokens) - seen)])
        with torch.no_grad():
            states = model(input_ids=torch.tensor([tokens]), attention_mask=mask).last_hidden_state[0]
        vectors = states @ weights["linear.weight"].T
        return vectors / vectors.norm(dim=1, keepdim=True)

    def marked(text: str, marker: str, length: int) -> list[int]:
        words = tokenizer(text, add_special_tokens=False)["input_ids"][: length - 3]
        return [ids["[CLS]"], ids[marker], *words, ids["[SEP]"]]

    query = marked(QUERY, "[unused0]", EXPANDED)
    first = encoded(query + [ids["[MASK]"]] * (EXPANDED - len(query)), len(query))
    own = encoder(folder)
    for text in TEXTS:
        document = marked(text, "[unused1]", DOCUMENT)
        chosen = [place for place, each in enumerate(document) if each not in (ids["."], ids[","])]
        second = encoded(document, len(document))[chosen]
        expected = float((first @ second.T).max(dim=1).values.sum())
        result = late_interaction(own, QUERY, text)
        assert result.score == pytest.approx(expected, abs=1e-5)
        assert result.largest.sum() == pytest.approx(expected, abs=1e-5)
        assert result.dimensions == DIMENSIONS


def test_an_encoder_that_was_not_trained_for_it_is_compared_by_its_last_states(tmp_path: Path) -> None:
    folder = save_tiny("bert", tmp_path / "tiny")
    tokenizer, model = AutoTokenizer.from_pretrained(folder), BertModel.from_pretrained(folder).eval()
    with torch.no_grad():
        states = [model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0] for text in (QUERY, TEXTS[0])]
    first, second = (each / each.norm(dim=1, keepdim=True) for each in states)
    result = late_interaction(encoder(folder), QUERY, TEXTS[0])
    np.testing.assert_allclose(result.cosines, (first @ second.T).numpy(), atol=1e-5)
    assert not result.trained
    assert UNTRAINED in result.notices
    assert result.best.tolist() == (first @ second.T).argmax(dim=1).tolist()


def test_largest_products_are_summed_for_each_document() -> None:
    generator = np.random.default_rng(0)
    query = generator.normal(size=(5, 3)).astype(np.float32)
    documents = [generator.normal(size=(count, 3)).astype(np.float32) for count in (4, 1, 7)]
    expected = maxsim([torch.tensor(query)], [torch.tensor(each) for each in documents])[0].numpy()
    np.testing.assert_allclose(max_sims(query, documents), expected, atol=1e-5)


def test_a_document_of_skipped_tokens_alone_is_refused(tmp_path: Path) -> None:
    folder = save_multi_vector("bert", tmp_path / "tiny", prompts={}, skiplist=[".", "[CLS]", "[SEP]"])
    with pytest.raises(TextError, match="No token of the document '..' is scored"):
        interaction_scores(encoder(folder), QUERY, ["a", ".."])
