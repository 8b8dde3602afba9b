"""The registered names of this task. The registry and Gymnasium read them without importing the task."""

TASKS = {
    "dialogue": "loquent.tasks.dialogue.task:Dialogue",
}
AGENTS: dict[str, str] = {
    "dialogue/casual": "loquent.tasks.dialogue.players.askers:Casual",
    "dialogue/careful": "loquent.tasks.dialogue.players.askers:Careful",
    "dialogue/list": "loquent.tasks.dialogue.players.askers:List",
    "dialogue/recorded": "loquent.tasks.dialogue.players.recordings:Recorded",
    "dialogue/answerer": "loquent.tasks.dialogue.players.trained_players:Answerer",
    "dialogue/judge": "loquent.tasks.dialogue.players.trained_players:LearnedJudge",
    "dialogue/person": "loquent.tasks.dialogue.players.person:Person",
    "dialogue/remote": "loquent.tasks.dialogue.players.remote:Remote",
    "dialogue/truthful": "loquent.tasks.dialogue.players.truthful:Truthful",
    "dialogue/guesser": "loquent.tasks.dialogue.players.truthful:Guesser",
}
SERVERS = {
    "dialogue": "loquent.tasks.dialogue.serving.server:app",
}
ENVIRONMENTS = {
    "loquent/Dialogue-v0": {"task": "dialogue"},
}
