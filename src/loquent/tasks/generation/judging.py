"""The question to the judge of a conversation, and the reading of its reply."""

from __future__ import annotations

from loquent.rewards.judge.questions import DATA, fence_texts, verdict
from loquent.tasks.generation.state import State

VERDICTS = {"YES": True, "NO": False}


def question(state: State, rule: str) -> str:
    """The question whether a conversation is over.

    Its texts stand between tags that occur in none of them.
    """
    texts = {"message_of_the_user_1": state.prompt}
    for number, (answer, reply) in enumerate(state.exchanges, 1):
        texts |= {f"answer_{number}": answer, f"message_of_the_user_{number + 1}": reply}
    return "\n\n".join(
        (
            f"Is this conversation between a user and an assistant over? {rule}",
            fence_texts(texts),
            f"{DATA} End your reply with [[yes]] if it is over, or [[no]] if it goes on.",
        )
    )


def is_over(reply: str) -> bool | None:
    """Whether the judge says that the conversation is over; None without a verdict."""
    return VERDICTS.get(verdict(reply).upper())
