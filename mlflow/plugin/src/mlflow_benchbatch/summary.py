"""What people look at: metrics and the table of outcomes, by the names of benchbatch's own runs."""

import json
import re
from collections.abc import Sequence
from typing import Any

from .cell import Panel
from .record import STATES, Outcome

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")  # of a judge that has a metric of its own
_FIRST = ["task", "score", "passed"]
_LAST = ["state", "attempt", "cost_usd", "tokens_in", "tokens_out", "duration_s", "error", "question"]


def metrics(outcomes: list[Outcome], panel: Panel, wall_s: float | None) -> dict[str, float]:
    """Give metrics in their one order, rounded to 6 digits, in USD and seconds; what is unknown is left out."""
    rows, votes = [o.row for o in outcomes], [v for o in outcomes for v in o.row.get("judges", [])]
    scores, passes = [o.score for o in outcomes], [o.passes(panel) for o in outcomes]
    costs = [r.get("cost_usd") for r in rows]
    costs += [v.get("cost_usd") for v in votes if "cost_usd" in v or v.get("kind") == "model"]
    unknown = costs.count(None)
    values = {"score": _mean(scores), "pass_fraction": _mean(passes), "coverage": len(_known(scores)) / len(outcomes)}
    cost = _sum(costs) or (None if unknown else 0.0)  # zeros beside unknown costs tell nothing
    worst = None if cost is None else cost + unknown * max(_known(costs))
    values |= {"cost_usd": cost, "cost_unknown": unknown, "cost_worst_usd": worst}
    for kind in ("input", "cache_read", "cache_write", "output"):
        values[f"tokens/{kind}"] = _sum([r.get("tokens", {}).get(kind) for r in rows])
    values |= {"wall_s": wall_s, "wait_s": _sum([r.get("wait_s") for r in rows])}
    values |= {f"count/{s}": sum(o.state == s for o in outcomes) for s in STATES}
    for name in filter(_NAME.fullmatch, _judges(outcomes)):
        values[f"judge/{name}"] = _mean([_unit(v) for v in votes if v["name"] == name])
    return {key: round(float(v), 6) for key, v in values.items() if v is not None}


def table(outcomes: list[Outcome], panel: Panel) -> bytes:
    """Give `outcomes_table.json` in the split form of pandas, which MLflow's UI shows and compares across runs."""
    judges, data = _judges(outcomes), []
    named = [f"judge/{j}" if j in _FIRST + _LAST else j for j in judges]
    for o in outcomes:
        votes = {v["name"]: v.get("score") for v in o.row.get("judges", [])}
        row = {"task": o.row["task"], "score": o.score, "passed": o.passes(panel), "state": o.state}
        row |= {key: o.row.get(key) for key in ("attempt", "cost_usd", "duration_s")}
        row |= {f"tokens_{way}": o.row.get("tokens", {}).get(f"{way}put") for way in ("in", "out")}
        row["error"] = o.row.get("error", {}).get("message", "")[:300]
        row["question"] = panel.questions.get(o.row["task"], "")
        data.append([row[c] for c in _FIRST] + [votes.get(j) for j in judges] + [row[c] for c in _LAST])
    columns = _FIRST + [j[:80] for j in named] + _LAST
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
