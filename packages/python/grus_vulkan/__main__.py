"""`python -m grus_vulkan --icd` prints the path of the manifest."""

import argparse
import sys

from . import ICD, LIBRARY, __version__, driver_version, environment
from ._system import execute


def main():
    """Read the command line; start a command on the driver if there is one."""
    parser = argparse.ArgumentParser(prog="python -m grus_vulkan", description="Grus, a Vulkan driver on the CPU")
    parser.add_argument("--icd", action="store_true", help="print the path of the manifest")
    parser.add_argument("--library", action="store_true", help="print the path of the driver's library")
    parser.add_argument("--version", action="store_true", help="print the versions of package and driver")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="start a command on the driver")
    arguments = parser.parse_args()
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if arguments.icd:
        print(ICD)
    if arguments.library:
        print(LIBRARY)
    if arguments.version:
        print(f"grus-vulkan {__version__}: {driver_version()}")
    if command:
        return execute(command, environment())
    if not (arguments.icd or arguments.library or arguments.version):
        parser.print_usage(sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
