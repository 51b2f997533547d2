"""A run on a pair of texts, for the tests of maps."""

import pytest

from bertviz_core.trace.results import Trace
from tests.helpers.made_traces import PIECES, random_trace


@pytest.fixture
def pair() -> Trace:
    """Random weights of three heads on text A, [CLS] python , [SEP], and text B, my pets [SEP]."""
    return random_trace(3, len(PIECES), tokens=PIECES)
