"""Functions written in Python that suites call: scorers, systems and tools.

A decorated function stays a plain function. It is registered under its name, and a suite calls it as the program
``host:NAME``, in this process and many calls at a time. Its version, which is part of what results are cached under, is
declared or the hash of its source.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import textwrap
import threading
import traceback
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, TypeVar, get_type_hints, overload

from karat._karat import Answer

__all__ = ["HostFunction", "NotApplicable", "Score", "ToolError", "Unscored", "scorer", "system", "tool"]

F = TypeVar("F", bound=Callable[..., Any])
_decode = json.JSONDecoder().raw_decode
# `json.dumps` makes an encoder for each call that does not allow NaN.
_encode = json.JSONEncoder(allow_nan=False).encode
Kind = Literal["scorer", "system", "tool"]


@dataclass(frozen=True)
class Score:
    """A score with its reason. ``value`` is a number, or True or False for a pass or a fail."""

    value: float | bool
    reason: str | None = None


@dataclass(frozen=True)
class NotApplicable:
    """The scorer does not apply to the output, which is no score of 0."""

    reason: str


@dataclass(frozen=True)
class Unscored:
    """The scorer could not say."""

    reason: str


class ToolError(Exception):
    """What a tool tells the model that called it. Any other exception is an error of the cell."""


@dataclass(frozen=True)
class HostFunction:
    """A registered function."""

    name: str
    kind: Kind
    version: str
    function: Callable[..., Any]
    parameters: tuple[str, ...]
    takes_any: bool
    is_async: bool

    @property
    def program(self) -> str:
        """The name under which suites call it."""
        return f"host:{self.name}"

    def entry(self) -> tuple[str, str, Callable[[str, Answer], str | None]]:
        """Name, version, and what the engine calls."""
        return self.name, self.version, self._call_async if self.is_async else self._call

    def _call(self, request: str, answer: Answer) -> str | None:
        try:
            arguments = self._arguments(_decode(request)[0])
            return self._line(None if arguments is None else self.function(**arguments))
        except ToolError as error:
            return _encode({"error": str(error)})
        except BaseException as error:  # noqa: BLE001 - the cell gets it, whatever it is
            answer.fail(describe(error))
            return None

    def _call_async(self, request: str, answer: Answer) -> str | None:
        _loop().call_soon_threadsafe(_start, self._answer_later(request, answer))
        return None

    async def _answer_later(self, request: str, answer: Answer) -> None:
        try:
            arguments = self._arguments(_decode(request)[0])
            answer.finish(self._line(None if arguments is None else await self.function(**arguments)))
        except ToolError as error:
            answer.finish(_encode({"error": str(error)}))
        except BaseException as error:  # noqa: BLE001 - the cell gets it, whatever it is
            answer.fail(describe(error))

    def _arguments(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """The keyword arguments of a call; ``None`` if there is nothing to call."""
        if self.kind == "tool":
            if request.get("end"):
                return None
            given: dict[str, Any] = dict(request["arguments"] or {})
            for extra in ("conversation", "sample"):
                if extra in self.parameters and extra not in given:
                    given[extra] = request[extra]
            return given
        value = request["input"]
        if self.kind == "system":
            if len(self.parameters) == 1 and not self.takes_any:
                return {self.parameters[0]: value}
            value = json.loads(value) if isinstance(value, str) else value
            if not isinstance(value, dict):
                raise TypeError(
                    f"`{self.name}` takes {', '.join(self.parameters)}, and its step's `stdin` is no JSON object with them"
                )
            return value
        return value if self.takes_any else {name: value[name] for name in self.parameters}

    def _line(self, result: Any) -> str:
        if self.kind == "tool":
            return _encode({"result": result})
        if self.kind == "system":
            if result is None:
                raise TypeError(f"`{self.name}` returned None, which is no output")
            return _encode({"output": result})
        if type(result) is float and isfinite(result):
            return f'{{"output": {result!r}}}'  # as the encoder writes it, in a fifth of its time
        return _encode({"output": _score(result)})


def _score(result: Any) -> Any:
    if result is None:
        return {"na": "the scorer returned None"}
    if isinstance(result, Score):
        return result.value if result.reason is None else {"score": result.value, "reason": result.reason}
    if isinstance(result, NotApplicable):
        return {"na": result.reason}
    if isinstance(result, Unscored):
        return {"unscored": result.reason}
    if isinstance(result, (bool, int, float, dict)):
        return result
    if hasattr(result, "item"):  # a number of numpy, torch, …
        return result.item()
    raise TypeError(f"a scorer returns a number, True, False, None or karat.Score, not {type(result).__name__}")


def describe(error: BaseException) -> str:
    """The error and the last frame of its traceback, in one line."""
    said = "".join(traceback.format_exception_only(type(error), error)).strip()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    if not frames:
        return said
    last = frames[-1]
    return f"{said} ({last.filename}:{last.lineno}, in {last.name})"


registry: dict[str, HostFunction] = {}
"""The registered functions by name. A later one of the same name replaces the earlier, as re-running a notebook's cell does."""


