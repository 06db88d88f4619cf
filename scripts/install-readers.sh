#!/bin/sh
# Installs DuckDB, Polars, pyarrow, pandas and SciPy into .readers/, from scripts/readers/requirements.lock.
# Usage: scripts/install-readers.sh        (PYTHON=... names another interpreter, 3.11 or newer)
set -eu

root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/scripts/venv.sh"
venv "$root/.readers" "$root/scripts/readers/requirements.lock" "DuckDB, Polars, pyarrow, pandas and SciPy"
