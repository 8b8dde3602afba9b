"""Agents that ask endpoints on this machine."""

from helpers.endpoint import Server, chat
from loquent.agents.http import Http, HttpOptions
from loquent.core.live import Live
from loquent.tasks.wordle.task import Wordle

__all__ = ["Server", "agent", "asked", "chat", "said"]


def agent(server, **options):
    return Http(
        None,
        HttpOptions(
            **{
                "base_url": server.url,
                "model": "small",
                "pause": 0.0,
                "retries": 2,
                "timeout": 5.0,
                **options,
            }
        ),
    )


def asked(task=None, row=0, seed=0):
    task = task or Wordle()
    return Live(task, task.rows("train")[row], 0, seed).question()


def said(server, **options):
    [answer] = agent(server, **options).answer([asked()])
    return answer.text, answer.stopped
