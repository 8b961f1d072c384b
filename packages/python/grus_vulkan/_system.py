"""File names and services that depend on the operating system."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

_IS_WINDOWS = sys.platform == "win32"

#: File name of the driver's library.
LIBRARY = "vulkan_grus.dll" if _IS_WINDOWS else "libvulkan_grus.so"
#: File name of the Vulkan loader.
LOADER = "vulkan-1.dll" if _IS_WINDOWS else "libvulkan.so.1"


def has_loader():
    """Return true if the Vulkan loader is part of this process."""
    if _IS_WINDOWS:
        find = ctypes.WinDLL("kernel32").GetModuleHandleW
        find.restype = ctypes.c_void_p
        return bool(find(LOADER))
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return "/libvulkan.so" in maps


def execute(command, environment):
    """Replace this process by a command; on Windows, wait for the command and return its exit code."""
    if _IS_WINDOWS:
        return subprocess.run(command, env=environment, check=False).returncode
    return os.execvpe(command[0], command, environment)
