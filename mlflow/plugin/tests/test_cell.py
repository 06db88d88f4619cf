import json
import os
import stat
import tempfile
import unittest
from unittest import mock

from mlflow_benchbatch import CellError, find_cell
from mlflow_benchbatch.context import SpecRunContext

PANEL = {"digest": "ab" * 32, "tasks": ["T-1"], "max_missing": 1, "timeout_policy": "fail", "pass_threshold": 0.5,
         "pass_reported": False}  # fmt: skip
CELLS = [{"agent": "quick", "model": m, "tags": {"benchbatch.cell": m}, "panel": PANEL} for m in ("one", "two")]


class Choice(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "hashes.json")
        self.program = os.path.join(folder.name, "program")
        environment = mock.patch.dict(os.environ)
        environment.start()
        self.addCleanup(environment.stop)
        for name in ("BENCHBATCH", "BENCHBATCH_SPEC", "BENCHBATCH_VARIANT"):
            os.environ.pop(name, None)
        self.write(CELLS)

    def write(self, cells):
        with open(self.file, "w") as f:
            json.dump(cells, f)

    def refused(self, said, *args, **kwargs):
        with self.assertRaisesRegex(CellError, said):
            find_cell(*args, **kwargs)

    def test_by_file(self):
        self.assertEqual(find_cell(hashes=self.file, variant="quick+two").tags["benchbatch.cell"], "two")
        os.environ["BENCHBATCH_VARIANT"] = "quick+one"
        self.assertEqual(find_cell(hashes=self.file).model, "one")
        panel = find_cell(hashes=self.file, variant="quick+two").panel
        self.assertEqual((panel.tasks, panel.questions), ({"T-1"}, {}))
        first = CELLS[0] | {"panel": PANEL | {"questions": {"T-1": "Why?"}}}
        self.write([first, CELLS[1]])
        self.assertEqual(find_cell(hashes=self.file, variant="quick+two").panel.questions, {"T-1": "Why?"})
        self.refused("quick\\+one, quick\\+two", hashes=self.file, variant="quick+three")
        del os.environ["BENCHBATCH_VARIANT"]
        self.refused("set BENCHBATCH_VARIANT: quick\\+one, quick\\+two", hashes=self.file)
        self.write(CELLS[:1])
        self.assertEqual(find_cell(hashes=self.file).model, "one")
        self.write([{"agent": "quick", "model": "one", "tags": {}}])
        self.refused("KeyError\\('panel'\\): make it with `benchbatch hash", hashes=self.file)
        self.write([])
        self.refused("IndexError", hashes=self.file)
        self.refused("No such file or directory.*: make it with `benchbatch hash", hashes=self.file + ".none")
        self.refused("set BENCHBATCH_SPEC")

    def test_by_program(self):
        os.environ["BENCHBATCH"] = self.program
        self.refused("program is not found: put it on the PATH", "b.yaml")
        with open(self.program, "w") as f:
            f.write('#!/bin/sh\necho talk >&2\n[ "$*" = "hash b.yaml --json" ] || { echo wrong >&2; exit 2; }\n')
            f.write(f'exec cat "{self.file}"\n')
        os.chmod(self.program, stat.S_IRWXU)
        self.assertEqual(find_cell("b.yaml", "quick+two").model, "two")
        self.refused("exits with 2: talk\nwrong", "c.yaml", "quick+two")
        os.environ |= {"BENCHBATCH_SPEC": "b.yaml", "BENCHBATCH_VARIANT": "quick+one"}
        self.assertEqual(find_cell().model, "one")


class Context(unittest.TestCase):
    def test_tags(self):
        for spec, variant, want in (
            ("", "quick+one", None),
            ("b.yaml", "", {"spec": "b.yaml"}),
            ("b.yaml", "quick", {"spec": "b.yaml"}),
            ("b.yaml", "quick+one", {"spec": "b.yaml", "agent": "quick", "model": "one"}),
            ("b.yaml", "+one", {"spec": "b.yaml", "model": "one"}),
            ("\udcff" + "x" * 9000, "a+b", {"spec": "?" + "x" * 499, "agent": "a", "model": "b"}),
        ):
            with mock.patch.dict(os.environ, {"BENCHBATCH_SPEC": spec, "BENCHBATCH_VARIANT": variant}):
                self.assertEqual(SpecRunContext().in_context(), want is not None)
                if want is not None:
                    self.assertEqual(SpecRunContext().tags(), {f"benchbatch.{k}": v for k, v in want.items()})


if __name__ == "__main__":
    unittest.main()
