"""A run context provider: runs that are started under `BENCHBATCH_SPEC` say so, and can be found."""

from __future__ import annotations

import os

from mlflow.tracking.context.abstract_context import RunContextProvider

_LENGTH = 500  # characters: longer values are cut, never refused


class SpecRunContext(RunContextProvider):
    """Notes spec, agent and model on every new run. A note is no claim: such a run does not count by it."""

    def in_context(self) -> bool:
        """Say whether `BENCHBATCH_SPEC` is set."""
        return bool(os.environ.get("BENCHBATCH_SPEC"))

    def tags(self) -> dict[str, str]:
        """Give the tags, from `BENCHBATCH_SPEC` and `BENCHBATCH_VARIANT`, which is `AGENT+MODEL`."""
        agent, plus, model = os.environ.get("BENCHBATCH_VARIANT", "").partition("+")
        noted = {"benchbatch.spec": os.environ.get("BENCHBATCH_SPEC", "")}
        if plus:
            noted |= {"benchbatch.agent": agent, "benchbatch.model": model}
        return {key: _text(value) for key, value in noted.items() if value}


def _text(value: str) -> str:
    """Make text that any server stores: bytes that are not UTF-8 could fail the run."""
    return value.encode("utf-8", "replace").decode("utf-8")[:_LENGTH]
