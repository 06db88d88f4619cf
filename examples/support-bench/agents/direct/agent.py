"""direct: one call with all policies in the prompt, in the same order every time.

The long fixed prefix is what a provider's prompt cache likes. It knows nothing of the knowledge base.
"""
import library


def prepare(job, brain):
    system = f"{brain.instructions}\n\n# Context\n{library.show(library.passages('policies'))}"
    actions = library.actions()

    def answer(ticket, desk):
        user = f"# Actions\n{actions}\n# Hints\n{brain.hints(ticket)}\n# Ticket\n{ticket}"
        return desk.chat([{"role": "system", "content": system}, {"role": "user", "content": user}])

    return answer
