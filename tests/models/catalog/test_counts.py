"""The packaged configs give the published parameter counts: each entry is built on the meta device."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForPreTraining,
    AutoModelForSequenceClassification,
)

CATALOG = Path(__file__).parents[3] / "bertviz_core" / "models" / "catalog" / "configs"
FAMILIES = (
    "albert",
    "bert",
    "bert-miniatures",
    "deberta-v3",
    "distilbert",
    "electra",
    "minilm",
    "modernbert",
    "mpnet",
    "roberta",
    "xlm-roberta",
)
NOT_A_FAMILY = {"fine-tuned"}
NOISE = {"_name_or_path", "transformers_version", "torch_dtype", "gradient_checkpointing", "task_specific_params"}

MINIATURES = {(layers, width) for layers in (2, 4, 6, 8, 10, 12) for width in (128, 256, 512, 768)}
MINIATURE_ALIASES = {(2, 128): "bert-tiny", (4, 256): "bert-mini", (4, 512): "bert-small", (8, 512): "bert-medium"}


def miniature(layers: int, width: int) -> str:
    return f"bert_uncased_L-{layers}_H-{width}_A-{width // 64}"


REQUIRED = {miniature(*shape) for shape in MINIATURES} | {
    "bert-base-uncased",
    "bert-base-cased",
    "bert-large-uncased",
    "bert-large-cased",
    "bert-base-multilingual-uncased",
    "bert-base-multilingual-cased",
    "distilbert-base-uncased",
    "distilbert-base-cased",
    "distilbert-base-multilingual-cased",
    "roberta-base",
    "roberta-large",
    "distilroberta-base",
    "xlm-roberta-base",
    "xlm-roberta-large",
    "albert-base-v2",
    "albert-large-v2",
    "albert-xlarge-v2",
    "albert-xxlarge-v2",
    "electra-small-discriminator",
    "electra-base-discriminator",
    "electra-large-discriminator",
    "mpnet-base",
    "deberta-v3-xsmall",
    "deberta-v3-small",
    "deberta-v3-base",
    "deberta-v3-large",
    "ModernBERT-base",
    "ModernBERT-large",
    "all-MiniLM-L6-v2",
    "all-MiniLM-L12-v2",
}


def read_families() -> list[tuple[str, dict[str, Any]]]:
    """Every entry with its short name; a list, so that duplicate names are visible."""
    return [
        (name, entry)
        for family in FAMILIES
        for name, entry in json.loads((CATALOG / f"{family}.json").read_text(encoding="utf-8")).items()
    ]


ENTRIES = dict(read_families())
NAMES = sorted(ENTRIES)


@cache
def build(name: str, auto_class: Any = AutoModel) -> torch.nn.Module:
    """The entry's model on the meta device, where tensors have shapes and no storage."""
    settings = dict(ENTRIES[name]["config"])
    config = AutoConfig.for_model(settings.pop("model_type"), **settings)
    with torch.device("meta"):
        built: torch.nn.Module = auto_class.from_config(config)
    return built


