"""Groups of options: one dataclass, expanded in every command that takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import pytest
import typer
from typer.testing import CliRunner

from distrivote.cli.column_options import ColumnOptions
from distrivote.cli.groups import OptionGroup, grouped
from distrivote.cli.help import Command
from distrivote.cli.steering_options import OnlineOptions, SteeringOptions
from distrivote.errors import InputError
from distrivote.splitting import splitter
from distrivote.steering import DeepConfOnline, DistriVotingOnline, SelfStepConf


@dataclass(frozen=True, slots=True)
class Animals(OptionGroup):
    panel: ClassVar[str] = "Animals"

    cats: Annotated[int, typer.Option(metavar="N", help="How many cats.")] = 2
    names: Annotated[list[str] | None, typer.Option("--name", metavar="NAME", help="Of a cat.")] = None


@dataclass(frozen=True, slots=True)
class MoreAnimals(Animals):
    cats: Annotated[int, typer.Argument(metavar="CATS", help="How many cats.")]
    dogs: Annotated[bool, typer.Option("--dogs/--no-dogs", help="And dogs.")] = False


seen: list[object] = []


@grouped
def feed(animals: Animals, food: Annotated[str, typer.Option(metavar="NAME", help="What.")] = "fish") -> None:
    """Feed animals."""
    seen[:] = [animals, food]


@grouped
def walk(*, far: Annotated[int, typer.Argument(metavar="FAR")] = 3, animals: MoreAnimals) -> None:
    """Walk animals."""
    seen[:] = [far, animals]


def run(command: object, *arguments: str) -> str:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(cls=Command)(command)  # type: ignore[type-var]
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_command_gets_one_object_per_group() -> None:
    run(feed)
    assert seen == [Animals(), "fish"]
    run(feed, "--cats", "3", "--name", "a", "--name", "b", "--food", "meat")
    assert seen == [Animals(3, ["a", "b"]), "meat"]


def test_a_group_that_builds_on_another_may_make_an_argument_of_its_option() -> None:
    run(walk, "7", "4", "--dogs")
    assert seen == [7, MoreAnimals(4, None, True)]


def test_the_docstring_and_the_name_stay() -> None:
    assert (feed.__name__, feed.__doc__) == ("feed", "Feed animals.")


def test_what_is_asked_of_selfstepconf_is_one_rule_for_every_command() -> None:
    assert SteeringOptions(ssc=False).controller() is None
    controller = SteeringOptions(alpha=0.5, split="line").controller()
    assert controller is not None
    assert (controller.alpha, controller.delta) == (0.5, 0.8)
    published = SteeringOptions(as_published=True).controller()
    assert published is not None
    assert published.split == SteeringOptions(split="exact").controller().split  # type: ignore[union-attr]
    with pytest.raises(InputError, match="SelfStepConf is off"):
        SteeringOptions(ssc=False, as_published=True).controller()


def test_deepconf_takes_the_place_of_selfstepconf() -> None:
    assert OnlineOptions().chosen() == SelfStepConf()
    assert OnlineOptions(ssc=False).chosen() is None
    assert OnlineOptions(deepconf="low").chosen() == DeepConfOnline.low()


def test_online_reflects_only_if_it_is_asked_to() -> None:
    assert OnlineOptions(online=True).chosen() == DistriVotingOnline()
    assert OnlineOptions(online=True, ssc=True).chosen() == DistriVotingOnline(steps=SelfStepConf())
    windows = OnlineOptions(online=True, split="window:64").chosen()
    assert windows is not None
    assert windows.split == splitter("window:64")
    with pytest.raises(InputError, match="both end trajectories"):
        OnlineOptions(online=True, deepconf="low").chosen()


def test_columns_know_whether_the_confidence_was_named() -> None:
    assert not ColumnOptions().columns().named
    columns = ColumnOptions(confidence_column="score", truth_column="gold").columns("model")
    assert (columns.named, columns.confidence, columns.truth, columns.by) == (True, "score", "gold", "model")
