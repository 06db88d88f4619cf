"""The record of an evaluation, `outcomes.jsonl`: checked as benchbatch reads it, and written in one form."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from .cell import Panel

FAILURES = ("agent", "timeout", "provider", "tool", "harness", "judge", "budget")
STATES = ("scored", *FAILURES, "not_run")


class OutcomeError(ValueError):
    """Rows that benchbatch would refuse; the message names row, field, value and remedy."""


class _Number(NamedTuple):
    low: float
    high: float
    kind: type = float


_MOST = sys.float_info.max
_SHARE, _USD, _SECONDS, _COUNT = _Number(0, 1), _Number(0, 1e6), _Number(0, _MOST), _Number(0, (1 << 63) - 1, int)
_ANY = _Number(-_MOST, _MOST)
_VOTE = {"name": str, "score": _ANY, "kind": str, "model": str, "scale": [_ANY], "samples": [_ANY]}
_VOTE |= {"cost_usd": _USD, "rationale": str, "error": str}
_ROW: dict[str, Any] = {"task": str, "score": _SHARE, "passed": bool, "judges": [_VOTE]}
_ROW |= {"tokens": dict.fromkeys(("input", "cache_read", "cache_write", "output"), _COUNT), "cost_usd": _USD}
_ROW |= {"duration_s": _SECONDS, "wait_s": _SECONDS, "tool_calls": _COUNT, "tool_errors": _COUNT}
_ROW |= {"state": str, "attempt": _COUNT, "repaired": bool}  # of a record that benchbatch wrote
_ROW |= {"served": {"model": str, "provider": str}, "output": str, "transcript": str}
_ROW |= {"flags": [{"audit": str, "evidence": str}], "error": {"class": str, "message": str}}


@dataclass(frozen=True)
class Outcome:
    """A checked row, with what follows from it."""

    row: dict[str, Any]  # plain JSON; what is unknown is absent
    line: bytes  # the same, as it is recorded
    state: str  # one of STATES
    score: float | None  # 0 to 1; None = missing

    def passes(self, panel: Panel) -> bool | None:
        """Whether the task passes; None = missing, or not reported."""
        if self.score is None:
            return None
        if panel.pass_reported and self.state == "scored":
            return self.row.get("passed")
        return self.score >= panel.pass_threshold - 1e-9


def check(rows: Iterable[Mapping[str, Any]], panel: Panel) -> list[Outcome]:
    """Check rows, one a task of the panel. The result is in the order of the tasks' ids: the same rows, the same bytes.

    Raises:
        OutcomeError: The first thing that is wrong.
    """
    found: dict[str, Outcome] = {}
    for n, row in enumerate(rows, 1):
        at = f"row {n}, task {row.get('task')!r}" if isinstance(row, Mapping) else f"row {n}"
        outcome = _outcome(at, _plain(at, row, _ROW), panel)
        if found.setdefault(outcome.row["task"], outcome) is not outcome:
            raise OutcomeError(f"{at}: an earlier row has this task: give one row a task")
    absent = sorted(set(panel.tasks) - found.keys())
    if absent:
        raise OutcomeError(
            f"{len(absent)} of {len(panel.tasks)} tasks have no row, such as {absent[0]!r}: one that could not be"
            " measured gets an error in place of a score, {'class': 'harness', 'message': 'why'}"
        )
    return [found[task] for task in sorted(found)]


def _outcome(at: str, row: dict[str, Any], panel: Panel) -> Outcome:
    """Settle a row: its state and the score that follows. What can be read in two ways is refused."""
    if row.get("task") not in panel.tasks:
        raise OutcomeError(f"{at}: task: not one of the panel's {len(panel.tasks)}: give the id of one of them")
    state, score = "scored", row.get("score")
    if "error" in row:
        state = row["error"].get("class")
        if state not in FAILURES:
            raise OutcomeError(f"{at}: error: class: {state!r}: one of {', '.join(FAILURES)} is expected")
        if score:
            raise OutcomeError(f"{at}: score: {score!r} beside an error of class {state!r}: leave one of them out")
        fails = state == "agent" or (state == "timeout" and panel.timeout_policy != "missing")
        score = 0.0 if fails else None
        if not fails:
            row.pop("score", None)
    elif score is None:
        raise OutcomeError(f"{at}: neither score nor error: give one of them")
    if row.get("state", state) != state:
        raise OutcomeError(f"{at}: state: {row['state']!r}: the row says {state!r}; leave state out")
    _check_votes(at, row.get("judges", []))
    try:
        text = json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return Outcome(row, text.encode() + b"\n", state, score)
    except (TypeError, ValueError) as e:
        raise OutcomeError(f"{at}: not JSON in UTF-8 ({e}): leave out what can't be written") from e


def _check_votes(at: str, votes: list[dict[str, Any]]) -> None:
    for i, vote in enumerate(votes):
        here, name = f"{at}: judges[{i}]", vote.get("name")
        if not name or name in (v["name"] for v in votes[:i]):
            raise OutcomeError(
                f"{here}: name: {name!r}: give one vote a judge, with its name; single votes are samples"
            )
        if vote.get("kind") not in (None, "code", "model", "human"):
            raise OutcomeError(f"{here}: kind: {vote['kind']!r}: one of code, model, human is expected")
        scale = vote.get("scale", [0, 1])
        if len(scale) != 2 or scale[0] >= scale[1]:
            raise OutcomeError(f"{here}: scale: {scale!r}: the lowest and the highest score are expected")
        if "score" in vote:
            _plain(f"{here}: score", vote["score"], _Number(*scale))


def _plain(at: str, value: Any, shape: Any) -> Any:
    """Copy a value as plain JSON: members in the contract's order, then others by name; None is left out."""
    if getattr(value, "ndim", None) == 0:
        value = value.item()  # a scalar of NumPy or of a tensor
    if isinstance(shape, dict):
        if not isinstance(value, Mapping):
            raise OutcomeError(f"{at}: {value!r}: a dict is expected")
        for key in value:
            if not isinstance(key, str) or (key not in shape and key.lower() in shape):
                raise OutcomeError(f"{at}: key {key!r}: write it as text, in lower case")
        keys = [k for k in shape if k in value] + sorted(value.keys() - shape.keys())
        return {k: _plain(f"{at}: {k}", value[k], shape.get(k)) for k in keys if value[k] is not None}
    if isinstance(shape, list):
        if not isinstance(value, list | tuple):
            raise OutcomeError(f"{at}: {value!r}: a list is expected")
        return [_plain(f"{at}[{i}]", v, shape[0]) for i, v in enumerate(value)]
    if isinstance(shape, _Number):
        fits = isinstance(value, int if shape.kind is int else int | float) and not isinstance(value, bool)
        if not fits or not shape.low <= value <= shape.high:  # NaN compares as false
            what = "a whole number" if shape.kind is int else "a number"
            raise OutcomeError(
                f"{at}: {value!r}: {what} from {shape.low:g} to {shape.high:g} is expected; unknown is None"
            )
    elif shape and not isinstance(value, shape):
        raise OutcomeError(f"{at}: {value!r}: {'text' if shape is str else 'True or False'} is expected")
    return value
