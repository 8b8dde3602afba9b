"""The registered names of this task. The registry and Gymnasium read them without importing the task."""

TASKS = {
    "multilabel": "loquent.tasks.multilabel.task:MultiLabel",
}
AGENTS: dict[str, str] = {"multilabel/ridge": "loquent.tasks.multilabel.scripts:Ridge"}
ENVIRONMENTS = {
    "loquent/MultiLabel-v0": {"task": "multilabel", "form": "index"},
}
