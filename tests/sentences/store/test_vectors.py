"""The sentence store returns what was stored, within its limit, whatever happens to its files.

Covers `bertviz_core/tables/atomic_files.py`, `bertviz_core/sentences/store/vectors.py`,
`bertviz_core/sentences/store/keys.py`, `bertviz_core/sentences/store/shards.py`.
"""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pyarrow as pa
import pytest
from pyarrow.parquet import read_table, write_table

from bertviz_core.sentences.store import vectors as store_vectors
from bertviz_core.sentences.store.keys import SECRET_FILE, installation_secret
from bertviz_core.sentences.store.shards import StoredVectors
from bertviz_core.sentences.store.vectors import (
    LOCK_FILE,
    SET_ASIDE,
    SHARDS_FOLDER,
    WRITE_BATCH_VECTORS,
    ListVectors,
    SentenceStore,
)

MEGABYTE = 1024**2
WRITER = """
import resource, sys
from pathlib import Path
import numpy as np
from bertviz_core.sentences.store.shards import StoredVectors
from bertviz_core.sentences.store.vectors import SentenceStore
store, first, count = SentenceStore(Path(sys.argv[1]), 10**9), int(sys.argv[2]), int(sys.argv[3])
if len(sys.argv) > 4:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), int(sys.argv[4])))
for number in range(first, first + count):
    keys = [b"%d-%d" % (number, row) for row in range(50)]
    counts = np.full(50, number)
    store.put(keys, StoredVectors(np.full((50, 96), number, dtype=np.float32), counts, counts < 0))
    print(number, *store.notices, flush=True)
"""
Stored = dict[bytes, tuple[list[float], int, bool]]


def keys_of(numbers: Sequence[int]) -> list[bytes]:
    return [number.to_bytes(16, "big") for number in numbers]


def some(numbers: Sequence[int], width: int = 384) -> StoredVectors:
    """Vectors that encode their number."""
    array = np.asarray(numbers)
    return StoredVectors(np.repeat(array[:, None], width, axis=1).astype(np.float32), array + 1, array % 2 == 0)


def put(store: SentenceStore, numbers: Sequence[int], width: int = 384) -> None:
    store.put(keys_of(numbers), some(numbers, width))


def got(store: SentenceStore, keys: Sequence[bytes]) -> Stored:
    """Stored vectors of some keys."""
    stored_vectors: Stored = {}
    for places, stored in store.get(keys):
        for row, place in enumerate(places.tolist()):
            assert keys[place] not in stored_vectors
            stored_vectors[keys[place]] = (
                stored.vectors[row].tolist(),
                int(stored.tokens[row]),
                bool(stored.truncated[row]),
            )
    return stored_vectors


def expected(numbers: Sequence[int], width: int = 384) -> Stored:
    return {
        key: ([float(number)] * width, number + 1, number % 2 == 0)
        for number, key in zip(numbers, keys_of(numbers), strict=True)
    }


def has(store: SentenceStore, numbers: Sequence[int]) -> set[int]:
    """Numbers of the vectors in the store, each verified."""
    stored_vectors = got(store, keys_of(numbers))
    assert stored_vectors == {key: value for key, value in expected(numbers).items() if key in stored_vectors}
    return {int.from_bytes(key, "big") for key in stored_vectors}


def shards(folder: Path) -> list[Path]:
    return sorted((folder / SHARDS_FOLDER).glob("[0-9]*.parquet"))


def test_what_was_put_is_got_by_another_store_of_the_folder(tmp_path: Path) -> None:
    put(SentenceStore(tmp_path / "new" / "folder", MEGABYTE * 9), range(2000))
    store = SentenceStore(tmp_path / "new" / "folder", MEGABYTE * 9)
    shuffled = np.random.default_rng(0).permutation(2000).tolist()
    assert got(store, [*keys_of(shuffled), b"unknown"]) == expected(range(2000))
    assert store.notices == ()
    assert list(store.get([])) == []
    assert store.nbytes == sum(path.stat().st_size for path in shards(tmp_path / "new" / "folder"))
    assert stat.S_IMODE((tmp_path / "new" / "folder" / SHARDS_FOLDER).stat().st_mode) == 0o700


