"""The registered names of this task. The registry and Gymnasium read them without importing the task."""

TASKS = {
    "tagging": "loquent.tasks.tagging.task:Tagging",
}
AGENTS: dict[str, str] = {"tagging/frequent": "loquent.tasks.tagging.scripts:Frequent"}
ENVIRONMENTS = {
    "loquent/SequenceTagging-v0": {"task": "tagging", "form": "index"},
}
