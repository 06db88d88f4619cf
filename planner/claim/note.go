package claim

// What a person reads who finds these runs in MLflow's UI.

const recipeNote = "**Who measures what.** This run is no measurement. It is the sheet on which the launchers of `benchbatch run` sign up for " +
	"the repeats of one recipe, so that nobody pays for the same repeat twice.\n\n" +
	"- parameter `claim/CELL/REPEAT/GENERATION`: the session that took it, and since when; `budget/…`: money taken below a batch's ceiling\n" +
	"- tag `beat/SESSION`: till when that launcher's lease holds, and who it is; `left`: it ended\n" +
	"- tag `end/…`: how it ended: `done` with the run that holds the result, `released` with the reason\n\n" +
	"Please do not delete it while a batch is running: the launchers would stop. Nothing here is part of any result.\n"

const quotaNote = "**Who uses which slot.** This run is no measurement. Its parameters `quota/NAME/NUMBER/GENERATION` are the slots of the quotas in " +
	"the specs of `benchbatch run`, so that all launchers together keep to `at_once`; number 0 is a quota as a whole.\n\n" +
	"- the value is the session that took the slot, and since when\n" +
	"- tag `beat/SESSION`: till when that launcher's lease holds, and who it is; `left`: it ended\n" +
	"- tag `end/…`: the slot was given back\n\n" +
	"Please do not delete it while a batch is running: the launchers would stop. Nothing here is part of any result.\n"

const lockNote = "A lock: its name, which MLflow gives once, elected the ledger run in the tag `benchbatch.ledger`. It holds no runs and is deleted on purpose.\n"