def size(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


# Parts of the model that a published figure counts.


def model(name: str) -> int:
    """The model without any task head."""
    return size(build(name))


def pretraining_heads_too(name: str) -> int:
    """The model with its pretraining heads."""
    return size(build(name, AutoModelForPreTraining))


def word_head_not_pooler(name: str) -> int:
    """The model with the masked-LM head and without the pooler, which that class leaves out."""
    return size(build(name, AutoModelForMaskedLM))


def word_head_and_pooler(name: str) -> int:
    """The model with the masked-LM head and the pooler, as in a weights file that contains both."""
    whole: Any = build(name, AutoModelForMaskedLM)
    return model(name) + size(whole) - size(whole.base_model)


def stored_positions_too(name: str) -> int:
    """The model with the position numbers, a buffer that older files stored as a tensor."""
    whole: Any = build(name)
    return size(whole) + int(whole.embeddings.position_ids.numel())


def first_dense_of_head_too(name: str) -> int:
    """The model with the discriminator's square layer, which has the shape of a pooler."""
    whole: Any = build(name, AutoModelForPreTraining)
    return model(name) + size(whole.discriminator_predictions.dense)


def word_embeddings(name: str) -> int:
    """The table of word embeddings only."""
    whole: Any = build(name)
    return size(whole.get_input_embeddings())


def backbone_and_pooler(name: str) -> int:
    """All but the word embeddings, with a classifier's pooler."""
    whole: Any = build(name, AutoModelForSequenceClassification)
    return model(name) - word_embeddings(name) + size(whole.pooler)


@dataclass(frozen=True)
class Figure:
    """A printed count: "109,482,240", or rounded as in "4.4M"."""

    name: str
    printed: str
    source: str
    counts: Callable[[str], int] = model
    unit: int = 0
    """Rounding unit, if it is larger than the last digit."""
    cut: bool = False
    """Whether the count is truncated after the last digit instead of rounded."""

    def fits(self, count: int) -> bool:
        """Whether a count is printed as this figure."""
        if not self.printed.endswith("M"):
            return count == int(self.printed.replace(",", ""))
        digits = Decimal(self.printed.removesuffix("M"))
        exponent = digits.as_tuple().exponent
        assert isinstance(exponent, int)
        value = int(digits * 10**6)
        step = self.unit or 10 ** (6 + exponent)
        return value <= count < value + step if self.cut else abs(count - value) * 2 <= step


# Exact figures, where there are any, are of two kinds. KerasHub prints the size of each backbone it
# converted. The Hub sums the tensors of a weights file, so the heads in the file count too; the sums are in
# the table that came with safetensors issue 44, and in the Hub's own model data.
KERAS = "KerasHub, preset table"
FILE = "Hub, sum over model.safetensors"
TEN_MILLION = 10_000_000

BERT = (
    Figure("bert-base-uncased", "109,482,240", KERAS),
    Figure("bert-base-uncased", "110,106,428", FILE, pretraining_heads_too),
    # The paper's two figures are rounded to ten millions.
    Figure("bert-base-uncased", "110M", "Devlin et al. 2019, section 3", pretraining_heads_too, TEN_MILLION),
    Figure("bert-large-uncased", "335,141,888", KERAS),
    Figure("bert-large-uncased", "336,226,108", FILE, pretraining_heads_too),
    Figure("bert-large-uncased", "340M", "Devlin et al. 2019, section 3", pretraining_heads_too, TEN_MILLION),
    Figure("bert-base-cased", "108,310,272", KERAS),
    Figure("bert-base-cased", "108,932,934", FILE, pretraining_heads_too),
    Figure("bert-base-cased", "110M", "google-research/bert, README", pretraining_heads_too, TEN_MILLION),
    # The README's 340M for this one repeats the uncased figure; with its smaller vocabulary it is 334.7M.
    Figure("bert-large-cased", "333,579,264", KERAS),
    Figure("bert-large-cased", "334,661,958", FILE, pretraining_heads_too),
    # The multilingual README prints 110M for both, ignoring their far larger vocabularies.
    Figure("bert-base-multilingual-uncased", "168,055,961", FILE, pretraining_heads_too),
    Figure("bert-base-multilingual-cased", "177,853,440", KERAS),
    Figure("bert-base-multilingual-cased", "178,566,653", FILE, pretraining_heads_too),
)

# Turc et al. 2019, table 1, in millions; a row per number of layers, widths 128, 256, 512, 768. They count
# the pretraining heads: without them mini, small, medium and base would print as 11.2, 28.8, 41.4 and
# 109.5. Exact figures back tiny, small, medium and base below; the other cells have not been compared with
# a second source.
TURC_TABLE = {
    2: ("4.4", "9.7", "22.8", "39.2"),
    4: ("4.8", "11.3", "29.1", "53.4"),
    6: ("5.2", "12.8", "35.4", "67.5"),
    8: ("5.6", "14.4", "41.7", "81.7"),
    10: ("6.0", "16.0", "48.0", "95.9"),
    12: ("6.4", "17.6", "54.3", "110.1"),
}
# Counts of 67.58 and 81.75 million: the only two that the table truncates instead of rounding.
TURC_CUT = {"67.5", "81.7"}
BERT_MINIATURES = (
    *(
        Figure(
            miniature(layers, width),
            f"{cell}M",
            "Turc et al. 2019, table 1",
            pretraining_heads_too,
            cut=cell in TURC_CUT,
        )
        for layers, cells in TURC_TABLE.items()
        for width, cell in zip((128, 256, 512, 768), cells, strict=True)
    ),
    Figure(miniature(2, 128), "4,385,920", KERAS),
    Figure(miniature(4, 512), "28,763,648", KERAS),
    Figure(miniature(8, 512), "41,373,184", KERAS),
    # The same architecture as bert-base-uncased, trained again.
    Figure(miniature(12, 768), "109,482,240", KERAS),
)

DISTILBERT = (
    Figure("distilbert-base-uncased", "66,362,880", KERAS),
    Figure("distilbert-base-uncased", "66,985,530", FILE, word_head_not_pooler),
    Figure("distilbert-base-uncased", "66M", "Sanh et al. 2019, table 3"),
    Figure("distilbert-base-cased", "65,190,912", KERAS),
    Figure("distilbert-base-multilingual-cased", "134,734,080", KERAS),
    Figure("distilbert-base-multilingual-cased", "135,445,755", FILE, word_head_not_pooler),
)

# KerasHub's RoBERTa has neither pooler nor the two spare positions, so its figures are not used.
ROBERTA = (
    Figure("roberta-base", "124,697,433", FILE, word_head_not_pooler),
    Figure("roberta-base", "125M", "RoBERTa README in fairseq"),
    Figure("roberta-large", "355,412,057", FILE, word_head_not_pooler),
    Figure("roberta-large", "355M", "RoBERTa README in fairseq"),
    Figure("distilroberta-base", "82,760,793", FILE, word_head_and_pooler),
    Figure("distilroberta-base", "82M", "model card"),
)

XLM_ROBERTA = (
    Figure("xlm-roberta-base", "278,885,778", FILE, word_head_and_pooler),
    Figure("xlm-roberta-large", "561,192,082", FILE, word_head_and_pooler),
    # The paper's figures are imprecise: they fit only if truncated to ten millions.
    Figure("xlm-roberta-base", "270M", "Conneau et al. 2020, section 3", unit=TEN_MILLION, cut=True),
    Figure("xlm-roberta-large", "550M", "Conneau et al. 2020, section 3", unit=TEN_MILLION, cut=True),
)

ALBERT = (
    Figure("albert-base-v2", "11,683,584", KERAS),
    Figure("albert-base-v2", "12M", "Lan et al. 2020, table 1"),
    Figure("albert-large-v2", "17,683,968", KERAS),
    Figure("albert-large-v2", "18M", "Lan et al. 2020, table 1"),
    Figure("albert-xlarge-v2", "58,724,864", KERAS),
    Figure("albert-xlarge-v2", "60M", "Lan et al. 2020, table 1", unit=TEN_MILLION),
    # The paper's 235M fits no way of counting: 222.6M, or 223.2M with both pretraining heads.
    Figure("albert-xxlarge-v2", "222,595,584", KERAS),
    Figure("albert-xxlarge-v2", "223M", "model card"),
)

# KerasHub gives ELECTRA a pooler, which transformers' class lacks; the head's first layer has the same shape.
ELECTRA = (
    Figure("electra-small-discriminator", "13,548,800", KERAS, first_dense_of_head_too),
    Figure("electra-small-discriminator", "14M", "google-research/electra, README", pretraining_heads_too),
    Figure("electra-base-discriminator", "109,482,240", KERAS, first_dense_of_head_too),
    Figure("electra-base-discriminator", "110M", "google-research/electra, README", pretraining_heads_too, TEN_MILLION),
    Figure("electra-large-discriminator", "335,141,888", KERAS, first_dense_of_head_too),
    Figure("electra-large-discriminator", "335M", "google-research/electra, README", pretraining_heads_too),
)

MPNET = (
    # Printed for all-mpnet-base-v2, which is this model trained further.
    Figure("mpnet-base", "109,486,978", FILE, stored_positions_too),
    Figure("mpnet-base", "110M", "Song et al. 2020, section 3", unit=TEN_MILLION),
)

# The cards and the README print a backbone and an embedding part. The backbone figures come out only with one
# more square layer, a pooler or the discriminator's; which of the two they mean is not said.
DEBERTA_V3 = (
    Figure("deberta-v3-xsmall", "70,682,112", KERAS),
    Figure("deberta-v3-xsmall", "22M", "microsoft/DeBERTa, README", backbone_and_pooler),
    # The card's 48M for its embeddings is imprecise: 128,100 words of 384 numbers are 49.2M.
    Figure("deberta-v3-small", "141,304,320", KERAS),
    Figure("deberta-v3-small", "44M", "microsoft/DeBERTa, README", backbone_and_pooler),
    Figure("deberta-v3-small", "98M", "model card", word_embeddings),
    Figure("deberta-v3-base", "183,831,552", KERAS),
    Figure("deberta-v3-base", "86M", "microsoft/DeBERTa, README", backbone_and_pooler),
    Figure("deberta-v3-base", "98M", "model card", word_embeddings),
    Figure("deberta-v3-large", "434,012,160", KERAS),
    Figure("deberta-v3-large", "304M", "microsoft/DeBERTa, README", backbone_and_pooler),
    Figure("deberta-v3-large", "131M", "model card", word_embeddings),
)

MODERNBERT = (
    Figure("ModernBERT-base", "149,014,272", KERAS),
    Figure("ModernBERT-base", "149,655,232", FILE, word_head_not_pooler),
    Figure("ModernBERT-base", "149M", "Warner et al. 2024, section 2"),
    Figure("ModernBERT-large", "394,781,696", KERAS),
    Figure("ModernBERT-large", "395,881,664", FILE, word_head_not_pooler),
    Figure("ModernBERT-large", "395M", "Warner et al. 2024, section 2"),
)

MINILM = (
    Figure("all-MiniLM-L6-v2", "22,713,728", FILE, stored_positions_too),
    Figure("all-MiniLM-L6-v2", "22.7M", "Hub, model page"),
    Figure("all-MiniLM-L12-v2", "33,360,512", FILE, stored_positions_too),
    Figure("all-MiniLM-L12-v2", "33.4M", "Hub, model page"),
)

FIGURES = (
    *BERT,
    *BERT_MINIATURES,
    *DISTILBERT,
    *ROBERTA,
    *XLM_ROBERTA,
    *ALBERT,
    *ELECTRA,
    *MPNET,
    *DEBERTA_V3,
    *MODERNBERT,
    *MINILM,
)


@pytest.mark.sample(18)
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: f"{figure.name}-{figure.printed}")
def test_count_is_the_published_one(figure: Figure) -> None:
    count = figure.counts(figure.name)
    assert figure.fits(count), f"{figure.printed} ({figure.source}) is not what {count:,} prints as"


