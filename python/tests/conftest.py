"""Every test has a folder and a registry of functions of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from karat import functions

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    known = dict(functions.registry)
    functions.registry.clear()
    yield tmp_path
    functions.registry.clear()
    functions.registry.update(known)
