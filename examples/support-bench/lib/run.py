"""The runner of support-bench: does the tasks of one job with one agent.

Reads the job from BENCHBATCH_JOB, loads agents/<id>/agent.py, and appends one line per finished
task to BENCHBATCH_OUT/outcomes.jsonl. Beside it: answers/<task>.md and logs/<task>.jsonl.
An agent is a module with `prepare(job, brain)`, which returns a function from (ticket, desk) to
the answer's text; the desk (below) is its only way to a model.
"""
import importlib.util
import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
import library                             # noqa: E402  (local modules, after the line above on purpose)
from client import Client, ProviderError  # noqa: E402

AT_ONCE = 3  # tasks in work at the same time


class OutOfTime(Exception):
    """The task took longer than limits.task_timeout_s."""


class Desk:
    """One task's way to the model: it counts, meters, limits and logs every call."""

    def __init__(self, job, client, log):
        self.job, self.client, self.log = job, client, log
        limits = job.get("limits") or {}
        self.turns = limits.get("turns")
        self.deadline = time.monotonic() + limits["task_timeout_s"] if limits.get("task_timeout_s") else None
        self.calls, self.tool_calls, self.tool_errors = 0, 0, 0
        self.waited, self.answers = 0.0, []

    def chat(self, messages, **options):
        """The model's answer to the messages; options override the model's settings."""
        if self.turns is not None and self.calls >= self.turns:
            raise RuntimeError(f"the agent wanted more than {self.turns} model calls")
        self._check_time()
        self.calls += 1
        model = self.job["model"]
        request = {"model": model["route"], "messages": messages, **(model.get("settings") or {}), **options}
        try:
            answer, waited = self.client.chat(request)
        except ProviderError as e:
            self.waited += e.waited
            self._write({"request": request, "error": str(e)})
            raise
        self._write({"request": request, "response": answer})
        self.waited += waited
        self.answers.append(answer)
        self._check_time()
        return answer["choices"][0]["message"]["content"]

    def tool(self, function, *args):
        """The result of a tool of the agent's own; the call is counted."""
        self.tool_calls += 1
        try:
            return function(*args)
        except Exception:
            self.tool_errors += 1
            raise

    def usage(self):
        """Tokens and USD of all answered calls; None where the provider did not say."""
        usages = [a.get("usage") or {} for a in self.answers]
        prompt = total(u.get("prompt_tokens") for u in usages)
        cached = total((u.get("prompt_tokens_details") or {}).get("cached_tokens") for u in usages)
        output = total(u.get("completion_tokens") for u in usages)
        fresh = prompt if prompt is None or cached is None else prompt - cached
        tokens = {"input": fresh, "cache_read": cached, "cache_write": None, "output": output}
        cost = total(u.get("cost") for u in usages)
        return tokens, cost if cost is None else round(cost, 10)

    def served(self):
        """Who answered last, or None when nobody did."""
        if not self.answers:
            return None
        return {"model": self.answers[-1].get("model"), "provider": self.answers[-1].get("provider")}

    def _check_time(self):
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTime(f"over {self.job['limits']['task_timeout_s']} s after {self.calls} model calls")

    def _write(self, record):
        self.log.write(json.dumps(record, ensure_ascii=False) + "\n")


def total(values):
    """The sum, or None when there is no value or one of them is unknown."""
    values = list(values)
    return sum(values) if values and None not in values else None


class Runner:
    """Works off a job and writes its outcomes."""

    def __init__(self, job, out, client, answer):
        self.job, self.out, self.client, self.answer = job, out, client, answer
        self.lock = threading.Lock()
        for folder in ("answers", "logs"):
            os.makedirs(os.path.join(out, folder), exist_ok=True)

    def run(self):
        with open(os.path.join(self.out, "outcomes.jsonl"), "a", encoding="utf-8") as self.outcomes:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                for _ in pool.map(self.task, self.job["tasks"]):
                    pass

    def task(self, task):
        begin = time.monotonic()
        transcript, output = f"logs/{task['id']}.jsonl", f"answers/{task['id']}.md"
        with open(os.path.join(self.out, transcript), "w", encoding="utf-8") as log:
            desk = Desk(self.job, self.client, log)
            text, error = self._try(task, desk)
        if text is not None:
            with open(os.path.join(self.out, output), "w", encoding="utf-8") as f:
                f.write(text + "\n")
        tokens, cost = desk.usage()
        self._append({
            "task": task["id"],
            "output": output if text is not None else None,
            "tokens": tokens,
            "cost_usd": cost,
            "duration_s": round(time.monotonic() - begin, 4),
            "wait_s": round(desk.waited, 4),
            "tool_calls": desk.tool_calls,
            "tool_errors": desk.tool_errors,
            "served": desk.served(),
            "transcript": transcript,
            "error": error,
        })

    def _try(self, task, desk):
        """The answer, or None and the error with its class."""
        try:
            text = self.answer(task["input"], desk)
            if not text.strip():
                raise ValueError("the agent gave an empty answer")
            return text, None
        except ProviderError as e:
            return None, {"class": "provider", "message": str(e)}
        except OutOfTime as e:
            return None, {"class": "timeout", "message": str(e)}
        except Exception as e:  # whatever else an agent raises is the agent's own failure
            return None, {"class": "agent", "message": f"{type(e).__name__}: {e}"}

    def _append(self, line):
        with self.lock:
            self.outcomes.write(json.dumps(line, ensure_ascii=False) + "\n")
            self.outcomes.flush()


def load_agent(agent_id):
    path = os.path.join("agents", agent_id, "agent.py")
    spec = importlib.util.spec_from_file_location("agent", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    with open(os.environ["BENCHBATCH_JOB"], encoding="utf-8") as f:
        job = json.load(f)
    answer = load_agent(job["agent"]["id"]).prepare(job, library.Brain(job.get("brain")))
    client = Client(os.environ["GATEWAY_URL"], os.environ["GATEWAY_TOKEN"])
    Runner(job, os.environ["BENCHBATCH_OUT"], client, answer).run()


if __name__ == "__main__":
    main()
