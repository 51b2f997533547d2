"""Messages of the Corpus page for corpora in which there is nothing to compare."""

import numpy as np

from bertviz_core.corpus.analysis.duplicates import duplicate_groups
from bertviz_core.questions.views.corpus import no_duplicates


def test_a_single_row_is_said_to_have_nothing_to_be_like() -> None:
    alone = no_duplicates(duplicate_groups(np.eye(1, dtype=np.float32), 0.9), True)
    assert alone == "Near duplicates need at least two rows, and this corpus has 1 to compare."
    assert no_duplicates(duplicate_groups(np.eye(2, dtype=np.float32), 0.9), False).startswith("No two of the 2 rows")
