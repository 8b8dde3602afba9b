"""The registered names of this task. The registry and Gymnasium read them without importing the task."""

TASKS = {
    "wordle": "loquent.tasks.wordle.task:Wordle",
}
AGENTS: dict[str, str] = {
    "wordle/start_word": "loquent.tasks.wordle.experts:StartWord",
    "wordle/optimal": "loquent.tasks.wordle.experts:Optimal",
    "wordle/perfect": "loquent.tasks.wordle.perfect:Perfect",
    "wordle/repeat": "loquent.tasks.wordle.experts:Repeat",
    "wordle/random_mixture": "loquent.tasks.wordle.experts:RandomMixture",
    "wordle/wrong": "loquent.tasks.wordle.experts:Wrong",
    "wordle/mixture": "loquent.tasks.wordle.experts:Mixture",
    "wordle/in_order": "loquent.tasks.wordle.scripts:InOrder",
    "wordle/first": "loquent.tasks.wordle.scripts:First",
    "wordle/frequent": "loquent.tasks.wordle.scripts:Frequent",
    "wordle/monte_carlo": "loquent.tasks.wordle.rollouts:MonteCarlo",
    "wordle/person": "loquent.tasks.wordle.person:Person",
    "wordle/consistent": "loquent.tasks.wordle.experts:consistent",
    "wordle/random": "loquent.tasks.wordle.experts:random",
    "wordle/half": "loquent.tasks.wordle.experts:half",
}
DESIGNS: dict[str, str] = {
    "tweets": "loquent.tasks.wordle.tweets:Tweets",
}
ENVIRONMENTS = {
    "loquent/Wordle-v0": {"task": "wordle"},
}
