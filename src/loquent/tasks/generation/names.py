"""The registered names of this task. The registry and Gymnasium read them without importing the task."""

TASKS = {
    "generation": "loquent.tasks.generation.task:Generation",
}
ENVIRONMENTS = {
    "loquent/Generation-v0": {"task": "generation"},
}
