"""The network of QA-DQN: shapes, padding, noise, pointers and gradients."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers import small_encoder
from loquent.core.algorithm import StepSettings
from loquent.core.options import from_values
from loquent.core.seeding import Key
from loquent.core.task import Observation
from loquent.core.values import Record
from loquent.errors import BadModel, BadSetting
from loquent.pretrained.learning.gradient_step import GradientStep, Loss
from loquent.pretrained.learning.noisy import Noisy, noise, stir, uniform
from loquent.pretrained.learning.optimization import Means, trainable
from loquent.pretrained.learning.turn_network import Head
from loquent.tasks.reading.network.actor import AskingActor
from loquent.tasks.reading.network.heads import Scores
from loquent.tasks.reading.network.inputs import Situation
from loquent.tasks.reading.network.network import log_probabilities, values
from loquent.tasks.reading.network.pointer import answer_loss, best_spans
from loquent.tasks.reading.network.settings import NetworkSettings
from loquent.tasks.reading.task import Reading

VALUES = Head(critic=False, dueling=True)
NOISY = replace(VALUES, sigma=0.5)
SMALL = {
    "width": 8,
    "word_size": 6,
    "character_size": 4,
    "blocks": 1,
    "hidden": 10,
    "pointer_hidden": 5,
    "encoder_convolutions": 2,
}
SAMPLES = [
    {
        "context": "Ada built the mill. It has two wheels. Ben sold it.",
        "question": "Who built the mill?",
        "answers": ["Ada"],
    },
    {"context": "Cara plays the lute in Rome.", "question": "Lute?", "answers": ["lute"]},
]
LONG = Situation(
    "who built the mill ?",
    ("ada built the mill", "it has two wheels", "ben sold it ."),
    "built mill",
    "mill",
    7,
)
SHORT = Situation("lute", ("lute",), "lute")


def task(**options):
    chosen = {"source": "samples", "samples": tuple(map(Record, SAMPLES)), **options}
    return Reading(from_values(Reading.Options, chosen, "task"))


def actor(settings=None, *, head=VALUES, options=None):
    return AskingActor(
        task(**(options or {})), NetworkSettings(**{**SMALL, **(settings or {})}), Key(1), head
    )


EVERY = [
    ({}, VALUES),
    ({"queries": "states", "matches": True}, NOISY),
    ({"pool": "max", "combine": "mean", "pointer": "shared"}, Head(critic=False, sigma=0.5)),
    ({"queries": "states", "matches": True, "history": True}, VALUES),
]


@pytest.mark.parametrize(("settings", "head"), EVERY)
def test_padding_and_other_situations_change_nothing(settings, head):
    made = actor(settings, head=head)
    both = made.scores([LONG, SHORT])
    assert both.shape == (2, 3 + 2)
    assert torch.allclose(made.scores([LONG])[0], both[0], atol=1e-5)
    assert torch.allclose(made.scores([SHORT])[0], both[1, :4], atol=1e-5)
    assert both[1, 4] == -torch.inf
    assert both[0].isfinite().all()


@pytest.mark.parametrize("count", [1, 2])
def test_one_token_of_memory_and_question_is_enough(count):
    """E-11, and long and short words (E-10)."""
    made = actor()
    situations = [SHORT, Situation("a" * 300, ("b",), "a" * 300)][:count]
    assert made.scores(situations)[:, :4].isfinite().all()
    observations = [
        Observation("", Record(question=each.question, memory=each.memory, queries=())) for each in situations
    ]
    assert made.answers(observations) == ["lute", "b"][:count]


@pytest.mark.parametrize(("settings", "head"), EVERY)
@pytest.mark.parametrize("critic", [False, True])
def test_gradients_reach_every_parameter(settings, head, critic):
    torch.manual_seed(1)  # of the masks of dropout
    made = actor(settings, head=replace(head, critic=critic))
    network = made.policy.train()
    for stack in network.modules():
        if hasattr(stack, "skip"):
            stack.skip = 0.0
    stir(network, Key(3))
    batch = made.inputs.batch([LONG, SHORT])
    scores = network(batch)
    first, last = network.point(batch)
    spans = torch.tensor([[[0, 1]], [[0, 1]]])
    (
        (values(scores, "sum")[:, :4] ** 2).sum() + scores.value.sum() + answer_loss(first, last, spans).sum()
    ).backward()
    without = [name for name, p in network.named_parameters() if p.grad is None]
    assert without == []
    zero = [name for name, p in network.named_parameters() if not p.grad.to_dense().abs().sum()]
    # dueling centres the scores of queries and a softmax over positions those of attention and pointers, so a
    # bias that all of them share has no effect: its gradient is 0 up to rounding
    shared = re.compile(r"heads\.query\.out\.bias|encoder\.attention\.bias|pointer\.heads\.\d+\.second\.bias")
    assert [name for name in zero if not shared.match(name)] == []


def test_a_search_is_worth_the_sum_of_command_and_query():
    scores = Scores(
        torch.tensor([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]),
        torch.tensor([[0.5, -1.0], [2.0, -torch.inf]]),
        torch.zeros(2),
    )
    assert values(scores, "sum").tolist() == [[1, 2, 3, 4.5, 3], [1, 2, 3, 6, -torch.inf]]
    assert values(scores, "mean").tolist() == [[1, 2, 3, 2.25, 1.5], [1, 2, 3, 3, -torch.inf]]


def test_log_probabilities_are_of_the_command_and_of_its_query():
    command, query = (
        torch.tensor([[1.0, 2.0]] * 3),
        torch.tensor([[0.0, 0.0], [3.0, -torch.inf], [-torch.inf] * 2]),
    )
    command.requires_grad_()
    found = log_probabilities(Scores(command, query, torch.zeros(3)))
    search = float(torch.tensor([1.0, 2.0]).softmax(0)[1])
    assert found.exp().tolist() == [
        pytest.approx([1 - search, search / 2, search / 2]),
        pytest.approx([1 - search, search, 0]),
        pytest.approx([1, 0, 0]),
    ]
    assert log_probabilities(Scores(command, torch.zeros(3, 0), torch.zeros(3))).exp().tolist() == [[1]] * 3
    found[0].sum().backward()
    assert command.grad.isfinite().all()


def test_uniform_numbers_by_hand_and_their_shape():
    # splitmix64 of 0: the first output of its published C code is 0xE220A8397B1DCDAF
    assert float(uniform(0, torch.tensor(0))) == pytest.approx(0xE220A8397B1DCDAF / 2**64, abs=1e-15)
    many = uniform(5, torch.arange(20_000))
    assert float(many.mean()) == pytest.approx(0.5, abs=0.01)
    assert 0 < float(many.min()) < float(many.max()) < 1
    found = noise(7, torch.arange(20_000))
    assert float(found.mean()) == pytest.approx(0.0, abs=0.02)
    assert float((found**2).mean()) == pytest.approx(np.sqrt(2 / np.pi), abs=0.02)  # E|ε|
    assert torch.equal(noise(7, torch.tensor([9, 11])), found[[9, 11]])


def test_noise_differs_by_key_and_is_absent_in_evaluation():
    made = actor({"queries": "rows"}, head=NOISY)
    calm = made.scores([LONG, SHORT])
    stir(made.policy, Key(1))
    one = made.scores([LONG, SHORT])
    stir(made.policy, Key(2))
    two = made.scores([LONG, SHORT])
    stir(made.policy, Key(1))
    assert torch.equal(made.scores([LONG, SHORT]), one)
    assert not torch.allclose(one, two)
    stir(made.policy, None)
    assert torch.equal(made.scores([LONG, SHORT]), calm)
    layers = [layer for layer in made.policy.modules() if hasattr(layer, "seed")]
    stir(made.policy, Key(4))
    assert len({layer.seed for layer in layers}) == len(layers) == 5  # each has noise of its own
    again = actor({"queries": "rows"}, head=NOISY)
    again.load_state_dict({name: x + 0 for name, x in made.state_dict().items()})
    stir(again.policy, Key(4))
    assert torch.equal(again.scores([LONG]), made.scores([LONG]))


def test_a_noisy_layer_by_hand():
    layer = Noisy(2, 3, 0.5)
    assert torch.allclose(layer.weight_sigma, torch.tensor(0.5 / 2**0.5))
    assert torch.allclose(layer.bias_sigma, torch.tensor(0.5 / 3**0.5))
    layer.seed = 11
    into, out = noise(11, torch.arange(2)), noise(11, torch.arange(2, 5))
    weight = layer.weight + layer.weight_sigma * torch.outer(out, into)
    x = torch.tensor([[1.0, -2.0]])
    assert torch.allclose(layer(x), x @ weight.T + layer.bias + layer.bias_sigma * out)


def test_both_ends_of_an_answer_are_chosen_together():
    first = torch.tensor([[0.0, -5.0, -1.0, -9.0]])
    last = torch.tensor([[-9.0, -1.0, -9.0, 0.0]])
    assert best_spans(first, last, 30).tolist() == [[0, 4]]
    assert best_spans(first, last, 2).tolist() == [[0, 2]]  # -1 against -1 for [2, 4): the first
    assert best_spans(first, last, 1).tolist() == [[1, 2]]
    backwards = torch.tensor([[-9.0, 0.0]]), torch.tensor([[0.0, -9.0]])
    assert best_spans(*backwards, 30).tolist() == [[0, 1]]
    padded = torch.tensor([[0.0, -torch.inf]])
    assert best_spans(padded, padded, 30).tolist() == [[0, 1]]


def test_the_loss_of_answers_by_hand():
    first, last = torch.tensor([[0.5, 0.3, 0.2]]).log(), torch.tensor([[0.1, 0.6, 0.3]]).log()
    one = answer_loss(first, last, torch.tensor([[[0, 2], [0, 0]]]))
    assert one.tolist() == pytest.approx([-np.log(0.5 * 0.6)])
    two = answer_loss(first, last, torch.tensor([[[0, 2], [2, 3]]]))
    assert two.tolist() == pytest.approx([-np.log(0.5 * 0.6 + 0.2 * 0.3)])


def test_scores_of_queries_depend_on_their_own_rows_only():
    made = actor({"queries": "rows"}, head=Head(critic=False))
    before = made.scores([LONG])
    with torch.no_grad():
        made.policy.heads.query.weight[made.inputs.lexicon.rows[made.inputs.lexicon("mill")[0]]] += 1
    after = made.scores([LONG])
    assert torch.equal(after[0, :4], before[0, :4])
    assert after[0, 4] != before[0, 4]


@pytest.mark.parametrize("noisy", [False, True])
def test_a_step_reads_and_changes_the_rows_of_its_queries_only(noisy):
    """I-22: no array of a situation has the size of the vocabulary."""
    made = actor({"queries": "rows"}, head=NOISY if noisy else VALUES)
    network, batch = made.policy, made.inputs.batch([LONG, SHORT])
    stir(network, Key(2) if noisy else None)
    network(batch).query[:, :1].sum().backward()
    read = set(batch.rows[batch.queries].flatten().tolist())
    assert len(read) == 4 < len(made.inputs.lexicon.words)  # three queries and padding
    sparse = list(network.heads.query.parameters())
    for parameter in sparse:
        assert parameter.grad.is_sparse
        assert set(parameter.grad.coalesce().indices()[0].tolist()) == read
    assert len(sparse) == 1 + noisy
    before = network.heads.query.weight.detach().clone()
    step = GradientStep(trainable(policy=network), StepSettings(learning_rate=0.01, weight_decay=0.0), Key(0))
    step.learn(batch, lambda part: Loss(network(part).query[:, :1].sum(), {}), Means())
    changed = (network.heads.query.weight != before).any(1).nonzero()[:, 0].tolist()
    assert set(changed) <= read
    assert changed


def test_unknown_words_are_searched_as_they_are_written():
    """E-12: their score has the row of unknown words, and the action's text is the word."""
    made = actor()
    lexicon = made.inputs.lexicon
    words = lexicon("zeppelin zither mill")
    assert lexicon.rows[words].tolist()[:2] == [0, 0]
    assert lexicon.rows[words[2]] > 0
    assert len(set(words.tolist())) == 3
    assert not np.array_equal(*lexicon.vectors[words[:2]])
    batch = made.inputs.batch([Situation("zeppelin ?", ("a zeppelin",), "zeppelin")])
    assert int(batch.queries[0, 0]) == int(batch.question[0, 0]) == int(batch.memory[0, 1])


