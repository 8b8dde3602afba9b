"""The registered names of this task. The registry and Gymnasium read them without importing the task."""

TASKS = {
    "reading": "loquent.tasks.reading.task:Reading",
}
AGENTS: dict[str, str] = {
    "reading/stop": "loquent.tasks.reading.players.experts:Stop",
    "reading/random": "loquent.tasks.reading.players.experts:Random",
    "reading/script": "loquent.tasks.reading.players.experts:Script",
    "reading/read_all": "loquent.tasks.reading.players.experts:ReadAll",
    "reading/words_in_order": "loquent.tasks.reading.players.experts:WordsInOrder",
    "reading/words_at_random": "loquent.tasks.reading.players.experts:WordsAtRandom",
    "reading/rarest_first": "loquent.tasks.reading.players.rarity:RarestFirst",
    "reading/tree": "loquent.tasks.reading.players.tree:Tree",
    "reading/oracle": "loquent.tasks.reading.players.experts:Oracle",
    "reading/full_document": "loquent.tasks.reading.players.experts:FullDocument",
    "reading/person": "loquent.tasks.reading.players.person:Person",
}
ENVIRONMENTS = {
    "loquent/Reading-v0": {"task": "reading", "vector_entry_point": "loquent.tasks.reading.vector:make"},
}
NETWORKS = {"qa": "loquent.tasks.reading.network.actor:AskingActor"}
