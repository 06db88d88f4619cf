#!/bin/sh
# Installs DuckDB, Polars, pyarrow, pandas and SciPy into .readers/, hash by hash from scripts/readers/requirements.lock.
# A finished installation is left alone; an interrupted or outdated one is made anew.
# Usage: scripts/install-readers.sh        (PYTHON=... names another interpreter, 3.11 or newer)
set -eu

root=$(cd "$(dirname "$0")/.." && pwd -P)
lock=$root/scripts/readers/requirements.lock
dir=$root/.readers
stamp=$dir/installed
# The stamp is the folder's path (a virtual environment cannot be moved) and the lock that was installed.
wanted() { echo "$dir" && cat "$lock"; }
if [ -x "$dir/bin/python" ] && wanted | cmp -s - "$stamp"; then
    exit 0
fi

python=${PYTHON:-$(command -v python3.11 || command -v python3 || true)}
if [ -z "$python" ] || ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "the readers need Python 3.11 or newer: install it, or name it with PYTHON=/path/to/python3" >&2
    exit 1
fi

echo "installing DuckDB, Polars, pyarrow, pandas and SciPy into .readers (about half a minute)" >&2
rm -rf "$dir"
"$python" -m venv "$dir"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
    --require-hashes --no-deps --only-binary :all: --requirement "$lock"
# Byte code saves seconds at each start. Tests that the packages bring are never imported.
env -u PYTHONDONTWRITEBYTECODE "$dir/bin/python" -m compileall -q -j 0 -x '/tests/' "$dir/lib" >/dev/null 2>&1 || true
wanted >"$stamp.part"
mv "$stamp.part" "$stamp"