def test_a_vector_put_again_replaces_the_old_one(tmp_path: Path) -> None:
    store = SentenceStore(tmp_path, MEGABYTE)
    for width in (3, 5):
        store.put([b"a"], StoredVectors(np.full((1, width), width, np.float32), np.array([width]), np.array([True])))
    assert got(store, [b"a"]) == {b"a": ([5.0] * 5, 5, True)}


def test_many_who_begin_a_store_at_once_wait_for_each_other(tmp_path: Path) -> None:
    def begun(place: int) -> tuple[str, ...]:
        store = SentenceStore(tmp_path / str(place // 6), MEGABYTE)
        together.wait()
        put(store, range(10 * (place % 6), 10 * (place % 6) + 5))
        return store.notices

    together = Barrier(6)
    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(begun, range(6 * 5))) == {()}
    written = [10 * writer + row for writer in range(6) for row in range(5)]
    assert all(has(SentenceStore(tmp_path / str(folder), MEGABYTE), written) == set(written) for folder in range(5))


def test_what_went_wrong_is_told_while_it_is_wrong(tmp_path: Path) -> None:
    store = SentenceStore(tmp_path / "below", MEGABYTE)
    (tmp_path / "below").write_text("no folder")
    put(store, range(2))
    assert len(store.notices) == 1
    (tmp_path / "below").unlink()
    put(store, range(2))
    assert store.notices == ()
    shards(tmp_path / "below")[0].write_text("no table " * 999)
    assert has(SentenceStore(tmp_path / "below", MEGABYTE), range(2)) == set()
    put(store, range(2))
    assert has(store, range(2)) == {0, 1}
    assert (len(store.notices), store.happened) == (0, 0)


def test_those_used_longest_ago_make_room(tmp_path: Path) -> None:
    store = SentenceStore(tmp_path, MEGABYTE)
    first, used = range(150), range(1000, 1050)
    put(store, first)
    put(store, used)
    for number in range(40):
        assert has(store, used) == set(used)
        put(store, range(2000 + 50 * number, 2050 + 50 * number))
        assert store.nbytes <= MEGABYTE
    assert has(store, used) == set(used)
    assert has(store, range(3950, 4000)) == set(range(3950, 4000))
    assert not has(store, first)
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) <= 1.01 * MEGABYTE
    assert store.notices == ()


@pytest.mark.slow
def test_small_shards_are_put_together_and_nothing_is_lost(tmp_path: Path) -> None:
    store, reader = SentenceStore(tmp_path, 8 * MEGABYTE), SentenceStore(tmp_path, 8 * MEGABYTE)
    most = 0
    for number in range(70):
        put(store, [2 * number, 2 * number + 1], 384 if number % 3 else 8)
        if number % 10 == 5:
            indices = range(2 * number + 2)
            assert len(got(reader, keys_of(indices))) == len(indices)
        most = max(most, len(shards(tmp_path)))
    assert most <= store_vectors.MOST_SMALL + 1
    stored_vectors = got(store, keys_of(range(140)))
    assert all(values[0] == int.from_bytes(key, "big") for key, (values, _, _) in stored_vectors.items())
    assert len(stored_vectors) == 140
    rows = sum(read_table(path).num_rows for path in shards(tmp_path))
    assert rows == 140
    assert store.notices == reader.notices == ()


def test_a_shard_put_together_is_as_old_as_its_last_use_and_within_its_share(tmp_path: Path) -> None:
    store = SentenceStore(tmp_path, MEGABYTE)
    for number in range(store_vectors.MOST_SMALL):
        put(store, range(10 * number, 10 * number + 10))
    for path in shards(tmp_path):
        os.utime(path, ns=(10**18, 10**18))
    put(store, [9999])
    old = [path for path in shards(tmp_path) if path.stat().st_mtime_ns == 10**18]
    assert len(shards(tmp_path)) < store_vectors.MOST_SMALL
    assert len(old) == len(shards(tmp_path)) - 1
    assert max(path.stat().st_size for path in old) <= MEGABYTE * store_vectors.MERGED_SHARE


@pytest.mark.slow
def test_two_processes_and_threads_write_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, first, "15"], stdout=subprocess.DEVNULL) for first in ("0", "100")]
    store = SentenceStore(tmp_path, 10**9)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda part: put(store, range(10_000 * part, 10_000 * part + 30)), range(1, 10)))
    assert [writer.wait(120) for writer in writers] == [0, 0]
    assert store.notices == ()
    for first in (0, 100):
        keys = [b"%d-%d" % (number, row) for number in range(first, first + 15) for row in range(50)]
        stored_vectors = got(store, keys)
        assert stored_vectors.keys() == set(keys)
        assert all(values == [float(key.split(b"-")[0])] * 96 for key, (values, _, _) in stored_vectors.items())
    written = [10_000 * part + row for part in range(1, 10) for row in range(30)]
    assert has(store, written) == set(written)


