"""Which cell of a benchmark a run measures: its tags, and what its record is checked against."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple


def need(fits: object, error: Exception) -> None:
    """Raise the error unless it fits."""
    if not fits:
        raise error


class CellError(ValueError):
    """No cell can be found; the message says what to do."""


class Panel(NamedTuple):
    """The tasks of a benchmark, and the rules of its record."""

    digest: str  # SHA-256 of the panel, 64 hex digits
    tasks: frozenset[str]  # ids
    max_missing: int  # how many tasks may have no score
    timeout_policy: str  # fail: a timeout scores 0; missing: it has no score
    pass_threshold: float  # 0 to 1: a score of at least this passes
    pass_reported: bool  # "passed" is what the row says, whatever the score
    questions: dict[str, str] = {}  # beginnings of the tasks' inputs, by id


class Cell(NamedTuple):
    """One agent on one model, with everything that a score depends on."""

    agent: str
    model: str
    tags: dict[str, str]  # as `benchbatch hash` prints them
    panel: Panel


def find_cell(spec: str | Path | None = None, variant: str | None = None, *, hashes: str | Path | None = None) -> Cell:
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
    need(hashes or spec, CellError("no benchmark: give spec or hashes, or set BENCHBATCH_SPEC"))
    try:
        text = Path(hashes).read_text("utf-8") if hashes else _hash(str(spec))
        cells = _cells(json.loads(text))
    except (OSError, LookupError, TypeError, UnicodeError, json.JSONDecodeError) as e:
        raise CellError(f"{hashes or spec}: {e!r}: make it with `benchbatch hash SPEC --json`") from e
    variant = variant or os.environ.get("BENCHBATCH_VARIANT") or ""
    found = [c for c in cells if variant in ("", f"{c.agent}+{c.model}")]
    names = ", ".join(f"{c.agent}+{c.model}" for c in cells)
    need(len(found) == 1, CellError(f"variant {variant!r}: give one, or set BENCHBATCH_VARIANT: {names}"))
    return found[0]


def _hash(spec: str) -> str:
    name = os.environ.get("BENCHBATCH") or "benchbatch"
    need(shutil.which(name), CellError(f"{name} is not found: put it on the PATH, set BENCHBATCH, or give hashes"))
    done = subprocess.run([name, "hash", spec, "--json"], capture_output=True, encoding="utf-8", check=False)
    said = f"`benchbatch hash {spec}` exits with {done.returncode}: {done.stderr.strip()}"
    need(done.returncode == 0, CellError(said))
    return done.stdout


def _cells(printed: list[dict[str, Any]]) -> list[Cell]:
    """All cells have one panel, and only the first one holds its questions."""
    said = {"questions": {}} | printed[0]["panel"]
    panel = Panel(**{name: said[name] for name in Panel._fields} | {"tasks": frozenset(said["tasks"])})
    return [Cell(c["agent"], c["model"], c["tags"], panel) for c in printed]
