"""transformers is imported once, even if many threads need it at the same time; a family may be newer than it.

Covers `bertviz_core/models/skeleton.py`.
"""

import subprocess
import sys

import pytest

from bertviz_core.errors import CheckpointError
from bertviz_core.models.skeleton import model_config

CODE = """
import threading
from bertviz_core.settings import Settings
from bertviz_core.models.sources import resolve
from bertviz_core.parameters.ledger import source_ledger
barrier, totals, settings = threading.Barrier(4), [], Settings.from_environment()
def count():
    barrier.wait()
    totals.append(source_ledger(resolve("bert-tiny", settings), settings).total)
threads = [threading.Thread(target=count) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(totals)
"""


@pytest.mark.slow
def test_four_threads_that_need_it_at_once_all_get_it() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str([4_385_920] * 4), done.stderr[-2000:]


def test_a_family_that_the_installed_transformers_lacks_is_one_sentence() -> None:
    with pytest.raises(CheckpointError, match=r"the family 'newest', which transformers \d.* lacks; install a newer"):
        model_config("mine", {"model_type": "newest"})
