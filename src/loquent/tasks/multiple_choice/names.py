"""The registered names of this task. The registry and Gymnasium read them without importing the task."""

TASKS = {
    "multiple_choice": "loquent.tasks.multiple_choice.task:MultipleChoice",
}
AGENTS: dict[str, str] = {"multiple_choice/overlap": "loquent.tasks.multiple_choice.scripts:Overlap"}
ENVIRONMENTS = {
    "loquent/MultipleChoice-v0": {"task": "multiple_choice", "form": "index"},
}
