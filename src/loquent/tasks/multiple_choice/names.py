"""The registered names of this task. The registry and Gymnasium read them without importing the task."""

TASKS = {
    "multiple_choice": "loquent.tasks.multiple_choice.task:MultipleChoice",
}
ENVIRONMENTS = {
    "loquent/MultipleChoice-v0": {"task": "multiple_choice", "form": "index"},
}
