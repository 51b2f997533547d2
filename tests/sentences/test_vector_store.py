"""The sentence store: what was put is got, within the limit, whatever happens to the file."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from bertviz_core.sentences.vector_store import (
    FILE,
    SECRET_FILE,
    SET_ASIDE,
    SentenceStore,
    StoredVector,
    installation_secret,
)

MEGABYTE = 1024**2
WRITER = """
import sys
from pathlib import Path
import numpy as np
from bertviz_core.sentences.vector_store import StoredVector
from bertviz_core.sentences.vector_store import SentenceStore
store, first, count = SentenceStore(Path(sys.argv[1]), 10**9), int(sys.argv[2]), int(sys.argv[3])
for number in range(first, first + count):
    keys = [b"%d-%d" % (number, row) for row in range(50)]
    store.put({key: StoredVector(np.full(96, number, dtype=np.float32), number, False) for key in keys})
    print(number, flush=True)
"""


def some(count: int, first: int = 0, width: int = 384) -> dict[bytes, StoredVector]:
    """Vectors that tell their own number."""
    numbers = range(first, first + count)
    return {
        number.to_bytes(16, "big"): StoredVector(np.full(width, number, dtype=np.float32), number + 1, number % 2 == 0)
        for number in numbers
    }


def same(found: dict[bytes, StoredVector], expected: dict[bytes, StoredVector]) -> None:
    assert found.keys() == expected.keys()
    for key, stored in expected.items():
        np.testing.assert_array_equal(found[key].vector, stored.vector)
        assert found[key][1:] == stored[1:]


def test_what_was_put_is_got_by_another_store_of_the_folder(tmp_path: Path) -> None:
    vectors = some(2000)
    SentenceStore(tmp_path / "new" / "folder", MEGABYTE * 9).put(vectors)
    store = SentenceStore(tmp_path / "new" / "folder", MEGABYTE * 9)
    same(store.get([*vectors, b"unknown"]), vectors)
    assert store.notices == ()
    assert store.get([]) == {}


def test_a_vector_put_again_replaces_the_old_one(tmp_path: Path) -> None:
    store = SentenceStore(tmp_path, MEGABYTE)
    store.put({b"a": StoredVector(np.zeros(3, dtype=np.float32), 1, False)})
    store.put({b"a": StoredVector(np.ones(5, dtype=np.float32), 2, True)})
    same(store.get([b"a"]), {b"a": StoredVector(np.ones(5, dtype=np.float32), 2, True)})


def test_many_who_begin_a_store_at_once_wait_for_each_other(tmp_path: Path) -> None:
    def begun(place: int) -> tuple[str, ...]:
        store = SentenceStore(tmp_path / str(place // 6), MEGABYTE)
        together.wait()
        store.put(some(5, 10 * (place % 6)))
        return store.notices

    together = Barrier(6)
    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(begun, range(6 * 25))) == {()}
    for folder in range(25):
        store = SentenceStore(tmp_path / str(folder), MEGABYTE)
        assert all(len(store.get(list(some(5, 10 * writer)))) == 5 for writer in range(6))


def test_what_went_wrong_is_told_while_it_is_wrong(tmp_path: Path) -> None:
    store = SentenceStore(tmp_path / "below", MEGABYTE)
    (tmp_path / "below").write_text("no folder")
    store.put(some(2))
    assert len(store.notices) == 1
    (tmp_path / "below").unlink()
    store.put(some(2))
    assert store.notices == ()
    (tmp_path / "below" / FILE).write_text("no database " * 999)
    store.put(some(2))
    same(store.get(list(some(2))), some(2))
    assert (len(store.notices), store.renamed) == (1, 1)


def test_those_used_longest_ago_make_room(tmp_path: Path) -> None:
    store = SentenceStore(tmp_path, MEGABYTE)
    first, used = some(150), some(50, 1000)
    store.put(first)
    store.put(used)
    for number in range(40):
        store.get(list(used))
        store.put(some(50, 2000 + 50 * number))
        assert store.nbytes <= MEGABYTE
    same(store.get(list(used)), used)
    same(store.get(list(some(50, 2000 + 50 * 39))), some(50, 2000 + 50 * 39))
    assert not store.get(list(first))
    assert (tmp_path / FILE).stat().st_size <= 1.3 * MEGABYTE
    assert store.notices == ()


def test_two_processes_and_threads_write_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, first, "15"], stdout=subprocess.DEVNULL) for first in ("0", "100")]
    store = SentenceStore(tmp_path, 10**9)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda part: store.put(some(30, 10_000 * part)), range(9)))
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert store.notices == ()
    for first in (0, 100):
        keys = [b"%d-%d" % (number, row) for number in range(first, first + 15) for row in range(50)]
        found = store.get(keys)
        assert found.keys() == set(keys)
        assert all(float(found[key].vector[0]) == int(key.split(b"-")[0]) for key in keys)
    assert all(len(store.get(list(some(30, 10_000 * part)))) == 30 for part in range(9))


def test_a_kill_in_mid_write_loses_nothing_that_was_kept(tmp_path: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path), "0", "100000"], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    kept = [int(writer.stdout.readline()) for _ in range(8)][-1]
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    store = SentenceStore(tmp_path, 10**9)
    for number in range(kept + 1):
        found = store.get([b"%d-%d" % (number, row) for row in range(50)])
        assert len(found) == 50
        assert all((stored.vector == number).all() for stored in found.values())
    store.put(some(3))
    assert len(store.get(list(some(3)))) == 3
    assert store.notices == ()


def stored_keys(folder: Path) -> set[bytes]:
    """The keys as the file holds them."""
    with closing(sqlite3.connect(folder / FILE)) as database:
        return {key for (key,) in database.execute("SELECT key FROM vectors UNION SELECT key FROM uses")}


def test_a_guessed_key_is_confirmed_by_nobody_who_has_the_file_alone(tmp_path: Path) -> None:
    """The file of one installation tells nothing to another, and no key stands in it as it was given."""
    folders = tmp_path / "one", tmp_path / "two"
    for folder in folders:
        SentenceStore(folder, MEGABYTE).put(some(5))
    one, two = map(stored_keys, folders)
    assert len(one) == len(two) == 5
    assert not one & two
    assert not one & some(5).keys()
    (folders[1] / FILE).write_bytes((folders[0] / FILE).read_bytes())
    for ending in ("-wal", "-shm"):
        (folders[1] / f"{FILE}{ending}").unlink(missing_ok=True)
    assert SentenceStore(folders[1], MEGABYTE).get(list(some(5))) == {}
    assert len(SentenceStore(folders[0], MEGABYTE).get(list(some(5)))) == 5


def test_the_secret_is_made_once_for_the_owner_alone(tmp_path: Path) -> None:
    together = Barrier(8)

    def asked(_: int) -> bytes:
        together.wait()
        return installation_secret(tmp_path)

    with ThreadPoolExecutor(8) as pool:
        (secret,) = set(pool.map(asked, range(8)))
    assert len(secret) == 32
    assert [path.name for path in tmp_path.iterdir()] == [SECRET_FILE]
    assert stat.S_IMODE((tmp_path / SECRET_FILE).stat().st_mode) == 0o600
    (tmp_path / SECRET_FILE).write_bytes(secret[:9])
    assert len(installation_secret(tmp_path)) == 32


def test_a_store_of_plain_keys_is_removed(tmp_path: Path) -> None:
    SentenceStore(tmp_path, MEGABYTE).put(some(5))
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        database.execute("PRAGMA user_version = 1")
    store = SentenceStore(tmp_path, MEGABYTE)
    assert store.get(list(some(5))) == {}
    store.put(some(2))
    same(store.get(list(some(5))), some(2))
    assert store.notices == ()
    assert {path.name for path in tmp_path.iterdir()} <= {FILE, f"{FILE}-wal", f"{FILE}-shm", SECRET_FILE}


def test_a_store_of_another_version_is_set_aside(tmp_path: Path) -> None:
    old = SentenceStore(tmp_path, MEGABYTE)
    old.put(some(5))
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    store = SentenceStore(tmp_path, MEGABYTE)
    assert store.get(list(some(5))) == {}
    assert "another version" in store.notices[0]
    store.put(some(2))
    same(store.get(list(some(5))), some(2))
    with sqlite3.connect(tmp_path / SET_ASIDE) as database:
        assert database.execute("SELECT count(*) FROM vectors").fetchone() == (5,)
    database.close()


def test_another_programs_database_is_set_aside(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute("CREATE TABLE letters (body TEXT)")
    database.close()
    store = SentenceStore(tmp_path, MEGABYTE)
    store.put(some(2))
    same(store.get(list(some(2))), some(2))
    assert "another program" in store.notices[0]
    assert (tmp_path / SET_ASIDE).exists()


@pytest.mark.parametrize("damage", ["cut", "text", "tables"])
def test_a_damaged_store_is_set_aside_and_a_new_one_begun(tmp_path: Path, damage: str) -> None:
    SentenceStore(tmp_path, MEGABYTE * 9).put(some(900))
    path = tmp_path / FILE
    if damage == "cut":
        os.truncate(path, path.stat().st_size // 2)
    elif damage == "text":
        path.write_text("no database " * 999)
    else:
        with sqlite3.connect(path) as database:
            database.execute("DROP TABLE uses")
        database.close()
    store = SentenceStore(tmp_path, MEGABYTE * 9)
    found = store.get(list(some(900)))
    same(found, {key: stored for key, stored in some(900).items() if key in found})
    store.put(some(900))
    same(store.get(list(some(900))), some(900))
    assert "damaged" in store.notices[0]
    assert (tmp_path / SET_ASIDE).exists()


def test_a_changed_byte_of_a_vector_is_noticed(tmp_path: Path) -> None:
    store = SentenceStore(tmp_path, MEGABYTE)
    store.put(some(2))
    path, vector = tmp_path / FILE, some(2)[(1).to_bytes(16, "big")].vector.tobytes()
    raw = path.read_bytes()
    assert raw.count(vector) == 1
    path.write_bytes(raw.replace(vector, b"\x01" + vector[1:]))
    same(store.get(list(some(2))), some(1))


def test_where_nothing_can_be_written_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    store = SentenceStore(tmp_path / "file" / "below", MEGABYTE)
    store.put(some(2))
    assert store.get(list(some(2))) == {}
    assert store.nbytes == 0
    assert len(store.notices) == 1
    assert "computed each time" in store.notices[0]
