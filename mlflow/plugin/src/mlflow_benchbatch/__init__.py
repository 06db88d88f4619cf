"""Runs that Python logs in MLflow count as repeats of a benchbatch benchmark.

Order of use: `find_cell` before the measurement, `log_outcomes` after it, inside the run. Errors: `CellError` where no
cell can be found, `OutcomeError` for rows that benchbatch would refuse, `RunError` for a run that could not count.
"""

from .cell import Cell, CellError, Panel, find_cell
from .log import Logged, RunError, log_outcomes
from .record import OutcomeError

__all__ = ["Cell", "CellError", "Logged", "OutcomeError", "Panel", "RunError", "find_cell", "log_outcomes"]
