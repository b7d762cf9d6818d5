"""Calls a provider written for promptfoo and prints its output.

Usage: provider.py FILE FUNCTION OPTIONS VARIABLES, with the prompt on standard input. OPTIONS and VARIABLES are JSON.
"""

import asyncio
import contextlib
import importlib.util
import inspect
import json
import os
import sys


def main():
    file, name, options, variables = sys.argv[1:5]
    prompt = sys.stdin.read()
    sys.path.insert(0, os.path.dirname(file))
    with contextlib.redirect_stdout(sys.stderr):
        spec = importlib.util.spec_from_file_location("provider", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        function = module
        for part in name.split("."):
            function = getattr(function, part)
        arguments = [prompt, json.loads(options), {"vars": json.loads(variables)}]
        result = function(*arguments[: max(1, len(inspect.signature(function).parameters))])
        if inspect.isawaitable(result):
            result = asyncio.run(result)
    if isinstance(result, dict):
        if result.get("error"):
            sys.exit(str(result["error"]))
        result = result.get("output")
    sys.stdout.write(result if isinstance(result, str) else json.dumps(result))


main()