def test_every_entry_has_a_published_figure() -> None:
    assert {figure.name for figure in FIGURES} == set(ENTRIES)


def test_bert_base_has_199_named_parameters() -> None:
    assert len(list(build("bert-base-uncased").named_parameters())) == 199


@pytest.mark.parametrize("name", [name for name in NAMES if ENTRIES[name]["config"]["model_type"] == "bert"])
def test_bert_count_follows_from_the_sizes(name: str) -> None:
    config = ENTRIES[name]["config"]
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    tables = config["vocab_size"] + config["max_position_embeddings"] + config["type_vocab_size"]
    attention = 4 * hidden * hidden + 4 * hidden
    feed_forward = 2 * hidden * inner + inner + hidden
    norms = 2 * 2 * hidden
    pooler = hidden * hidden + hidden
    layers = config["num_hidden_layers"] * (attention + feed_forward + norms)
    assert model(name) == tables * hidden + 2 * hidden + layers + pooler


def test_catalogue_holds_the_required_architectures() -> None:
    assert {path.stem for path in CATALOG.glob("*.json")} - NOT_A_FAMILY == set(FAMILIES)
    assert len(MINIATURES) == 24
    assert set(ENTRIES) >= REQUIRED
    for shape, alias in MINIATURE_ALIASES.items():
        assert ENTRIES[miniature(*shape)]["aliases"] == [alias]


