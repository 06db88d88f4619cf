"""checker: retrieves, drafts several times, keeps what the drafts agree on, then has it checked.

The last call, at temperature 0, sees only the sentences that were kept, and settles the action.
"""
from collections import Counter

import library

ACTION = "Action: "


def prepare(job, brain):
    search = library.Search(library.passages("policies") + library.passages("kb"))
    actions = library.actions()
    settings = job["agent"]["settings"]

    def ask(desk, context, ticket, **options):
        user = f"# Actions\n{actions}\n# Context\n{context}\n# Hints\n{brain.hints(ticket)}\n# Ticket\n{ticket}"
        messages = [{"role": "system", "content": brain.instructions}, {"role": "user", "content": user}]
        return split(desk.chat(messages, **options))

    def answer(ticket, desk):
        found = desk.tool(search.top, ticket, settings["passages"])
        context = library.show(found)
        drafts = [ask(desk, context, ticket) for _ in range(settings["drafts"])]
        kept = agreed([text for text, _ in drafts], known_sentences(found))
        _, checked = ask(desk, "## Draft\n" + "\n".join(kept), ticket, temperature=0)
        votes = Counter(action for _, action in drafts if action)
        votes[checked] += 1
        return " ".join(kept) + f"\n{ACTION}{votes.most_common(1)[0][0]}"

    return answer


def split(text):
    """Text and action of a model's answer; the action is empty when it was cut off."""
    body, _, action = text.partition("\n" + ACTION)
    return body, action.strip()


def known_sentences(found):
    return [line for _, text in found for line in text.splitlines()]


def agreed(drafts, sentences):
    """Sentences that at least half of the drafts hold, most votes first; else the best one."""
    votes = {s: sum(s in draft for draft in drafts) for s in sentences}
    ranked = sorted((s for s in votes if votes[s]), key=lambda s: -votes[s])
    kept = [s for s in ranked if 2 * votes[s] >= len(drafts)]
    return kept or ranked[:1]
