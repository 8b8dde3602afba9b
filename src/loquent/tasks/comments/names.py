"""The registered names of this task. The registry and Gymnasium read them without importing the task."""

TASKS = {
    "comments": "loquent.tasks.comments.task:Comments",
}
AGENTS: dict[str, str] = {
    "comments/recorded": "loquent.tasks.comments.players.recordings:Recorded",
    "comments/friendly": "loquent.tasks.comments.players.scripts:Friendly",
    "comments/rules": "loquent.tasks.comments.players.scripts:Rules",
    "comments/classifier": "loquent.tasks.comments.players.classifier:Classifying",
    "comments/remote": "loquent.tasks.comments.players.remote:Remote",
}
ENVIRONMENTS = {
    "loquent/Comments-v0": {"task": "comments"},
}
