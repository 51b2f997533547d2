"""NumPy's matrix products in one thread, where several would wait for each other."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

BLAS_LOCK = Lock()
"""Held while the number of BLAS threads, a setting of the process, is changed."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit NumPy's BLAS to one thread.

    Each of several threads waits for all others, and is busy while it waits. On two busy cores a product of
    (384, 8) and (8, 384) took up to 190 ms with two threads and 0.1 ms with one (median).
    """
    with BLAS_LOCK, _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> "ThreadpoolController":
    """The BLAS libraries of NumPy; finding them takes longer than a command has that only lists parameters."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