def test_a_batch_depends_on_its_situations_alone():
    one, two = actor(), actor()
    two.inputs.batch([Situation("other words here", ("some more",), "other")])
    batches = [made.inputs.batch([LONG, SHORT]) for made in (one, two)]
    for name in ("question", "memory", "queries", "rows", "characters", "vectors"):
        assert torch.equal(*(getattr(batch, name) for batch in batches)), name


def test_history_marks_what_was_searched_for_and_counts_the_commands_left():
    others = [LONG._replace(searched="built"), LONG._replace(left=3)]
    blind, made = actor({"queries": "states"}), actor({"queries": "states", "history": True})
    assert all(torch.equal(blind.scores([LONG]), blind.scores([other])) for other in others)
    assert not any(torch.allclose(made.scores([LONG]), made.scores([other])) for other in others)
    read = (
        made.policy.encoder(made.inputs.batch([LONG]))[2]
        - blind.policy.encoder(blind.inputs.batch([LONG]))[2]
    )
    assert torch.allclose(read[0], torch.stack([torch.zeros(8), made.policy.encoder.done]), atol=1e-6)


def test_what_was_searched_for_is_read_each_word_once_and_answers_do_not_depend_on_it():
    made = actor({"history": True})
    fields = {"question": LONG.question, "memory": LONG.memory, "queries": ("built", "mill")}
    searched = Observation("", Record(fields, searched=("mill", "built", "mill"), left=17))
    situation = made.inputs.situation(searched)
    assert (situation.searched, situation.left) == ("built mill", 17)
    assert actor().inputs.situation(searched) == LONG._replace(searched="", left=0)
    fresh = Observation("", Record(fields, searched=(), left=20))
    seen = []
    made.policy.point = lambda batch, point=made.policy.point: seen.append(batch) or point(batch)
    assert made.answers([searched]) == made.answers([fresh])
    assert [batch.searched.shape for batch in seen] == [(1, 0), (1, 0)]


