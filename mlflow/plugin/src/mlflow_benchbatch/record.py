"""The record of an evaluation, `outcomes.jsonl`: checked as benchbatch reads it, and written in one form."""

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .cell import Panel, need

FAILURES = ("agent", "timeout", "provider", "tool", "harness", "judge", "budget")
STATES = ("scored", *FAILURES, "not_run")

# The contract's members by what they hold: text, True or False, a number from .. to, a list, a dict.
_MOST = sys.float_info.max
_SHARE, _USD, _SECONDS, _ANY = (0.0, 1), (0.0, 1e6), (0.0, _MOST), (-_MOST, _MOST)
_COUNT = (0, (1 << 63) - 1)  # whole, as its lowest is
_VOTE = {"name": str, "score": _ANY, "kind": str, "model": str, "scale": [_ANY], "samples": [_ANY]}
_VOTE |= {"cost_usd": _USD, "rationale": str, "error": str}
_ROW: dict[str, Any] = {"task": str, "score": _SHARE, "passed": bool, "judges": [_VOTE]}
_ROW |= {"tokens": dict.fromkeys(("input", "cache_read", "cache_write", "output"), _COUNT), "cost_usd": _USD}
_ROW |= {"duration_s": _SECONDS, "wait_s": _SECONDS, "tool_calls": _COUNT, "tool_errors": _COUNT}
_ROW |= {"state": str, "attempt": _COUNT, "repaired": bool}  # of a record that benchbatch wrote
_ROW |= {"served": {"model": str, "provider": str}, "output": str, "transcript": str}
_ROW |= {"flags": [{"audit": str, "evidence": str}], "error": {"class": str, "message": str}}


class OutcomeError(ValueError):
    """Rows that benchbatch would refuse; the message names row, field, value and remedy."""


class Outcome(NamedTuple):
    """A checked row, with what follows from it."""

    row: dict[str, Any]  # plain JSON; what is unknown is absent
    line: bytes  # the same, as it is recorded
    state: str  # one of STATES
    score: float | None  # 0 to 1; None = missing

    def passes(self, panel: Panel) -> bool | None:
        """Whether the task passes; None = missing, or not reported."""
        if self.score is not None and panel.pass_reported and self.state == "scored":
            return self.row.get("passed")
        return None if self.score is None else self.score >= panel.pass_threshold - 1e-9


def check(rows: Iterable[Mapping[str, Any]], panel: Panel) -> list[Outcome]:
    """Check rows, one a task of the panel. The result is in the order of the tasks' ids: the same rows, the same bytes.

    Raises:
        OutcomeError: The first thing that is wrong.
    """
    found: dict[str, Outcome] = {}
    for n, row in enumerate(rows, 1):
        at = f"row {n}, task {row.get('task')!r}" if isinstance(row, Mapping) else f"row {n}"
        outcome = _outcome(at, _plain(at, row, _ROW), panel)
        new = found.setdefault(outcome.row["task"], outcome) is outcome
        need(new, OutcomeError(f"{at}: an earlier row has this task: give one row a task"))
    absent = sorted(set(panel.tasks) - found.keys())
    remedy = "one that could not be measured gets an error in place of a score, {'class': 'harness', 'message': 'why'}"
    lacking = f"{len(absent)} of {len(panel.tasks)} tasks have no row, such as {next(iter(absent), '')!r}"
    need(not absent, OutcomeError(f"{lacking}: {remedy}"))
    return [found[task] for task in sorted(found)]


def _outcome(at: str, row: dict[str, Any], panel: Panel) -> Outcome:
    """Settle a row: its state and the score that follows. What can be read in two ways is refused."""
    failed, score = "error" in row, row.get("score")
    state = row["error"].get("class") if failed else "scored"
    tasks, told = len(panel.tasks), row.get("state", state)
    need(row.get("task") in panel.tasks, OutcomeError(f"{at}: task: not one of the panel's {tasks}: give its id"))
    need(failed or score is not None, OutcomeError(f"{at}: neither score nor error: give one of them"))
    need(not failed or state in FAILURES, OutcomeError(f"{at}: error: class: {state!r}: not one of {FAILURES}"))
    beside = f"{score!r} beside an error of class {state!r}"
    need(not failed or not score, OutcomeError(f"{at}: score: {beside}: leave one of them out"))
    need(told == state, OutcomeError(f"{at}: state: {told!r}: the row says {state!r}; leave state out"))
    if failed:
        score = 0.0 if state == "agent" or (state == "timeout" and panel.timeout_policy != "missing") else None
    if score is None:
        row.pop("score", None)
    _check_votes(at, row.get("judges", []))
    try:
        text = json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return Outcome(row, text.encode() + b"\n", state, score)
    except (TypeError, ValueError) as e:
        raise OutcomeError(f"{at}: not JSON in UTF-8 ({e}): leave out what can't be written") from e


def _check_votes(at: str, votes: list[dict[str, Any]]) -> None:
    for i, vote in enumerate(votes):
        here, name, kind, scale = f"{at}: judges[{i}]", vote.get("name"), vote.get("kind"), vote.get("scale", [0, 1])
        one = "give one vote a judge, with its name; single votes are samples"
        need(name and all(name != v["name"] for v in votes[:i]), OutcomeError(f"{here}: name: {name!r}: {one}"))
        known = kind in (None, "code", "model", "human")
        need(known, OutcomeError(f"{here}: kind: {kind!r}: one of code, model, human is expected"))
        sound = len(scale) == 2 and scale[0] < scale[1]
        need(sound, OutcomeError(f"{here}: scale: {scale!r}: the lowest and the highest score are expected"))
        if "score" in vote:
            _plain(f"{here}: score", vote["score"], (float(scale[0]), scale[1]))


def _plain(at: str, value: Any, shape: Any) -> Any:
    """Copy a value as plain JSON: members in the contract's order, then others by name; None is left out."""
    if getattr(value, "ndim", None) == 0:
        value = value.item()  # a scalar of NumPy or of a tensor
    if isinstance(shape, dict):
        need(isinstance(value, Mapping), OutcomeError(f"{at}: {value!r}: a dict is expected"))
        for key in value:
            known = isinstance(key, str) and (key in shape or key.lower() not in shape)
            need(known, OutcomeError(f"{at}: key {key!r}: write it as text, in lower case"))
        keys = [k for k in shape if k in value] + sorted(value.keys() - shape.keys())
        return {k: _plain(f"{at}: {k}", value[k], shape.get(k)) for k in keys if value[k] is not None}
    if isinstance(shape, list):
        need(isinstance(value, list | tuple), OutcomeError(f"{at}: {value!r}: a list is expected"))
        return [_plain(f"{at}[{i}]", v, shape[0]) for i, v in enumerate(value)]
    if isinstance(shape, tuple):
        kinds, what = (int, "a whole number") if isinstance(shape[0], int) else (int | float, "a number")
        fits = isinstance(value, kinds) and not isinstance(value, bool) and shape[0] <= value <= shape[1]  # NaN: no
        need(fits, OutcomeError(f"{at}: {value!r}: {what} from {shape[0]:g} to {shape[1]:g} is expected, or None"))
    elif shape:
        what = "text" if shape is str else "True or False"
        need(isinstance(value, shape), OutcomeError(f"{at}: {value!r}: {what} is expected"))
    return value
