"""A run context provider: runs that are started under `BENCHBATCH_SPEC` say so, and can be found."""

import os

from mlflow.tracking.context.abstract_context import RunContextProvider


class SpecRunContext(RunContextProvider):
    """Notes spec, agent and model on every new run. A note is no claim: such a run does not count by it."""

    def in_context(self) -> bool:
        """Say whether `BENCHBATCH_SPEC` is set."""
        return bool(os.environ.get("BENCHBATCH_SPEC"))

    def tags(self) -> dict[str, str]:
        """Give the tags, from `BENCHBATCH_SPEC` and `BENCHBATCH_VARIANT`, which is `AGENT+MODEL`."""
        agent, plus, model = _text("BENCHBATCH_VARIANT").partition("+")
        noted = {"benchbatch.spec": _text("BENCHBATCH_SPEC"), "benchbatch.model": model}
        noted["benchbatch.agent"] = agent if plus else ""
        return {key: value for key, value in noted.items() if value}


def _text(name: str) -> str:
    """Read text that any server stores: bytes that are not UTF-8, or too many, could fail the run."""
    return os.environ.get(name, "").encode("utf-8", "replace").decode("utf-8")[:500]
