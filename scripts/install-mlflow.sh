#!/bin/sh
# Installs a pinned MLflow into .mlflow/VERSION, from scripts/mlflow/VERSION.lock.
# Usage: scripts/install-mlflow.sh VERSION        (PYTHON=... names another interpreter, 3.11 or newer)
set -eu

root=$(cd "$(dirname "$0")/.." && pwd -P)
. "$root/scripts/venv.sh"
version=${1:-}
lock=$root/scripts/mlflow/$version.lock
if [ -z "$version" ] || [ ! -f "$lock" ]; then
    echo "usage: $0 VERSION, one of: $(cd "$root/scripts/mlflow" && echo *.lock | sed 's/\.lock//g')" >&2
    exit 2
fi
venv "$root/.mlflow/$version" "$lock" "MLflow $version"
