"""Engines, and the environment that they see."""

from __future__ import annotations

import os
import re
from pathlib import Path

from karat import functions
from karat._karat import Engine

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$")


def environment() -> dict[str, str]:
    """Variables of `.env`, then `.env.local`, then the process, which wins; an empty one counts as unset."""
    found: dict[str, str] = {}
    for name in (".env", ".env.local"):
        path = Path(name)
        if path.is_file():
            found.update(_read(path))
    found.update(os.environ)
    return {name: value for name, value in found.items() if value and _is_text(name + value)}


def _is_text(text: str) -> bool:
    """False for a variable whose bytes are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read(path: Path) -> dict[str, str]:
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        match = _LINE.match(line)
        if match is None or line.lstrip().startswith("#"):
            continue
        name, value = match.groups()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        else:
            value = re.sub(r"\s+#.*$", "", value)
        found[name] = value
    return found


def engine(home: str | os.PathLike[str] | None = None, store: str | None = None) -> Engine:
    """An engine on a state folder: as given, `KARAT_HOME`, or `.karat`."""
    variables = environment()
    folder = os.fspath(home) if home is not None else variables.get("KARAT_HOME", ".karat")
    entries = [function.entry() for function in functions.registry.values()]
    return Engine(folder, store or variables.get("KARAT_STORE"), variables, entries)
