"""Logs a measured evaluation so that benchbatch counts it: evidence first, the tags that claim it last."""

import hashlib
import json
import tempfile
import time
import uuid
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import mlflow  # its members are looked up when called: MLflow may be in the middle of its own import

from . import record, summary
from .cell import Cell, find_cell, need

_TABLE, _TABLES, _BENCHMARK = "outcomes_table.json", "mlflow.loggedArtifacts", "benchbatch.benchmark"
_KIND, _EVALUATION, _OUTCOMES = "benchbatch.kind", "benchbatch.evaluation", "benchbatch.outcomes"


class RunError(RuntimeError):
    """A run that can't count; the message says why, and what to do."""


class Logged(NamedTuple):
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
    need(role in (None, "selection"), ValueError(f"role: {role!r}: 'selection' or None is expected"))
    need(wall_s is None or 0 <= wall_s < float("inf"), ValueError(f"wall_s: {wall_s!r}: seconds or None are expected"))
    cell = cell or find_cell()
    outcomes = record.check(rows, cell.panel)
    values = summary.metrics(outcomes, cell.panel, wall_s)
    content = b"".join(o.line for o in outcomes)
    claim = cell.tags | {_EVALUATION: str(uuid.UUID(evaluation) if evaluation else uuid.uuid4())}
    claim |= {_OUTCOMES: hashlib.sha256(content).hexdigest()} | ({"benchbatch.role": role} if role else {})

    client, active = mlflow.MlflowClient(), mlflow.active_run()
    need(run_id or active, RunError("no run is active: call this within `with mlflow.start_run():`, or give run_id"))
    run = client.get_run(run_id or active.info.run_id)
    run_id, tags = run.info.run_id, run.data.tags
    if all(tags.get(key) == claim[key] for key in ("benchbatch.identity", _OUTCOMES)):
        return Logged(run_id, tags[_EVALUATION], claim[_OUTCOMES], values.get("score"))
    _check_run(client, run, values)
    name = client.get_experiment(run.info.experiment_id).name
    if name != claim[_BENCHMARK]:
        where = f"only where reuse.experiments has {name!r}; start runs in {claim[_BENCHMARK]!r}"
        warnings.warn(f"a run in experiment {name!r} counts {where}", stacklevel=2)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "outcomes.jsonl").write_bytes(content)
        Path(folder, _TABLE).write_bytes(summary.table(outcomes, cell.panel))
        client.log_artifacts(run_id, folder)
    lost, most = [o.state for o in outcomes if o.score is None], cell.panel.max_missing
    states = ", ".join(f"{lost.count(s)} {s}" for s in record.STATES if s in lost)
    missing = f"{len(lost)} of {len(outcomes)} tasks are missing ({states}); at most {most} may be"
    until = f"measure them again. Until then outcomes.jsonl of run {run_id} is kept and does not count"
    need(len(lost) <= most, RunError(f"{missing}: {until}"))
    _log_panel(client, run_id, cell)
    now, entities = int(time.time() * 1000), mlflow.entities
    metrics = [entities.Metric(key, value, now, 0) for key, value in values.items()]
    params = [k for k in ("agent", "model", "benchmark", "version") if k not in run.data.params]
    params = [entities.Param(key, claim[f"benchbatch.{key}"]) for key in params]
    tables = [t for t in json.loads(tags.get(_TABLES, "[]")) if t.get("path") != _TABLE]
    claim[_TABLES] = json.dumps([*tables, {"path": _TABLE, "type": "table"}])
    tags = [entities.RunTag(key, value) for key, value in claim.items()]
    client.log_batch(run_id, metrics, params, tags)  # MLflow writes the tags last, too
    return Logged(run_id, claim[_EVALUATION], claim[_OUTCOMES], values.get("score"))


def _check_run(client: Any, run: Any, values: dict[str, float]) -> None:
    """Refuse a run that could never count, or in which other numbers stand."""
    tags, has, why = run.data.tags, run.data.metrics, []
    if _KIND in tags or _EVALUATION in tags:
        what = f"{tags.get(_KIND, 'evaluation')} {tags.get(_EVALUATION, '')}"
        why.append(f"is {what} already, of another cell or other outcomes")
    if run.info.status not in ("RUNNING", "FINISHED"):
        why.append(f"has status {run.info.status}, and only a FINISHED run counts")
    for key in [k for k in values if k in has and has[k] != values[k]]:
        why.append(f"has a metric {key} of {has[key]}, where the record says {values[key]}")
    remedy = "log it in a run of its own, such as `with mlflow.start_run(nested=True):`"
    need(not why, RunError(f"run {run.info.run_id} {' '.join(why[:1])}: {remedy}"))
    for _ in range(8):  # how far up benchbatch looks, too
        parent = tags.get("mlflow.parentRunId")
        tags = client.get_run(parent).data.tags if parent else {}
        below = f"run {run.info.run_id} lies below the evaluation {parent}"
        need(tags.get(_KIND) != "evaluation", RunError(f"{below}, which counts by itself"))


def _log_panel(client: Any, run_id: str, cell: Cell) -> None:
    """Note the panel as the run's dataset, as benchbatch does."""
    columns = [{"name": name, "type": "string", "required": True} for name in ("task", "input")]
    forms = {"mlflow_colspec": columns}, {"num_rows": len(cell.panel.tasks)}
    schema, profile = (json.dumps(form, separators=(",", ":")) for form in forms)
    name, digest = cell.tags[_BENCHMARK] + " panel", cell.panel.digest[:32]
    panel = mlflow.entities.Dataset(name, digest, "code", '{"tags":{}}', schema, profile)
    inputs = [mlflow.entities.DatasetInput(panel, [mlflow.entities.InputTag("mlflow.data.context", "eval")])]
    try:
        client.log_inputs(run_id, inputs)
    except mlflow.MlflowException:  # two runs name a new dataset at once: the server takes it the second time
        client.log_inputs(run_id, inputs)
