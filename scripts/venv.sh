# Read by the install scripts; not a program.
# venv DIR LOCK WHAT: a virtual environment in DIR with the packages of LOCK, each by its hash. A finished one is left alone; an
# interrupted or outdated one is made anew. PYTHON=... names another interpreter, 3.11 or newer.
venv() {
    dir=$1 lock=$2 what=$3
    if [ -d "$dir" ]; then
        dir=$(cd "$dir" && pwd -P) # one that other clones link to is theirs too
    fi
    stamp=$dir/installed
    # The stamp is the folder's path (a virtual environment cannot be moved) and the lock that was installed.
    wanted() { echo "$dir" && cat "$lock"; }
    if [ -x "$dir/bin/python" ] && wanted | cmp -s - "$stamp"; then
        return
    fi
    python=${PYTHON:-$(command -v python3.11 || command -v python3 || true)}
    if [ -z "$python" ] || ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        echo "$what: Python 3.11 or newer is needed: install it, or name it with PYTHON=/path/to/python3" >&2
        exit 1
    fi
    echo "installing $what into $dir (about a minute)" >&2
    rm -rf "$dir"
    "$python" -m venv "$dir"
    "$dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
        --require-hashes --no-deps --only-binary :all: --requirement "$lock"
    # Without byte code a start takes seconds, of an MLflow server minutes. The packages' own tests are left out, and files
    # that this Python can't compile are never imported.
    env -u PYTHONDONTWRITEBYTECODE "$dir/bin/python" -m compileall -q -j 0 -x '/tests/' "$dir/lib" >/dev/null 2>&1 || true
    wanted >"$stamp.part"
    mv "$stamp.part" "$stamp"
}
