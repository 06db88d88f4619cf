import json
import math
import unittest

import numpy as np

from mlflow_benchbatch import OutcomeError, Panel
from mlflow_benchbatch.record import check
from mlflow_benchbatch.summary import metrics, table

PANEL = Panel("ab" * 32, frozenset({"T-1", "T-2", "T-3"}), 1, "fail", 0.5, False)
GOOD = [{"task": "T-1", "score": 1.0}, {"task": "T-2", "score": 0.25}, {"task": "T-3", "error": {"class": "agent"}}]


def record(rows, panel=PANEL):
    return b"".join(o.line for o in check(rows, panel)).decode()


class Record(unittest.TestCase):
    def refused(self, row, *said, panel=PANEL):
        with self.assertRaises(OutcomeError) as raised:
            check([GOOD[0], row, GOOD[2]], panel)
        for text in ("row 2", *said):
            self.assertIn(text, str(raised.exception))

    def test_one_form_whatever_the_order(self):
        want = '{"task":"T-1","score":1.0}\n{"task":"T-2","score":0.25}\n{"task":"T-3","error":{"class":"agent"}}\n'
        self.assertEqual(record(GOOD), want)
        turned = [dict(reversed(r.items())) | {"cost_usd": None} for r in reversed(GOOD)]
        self.assertEqual(record(turned), want)

    def test_scalars_of_numpy_and_members_of_others(self):
        row = {"task": "T-2", "score": np.float32(0.5), "passed": np.bool_(True), "tool_calls": np.int64(3), "epoch": 7}
        want = '{"task":"T-2","score":0.5,"passed":true,"tool_calls":3,"epoch":7}\n'
        self.assertIn(want, record([GOOD[0], row, GOOD[2]]))

    def test_what_is_refused(self):
        for row, *said in (
            ({"task": "T-9", "score": 1}, "task 'T-9'", "panel's 3"),
            ({"score": 1}, "task: not one of the panel"),
            ({"task": "T-1", "score": 1}, "task 'T-1'", "one row a task"),
            ({"task": "T-2"}, "neither score nor error"),
            ({"task": "T-2", "score": math.nan}, "score: nan", "from 0 to 1"),
            ({"task": "T-2", "score": 75}, "score: 75", "from 0 to 1"),
            ({"task": "T-2", "score": True}, "score: True", "a number"),
            ({"task": "T-2", "score": "0.5"}, "score: '0.5'", "a number"),
            ({"task": "T-2", "score": 1, "passed": 1}, "passed: 1: True or False"),
            ({"task": "T-2", "score": 1, "cost_usd": -0.1}, "cost_usd: -0.1"),
            ({"task": "T-2", "score": 1, "duration_s": math.inf}, "duration_s: inf"),
            ({"task": "T-2", "score": 1, "tokens": {"input": 1.5}}, "tokens: input: 1.5", "a whole number"),
            ({"task": "T-2", "score": 1, "tokens": 12}, "tokens: 12: a dict"),
            ({"task": "T-2", "Score": 1}, "key 'Score'", "lower case"),
            ({"task": "T-2", "score": 1, "state": "agent"}, "state: 'agent'", "'scored'"),
            ({"task": "T-2", "score": 1, "extra": math.nan}, "not JSON"),
            ({"task": "T-2", "score": 1, "extra": "\ud800"}, "not JSON in UTF-8"),
            ({"task": "T-2", "score": 1, "extra": object()}, "not JSON"),
            ({"task": "T-2", "error": {"class": "oops"}}, "class: 'oops'", "not one of ('agent', 'timeout'"),
            ({"task": "T-2", "error": "oops"}, "error: 'oops': a dict"),
            ({"task": "T-2", "score": 0.5, "error": {"class": "agent"}}, "score: 0.5 beside an error of class 'agent'"),
            ({"task": "T-2", "score": 1, "judges": [{"name": "a"}, {"name": "a"}]}, "judges[1]: name: 'a'"),
            ({"task": "T-2", "score": 1, "judges": [{"name": "a", "score": 3}]}, "judges[0]: score: 3", "from 0 to 1"),
            ({"task": "T-2", "score": 1, "judges": [{"name": "a", "scale": [5, 1]}]}, "scale: [5, 1]"),
            ({"task": "T-2", "score": 1, "judges": [{"name": "a", "kind": "dog"}]}, "kind: 'dog'"),
            ({"task": "T-2", "score": 1, "judges": [{"name": "a", "samples": [None]}]}, "samples[0]: None"),
            ("T-2", "'T-2': a dict"),
        ):
            with self.subTest(row=row):
                self.refused(row, *said)
        with self.assertRaisesRegex(OutcomeError, "1 of 3 tasks have no row, such as 'T-2'"):
            check([GOOD[0], GOOD[2]], PANEL)

    def test_what_a_failure_is_worth(self):
        late = PANEL._replace(timeout_policy="missing")
        for kind, panel, score in (
            ("agent", PANEL, 0),
            ("timeout", PANEL, 0),
            ("timeout", late, None),
            ("provider", PANEL, None),
            ("harness", PANEL, None),
        ):
            row = {"task": "T-2", "score": 0, "error": {"class": kind, "message": "é"}}
            got = check([GOOD[0], row, GOOD[2]], panel)[1]
            self.assertEqual((got.state, got.score), (kind, score))

    def test_metrics(self):
        rows = [
            {"task": "T-1", "score": 0.9, "passed": False, "cost_usd": 0.25, "tokens": {"input": 10}, "wait_s": 1.5,
             "judges": [{"name": "tone", "score": 4, "scale": [1, 5]}, {"name": "odd name", "score": 1}]},
            {"task": "T-2", "score": 0.4, "tokens": {"input": 5, "output": 2},
             "judges": [{"name": "tone", "score": 2, "scale": [1, 5], "kind": "model"}]},
            {"task": "T-3", "error": {"class": "provider"}, "cost_usd": 0.05},
        ]  # fmt: skip
        got = metrics(check(rows, PANEL), PANEL, 60)
        self.assertEqual(list(got)[:4], ["score", "pass_fraction", "coverage", "cost_usd"])
        for key, want in {
            "score": 0.65, "pass_fraction": 0.5, "coverage": 0.666667, "cost_usd": 0.3, "cost_unknown": 2,
            "cost_worst_usd": 0.8, "tokens/input": 15, "tokens/output": 2, "wall_s": 60, "wait_s": 1.5,
            "judge/tone": 0.5, "count/scored": 2, "count/provider": 1, "count/not_run": 0,
        }.items():  # fmt: skip
            self.assertEqual(got[key], want, key)
        self.assertNotIn("tokens/cache_read", got)
        self.assertNotIn("judge/odd name", got)
        reported = PANEL._replace(pass_reported=True)
        self.assertEqual(metrics(check(rows, reported), reported, None)["pass_fraction"], 0)

    def test_table(self):
        asked = PANEL._replace(questions={"T-3": "Why?"})
        rows = [
            GOOD[0] | {"judges": [{"name": "tone", "score": 4, "scale": [1, 5]}, {"name": "state", "score": 1}]},
            GOOD[1] | {"tokens": {"input": 5, "output": 2}, "duration_s": 1.5, "attempt": 2},
            {"task": "T-3", "error": {"class": "provider", "message": "x" * 400}, "cost_usd": 0.05},
        ]
        shown = json.loads(table(check(rows, asked), asked))
        want = "task score passed judge/state tone state attempt cost_usd tokens_in tokens_out duration_s error question"
        self.assertEqual(shown["columns"], want.split())
        self.assertEqual(shown["data"][0], ["T-1", 1, True, 1, 4, "scored", *[None] * 5, "", ""])
        self.assertEqual(shown["data"][1][5:], ["scored", 2, None, 5, 2, 1.5, "", ""])
        failed = ["T-3", None, None, None, None, "provider", None, 0.05, None, None, None, "x" * 300, "Why?"]
        self.assertEqual(shown["data"][2], failed)

    def test_unknown_costs_are_not_nothing(self):
        rows = [GOOD[0] | {"cost_usd": 0}, *GOOD[1:]]
        got = metrics(check(rows, PANEL), PANEL, None)
        self.assertEqual(got["cost_unknown"], 2)
        self.assertNotIn("cost_usd", got)
        self.assertNotIn("wall_s", got)


if __name__ == "__main__":
    unittest.main()
