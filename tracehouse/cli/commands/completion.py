"""The command `tracehouse completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = {
    "bash": 'eval "$(tracehouse completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(tracehouse completion zsh)"   # in ~/.zshrc, after compinit',
    "fish": "tracehouse completion fish > ~/.config/fish/completions/tracehouse.fish",
}
"""By shell: how its users switch completion on."""


@click.command()
@click.argument("shell", type=click.Choice(list(SHELLS)))
def completion(shell: str) -> None:
    """Print the script with which a shell completes commands, options, sources, policies and assets.

    \b
    bash: eval "$(tracehouse completion bash)"   # in ~/.bashrc
    zsh:  eval "$(tracehouse completion zsh)"    # in ~/.zshrc, after compinit
    fish: tracehouse completion fish > ~/.config/fish/completions/tracehouse.fish
    """
    script = get_completion_class(shell)
    assert script is not None  # click has all three
    root = click.get_current_context().find_root().command
    click.echo(script(root, {}, "tracehouse", "_TRACEHOUSE_COMPLETE").source())