def test_a_kill_in_mid_write_loses_nothing_that_was_kept(tmp_path: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path), "0", "100000"], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    stored_vectors = [int(writer.stdout.readline()) for _ in range(40)][-1]
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    store = SentenceStore(tmp_path, 10**9)
    keys = [b"%d-%d" % (number, row) for number in range(stored_vectors + 1) for row in range(50)]
    found = got(store, keys)
    assert found.keys() == set(keys)
    assert all(values == [float(key.split(b"-")[0])] * 96 for key, (values, _, _) in found.items())
    put(store, range(3))
    assert has(store, range(3)) == {0, 1, 2}
    assert not list(tmp_path.rglob("*.part"))
    assert store.notices == ()


@pytest.mark.sample(1)
@pytest.mark.parametrize("in_the_middle_of", ["write_shard", "_merge", "_make_room"])
def test_what_a_killed_writer_left_is_used_or_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_the_middle_of: str
) -> None:
    """Killed at the worst moments: a part written, small shards not yet removed, no room made."""

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        if in_the_middle_of == "write_shard":
            (tmp_path / SHARDS_FOLDER / f"half.parquet.{'0' * 16}.part").write_bytes(b"PAR1")
        raise Killed

    store = SentenceStore(tmp_path, 4 * MEGABYTE)
    for number in range(store_vectors.MOST_SMALL):
        put(store, [number])
    with monkeypatch.context() as patch:
        target = store_vectors if in_the_middle_of == "write_shard" else SentenceStore
        patch.setattr(target, in_the_middle_of, killed)
        with pytest.raises(Killed):
            put(store, [100])
    assert has(SentenceStore(tmp_path, 4 * MEGABYTE), range(32)) == set(range(32))
    put(store, [200])
    assert has(store, [200]) == {200}
    assert not list(tmp_path.rglob("*.part"))
    assert store.notices == ()


