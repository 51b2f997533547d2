"""Tables in Parquet: read whole, with what a few bytes repeat in every row in memory once."""

import io
from collections.abc import Callable

import pandas as pd

from bertviz_core.errors import TextError
from bertviz_core.safetensors_header import shown
from bertviz_core.sentence_decoding import MAX_FILE_BYTES


def parquet_frame(name: str, raw: bytes, check_count: Callable[[int], None]) -> pd.DataFrame:
    """All columns of a Parquet file, whatever the names of its columns are.

    Args:
        name: name of the file.
        raw: its bytes.
        check_count: told the count of rows before they are read; what it raises ends the reading.

    Raises:
        TextError: the file is none, is damaged, or unpacks to too much.
    """
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(raw))
        groups = [file.metadata.row_group(index).total_byte_size for index in range(file.metadata.num_row_groups)]
        if sum(groups) > 2 * MAX_FILE_BYTES:
            raise TextError(f"{shown(name)} unpacks to {sum(groups) / 1024**2:,.0f} MiB, too many; give a part of it.")
        check_count(file.metadata.num_rows)
        kinds = pyarrow.types.is_string, pyarrow.types.is_large_string, pyarrow.types.is_binary
        texts = [each.name for each in file.schema_arrow if any(kind(each.type) for kind in kinds)]
        # A dictionary unpacked takes the text anew for every row: a file of a few kilobytes could fill the memory.
        frame: pd.DataFrame = pyarrow.parquet.ParquetFile(io.BytesIO(raw), read_dictionary=texts).read().to_pandas()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise TextError(f"{shown(name)} is no Parquet file that can be read: {str(error)[:200]}") from error
    columns = [frame.iloc[:, place] for place in range(frame.shape[1])]
    named = {place: column.astype(object) if column.dtype == "category" else column
             for place, column in enumerate(columns)}  # fmt: skip
    plain = pd.DataFrame(named, index=frame.index).reset_index(drop=True)
    plain.columns = pd.Index([str(each) for each in frame.columns])
    return plain
