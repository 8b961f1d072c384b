"""Checks the wheel for Windows on another system: `windows.py WHEEL FOLDER`.

The folder has what pip has installed. The program takes the names and functions of Windows in place
of those of the system, because the driver's library cannot be loaded here.
"""

import base64
import csv
import ctypes
import hashlib
import io
import json
import os
import sys
import zipfile
from pathlib import Path


def check_list(wheel):
    """Check that the list of files has every file with its hash and size."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        record = next(name for name in names if name.endswith(".dist-info/RECORD"))
        for name, digest, size in csv.reader(io.StringIO(archive.read(record).decode())):
            names.remove(name)
            if name != record:
                data = archive.read(name)
                text = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                assert (digest, int(size)) == (f"sha256={text}", len(data)), name
        assert not names, names
        tag = archive.read(record.replace("RECORD", "WHEEL")).decode()
    assert "Tag: py3-none-win_amd64\n" in tag, tag


class Process:
    """The libraries of a process of Windows, as `ctypes` loads and finds them."""

    def __init__(self):
        """Begin with no library, on a system without a Vulkan loader."""
        self.loaded = []

    def load(self, name):
        """Load a library, in place of `ctypes.CDLL`."""
        if not Path(name).is_file():
            raise OSError(name)
        self.loaded.append(name)

    def kernel(self, name):
        """Return `kernel32`, in place of `ctypes.WinDLL`."""
        assert name == "kernel32"

        def find(module):
            return 0x180000000 if any(Path(path).name == module for path in self.loaded) else None

        return type("Kernel", (), {"GetModuleHandleW": staticmethod(find)})


def check_package(folder):
    """Check paths, variables, the loader's place, and exit codes."""
    process = Process()
    sys.platform, ctypes.CDLL, ctypes.WinDLL = "win32", process.load, process.kernel
    sys.path.insert(0, folder)
    import grus_vulkan
    from grus_vulkan import _system

    home = Path(folder).resolve() / "grus_vulkan"
    assert Path(grus_vulkan.LIBRARY) == home / "vulkan_grus.dll"
    assert Path(grus_vulkan.LOADER) == home / "loader" / "vulkan-1.dll"
    for file in (grus_vulkan.ICD, grus_vulkan.LIBRARY, grus_vulkan.LOADER):
        assert Path(file).is_file(), file
    manifest = json.loads(Path(grus_vulkan.ICD).read_text(encoding="utf-8"))
    assert manifest["ICD"]["library_path"] == ".\\vulkan_grus.dll"

    for name in grus_vulkan.VARIABLES:
        os.environ.pop(name, None)
    grus_vulkan.use()
    assert process.loaded == [grus_vulkan.LIBRARY, grus_vulkan.LOADER]
    assert all(os.environ[name] == grus_vulkan.ICD for name in grus_vulkan.VARIABLES)
    # The loader is part of the process now, with the driver; another driver cannot be replaced.
    grus_vulkan.use()
    os.environ[grus_vulkan.VARIABLES[0]] = "another.json"
    try:
        grus_vulkan.use()
    except RuntimeError as error:
        assert "must be called before" in str(error)
    else:
        raise AssertionError("a late call is accepted")
    assert _system.execute([sys.executable, "-c", "raise SystemExit(7)"], os.environ) == 7


if __name__ == "__main__":
    check_list(sys.argv[1])
    check_package(sys.argv[2])
