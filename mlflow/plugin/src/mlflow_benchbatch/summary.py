"""What people look at: metrics and the table of outcomes, by the names of benchbatch's own runs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from .cell import Panel
from .record import STATES, Outcome

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")  # of a judge that has a metric of its own
_TEXT = 300  # characters of a text that the table shows


def metrics(outcomes: list[Outcome], panel: Panel, wall_s: float | None) -> dict[str, float]:
    """Give metrics in their one order, rounded to 6 digits, in USD and seconds; what is unknown is left out."""
    rows, votes = [o.row for o in outcomes], [v for o in outcomes for v in o.row.get("judges", [])]
    scores = _known([o.score for o in outcomes])
    costs = [r.get("cost_usd") for r in rows]
    costs += [v.get("cost_usd") for v in votes if "cost_usd" in v or v.get("kind") == "model"]
    cost, unknown = _sum(costs), costs.count(None)
    if not cost and unknown:  # zeros beside unknown costs tell nothing
        cost = None
    values = {"score": _mean(scores), "pass_fraction": _mean([o.passes(panel) for o in outcomes])}
    values |= {"coverage": len(scores) / len(outcomes), "cost_usd": cost, "cost_unknown": unknown}
    values["cost_worst_usd"] = None if cost is None else cost + unknown * max(_known(costs))
    for kind in ("input", "cache_read", "cache_write", "output"):
        values[f"tokens/{kind}"] = _sum([r.get("tokens", {}).get(kind) for r in rows])
    values |= {"wall_s": wall_s, "wait_s": _sum([r.get("wait_s") for r in rows])}
    values |= {f"count/{s}": sum(o.state == s for o in outcomes) for s in STATES}
    for name in filter(_NAME.fullmatch, _judges(outcomes)):
        values[f"judge/{name}"] = _mean([_unit(v) for v in votes if v["name"] == name])
    return {key: round(float(v), 6) for key, v in values.items() if v is not None}


def table(outcomes: list[Outcome], panel: Panel) -> bytes:
    """Give `outcomes_table.json` in the split form of pandas, which MLflow's UI shows and compares across runs."""
    judges = _judges(outcomes)
    columns = ["task", "score", "passed", *(f"judge/{j}"[:80] for j in judges)]
    columns += ["state", "cost_usd", "tokens_in", "tokens_out", "duration_s", "error"]
    data = []
    for o in outcomes:
        votes = {v["name"]: v.get("score") for v in o.row.get("judges", [])}
        tokens, message = o.row.get("tokens", {}), o.row.get("error", {}).get("message", "")
        data.append([o.row["task"], o.score, o.passes(panel), *(votes.get(j) for j in judges), o.state])
        data[-1] += [o.row.get("cost_usd"), tokens.get("input"), tokens.get("output"), o.row.get("duration_s")]
        data[-1].append(message[:_TEXT])
    return json.dumps({"columns": columns, "data": data}, ensure_ascii=False).encode()


def _judges(outcomes: list[Outcome]) -> list[str]:
    return sorted({v["name"] for o in outcomes for v in o.row.get("judges", [])})


def _unit(vote: dict[str, Any]) -> float | None:
    low, high = vote.get("scale", [0, 1])
    return (vote["score"] - low) / (high - low) if "score" in vote else None


def _known(values: Sequence[float | None]) -> list[float]:
    return [v for v in values if v is not None]


def _sum(values: Sequence[float | None]) -> float | None:
    return sum(known) if (known := _known(values)) else None


def _mean(values: Sequence[float | None]) -> float | None:
    return sum(known) / len(known) if (known := _known(values)) else None
