"""The registered names of this task. The registry and Gymnasium read them without importing the task."""

TASKS = {
    "blocks": "loquent.tasks.blocks.task:Blocks",
}
AGENTS = {
    "blocks/fixed": "loquent.tasks.blocks.fixed_agent:FixedSequence",
}
PICTURES: dict[str, str] = {
    "blocks": "loquent.tasks.blocks.pictures.episodes:pictures",
}
CHECKS = {
    "blocks": "loquent.tasks.blocks.examination:examine",
}
IMPORTS = {
    "nlvr": "loquent.tasks.blocks.nlvr.importing:write",
}
ENVIRONMENTS = {
    "loquent/Blocks-v0": {
        "task": "blocks",
        "form": "index",
        "vector_entry_point": "loquent.adapters.vector:VectorEnvironment",
    },
}
