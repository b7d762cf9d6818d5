"""Exceptions beside :class:`karat.KaratError`."""

from __future__ import annotations


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C stopped a run in order: all results so far are kept, and ``run.resume()`` continues it."""

    def __init__(self, run_id: str, command: str) -> None:
        super().__init__(f"interrupted: continue with `karat.load({run_id!r}).{command}()`; all paid results are kept")
        self.run_id = run_id
