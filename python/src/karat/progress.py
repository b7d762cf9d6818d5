"""Progress of a run: a bar on a terminal, a bar without widgets in a notebook, messages elsewhere."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable
from typing import Any, Literal, Protocol

Show = Literal["auto", "terminal", "notebook", "none"]


class Progress(Protocol):
    """What is told about a run, about twenty times a second at most."""

    def __call__(self, done: int, total: int, failed: int, spent_usd: float, messages: list[str]) -> None: ...


def shown_by(progress: Show | Progress | bool) -> Progress:
    """The progress that a caller asked for."""
    if callable(progress):
        return progress
    if progress is True:
        progress = "auto"
    if progress is False:
        progress = "none"
    if progress == "auto":
        if not _in_notebook() and not sys.stderr.isatty():
            return _messages
        progress = "notebook" if _in_notebook() else "terminal"
    if progress == "notebook":
        return _Notebook()
    if progress == "terminal":
        return _Terminal()
    if progress == "none":
        return _silent
    raise ValueError(f"`progress` is {progress!r}; use auto, terminal, notebook, none or a function")


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    current: Any = shell.get_ipython() if shell is not None else None
    return current is not None and type(current).__name__ == "ZMQInteractiveShell"


def _messages(done: int, total: int, failed: int, spent_usd: float, messages: list[str]) -> None:
    for message in messages:
        print(message, file=sys.stderr)


def _silent(done: int, total: int, failed: int, spent_usd: float, messages: list[str]) -> None:
    pass


def _words(done: int, total: int, failed: int, spent_usd: float, seconds: float) -> str:
    words = [f"{done}/{total}"]
    if failed:
        words.append(f"{failed} failed")
    if spent_usd:
        words.append(f"${spent_usd:.2f}" if spent_usd >= 0.01 else f"${spent_usd:.4g}")
    words.append(f"{seconds:.1f} s")
    return ", ".join(words)


class _Terminal:
    def __init__(self) -> None:
        self._begin = time.monotonic()

    def __call__(self, done: int, total: int, failed: int, spent_usd: float, messages: list[str]) -> None:
        for message in messages:
            print(f"\r\x1b[K{message}", file=sys.stderr)
        if total:
            filled = 24 * done // total
            words = _words(done, total, failed, spent_usd, time.monotonic() - self._begin)
            end = "\n" if done == total else ""
            print(f"\r\x1b[K[{'#' * filled}{'.' * (24 - filled)}] {words}", end=end, file=sys.stderr, flush=True)


class _Notebook:
    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._told: list[str] = []
        self._handle: Any = None

    def __call__(self, done: int, total: int, failed: int, spent_usd: float, messages: list[str]) -> None:
        from IPython.display import HTML, display  # type: ignore[import-not-found, unused-ignore]

        show: Callable[..., Any] = display
        self._told.extend(messages)
        make: Callable[[str], Any] = HTML
        words = _words(done, total, failed, spent_usd, time.monotonic() - self._begin)
        told = "".join(f"<div>{html.escape(each)}</div>" for each in self._told)
        bar = f'<progress value="{done}" max="{max(total, 1)}" aria-label="cells"></progress> {html.escape(words)}{told}'
        if self._handle is None:
            self._handle = show(make(bar), display_id=True)
        else:
            self._handle.update(make(bar))
