#!/bin/sh
# Installs what the tests need to run MLflow on PostgreSQL: the server programs, unless they are there (Debian and its kin), and psycopg into
# .postgres/, hash by hash from scripts/postgres/requirements.lock, with the Python of the MLflow that uses it.
# A finished installation is left alone; an interrupted or outdated one is made anew.
# Usage: scripts/install-postgres.sh VERSION        the MLflow version, installed before
set -eu

root=$(cd "$(dirname "$0")/.." && pwd -P)
python=$root/.mlflow/${1:?usage: $0 VERSION}/bin/python
lock=$root/scripts/postgres/requirements.lock
dir=$root/.postgres
stamp=$dir/installed
if [ ! -x "$python" ]; then
    echo "MLflow $1 is not installed: run scripts/install-mlflow.sh $1 first" >&2
    exit 1
fi

as_root=
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
fi
install_package() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$1"
}
if ! command -v initdb >/dev/null && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
    if ! command -v apt-get >/dev/null; then
        echo "no PostgreSQL on PATH, and no apt-get: install its server programs by hand (initdb, postgres)" >&2
        exit 1
    fi
    echo "installing PostgreSQL (about half a minute)" >&2
    $as_root apt-get update -q
    install_package postgresql-common
    # The package would start a server on the usual port, which nothing here wants.
    $as_root sh -c "echo 'create_main_cluster = false' >>/etc/postgresql-common/createcluster.conf"
    install_package postgresql
fi

wanted() { "$python" -c 'import sys; print(sys.version)' && cat "$lock"; }
if [ -d "$dir/psycopg" ] && wanted | cmp -s - "$stamp"; then
    exit 0
fi
echo "installing psycopg into .postgres" >&2
rm -rf "$dir"
"$python" -m pip install --quiet --disable-pip-version-check --target "$dir" \
    --require-hashes --no-deps --only-binary :all: --requirement "$lock"
wanted >"$stamp.part"
mv "$stamp.part" "$stamp"
