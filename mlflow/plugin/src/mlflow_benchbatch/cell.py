"""Which cell of a benchmark a run measures: its tags, and what its record is checked against."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any

_Path = str | os.PathLike[str]


class CellError(ValueError):
    """No cell can be found; the message says what to do."""


@dataclass(frozen=True)
class Panel:
    """The tasks of a benchmark, and the rules of its record."""

    digest: str  # SHA-256 of the panel, 64 hex digits
    tasks: frozenset[str]  # ids
    max_missing: int  # how many tasks may have no score
    timeout_policy: str  # fail: a timeout scores 0; missing: it has no score
    pass_threshold: float  # 0 to 1: a score of at least this passes
    pass_reported: bool  # "passed" is what the row says, whatever the score


@dataclass(frozen=True)
class Cell:
    """One agent on one model, with everything that a score depends on."""

    agent: str
    model: str
    tags: dict[str, str]  # as `benchbatch hash` prints them
    panel: Panel


def find_cell(spec: _Path | None = None, variant: str | None = None, *, hashes: _Path | None = None) -> Cell:
    """Find the cell of a variant. Call it before the measurement: files are hashed as they are now.

    Args:
        spec: The benchmark's YAML file; default: the environment variable `BENCHBATCH_SPEC`. It is hashed by the
            program that the variable `BENCHBATCH` names, else by `benchbatch` on the PATH.
        variant: `AGENT+MODEL` by id; default: `BENCHBATCH_VARIANT`, else the only variant that there is.
        hashes: A file with what `benchbatch hash SPEC --json` printed, in place of `spec`.

    Raises:
        CellError: There is no such file, program or variant.
    """
    spec = spec or os.environ.get("BENCHBATCH_SPEC")
    if not hashes and not spec:
        raise CellError("no benchmark: give spec or hashes, or set BENCHBATCH_SPEC")
    text = _read(hashes) if hashes else _hash(str(spec))
    try:
        cells = [_cell(c) for c in json.loads(text)]
    except (KeyError, TypeError, ValueError) as e:
        raise CellError(
            f"{hashes or spec}: not what `benchbatch hash SPEC --json` prints ({e!r}): make it again"
        ) from e
    variant = variant or os.environ.get("BENCHBATCH_VARIANT")
    found = [c for c in cells if variant in (None, "", f"{c.agent}+{c.model}")]
    if len(found) != 1:
        names = ", ".join(f"{c.agent}+{c.model}" for c in cells)
        raise CellError(
            f"variant {variant!r} is not one of {hashes or spec}: give it, or set BENCHBATCH_VARIANT: {names}"
        )
    return found[0]


def _hash(spec: str) -> str:
    name = os.environ.get("BENCHBATCH") or "benchbatch"
    program = shutil.which(name)
    if program is None:
        raise CellError(f"{name} is not found: put benchbatch on the PATH, set BENCHBATCH, or give hashes")
    done = subprocess.run([program, "hash", spec, "--json"], capture_output=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        raise CellError(f"`benchbatch hash {spec}` exits with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _read(file: _Path) -> str:
    try:
        with open(file, encoding="utf-8") as f:
            return f.read()
    except OSError as e:
        raise CellError(f"{file}: {e.strerror}: make it with `benchbatch hash SPEC --json`") from e


def _cell(c: dict[str, Any]) -> Cell:
    panel = {key: c["panel"][key] for key in Panel.__dataclass_fields__}
    return Cell(c["agent"], c["model"], c["tags"], Panel(**panel | {"tasks": frozenset(panel["tasks"])}))
