#!/bin/sh
# Installs a pinned MLflow into .mlflow/VERSION, hash by hash from scripts/mlflow/VERSION.lock.
# A finished installation is left alone; an interrupted or outdated one is made anew.
# Usage: scripts/install-mlflow.sh VERSION        (PYTHON=... names another interpreter, 3.11 or newer)
set -eu

root=$(cd "$(dirname "$0")/.." && pwd -P)
version=${1:-}
lock=$root/scripts/mlflow/$version.lock
if [ -z "$version" ] || [ ! -f "$lock" ]; then
    echo "usage: $0 VERSION, one of: $(cd "$root/scripts/mlflow" && echo *.lock | sed 's/\.lock//g')" >&2
    exit 2
fi

dir=$root/.mlflow/$version
stamp=$dir/installed
# The stamp is the folder's path (a virtual environment cannot be moved) and the lock that was installed.
wanted() { echo "$dir" && cat "$lock"; }
if [ -x "$dir/bin/mlflow" ] && wanted | cmp -s - "$stamp"; then
    exit 0
fi

python=${PYTHON:-$(command -v python3.11 || command -v python3 || true)}
if [ -z "$python" ] || ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "MLflow needs Python 3.11 or newer: install it, or name it with PYTHON=/path/to/python3" >&2
    exit 1
fi

echo "installing MLflow $version into .mlflow/$version (about a minute)" >&2
rm -rf "$dir"
"$python" -m venv "$dir"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
    --require-hashes --no-deps --only-binary :all: --requirement "$lock"
# Without byte code the server takes minutes to start. The packages' own tests are left out, and files that this
# Python can't compile are never imported.
env -u PYTHONDONTWRITEBYTECODE "$dir/bin/python" -m compileall -q -j 0 -x '/tests/' "$dir/lib" >/dev/null 2>&1 || true
wanted >"$stamp.part"
mv "$stamp.part" "$stamp"
