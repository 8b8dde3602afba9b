"""The registered names of this task. The registry and Gymnasium read them without importing the task."""

TASKS = {
    "generation": "loquent.tasks.generation.task:Generation",
}
AGENTS = {
    "generation/guest": "loquent.tasks.generation.orders:Guest",
    "generation/waiter": "loquent.tasks.generation.orders:Waiter",
}
ENVIRONMENTS = {
    "loquent/Generation-v0": {"task": "generation"},
}