@pytest.mark.parametrize("history", [False, True])
def test_arrays_of_fixed_sizes_make_the_same_batch(history):
    made = actor({"history": history})
    fields = {"question": LONG.question, "memory": LONG.memory, "queries": tuple(LONG.queries.split())}
    fields |= {"searched": tuple(LONG.searched.split()), "left": LONG.left}
    arrays = made.inputs(Observation("", Record(fields)))
    batch = made.inputs.of_arrays({name: torch.from_numpy(array)[None] for name, array in arrays.items()})
    expected = made.inputs.batch([LONG if history else LONG._replace(searched="", left=0)])
    for name in ("question", "memory", "queries", "searched", "left", "vectors"):
        assert torch.equal(getattr(batch, name), getattr(expected, name)), name


def test_a_long_memory_loses_its_oldest_tokens():
    made = actor({"memory_tokens": 5})
    assert made.inputs.cut(LONG.memory) == 4 + 4 + 4 - 5
    assert made.inputs.batch([LONG]).memory.shape == (1, 5)
    observation = Observation("", Record(question=LONG.question, memory=LONG.memory, queries=()))
    assert made.answers([observation])[0] in "wheels ben sold it ."


def test_word_vectors_of_a_file(tmp_path):
    file = tmp_path / "vectors.vec"
    file.write_text("3 2\nada 1.0 0.5\nmill 0 -1\nada 9 9\n")
    lexicon = actor({"vectors": str(file), "word_size": 2}).inputs.lexicon
    words = lexicon("ada mill zither")
    assert lexicon.vectors[words].tolist() == [[1, 0.5], [0, -1], [0, 0]]
    with pytest.raises(BadSetting, match=r"line 2 has 2 numbers, not 3; set word_size"):
        actor({"vectors": str(file), "word_size": 3})
    with pytest.raises(BadSetting, match="cannot be read"):
        actor({"vectors": str(tmp_path / "none")})


