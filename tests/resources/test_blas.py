"""The number of BLAS threads is one while products are computed, and then what it was."""

import numpy as np
from threadpoolctl import threadpool_info

from bertviz_core.resources import one_blas_thread


def threads() -> set[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    blas = [each for each in threadpool_info() if each["user_api"] == "blas" and "numpy" in each["filepath"]]
    assert blas
    return {each["num_threads"] for each in blas}


def test_one_thread_within_and_as_many_as_before_after_it() -> None:
    before = threads()
    with one_blas_thread():
        assert threads() == {1}
    assert threads() == before
