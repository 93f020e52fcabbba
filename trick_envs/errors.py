"""The errors that a program may want to tell apart from others of their kind."""

from __future__ import annotations


class IllegalAction(ValueError):
    """An action that the rules do not allow now; the message names the seat, the card and the rule.

    Environments, ``BatchEnv`` and ``Match`` raise it before anything has changed. Only this error counts as an illegal
    move where one ends a match: any other ``ValueError``, such as one of a plug-in's drawing, is a bug and gets out.
    """