def test_a_full_disk_is_told_once_and_what_was_kept_stays(tmp_path: Path) -> None:
    put(SentenceStore(tmp_path, 10**9), range(5))
    command = [sys.executable, "-c", WRITER, str(tmp_path), "0", "3", "4096"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    words = "Sentence vectors cannot be kept on disk now (File too large); they are computed each time."
    assert output == [f"{number} {words}" for number in range(3)]
    store = SentenceStore(tmp_path, 10**9)
    assert has(store, range(5)) == set(range(5))
    assert (len(shards(tmp_path)), list(tmp_path.rglob("*.part"))) == (1, [])


def stored_keys(folder: Path) -> set[bytes]:
    """The keys as stored in the files."""
    return {key.as_py() for path in shards(folder) for key in read_table(path, columns=["key"]).column("key")}


def test_a_guessed_key_is_confirmed_by_nobody_who_has_the_files_alone(tmp_path: Path) -> None:
    """Files of one installation are useless to another, and contain no key in plain form."""
    folders = tmp_path / "one", tmp_path / "two"
    guesses = [b"a guess %08d" % number for number in range(5)]
    for folder in folders:
        SentenceStore(folder, MEGABYTE).put(guesses, some(range(5)))
    one, two = map(stored_keys, folders)
    assert len(one) == len(two) == 5
    assert not one & two
    raw = shards(folders[0])[0].read_bytes()
    assert not any(guess in raw for guess in guesses)
    shards(folders[1])[0].write_bytes(raw)
    assert got(SentenceStore(folders[1], MEGABYTE), guesses) == {}
    assert list(got(SentenceStore(folders[0], MEGABYTE), guesses)) == guesses


def test_the_secret_is_made_once_for_the_owner_alone(tmp_path: Path) -> None:
    together = Barrier(8)

    def indices(_: int) -> bytes:
        together.wait()
        return installation_secret(tmp_path)

    with ThreadPoolExecutor(8) as pool:
        (secret,) = set(pool.map(indices, range(8)))
    assert len(secret) == 32
    assert [path.name for path in tmp_path.iterdir()] == [SECRET_FILE]
    assert stat.S_IMODE((tmp_path / SECRET_FILE).stat().st_mode) == 0o600
    (tmp_path / SECRET_FILE).write_bytes(secret[:9])
    assert len(installation_secret(tmp_path)) == 32


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def other_columns(path: Path) -> None:
    write_table(pa.table({"key": ["a"], "letters": ["b"]}), path)


def flipped(path: Path) -> None:
    raw = path.read_bytes()
    place = raw.index(np.full(384, 7, np.float32).tobytes())
    path.write_bytes(raw[:place] + b"\x01" + raw[place + 1 :])


@pytest.mark.parametrize("damage", [cut, other_columns, flipped, Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_damaged_shard_is_set_aside_and_the_others_are_used(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    store = SentenceStore(tmp_path, MEGABYTE * 9)
    put(store, range(300))
    put(store, range(300, 600))
    damage(shards(tmp_path)[0])
    for each in (store, SentenceStore(tmp_path, MEGABYTE * 9)):
        assert has(each, range(600)) == set(range(300, 600))
    put(store, range(300))
    assert has(store, range(600)) == set(range(600))
    output = damage is not Path.unlink
    assert (tmp_path / SHARDS_FOLDER / SET_ASIDE).exists() == output
    assert [("damaged" in notice, SET_ASIDE in notice) for notice in store.notices] == [(True, True)] * output


def test_files_of_others_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    store = SentenceStore(tmp_path, 9000)
    put(store, [1])
    strangers = [tmp_path / SHARDS_FOLDER / name for name in ("other.parquet", "notes.txt", "1-abc.parquet")]
    for path in strangers:
        path.write_bytes(b"x" * 9000)
    for number in range(9):
        put(store, [number])
    assert all(path.read_bytes() == b"x" * 9000 for path in strangers)
    assert 0 < store.nbytes <= 9000
    assert store.notices == ()


def test_where_nothing_can_be_written_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    store = SentenceStore(tmp_path / "file" / "below", MEGABYTE)
    put(store, range(2))
    assert got(store, keys_of(range(2))) == {}
    assert store.nbytes == 0
    assert len(store.notices) == 1
    assert "computed each time" in store.notices[0]


def test_what_may_be_read_and_not_written_to_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(SentenceStore(tmp_path, MEGABYTE), range(5))

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(store_vectors.os, "utime", refused)
    store = SentenceStore(tmp_path, MEGABYTE)
    assert has(store, range(5)) == set(range(5))
    assert store.notices == ()


def test_a_shard_taken_away_while_it_is_looked_for_is_looked_for_again(tmp_path: Path) -> None:
    """Another process merges shards between the listing of the folder and the reading of a file."""
    store = SentenceStore(tmp_path, 9 * MEGABYTE)
    put(store, range(10))
    put(store, range(10, 20))
    found = store.get(keys_of(range(20)))
    first, _ = next(found)
    old = shards(tmp_path)[1]
    old.rename(old.with_name(old.name.replace(old.name[-16:-8], "00000000")))
    rest = [places.tolist() for places, _ in found]
    assert sorted([*first.tolist(), *(place for places in rest for place in places)]) == list(range(20))
    assert store.notices == ()


def test_a_list_is_written_in_batches_and_read_back_whole(tmp_path: Path) -> None:
    texts = [f"text {number} \ud83d" for number in range(700)]
    store = SentenceStore(tmp_path, 9 * MEGABYTE)
    first = ListVectors(texts, b"one way" * 4, store)
    assert first.read() == list(range(700))
    for start in range(0, 700, 70):
        first.add(range(start, start + 70), some(range(start, start + 70)))
        assert len(shards(tmp_path)) == (start + 70) // 280
    first.write()
    assert min(read_table(path).num_rows for path in shards(tmp_path)[:-1]) >= WRITE_BATCH_VECTORS
    again = ListVectors(texts[::-1], b"one way" * 4, store)
    assert again.read() == []
    vectors, counts, truncated = again.arrays(list(range(700)))
    np.testing.assert_array_equal(vectors, some(range(700)).vectors[::-1])
    np.testing.assert_array_equal(counts, np.arange(700)[::-1] + 1)
    np.testing.assert_array_equal(truncated, np.arange(700)[::-1] % 2 == 0)
    assert ListVectors(texts, b"another way" * 2, store).read() == list(range(700))
    assert (tmp_path / SHARDS_FOLDER / LOCK_FILE).exists()
