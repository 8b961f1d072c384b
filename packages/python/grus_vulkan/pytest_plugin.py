"""A plugin for pytest: `--grus` runs the tests on Grus and names the driver in the header."""

import grus_vulkan


def pytest_addoption(parser):
    """Add the option."""
    parser.getgroup("grus").addoption("--grus", action="store_true", help="run Vulkan programs and modules on Grus")


def pytest_load_initial_conftests(early_config):
    """Select the driver before any conftest.py or test is imported."""
    if early_config.known_args_namespace.grus:
        grus_vulkan.use()


def pytest_report_header(config):
    """Name the driver."""
    if config.getoption("--grus"):
        return f"vulkan: {grus_vulkan.driver_version()}"
    return None
