"""The judge stage: scores the answers of one evaluation by code, the same for every variant.

Reads the job (with expected answers and `runner_out`, the folder the runner wrote) and writes one
line per answered task to BENCHBATCH_OUT/outcomes.jsonl. Three judges, each in [0,1]:

    facts    share of the required facts that the answer states
    policy   1, less a half for every statement that belongs to another case
    action   1 for the right action, 0.5 for one that is also acceptable
"""
import json
import os

WEIGHTS = {"facts": 0.55, "policy": 0.2, "action": 0.25}
ACTION = "\nAction: "


def normal(text):
    """Lower case with single spaces, so that line breaks and capitals do not matter."""
    return " ".join(text.lower().split())


def judge_facts(answer, expected):
    text = normal(answer)
    missing = [names[0] for names in expected["facts"] if not any(normal(n) in text for n in names)]
    return 1 - len(missing) / len(expected["facts"]), "missing: " + "; ".join(missing) if missing else "all stated"


def judge_policy(answer, expected):
    text = normal(answer)
    wrong = [claim for claim in expected["forbidden"] if normal(claim) in text]
    return max(0.0, 1 - len(wrong) / 2), "does not apply here: " + "; ".join(wrong) if wrong else "nothing out of place"


def judge_action(answer, expected):
    _, _, action = ("\n" + answer).rpartition(ACTION)
    action = action.strip()
    score = 1.0 if action == expected["action"] else 0.5 if action in expected["also_ok"] else 0.0
    return score, f"chose {action or 'nothing'}, wanted {expected['action']}"


JUDGES = {"facts": judge_facts, "policy": judge_policy, "action": judge_action}


def judge(task_id, answer, expected):
    """The outcome line of one answer."""
    verdicts = []
    for name, rate in JUDGES.items():
        score, rationale = rate(answer, expected)
        verdicts.append({"name": name, "score": round(score, 6), "kind": "code", "rationale": rationale})
    score = sum(WEIGHTS[v["name"]] * v["score"] for v in verdicts)
    return {"task": task_id, "score": round(min(score, 1.0), 6), "judges": verdicts, "error": None}


def answers(folder):
    """Task id → path of its answer, from the runner's lines; the first answer of a task counts."""
    found, root = {}, os.path.realpath(folder)
    record = os.path.join(root, "outcomes.jsonl")
    if not os.path.exists(record):
        return found
    with open(record, encoding="utf-8") as lines:
        for line in lines:
            outcome = json.loads(line)
            if outcome.get("error") or not outcome.get("output"):
                continue
            path = os.path.realpath(os.path.join(root, outcome["output"]))
            if os.path.commonpath([root, path]) == root:  # never read beside what the runner wrote
                found.setdefault(outcome["task"], path)
    return found


def main():
    with open(os.environ["BENCHBATCH_JOB"], encoding="utf-8") as f:
        job = json.load(f)
    found = answers(job["runner_out"])
    with open(os.path.join(os.environ["BENCHBATCH_OUT"], "outcomes.jsonl"), "a", encoding="utf-8") as out:
        for task in job["tasks"]:
            if task["id"] not in found:
                continue
            try:
                with open(found[task["id"]], encoding="utf-8") as f:
                    line = judge(task["id"], f.read(), task["expected"])
            except (OSError, ValueError, KeyError) as e:
                line = {"task": task["id"], "error": {"class": "judge", "message": f"{type(e).__name__}: {e}"}}
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
