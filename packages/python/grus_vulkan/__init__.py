"""Grus, a Vulkan driver that runs on the CPU.

`use()` selects it for the programs and modules that load Vulkan afterwards.
"""

import ctypes
import os
from pathlib import Path

from . import _system

__version__ = "0.0.0"

#: Path of the driver's manifest.
ICD = str(Path(__file__).resolve().parent / "grus_icd.json")
#: Path of the driver's library.
LIBRARY = str(Path(__file__).resolve().parent / _system.LIBRARY)
#: Path of a library with the name of the Vulkan loader, which stands for the driver's library.
LOADER = str(Path(__file__).resolve().parent / "loader" / _system.LOADER)

#: Variables by which the Vulkan loader finds drivers; the second is that of old loaders.
VARIABLES = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")


def environment():
    """Return the variables that select the driver, for `subprocess.run(env=...)`."""
    return {**os.environ, **{name: ICD for name in VARIABLES}}


def use():
    """Select the driver for this process and its children. Call it before Vulkan is loaded.

    If the system has no Vulkan loader, modules of this process that open it find the driver's library
    in its place.

    Raise RuntimeError if the Vulkan loader is part of the process already, because an instance that
    it has made keeps its drivers.
    """
    if _system.has_loader() and os.environ.get(VARIABLES[0]) != ICD:
        raise RuntimeError("grus_vulkan.use() must be called before modules that load Vulkan are imported")
    for name in VARIABLES:
        os.environ[name] = ICD
    try:
        ctypes.CDLL(_system.LOADER)
    except OSError:
        # On Windows, the file in the loader's place finds the library among those of the process.
        ctypes.CDLL(LIBRARY)
        ctypes.CDLL(LOADER)


def driver_version():
    """Return the version of the driver and of Vulkan, as its library reports it."""
    from ._query import describe

    return describe(LIBRARY)
