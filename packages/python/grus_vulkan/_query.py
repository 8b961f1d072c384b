"""Asks a driver's library for its name and versions, through the interface of the Vulkan loader."""

import ctypes

_PROC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_SUCCESS = 0
_STRUCTURE_TYPE_INSTANCE_CREATE_INFO = 1


class _InstanceCreateInfo(ctypes.Structure):
    """`VkInstanceCreateInfo`."""

    _fields_ = [
        ("sType", ctypes.c_int32),
        ("pNext", ctypes.c_void_p),
        ("flags", ctypes.c_uint32),
        ("pApplicationInfo", ctypes.c_void_p),
        ("enabledLayerCount", ctypes.c_uint32),
        ("ppEnabledLayerNames", ctypes.c_void_p),
        ("enabledExtensionCount", ctypes.c_uint32),
        ("ppEnabledExtensionNames", ctypes.c_void_p),
    ]


class _PhysicalDeviceProperties(ctypes.Structure):
    """The beginning of `VkPhysicalDeviceProperties`, and room for the rest (824 bytes)."""

    _fields_ = [
        ("apiVersion", ctypes.c_uint32),
        ("driverVersion", ctypes.c_uint32),
        ("vendorID", ctypes.c_uint32),
        ("deviceID", ctypes.c_uint32),
        ("deviceType", ctypes.c_uint32),
        ("deviceName", ctypes.c_char * 256),
        ("rest", ctypes.c_uint64 * 128),
    ]


def _text(version):
    return f"{version >> 22 & 127}.{version >> 12 & 1023}.{version & 4095}"


def _check(code, command):
    if code != _SUCCESS:
        raise RuntimeError(f"{command} returned {code}")


def describe(library):
    """Return a line such as `Grus (x86-64-v3) 0.1.0, Vulkan 1.4.356`."""
    driver = ctypes.CDLL(library)
    version = ctypes.c_uint32(5)
    _check(driver.vk_icdNegotiateLoaderICDInterfaceVersion(ctypes.byref(version)), "negotiation")
    get = _PROC(("vk_icdGetInstanceProcAddr", driver))

    def find(instance, name, result, *arguments):
        return ctypes.CFUNCTYPE(result, *arguments)(get(instance, name))

    handle = ctypes.c_void_p()
    info = _InstanceCreateInfo(sType=_STRUCTURE_TYPE_INSTANCE_CREATE_INFO)
    create = find(None, b"vkCreateInstance", ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    _check(create(ctypes.byref(info), None, ctypes.byref(handle)), "vkCreateInstance")
    try:
        count, device = ctypes.c_uint32(1), ctypes.c_void_p()
        pointer = ctypes.c_void_p
        list_devices = find(handle, b"vkEnumeratePhysicalDevices", ctypes.c_int32, pointer, pointer, pointer)
        _check(list_devices(handle, ctypes.byref(count), ctypes.byref(device)), "vkEnumeratePhysicalDevices")
        properties = _PhysicalDeviceProperties()
        find(handle, b"vkGetPhysicalDeviceProperties", None, pointer, pointer)(device, ctypes.byref(properties))
    finally:
        find(handle, b"vkDestroyInstance", None, ctypes.c_void_p, ctypes.c_void_p)(handle, None)
    name = properties.deviceName.decode()
    return f"{name}, driver {_text(properties.driverVersion)}, Vulkan {_text(properties.apiVersion)}"