def test_a_vocabulary_of_queries_scores_each_word():
    made = actor(options={"queries": "vocabulary"})
    scores = made.scores([LONG, SHORT])
    assert scores.shape == (2, len(made.actions))
    assert scores.isfinite().all()
    with pytest.raises(BadSetting, match="fixed list of them"):
        actor({"queries": "states"}, options={"queries": "vocabulary"})


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"width": 9}, "even multiple of heads"),
        ({"window": 4}, "must be odd"),
        ({"encoder": "x", "matches": True}, "matches = True has no effect"),
        ({"encoder": "x", "history": True}, "history = True has no effect"),
        ({"revision": "main"}, "has no effect with encoder"),
    ],
)
def test_contradictions_are_refused(settings, problem):
    with pytest.raises(BadSetting, match=problem):
        NetworkSettings(**settings)


def test_a_transformers_model_reads_question_and_memory_as_a_pair(tmp_path):
    folder = str(small_encoder.write(tmp_path / "encoder"))
    made = actor({"encoder": folder, "queries": "states", "question_tokens": 3, "dropout": 0.0})
    both = made.scores([LONG, SHORT])
    assert both.shape == (2, 5)
    assert torch.allclose(made.scores([SHORT])[0], both[1, :4], atol=1e-5)
    network = made.policy
    states = network.encoder(made.inputs.batch([LONG, SHORT]))
    assert [tuple(part.shape) for part in states] == [(2, 12, 8), (2, 3, 8), (2, 2, 8)]
    first, last = network.point(made.inputs.batch([SHORT]))
    ((values(network(made.inputs.batch([LONG])), "sum") ** 2).sum() - first.sum() - last.sum()).backward()
    encoder = [name for name, p in network.encoder.named_parameters() if p.grad is None]
    assert encoder == []
    pair, types, asked, read = network.encoder._row([[7], [8, 9]], [[10], [11]])
    assert [pair[i] for i in asked + read] == [7, 8, 10, 11]
    assert types == [0] * (len(pair) - 3) + [1] * 3
    network.encoder._context = len(pair) - 1
    assert network.encoder._row([[7], [8, 9]], [[10], [11]])[3] == [-1, read[0]]
    with pytest.raises(BadModel, match="set a smaller number"):
        actor({"encoder": folder, "question_tokens": 5000})


def test_a_task_without_searches_is_refused():
    with pytest.raises(BadSetting, match="no commands with queries"):
        actor(options={"queries": "any"})
