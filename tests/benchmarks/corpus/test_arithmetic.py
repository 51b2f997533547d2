"""Costs follow from growths, and shards are cut as the command allows."""

import numpy as np
import pytest

from benchmarks.corpus.arithmetic import JOBS, estimates, shards_for
from benchmarks.corpus.growth import Growth
from bertviz_core.corpus.manifest import MAX_SHARDS

COUNTS = (10**7, 10**8, 10**9)


@pytest.mark.parametrize("rows", [1, 4_096, 4_097, 4_096 * MAX_SHARDS, 4_096 * MAX_SHARDS + 1, 10**9, 10**12])
def test_shards_hold_all_rows_and_are_not_too_many(rows: int) -> None:
    cut = shards_for(rows)
    assert (cut.count - 1) * cut.rows_each < rows <= cut.count * cut.rows_each
    assert cut.count <= MAX_SHARDS
    assert cut.rows_each == 4_096 or rows > 4_096 * MAX_SHARDS


def test_a_job_of_several_growths_is_their_sum() -> None:
    growths = {
        "shards on the disk": Growth("n", "rows", (10, 20), (7_000.0, 14_000.0)),
        "file of vectors": Growth("n", "rows", (10, 30), (7_808.0, 7_808.0 + 20 * 768)),
    }
    found = {each.job: each for each in estimates(growths, COUNTS)}
    assert found["disk for the shards"].values == pytest.approx([700.0 * rows for rows in COUNTS])
    both = found["disk for the shards and the file of vectors"]
    assert both.values == pytest.approx([(700.0 + 768) * rows + 128 for rows in COUNTS])
    assert both.measured == 20
    assert both.factors == tuple(rows / 20 for rows in COUNTS)
    assert "opening" not in found


def test_what_grows_with_the_shards_is_taken_at_their_number() -> None:
    growths = {"opening seconds": Growth("n", "shards", (1_000, 25_000), (1.0, 25.0))}
    found = {each.job: each for each in estimates(growths, COUNTS)}
    assert found["opening"].values == pytest.approx([shards_for(rows).count / 1_000 for rows in COUNTS])
    assert found["opening"].factors[0] < 1


def test_processors_of_a_day_have_time_for_all_rows() -> None:
    growths = {"embedding seconds": Growth("n", "rows", (1_000, 2_000), (86.4, 172.8))}  # a million rows in a day
    found = {each.job: each for each in estimates(growths, COUNTS)}
    assert found["processors that embed it in a day"].values == pytest.approx([10, 100, 1_000], abs=1)


def test_every_growth_of_the_simulation_has_a_job() -> None:
    from benchmarks.corpus.scale_page import stored

    used = {name for _, _, names in JOBS for name in names}
    assert set(stored().growths) - used == {"planning seconds by shards"}


def test_what_is_kept_of_a_map_is_counted_exactly() -> None:
    growths = {"principal components memory": Growth("constant", "rows", (1_000, 2_000), (3e6, 4e6))}
    found = {each.job: each for each in estimates(growths, COUNTS)}
    assert found["memory of that beside the points"].values == (4e6, 4e6, 4e6)
    points = np.zeros((1_000, 2), dtype=np.float32)
    assert found["memory of its points"].values == tuple(points.nbytes * rows / len(points) for rows in COUNTS)
