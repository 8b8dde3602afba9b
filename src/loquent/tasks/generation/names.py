"""The registered names of this task. The registry and Gymnasium read them without importing the task."""

TASKS = {
    "generation": "loquent.tasks.generation.task:Generation",
}
AGENTS: dict[str, str] = {}
DESIGNS: dict[str, str] = {}
PICTURES: dict[str, str] = {}
ENVIRONMENTS = {
    "loquent/Generation-v0": {"task": "generation"},
}
