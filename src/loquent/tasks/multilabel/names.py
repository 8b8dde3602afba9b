"""The registered names of this task. The registry and Gymnasium read them without importing the task."""

TASKS = {
    "multilabel": "loquent.tasks.multilabel.task:MultiLabel",
}
ENVIRONMENTS = {
    "loquent/MultiLabel-v0": {"task": "multilabel", "form": "index"},
}
