"""Reads the tables of dated folders with DuckDB, Polars, pyarrow and pandas, and prints what they hold as JSON.

readers.py query SQL        rows of a question, asked in the current folder
readers.py queries          rows of each queries/*.sql of the current folder
readers.py tables GLOB      for each reader: rows, columns, nulls and sums of all files that match, read as one table
"""
import glob
import json
import pathlib
import sys

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.compute
import pyarrow.dataset


def query(sql):
    cursor = duckdb.sql(sql)
    return [dict(zip(cursor.columns, row)) for row in cursor.fetchall()]


def queries():
    return {path.name: query(path.read_text()) for path in sorted(pathlib.Path("queries").glob("*.sql"))}


def summary(rows, columns):
    """columns: name, number of nulls, sum of the numbers (None where it holds none)."""
    return {"rows": rows, "columns": {name: [nulls, None if total is None else float(total)] for name, nulls, total in columns}}


def by_duckdb(pattern):
    found = duckdb.read_parquet(pattern)
    numeric = [str(t) in ("BIGINT", "DOUBLE", "INTEGER") for t in found.types]
    parts = ["count(*)"]
    for name, number in zip(found.columns, numeric):
        parts.append('count(*) - count("%s")' % name)
        parts.append('coalesce(sum("%s"), 0)' % name if number else "NULL")
    row = found.aggregate(", ".join(parts)).fetchall()[0]
    return summary(row[0], [(n, row[1 + 2 * i], row[2 + 2 * i]) for i, n in enumerate(found.columns)])


def by_polars(pattern):
    table = polars.read_parquet(pattern)
    return summary(table.height, [(c.name, c.null_count(), c.sum() if c.dtype.is_numeric() else None) for c in table])


def by_pyarrow(pattern):
    table = pyarrow.dataset.dataset(sorted(glob.glob(pattern)), format="parquet").to_table()
    columns = []
    for name, c in zip(table.column_names, table.columns):
        number = pyarrow.types.is_integer(c.type) or pyarrow.types.is_floating(c.type)
        columns.append((name, c.null_count, (pyarrow.compute.sum(c).as_py() or 0) if number else None))
    return summary(table.num_rows, columns)


def by_pandas(pattern):
    table = pandas.concat([pandas.read_parquet(path, dtype_backend="numpy_nullable") for path in sorted(glob.glob(pattern))])
    columns = []
    for name, c in table.items():
        number = pandas.api.types.is_numeric_dtype(c.dtype) and not pandas.api.types.is_bool_dtype(c.dtype)
        columns.append((name, int(c.isna().sum()), c.sum() if number else None))
    return summary(len(table), columns)


def tables(pattern):
    return {"duckdb": by_duckdb(pattern), "polars": by_polars(pattern), "pyarrow": by_pyarrow(pattern), "pandas": by_pandas(pattern)}


json.dump({"query": query, "queries": queries, "tables": lambda *patterns: {p: tables(p) for p in patterns}}[sys.argv[1]](*sys.argv[2:]), sys.stdout, default=str)