@overload
def scorer(function: F, /) -> F: ...
@overload
def scorer(*, name: str | None = None, version: str | None = None) -> Callable[[F], F]: ...
def scorer(function: F | None = None, /, *, name: str | None = None, version: str | None = None) -> F | Callable[[F], F]:
    """Registers a scorer.

    It takes any of ``output``, ``reference``, ``input`` and ``sample`` by name, and returns a number, True or False (a
    pass or a fail), None (it does not apply), :class:`Score`, :class:`NotApplicable` or :class:`Unscored`.
    """
    return _register("scorer", function, name, version)


@overload
def system(function: F, /) -> F: ...
@overload
def system(*, name: str | None = None, version: str | None = None) -> Callable[[F], F]: ...
def system(function: F | None = None, /, *, name: str | None = None, version: str | None = None) -> F | Callable[[F], F]:
    """Registers a system under test.

    A function with one parameter takes the input of the sample. With several, it takes ``input``, ``reference``,
    ``output`` (of the step before), ``sample`` (all columns) and columns of the dataset by name. What it returns, a text
    or JSON, is the output.
    """
    return _register("system", function, name, version)


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(*, name: str | None = None, version: str | None = None) -> Callable[[F], F]: ...
def tool(function: F | None = None, /, *, name: str | None = None, version: str | None = None) -> F | Callable[[F], F]:
    """Registers a tool that models call. Its parameters and docstring become what the model sees.

    ``conversation`` (an id) and ``sample`` are filled in where it has parameters of these names. ``raise
    karat.ToolError`` tells the model what is wrong.
    """
    return _register("tool", function, name, version)


def _register(
    kind: Kind, function: F | None, name: str | None, version: str | None
) -> F | Callable[[F], F]:
    def register(function: F) -> F:
        called = name or function.__name__
        if not called.replace("_", "").replace("-", "").isalnum():
            raise ValueError(f"`{called}` is no name of a function: use letters, digits, `_` and `-`, or pass `name=`")
        parameters = inspect.signature(function).parameters.values()
        keywords = tuple(each.name for each in parameters if each.kind in _BY_NAME)
        if any(each.kind is inspect.Parameter.POSITIONAL_ONLY for each in parameters):
            raise TypeError(f"`{called}` has parameters that cannot be passed by name")
        unknown = [each for each in keywords if kind == "scorer" and each not in _OF_A_SCORER]
        if unknown:
            raise TypeError(f"`{called}` takes `{unknown[0]}`; a scorer takes {', '.join(_OF_A_SCORER)}")
        registry[called] = HostFunction(
            name=called,
            kind=kind,
            version=version or source_version(function),
            function=function,
            parameters=keywords,
            takes_any=any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters),
            is_async=inspect.iscoroutinefunction(function),
        )
        return function

    return register if function is None else register(function)


_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_OF_A_SCORER = ("output", "reference", "input", "sample")


def source_version(function: Callable[..., Any]) -> str:
    """The hash of a function's source; of its byte code where there is no source. What it calls does not count."""
    try:
        text = textwrap.dedent(inspect.getsource(function)).encode()
    except (OSError, TypeError):
        code = function.__code__
        text = code.co_code + repr((code.co_consts, code.co_names, code.co_varnames)).encode()
    return "source-" + hashlib.sha256(text).hexdigest()[:16]


def find(function: Callable[..., Any]) -> HostFunction:
    """The registration of a function."""
    for known in registry.values():
        if known.function is function:
            return known
    raise ValueError(
        f"`{getattr(function, '__name__', function)}` is not registered; "
        "decorate it with @karat.scorer, @karat.system or @karat.tool"
    )


_TYPES: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


def tool_input(function: Callable[..., Any]) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments, from its annotations."""
    hints = get_type_hints(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("conversation", "sample") or parameter.kind not in _BY_NAME:
            continue
        hint = hints.get(parameter.name)
        known = _TYPES.get(getattr(hint, "__origin__", hint))
        properties[parameter.name] = {"type": known} if known else {}
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
    return {"type": "object", "properties": properties, "required": required}


_running: asyncio.AbstractEventLoop | None = None
_starting = threading.Lock()
_tasks: set[asyncio.Task[None]] = set()


def _start(coroutine: Coroutine[Any, Any, None]) -> None:
    # The loop holds tasks only weakly.
    task = asyncio.get_running_loop().create_task(coroutine)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


def _loop() -> asyncio.AbstractEventLoop:
    """The event loop of all async functions, on a thread of its own: that of a notebook is busy while a run goes on."""
    global _running
    with _starting:
        if _running is None or _running.is_closed():
            _running = asyncio.new_event_loop()
            threading.Thread(target=_running.run_forever, name="karat-async", daemon=True).start()
        return _running
