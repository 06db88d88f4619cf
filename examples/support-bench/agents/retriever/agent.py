"""retriever: looks up the best passages of policies and knowledge base itself, then asks once."""
import library


def prepare(job, brain):
    search = library.Search(library.passages("policies") + library.passages("kb"))
    actions = library.actions()
    k = job["agent"]["settings"]["passages"]

    def answer(ticket, desk):
        context = library.show(desk.tool(search.top, ticket, k))
        user = f"# Actions\n{actions}\n# Context\n{context}\n# Hints\n{brain.hints(ticket)}\n# Ticket\n{ticket}"
        return desk.chat([{"role": "system", "content": brain.instructions}, {"role": "user", "content": user}])

    return answer
