"""The entry point of the command `sfumato`: nothing is imported before Ctrl-C is handled.

Importing the commands takes a part of a second. Ctrl-C in that time would print a stack trace.
"""

from __future__ import annotations

import sys

# As shells/cli.py prints it; importing that module is what may be interrupted here.
_SENTENCE = "interrupted; nothing was charged."


def main() -> None:
    """Import the commands and run them; Ctrl-C meanwhile is one line and the exit code 130, as it is later."""
    try:
        from sfumato.shells.cli import main as run
    except KeyboardInterrupt:
        as_json = '{"error": "' + _SENTENCE + '", "kind": "Interrupted"}'
        sys.stderr.write(f"{as_json if '--json' in sys.argv else f'sfumato: {_SENTENCE}'}\n")
        sys.exit(130)
    run()