def test_names_and_hub_ids_are_unique_in_any_case() -> None:
    rows = read_families()
    names = [name.casefold() for row_name, row in rows for name in (row_name, *row["aliases"])]
    hub_ids = [row["hub_id"].casefold() for _, row in rows]
    titles = [row["title"].casefold() for _, row in rows]
    for words in (names, hub_ids, titles):
        assert sorted(set(words)) == sorted(words)


@pytest.mark.parametrize("name", NAMES)
def test_entry_is_complete(name: str) -> None:
    entry = ENTRIES[name]
    assert set(entry) == {"hub_id", "title", "aliases", "licence", "parameters", "config"}
    organisation, _, last_part = entry["hub_id"].partition("/")
    assert organisation
    assert last_part == name
    assert not NOISE & set(entry["config"])
    (architecture,) = entry["config"]["architectures"]
    assert getattr(transformers, architecture).config_class.model_type == entry["config"]["model_type"]


def test_miniatures_have_the_sizes_in_their_names() -> None:
    for layers, width in MINIATURES:
        config = ENTRIES[miniature(layers, width)]["config"]
        assert (config["num_hidden_layers"], config["hidden_size"]) == (layers, width)
        assert (config["num_attention_heads"], config["intermediate_size"]) == (width // 64, 4 * width)


@pytest.mark.sample(33)
@pytest.mark.parametrize("name", NAMES)
def test_the_packaged_count_is_that_of_the_model(name: str) -> None:
    assert ENTRIES[name]["parameters"] == size(build(name))
