"""The formats of reports. Written by `cargo xtask generate`."""

from typing import Literal

Format = Literal["md", "json", "html", "junit", "cells", "csv", "comment"]
