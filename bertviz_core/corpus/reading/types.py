"""Unify the types of a column over the files and parts of an input."""

import pyarrow as pa

from bertviz_core.corpus.column_values import column_kind
from bertviz_core.errors import CorpusError
from bertviz_core.tables.cells import narrowed
from bertviz_core.text import quoted


def joined(first: pa.Schema, second: pa.Schema, path: str, as_text: bool) -> pa.Schema:
    """Merge the columns of two schemas, each with a common type.

    Integers and floats become floats, null becomes the other type, and values of different kinds become texts.

    Args:
        first: the columns so far.
        second: the columns of the next part.
        path: path of the next part, for messages.
        as_text: whether every value can be read as a text; in JSON only times can.

    Raises:
        CorpusError: there is no common type.
    """
    if first.equals(second):
        return first
    types = {field.name: field.type for field in first}
    for field in second:
        known = types.get(field.name, field.type)
        common = known if known == field.type else _common_type(known, field.type, as_text)
        if common is None:
            raise CorpusError(
                f"The column {quoted(field.name)} of {quoted(path)} has values of several kinds ({known} and "
                f"{field.type}); write them in one way, or leave the column out."
            )
        types[field.name] = common
    return pa.schema(list(types.items()))


def narrow(schema: pa.Schema, table: pa.Table, text_column: str | None, decimal_comma: bool) -> pa.Schema:
    """Return the columns with the types that their cells have in every format; the column of texts stays one.

    Args:
        schema: the columns and their types in the file.
        table: rows of those that are texts or floats.
        text_column: the column of the texts; None if it is not known yet.
        decimal_comma: whether cells such as 3,5 are numbers.
    """
    texts_or_floats = {name for name in table.column_names if name != text_column}
    return pa.schema(
        (each.name, narrowed(table.column(each.name), decimal_comma))
        if each.name in texts_or_floats
        else (each.name, each.type)
        for each in schema
    )


def plain(schema: pa.Schema, stored: pa.Schema) -> pa.Schema:
    """Return the columns with their types in a corpus; those without values as stored, or as texts."""
    return pa.schema((each.name, _plain(each.type, stored.field(each.name).type)) for each in schema)


def _plain(dtype: pa.DataType, stored: pa.DataType) -> pa.DataType:
    dtype = stored if pa.types.is_null(dtype) else dtype
    return pa.string() if pa.types.is_null(dtype) else dtype


def _common_type(first: pa.DataType, second: pa.DataType, as_text: bool) -> pa.DataType | None:
    """Return the common type of two; None if there is none."""
    kinds = {column_kind(each) for each in (first, second) if not pa.types.is_null(each)}
    if len(kinds) > 1:
        return pa.string() if kinds == {"text", "time"} or (as_text and "other" not in kinds) else None
    try:
        fields = [pa.schema([("values", each)]) for each in (first, second)]
        return pa.unify_schemas(fields, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return pa.string() if as_text and "other" not in kinds else None
