"""What every algorithm declares about itself, with a default."""

from dataclasses import dataclass, fields

import pytest

from loquent.algorithms.sb3.settings import A2CSettings, CloningSettings, DoubleDQNSettings, arguments
from loquent.core import registry
from loquent.core.algorithm import Algorithm, AlgorithmConfig, Playing, TurnAlgorithm
from loquent.errors import BadSetting
from loquent.training import recipes


@pytest.mark.parametrize(
    "name", [name for name in registry.names("algorithm") if not name.startswith("sb3/")]
)
def test_algorithms_derive_from_the_contract(name):
    algorithm = registry.find("algorithm", name)
    assert issubclass(algorithm, Algorithm)
    assert issubclass(algorithm.Config, AlgorithmConfig)
    if issubclass(algorithm, TurnAlgorithm | Playing):
        assert algorithm.unused == ("model", "decoding", "evaluation")  # it has no language model
    else:
        assert (algorithm.unused, algorithm.smoke) == ((), ())


def test_defaults_are_no_settings():
    assert not {"minibatch", "epochs", "discount", "token_budget"} & {
        field.name for field in fields(A2CSettings)
    }
    config = A2CSettings()
    assert (config.minibatch, config.epochs, config.discount, config.gamma) == (None, 1, "turn", 0.99)
    assert not {"n_epochs", "batch_size"} & arguments(config).keys()


@pytest.mark.parametrize(
    ("config", "steps"),
    [
        (A2CSettings(games=2, steps=100), 10),
        (CloningSettings(games=4), 1024),
        (DoubleDQNSettings(games=3, steps=1023), 63),
        (DoubleDQNSettings(games=65, steps=650), 65),
    ],
)
def test_shortest_settings_have_one_phase(config, steps):
    assert config.shortest().steps == steps


@dataclass(frozen=True)
class Unbased:
    rate: float = 1.0


class Odd(Algorithm):
    Config = Unbased


class NoSettings(Algorithm):
    name = "no settings"


@pytest.mark.parametrize(("own", "part"), [(Odd, "Unbased"), (NoSettings, "AlgorithmConfig")])
def test_settings_of_another_kind_are_refused(tmp_path, monkeypatch, own, part):
    monkeypatch.setitem(registry._names["algorithm"], "own", f"{own.__module__}:{own.__name__}")
    (tmp_path / "own.yaml").write_text("algorithm: own\n")
    with pytest.raises(
        BadSetting,
        match=rf"the Config of 'own' is .*{part}.*; make it a frozen dataclass derived from "
        r"loquent\.core\.algorithm",
    ):
        recipes.load(tmp_path / "own.yaml")


class Bare(Algorithm):
    Config = type("Settings", (A2CSettings,), {})
    name = "bare"
    reads = ("play",)


def test_an_algorithm_without_experience_is_told_what_to_declare(tmp_path, monkeypatch):
    monkeypatch.setitem(registry._names["algorithm"], "own", f"{__name__}:Bare")
    (tmp_path / "own.yaml").write_text("algorithm: own\n")
    with pytest.raises(
        BadSetting, match=r"'own' \(Bare\) does not declare experience; .* BatchAlgorithm or Play"
    ):
        recipes.load(tmp_path / "own.yaml")
