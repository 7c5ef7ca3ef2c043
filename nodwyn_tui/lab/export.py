"""A row a request for a data engine: CSV, and Parquet where its library is installed."""

import csv
import dataclasses
import importlib
import io
from collections.abc import Sequence
from typing import Any

from nodwyn_tui.errors import UsageError
from nodwyn_tui.lab.rows import Row

COLUMNS = tuple(field.name for field in dataclasses.fields(Row))


def csv_text(rows: Sequence[Row]) -> str:
    """CSV with a head; unknown is empty, several seqs are parted by spaces."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(getattr(row, column)) for column in COLUMNS])
    return out.getvalue()


def need_parquet() -> None:
    """Raises `UsageError` without the extra that brings Parquet: best asked before a long fold."""
    _arrow()


def parquet_bytes(rows: Sequence[Row]) -> bytes:
    """A Parquet file of the same columns. `UsageError` as of `need_parquet`."""
    arrow, parquet = _arrow()
    columns = {column: [getattr(row, column) for row in rows] for column in COLUMNS}
    out = io.BytesIO()
    parquet.write_table(arrow.table(columns, schema=_schema(arrow)), out)
    return out.getvalue()


def _arrow() -> tuple[Any, Any]:
    """An extra of the package: who needs no Parquet does not install it."""
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise UsageError(
            "--parquet needs the extra that brings pyarrow: install nodwyn-tui[lab], or take --csv"
        ) from error


def _schema(arrow: Any) -> Any:
    """The columns' types, the same for no row as for many."""
    types: dict[Any, Any] = {
        str: arrow.string(),
        int: arrow.int64(),
        int | None: arrow.int64(),
        float | None: arrow.float64(),
        tuple[int, ...]: arrow.list_(arrow.int64()),
    }
    return arrow.schema([(field.name, types[field.type]) for field in dataclasses.fields(Row)])


def _cell(value: Any) -> Any:
    match value:
        case None:
            return ""
        case tuple():
            return " ".join(map(str, value))
        case _:
            return value
