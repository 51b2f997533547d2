"""Compare two results by value, numbers to a hundred-thousandth."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np


def assert_same(one: Any, other: Any) -> None:
    """Assert that two results have the same values."""
    assert type(one) is type(other)
    if dataclasses.is_dataclass(one):
        for each in dataclasses.fields(one):
            if each.name != "seconds":
                assert_same(getattr(one, each.name), getattr(other, each.name))
    elif isinstance(one, tuple | list):
        assert len(one) == len(other)
        for first, second in zip(one, other, strict=True):
            assert_same(first, second)
    elif isinstance(one, Mapping):
        assert_same(list(one.items()), list(other.items()))
    elif isinstance(one, np.ndarray | float) and np.asarray(one).dtype.kind == "f":
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    elif isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other)
    else:
        assert one == other
