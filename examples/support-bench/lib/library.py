"""What an agent can read: passages of policies and knowledge base, the actions, and the brain."""
import math
import os
import re
from collections import Counter

_WORD = re.compile(r"[a-z0-9]+")


def passages(folder):
    """(title, text) of every section of every Markdown file in a folder, in file order."""
    out = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".md") and name != "actions.md":
            out.extend(_sections(_read(os.path.join(folder, name))))
    return out


def actions(path="policies/actions.md"):
    """The list of actions as lines `- name: description`."""
    return "\n".join(line for line in _read(path).splitlines() if line.startswith("- "))


def show(chosen):
    """Passages as the text of a prompt's context."""
    return "\n".join(f"## {title}\n{text}" for title, text in chosen)


class Search:
    """BM25 over passages; the title counts as part of the text."""

    K1, B = 1.2, 0.75

    def __init__(self, found):
        self.found = found
        self.bags = [Counter(_terms(f"{title} {text}")) for title, text in found]
        self.mean = sum(sum(bag.values()) for bag in self.bags) / max(1, len(self.bags))
        self.frequency = Counter(term for bag in self.bags for term in bag)

    def top(self, query, k):
        """The k passages that match a query best, best first; ties in file order."""
        terms = set(_terms(query))
        scores = [sum(self._weight(term, bag) for term in terms if term in bag) for bag in self.bags]
        order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
        return [self.found[i] for i in order[:k]]

    def _weight(self, term, bag):
        n, df = len(self.bags), self.frequency[term]
        idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
        length = self.K1 * (1 - self.B + self.B * sum(bag.values()) / self.mean)
        return idf * bag[term] * (self.K1 + 1) / (bag[term] + length)


class Brain:
    """Instructions and skills of a brain folder; both are empty when there is no brain."""

    def __init__(self, folder):
        self.instructions, self.skills = "", []
        if folder is None:
            return
        self.instructions = _read(os.path.join(folder, "instructions.md")).strip()
        skills = os.path.join(folder, "skills")
        for name in sorted(os.listdir(skills)) if os.path.isdir(skills) else []:
            _, head, body = _read(os.path.join(skills, name)).split("---\n", 2)
            cues = head.removeprefix("when:").split(",")
            self.skills.append(([cue.strip() for cue in cues], body.strip()))

    def hints(self, ticket):
        """Bodies of the skills with a cue in the ticket, at most the two that match most often."""
        low = ticket.lower()
        ranked = [(sum(cue in low for cue in cues), body) for cues, body in self.skills]
        ranked = sorted((r for r in ranked if r[0]), key=lambda r: -r[0])
        return "\n".join(body for _, body in ranked[:2])


def _sections(text):
    title, heading, lines = "", "", []
    for line in text.splitlines() + ["## "]:
        if line.startswith("# "):
            title = line[2:].strip()
        elif line.startswith("## "):
            if lines:
                yield f"{title}: {heading}", "\n".join(lines)
            heading, lines = line[3:].strip(), []
        elif line.strip():
            lines.append(line.strip())


def _terms(text):
    return [w[:-1] if w.endswith("s") and len(w) > 3 else w for w in _WORD.findall(text.lower()) if len(w) > 2]


def _read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()
