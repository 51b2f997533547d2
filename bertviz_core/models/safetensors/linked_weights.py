"""A folder for transformers with links to a checkpoint's own files: it is never given a stranger's folder itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from bertviz_core.isolation.regular_files import INDEX_NBYTES, own_file, present
from bertviz_core.isolation.sanitized.tokenizer_files import lend, temporary_folder
from bertviz_core.models.safetensors.folder import INDEX_FILE, SINGLE_FILE, read_json, weight_files


@contextmanager
def linked_weights(folder: Path) -> Iterator[Path]:
    """A folder with links to a model's own safetensors files, and a cleaned index of shards, while they are read.

    Raises:
        CheckpointError: there are none, or one is not the folder's own.
    """
    names = weight_files(folder)
    with temporary_folder() as lent:
        if names == (SINGLE_FILE,) or not present(folder, INDEX_FILE):
            (lent / SINGLE_FILE).symlink_to(own_file(folder, names[0]))
        else:
            for name in names:
                (lent / name).symlink_to(own_file(folder, name))
            weight_map = read_json(folder, INDEX_FILE, INDEX_NBYTES)["weight_map"]
            lend(lent / INDEX_FILE, orjson.dumps({"metadata": {}, "weight_map": weight_map}))
        yield lent
