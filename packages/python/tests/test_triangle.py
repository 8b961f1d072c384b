"""Tests of the package with wgpu, run by `pytest --grus`."""

import subprocess
import sys

import pytest
import wgpu

import grus_vulkan

SHADER = """
@vertex fn vertex(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
    return vec4f(f32(i & 1u) * 2.0 - 1.0, f32(i >> 1u) * 2.0 - 1.0, 0.0, 1.0);
}
@fragment fn fragment() -> @location(0) vec4f { return vec4f(1.0, 0.5, 0.25, 1.0); }
"""
SIZE = 64
ORANGE, BLUE = (255, 128, 64, 255), (0, 0, 255, 255)


def draw():
    """Draw the triangle of the corners (-1, -1), (1, -1), (-1, 1) and return rows of pixels."""
    device = wgpu.gpu.request_adapter_sync().request_device_sync()
    module = device.create_shader_module(code=SHADER)
    usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
    texture = device.create_texture(size=(SIZE, SIZE, 1), format="rgba8unorm", usage=usage)
    pipeline = device.create_render_pipeline(
        layout="auto",
        vertex={"module": module},
        fragment={"module": module, "targets": [{"format": "rgba8unorm"}]},
        primitive={"topology": "triangle-list"},
    )
    target = {"view": texture.create_view(), "load_op": "clear", "store_op": "store", "clear_value": (0, 0, 1, 1)}
    encoder = device.create_command_encoder()
    render = encoder.begin_render_pass(color_attachments=[target])
    render.set_pipeline(pipeline)
    render.draw(3)
    render.end()
    device.queue.submit([encoder.finish()])
    data = bytes(device.queue.read_texture({"texture": texture}, {"bytes_per_row": 4 * SIZE}, (SIZE, SIZE, 1)))
    return [[tuple(data[4 * (y * SIZE + x) :][:4]) for x in range(SIZE)] for y in range(SIZE)]


def test_the_adapter_is_grus():
    """Check that wgpu sees no other driver."""
    # Adapters of OpenGL are not found by the Vulkan loader.
    infos = [adapter.info for adapter in wgpu.gpu.enumerate_adapters_sync()]
    assert [info["vendor"] for info in infos if info["backend_type"] == "Vulkan"] == ["Grus"]


def test_pixels_of_a_triangle():
    """Check every pixel that the diagonal does not touch."""
    rows = draw()
    for y, row in enumerate(rows):
        for x, pixel in enumerate(row):
            # The lower left corner of the target is (-1, -1) and pixel (0, SIZE - 1).
            distance = x - y
            if distance != 0:
                assert pixel == (ORANGE if distance < 0 else BLUE), (x, y)


def test_use_after_the_loader_is_refused():
    """Check that a late call is an error: the loader keeps the drivers that it has found."""
    code = "import ctypes, grus_vulkan; ctypes.CDLL(grus_vulkan.LOADER); grus_vulkan.use()"
    environment = {k: v for k, v in grus_vulkan.environment().items() if k not in grus_vulkan.VARIABLES}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 1 and "must be called before" in result.stderr
    # The variables are set already in this process, so that another call is no error.
    grus_vulkan.use()


def test_the_library_stands_for_a_missing_loader():
    """Check that a module which opens the loader gets the driver, without a loader of the system."""
    code = (
        "import ctypes, grus_vulkan; ctypes.CDLL(grus_vulkan.LOADER);"
        "loader, version = ctypes.CDLL('libvulkan.so.1'), ctypes.c_uint32();"
        "assert loader.vkEnumerateInstanceVersion(ctypes.byref(version)) == 0 and version.value >> 22 == 1;"
        "files = {line.split()[-1] for line in open('/proc/self/maps') if 'libvulkan' in line};"
        "assert files == {grus_vulkan.LOADER, grus_vulkan.LIBRARY}, files"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_libraries_are_refused():
    """Check that the version query fails with a message for a file that is no driver."""
    from grus_vulkan import _query

    with pytest.raises(OSError):
        _query.describe("/no/such/library.so")
