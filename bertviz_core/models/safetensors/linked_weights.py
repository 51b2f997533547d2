"""A temporary folder with links to the files of a checkpoint; transformers never reads an untrusted folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from bertviz_core.isolation.regular_files import INDEX_NBYTES, own_file, present
from bertviz_core.isolation.sanitized.tokenizer_files import temporary_folder, write_copy
from bertviz_core.models.safetensors.folder import INDEX_FILE, SINGLE_FILE, read_json, weight_files


@contextmanager
def linked_weights(folder: Path) -> Iterator[Path]:
    """A temporary folder with links to the safetensors files of a model, and a sanitized index of shards.

    Raises:
        CheckpointError: there are none, or one is not a regular file of the folder.
    """
    names = weight_files(folder)
    with temporary_folder() as links:
        if names == (SINGLE_FILE,) or not present(folder, INDEX_FILE):
            (links / SINGLE_FILE).symlink_to(own_file(folder, names[0]))
        else:
            for name in names:
                (links / name).symlink_to(own_file(folder, name))
            weight_map = read_json(folder, INDEX_FILE, INDEX_NBYTES)["weight_map"]
            write_copy(links / INDEX_FILE, orjson.dumps({"metadata": {}, "weight_map": weight_map}))
        yield links
