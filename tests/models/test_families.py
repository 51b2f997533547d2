"""A family is described in one row, and docs/adding-a-family.md names every other place.

A fictional family is added by following that page: registered with transformers, its facts generated, its row added,
saved, and read like any other.

Covers `bertviz_core/models/catalog/generate.py`.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers.models.auto import configuration_auto, modeling_auto

from bertviz_core.hidden_states.embeddings import embedding_sum
from bertviz_core.models import catalog, families
from bertviz_core.models.catalog.generate import model_type_row
from bertviz_core.models.families import FAMILIES, Family, family
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import folder_source
from bertviz_core.parameters import naming
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.settings import Settings
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from tests.helpers.families_table import own_output
from tests.helpers.tiny_models import BASE, HIDDEN, INTERMEDIATE, LAYERS, TEXT, tiny_tokenizer, vocabulary
from tests.house.layout import python_files

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "adding-a-family.md"
MOST_MODULES = 6
WITH_TYPES = ("bertviz_core/models/catalog/", "bertviz_core/models/own/")
PET = "pet-bert"
TRICKS = 5
ROW = Family("Pet BERT", parts=(("tricks", "feed_forward"),))


class PetBertConfig(transformers.BertConfig):
    """The config of an unpublished family."""

    model_type = PET


class PetBertModel(transformers.BertModel):
    """BERT with positions from row 2, and with an extra matrix under its own name in each layer."""

    config_class = PetBertConfig

    def __init__(self, config: PetBertConfig, **options: Any) -> None:
        super().__init__(config, **options)
        for layer in self.encoder.layer:
            layer.tricks = torch.nn.Linear(config.hidden_size, TRICKS, bias=False)

    def forward(self, input_ids: torch.Tensor, **inputs: Any) -> Any:
        """BERT's forward pass, with positions from row 2."""
        return super().forward(input_ids, position_ids=torch.arange(input_ids.shape[1])[None] + 2, **inputs)


@pytest.fixture
def pet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkpoint of the family, known to transformers and to the packaged facts; it has no row yet."""
    monkeypatch.setattr("transformers.PetBertConfig", PetBertConfig, raising=False)
    monkeypatch.setattr("transformers.PetBertModel", PetBertModel, raising=False)
    monkeypatch.setitem(configuration_auto.CONFIG_MAPPING_NAMES, PET, "PetBertConfig")
    monkeypatch.setitem(modeling_auto.MODEL_MAPPING_NAMES, PET, "PetBertModel")
    monkeypatch.setitem(configuration_auto.CONFIG_MAPPING._extra_content, PET, PetBertConfig)
    monkeypatch.setitem(modeling_auto.MODEL_MAPPING._extra_content, PetBertConfig, PetBertModel)
    row = model_type_row(PET)
    assert row is not None
    assert row["class"] == "PetBertModel"
    monkeypatch.setitem(catalog._library()["types"], PET, row)
    catalog.type_facts.cache_clear()
    torch.manual_seed(0)
    PetBertModel(PetBertConfig(**BASE, vocab_size=len(vocabulary()))).save_pretrained(tmp_path / "pet")
    tiny_tokenizer().save_pretrained(tmp_path / "pet")
    yield tmp_path / "pet"
    catalog.type_facts.cache_clear()
    forget_names()


def forget_names() -> None:
    """Clear the cached roles of names of each family, which change with a new row."""
    naming._classify.cache_clear()
    naming._role_of_form.cache_clear()


def feed_forward(folder: Path, settings: Settings) -> set[int]:
    """Numbers of parameters of the feed-forward part over the layers."""
    forget_names()
    return {row.feed_forward for row in source_ledger(folder_source("pet", folder), settings).layers}


def test_a_row_is_all_that_a_new_family_needs(pet: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    source = folder_source("pet", pet)
    loaded = load_model(source, settings)
    tokens = tokenize(load_tokenizer(source, settings), TEXT)
    run = trace(loaded, tokens)
    own = own_output(pet, loaded, [tokens])
    np.testing.assert_allclose(
        run.hidden_states, np.stack([state[0].numpy() for state in own.hidden_states]), atol=1e-5
    )
    plain = 2 * HIDDEN * INTERMEDIATE + INTERMEDIATE + HIDDEN
    assert feed_forward(pet, settings) == {plain}, "without a row its own matrix is taken for something else"

    monkeypatch.setattr(families, "FAMILIES", {**FAMILIES, PET: ROW})
    assert feed_forward(pet, settings) == {plain + HIDDEN * TRICKS}
    ledger = source_ledger(source, settings)
    assert ledger.total == loaded.model.num_parameters()
    assert len(ledger.layers) == LAYERS
    assert embedding_sum(loaded, run).exact


def test_a_type_without_a_row_gets_the_common_case() -> None:
    assert family("no-such-type") == Family("no-such-type")
    assert family("distilbert") == Family("DistilBERT", heads_compared=True)


def literal_modules(root: Path) -> dict[str, set[str]]:
    """Modules with model types of the table in their code -> the types; without the table and the catalogue."""
    named: dict[str, set[str]] = {}
    for path in python_files(root):
        place = path.relative_to(root).as_posix()
        if place == "bertviz_core/models/families.py" or place.startswith(WITH_TYPES):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in FAMILIES:
                named.setdefault(place, set()).add(node.value)
    return named


@pytest.mark.slow
def test_few_modules_name_a_family_and_the_guide_names_them() -> None:
    named = literal_modules(ROOT)
    assert len(named) <= MOST_MODULES, named
    guide = GUIDE.read_text(encoding="utf-8")
    assert [place for place in named if place not in guide] == []


def test_a_module_that_names_a_family_is_seen(tmp_path: Path) -> None:
    (tmp_path / "ui").mkdir()
    (tmp_path / "ui" / "late.py").write_text('if model_type == "albert":\n    ...\nwords = "albert einstein"\n')
    assert literal_modules(tmp_path) == {"ui/late.py": {"albert"}}
