"""The sum of the embeddings equals the input of the model's first layer, with the positions looked up in its table.

Covers `bertviz_core/hidden_states/embeddings.py`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import CONFIG_MAPPING, AutoModel

from bertviz_core.hidden_states.embeddings import embedding_sum
from bertviz_core.hidden_states.results import EmbeddingSum
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import folder_source
from bertviz_core.settings import Settings
from bertviz_core.trace.run import trace
from tests.helpers.decoders import BOTH_STACKS, DECODERS
from tests.helpers.made_traces import tokens_of

SEQ = 6
BERT = {"hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 14}
IDS = {"vocab_size": 37, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
REFORMER = {
    "hidden_size": 12,
    "attn_layers": ["local", "lsh"],
    "axial_pos_embds_dim": [4, 8],
    "axial_pos_shape": [4, 8],
    "num_attention_heads": 2,
    "attention_head_size": 6,
    "feed_forward_size": 14,
    "is_decoder": False,
    "local_attn_chunk_length": 8,
    "lsh_attn_chunk_length": 8,
    "max_position_embeddings": 32,
}
EXACT: dict[str, tuple[dict[str, Any], list[int] | None]] = {
    "bart": (BOTH_STACKS, [2, 3]),
    "bloom": ({**DECODERS["bloom"]}, None),
    "dpr": (BERT, [0, 1]),
    "m2m_100": (BOTH_STACKS, None),
    "marian": (BOTH_STACKS, [0, 1]),
    "mbart": ({**BOTH_STACKS, "scale_embedding": True}, [2, 3]),
    "mvp": (BOTH_STACKS, [2, 3]),
    "opt": (DECODERS["opt"], [2, 3]),
    "plbart": (BOTH_STACKS, [2, 3]),
    "xglm": (DECODERS["xglm"], None),
}


def added(model_type: str, sizes: dict[str, Any], folder: Path) -> EmbeddingSum:
    torch.manual_seed(0)
    model = AutoModel.from_config(CONFIG_MAPPING[model_type](**{**IDS, **sizes}))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder)
    loaded = load_model(folder_source(model_type, folder), Settings.from_environment(any_folder=True))
    return embedding_sum(loaded, trace(loaded, tokens_of(SEQ)))


@pytest.mark.sample(4)
@pytest.mark.parametrize("model_type", EXACT)
def test_word_and_position_are_the_embeddings(model_type: str, tmp_path: Path) -> None:
    sizes, first = EXACT[model_type]
    parts = added(model_type, sizes, tmp_path)
    assert parts.exact, parts.inexact
    assert parts.inexact == ""
    positions = None if parts.position_ids is None else parts.position_ids[3:5].tolist()  # id 1 is the padding token
    assert positions == (None if first is None else [first[0] + 3, first[1] + 3])


@pytest.mark.parametrize(("model_type", "sizes"), [("reformer", REFORMER), ("ibert", {**BERT, "quant_mode": True})])
def test_a_family_that_does_more_is_shown_as_far_as_it_goes(
    model_type: str, sizes: dict[str, Any], tmp_path: Path
) -> None:
    parts = added(model_type, sizes, tmp_path)
    assert np.isfinite(parts.total).all()
    assert bool(parts.inexact) is not parts.exact
