"""Logs a measured evaluation so that benchbatch counts it: evidence first, the tags that claim it last."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
import uuid
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import mlflow  # its members are looked up when called: MLflow may be in the middle of its own import

from . import record, summary
from .cell import Cell, find_cell

_TABLE = "outcomes_table.json"
_KIND, _EVALUATION, _OUTCOMES = "benchbatch.kind", "benchbatch.evaluation", "benchbatch.outcomes"
_IDENTITY, _BENCHMARK = "benchbatch.identity", "benchbatch.benchmark"
_TABLES = "mlflow.loggedArtifacts"


class RunError(RuntimeError):
    """A run that can't count; the message says why, and what to do."""


@dataclass(frozen=True)
class Logged:
    """What was logged."""

    run_id: str
    evaluation: str  # UUID: of two runs with the same one, the earlier counts
    outcomes: str  # SHA-256 of outcomes.jsonl, 64 hex digits
    score: float | None  # mean over the tasks that have a score, 0 to 1; None = none has


def log_outcomes(
    rows: Iterable[Mapping[str, Any]],
    cell: Cell | None = None,
    *,
    run_id: str | None = None,
    evaluation: str | None = None,
    wall_s: float | None = None,
    role: str | None = None,
) -> Logged:
    """Log one measurement of the whole panel in a run, which counts as a repeat of its cell once it is FINISHED.

    The same rows again change nothing; other rows in the same run are refused.

    Args:
        rows: One mapping a task: `task`, and `score` (0 to 1) or `error` (`class`, `message`); docs/runner.md has more
            members. Costs in USD, times in seconds; what is unknown is None or absent, never 0.
        cell: What was measured; default: `find_cell()`.
        run_id: Default: the active run.
        evaluation: UUID of the measurement, if it may be logged in more than one run; default: a new one.
        wall_s: What the measurement took, in seconds; None = unknown.
        role: "selection" where the run served to choose the brain or a setting: it counts, and is marked.

    Raises:
        OutcomeError: The rows are no record of the panel. Nothing was written.
        RunError: The run holds another evaluation or lies below one, or too many tasks are missing.
        CellError: See `find_cell`.
    """
    if role not in (None, "selection"):
        raise ValueError(f"role: {role!r}: 'selection' or None is expected")
    if wall_s is not None and not 0 <= wall_s < float("inf"):
        raise ValueError(f"wall_s: {wall_s!r}: seconds are expected; unknown is None")
    cell = cell or find_cell()
    outcomes = record.check(rows, cell.panel)
    content = b"".join(o.line for o in outcomes)
    digest = hashlib.sha256(content).hexdigest()
    values = summary.metrics(outcomes, cell.panel, wall_s)
    claim = cell.tags | {_EVALUATION: str(uuid.UUID(evaluation) if evaluation else uuid.uuid4()), _OUTCOMES: digest}

    client, active = mlflow.MlflowClient(), mlflow.active_run()
    if run_id is None and active is None:
        raise RunError("no run is active: call this within `with mlflow.start_run():`, or give run_id")
    run = client.get_run(run_id or active.info.run_id)
    run_id, tags = run.info.run_id, run.data.tags
    if all(tags.get(key) == claim[key] for key in (_IDENTITY, _OUTCOMES)):
        return Logged(run_id, tags[_EVALUATION], digest, values.get("score"))
    _check_run(client, run, values)
    _check_experiment(client, run, claim[_BENCHMARK])
    _put(client, run_id, {"outcomes.jsonl": content, _TABLE: summary.table(outcomes, cell.panel)})
    lost = [o.state for o in outcomes if o.score is None]
    if len(lost) > cell.panel.max_missing:
        states = ", ".join(f"{lost.count(s)} {s}" for s in record.STATES if s in lost)
        raise RunError(
            f"{len(lost)} of {len(outcomes)} tasks are missing ({states}); at most {cell.panel.max_missing} may be:"
            f" measure them again. Until then outcomes.jsonl of run {run_id} is kept and does not count"
        )
    _log_panel(client, run_id, cell)
    now = int(time.time() * 1000)
    params = {key: claim[f"benchbatch.{key}"] for key in ("agent", "model", "benchmark", "version")}
    tables = [t for t in json.loads(tags.get(_TABLES, "[]")) if t.get("path") != _TABLE]
    claim |= {_TABLES: json.dumps([*tables, {"path": _TABLE, "type": "table"}])} | (
        {"benchbatch.role": role} if role else {}
    )
    client.log_batch(  # MLflow writes the tags last, too
        run_id,
        metrics=[mlflow.entities.Metric(k, v, now, 0) for k, v in values.items()],
        params=[mlflow.entities.Param(k, v) for k, v in params.items() if k not in run.data.params],
        tags=[mlflow.entities.RunTag(k, v) for k, v in claim.items()],
    )
    return Logged(run_id, claim[_EVALUATION], digest, values.get("score"))


def _check_run(client: Any, run: Any, values: dict[str, float]) -> None:
    """Refuse a run that could never count, or in which other numbers stand."""
    tags, remedy = run.data.tags, "log it in a run of its own, such as `with mlflow.start_run(nested=True):`"
    why = ""
    if _KIND in tags or _EVALUATION in tags:
        why = (
            f"is {tags.get(_KIND, 'evaluation')} {tags.get(_EVALUATION, '')} already, of another cell or other outcomes"
        )
    elif run.info.status not in ("RUNNING", "FINISHED"):
        why = f"has status {run.info.status}, and only a FINISHED run counts"
    for key, value in values.items():
        has = run.data.metrics.get(key, value)
        if has != value and not why:
            why = f"has a metric {key} of {has}, where the record says {value}"
    if why:
        raise RunError(f"run {run.info.run_id} {why}: {remedy}")
    for _ in range(8):  # how far up benchbatch looks, too
        parent = tags.get("mlflow.parentRunId")
        if not parent:
            return
        tags = client.get_run(parent).data.tags
        if tags.get(_KIND) == "evaluation":
            raise RunError(f"run {run.info.run_id} lies below the evaluation {parent}, which counts by itself")


def _check_experiment(client: Any, run: Any, benchmark: str) -> None:
    name = client.get_experiment(run.info.experiment_id).name
    if name != benchmark:
        where = f"only where reuse.experiments has {name!r}; start runs in {benchmark!r}"
        warnings.warn(f"a run in experiment {name!r} counts {where}", stacklevel=3)


def _put(client: Any, run_id: str, files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            with open(os.path.join(folder, name), "wb") as f:
                f.write(content)
        client.log_artifacts(run_id, folder)


def _log_panel(client: Any, run_id: str, cell: Cell) -> None:
    """Note the panel as the run's dataset, as benchbatch does."""
    columns = [{"name": name, "type": "string", "required": True} for name in ("task", "input")]
    panel = mlflow.entities.Dataset(
        name=cell.tags[_BENCHMARK] + " panel",
        digest=cell.panel.digest[:32],
        source_type="code",
        source='{"tags":{}}',
        schema=json.dumps({"mlflow_colspec": columns}, separators=(",", ":")),
        profile=json.dumps({"num_rows": len(cell.panel.tasks)}, separators=(",", ":")),
    )
    inputs = [mlflow.entities.DatasetInput(panel, [mlflow.entities.InputTag("mlflow.data.context", "eval")])]
    try:
        client.log_inputs(run_id, inputs)
    except mlflow.MlflowException:  # two runs name a new dataset at once: the server takes it the second time
        client.log_inputs(run_id, inputs)
