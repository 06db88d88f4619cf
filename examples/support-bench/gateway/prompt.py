"""Reads a chat prompt the way the models were built to read it.

Any message may hold sections that begin with a line `# Context`, `# Hints`, `# Actions` or
`# Ticket`. Text before the first section of a message is instructions. Inside the context a line
`## Title` begins a passage. A prompt without a ticket section uses the last user message.
"""
import re
from dataclasses import dataclass, field

_SECTION = re.compile(r"^# (Context|Hints|Actions|Ticket)\s*$", re.M)
_LIMIT = re.compile(r"at most (\d+|one|two|three|four|five|six) sentences?", re.I)
_NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_END = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass
class Prompt:
    ticket: str = ""
    hints: str = ""
    passages: list = field(default_factory=list)  # (title, sentence)
    actions: list = field(default_factory=list)   # (name, description)
    max_sentences: int = 3


def parse(messages):
    """Chat messages (role and text) to a Prompt."""
    sections = {"Context": [], "Hints": [], "Actions": [], "Ticket": []}
    instructions, last_user = [], ""
    for message in messages:
        text = message["content"]
        if message["role"] == "user":
            last_user = text
        parts = _SECTION.split(text)
        instructions.append(parts[0])
        for name, body in zip(parts[1::2], parts[2::2]):
            sections[name].append(body.strip())
    prompt = Prompt(
        ticket="\n".join(sections["Ticket"]) or last_user,
        hints="\n".join(sections["Hints"]),
        passages=list(_sentences("\n".join(sections["Context"]))),
        actions=list(_actions("\n".join(sections["Actions"]))),
    )
    limit = _LIMIT.search("\n".join(instructions))
    if limit:
        word = limit.group(1).lower()
        prompt.max_sentences = _NUMBERS.get(word) or max(1, min(int(word), 6))
    return prompt


def _sentences(context):
    title = ""
    for line in context.splitlines():
        line = line.strip()
        if line.startswith("#"):
            title = line.lstrip("# ")
            continue
        for sentence in _END.split(line):
            if sentence:
                yield title, sentence


def _actions(text):
    for line in text.splitlines():
        name, colon, description = line.strip().lstrip("- ").partition(":")
        if colon and re.fullmatch(r"[a-z][a-z_-]*", name):
            yield name, description.strip()
