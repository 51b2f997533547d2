"""A head's profile: measures of an atlas and shares on neighbours, equal to a loop over the rows."""

import numpy as np
import pytest

from bertviz_core.attention.atlas import PROFILE_MEASURES, attention_atlas, head_profile
from bertviz_core.attention.maps import attention_probs
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import resolve
from bertviz_core.settings import Settings
from bertviz_core.trace.results import Trace
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import load_tokenizer, tokenize


@pytest.fixture(scope="module")
def run() -> Trace:
    settings = Settings.from_environment()
    source = resolve("all-MiniLM-L6-v2", settings)
    tokenizer = load_tokenizer(source, settings)
    return trace(load_model(source, settings), tokenize(tokenizer, "The [SEP] bank of the river was flooded."))


def test_entropy_distance_and_diagonal_are_those_of_the_atlas(run: Trace) -> None:
    profile = dict(zip(PROFILE_MEASURES, head_profile(run), strict=True))
    atlas = attention_atlas(run).measures
    np.testing.assert_allclose(profile["entropy"], atlas.entropy, rtol=1e-5)
    np.testing.assert_allclose(profile["distance"], atlas.distance, rtol=1e-5)
    np.testing.assert_allclose(profile["diagonal_share"], atlas.diagonal_share, rtol=1e-5)
    special = profile["first_share"] + profile["separator_share"]
    np.testing.assert_allclose(special, atlas.special_share, rtol=1e-5)


def test_shares_are_those_of_a_loop(run: Trace) -> None:
    profile = dict(zip(PROFILE_MEASURES, head_profile(run), strict=True))
    assert run.tokens.tokens[2] == run.tokens.tokens[-1] == "[SEP]"
    seq = len(run.tokens)
    for layer in range(run.num_hidden_layers):
        for head, rows in enumerate(attention_probs(run, layer)):
            place = (layer, head)
            assert profile["first_share"][place] == pytest.approx(np.mean([row[0] for row in rows]), rel=1e-4)
            separators = [row[2] + row[seq - 1] for row in rows]
            assert profile["separator_share"][place] == pytest.approx(np.mean(separators), rel=1e-4, abs=1e-6)
            before = [rows[query][query - 1] for query in range(1, seq)]
            after = [rows[query][query + 1] for query in range(seq - 1)]
            assert profile["previous_share"][place] == pytest.approx(sum(before) / seq, rel=1e-4)
            assert profile["next_share"][place] == pytest.approx(sum(after) / seq, rel=1e-4)


def test_tiles_change_nothing(run: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    from bertviz_core.attention import atlas as measures
    from bertviz_core.attention import maps as probabilities

    whole = head_profile(run)
    monkeypatch.setattr(measures, "row_tiles", lambda seq: probabilities.row_tiles(seq, cells=2 * seq))
    monkeypatch.setattr(measures, "head_batches", lambda heads, seq: probabilities.head_batches(heads, seq, 5 * seq**2))
    np.testing.assert_allclose(head_profile(run), whole, rtol=1e-5)


def test_a_run_without_attention_is_refused(run: Trace) -> None:
    import dataclasses

    bare = dataclasses.replace(run, query=None, key=None, attention_source="none", attention_note="It has none.")
    with pytest.raises(UnsupportedModelError, match="It has none"):
        head_profile(bare)
