"""``python -m trick_envs.cli`` is the ``trick`` command."""

from trick_envs.cli import main

main()
