"""The registered names of this task. The registry and Gymnasium read them without importing the task."""

TASKS = {
    "multiple_choice": "loquent.tasks.multiple_choice.task:MultipleChoice",
}
AGENTS: dict[str, str] = {}
DESIGNS: dict[str, str] = {}
PICTURES: dict[str, str] = {}
ENVIRONMENTS = {
    "loquent/MultipleChoice-v0": {"task": "multiple_choice", "form": "index"},
}
