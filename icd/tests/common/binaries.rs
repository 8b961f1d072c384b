//! Structures and commands of VK_KHR_pipeline_binary, which `ash` lacks.

#![allow(dead_code, reason = "each test file uses a part")]

use super::common::{Chain, Context, Features};
use ash::vk;
use std::ffi::{CStr, c_void};
use std::ptr::null;

/// Returns `VkPhysicalDevicePipelineBinaryFeaturesKHR`, which enables pipeline binaries.
pub fn enabled() -> Features<1> {
    Features::new(1_000_483_000)
}

/// Returns `VkDevicePipelineBinaryInternalCacheControlKHR`, which has the layout of a structure
/// with one feature. It disables the driver's own cache.
pub fn without_internal_cache() -> Features<1> {
    Features::new(1_000_483_008)
}

/// VK_PIPELINE_BINARY_MISSING_KHR.
pub const MISSING: vk::Result = vk::Result::from_raw(1_000_483_000);
/// VK_ERROR_NOT_ENOUGH_SPACE_KHR.
pub const NOT_ENOUGH_SPACE: vk::Result = vk::Result::from_raw(-1_000_483_000);
/// VK_PIPELINE_CREATE_2_CAPTURE_DATA_BIT_KHR.
pub const CAPTURE_DATA: vk::PipelineCreateFlags2KHR = vk::PipelineCreateFlags2KHR::from_raw(1 << 31);

/// `VkPipelineBinaryKeyKHR`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    s_type: i32,
    p_next: *const c_void,
    pub size: u32,
    pub bytes: [u8; 32],
}

impl Key {
    pub fn new(bytes: &[u8]) -> Key {
        let mut key = Key { s_type: 1_000_483_003, p_next: null(), size: bytes.len() as u32, bytes: [0; 32] };
        key.bytes[..bytes.len()].copy_from_slice(bytes);
        key
    }
}

/// `VkPipelineBinaryInfoKHR`.
#[repr(C)]
pub struct Info {
    s_type: i32,
    p_next: *const c_void,
    count: u32,
    binaries: *const u64,
}

impl Info {
    pub fn new(binaries: &[u64]) -> Info {
        Info { s_type: 1_000_483_002, p_next: null(), count: binaries.len() as u32, binaries: binaries.as_ptr() }
    }
}
// SAFETY: it has the tag and the layout of the structure.
unsafe impl vk::ExtendsGraphicsPipelineCreateInfo for Info {}
// SAFETY: it has the tag and the layout of the structure.
unsafe impl vk::ExtendsComputePipelineCreateInfo for Info {}
// SAFETY: it has the tag and the layout of the structure.
unsafe impl vk::ExtendsRayTracingPipelineCreateInfoKHR for Info {}

#[repr(C)]
struct Handles {
    s_type: i32,
    p_next: *const c_void,
    count: u32,
    handles: *mut u64,
}

#[repr(C)]
struct Data {
    size: usize,
    bytes: *const u8,
}

#[repr(C)]
struct KeysAndData {
    count: u32,
    keys: *const Key,
    data: *const Data,
}

/// `VkPipelineCreateInfoKHR`.
#[repr(C)]
struct Described {
    s_type: i32,
    p_next: *const c_void,
}

#[repr(C)]
struct CreateInfo {
    s_type: i32,
    p_next: *const c_void,
    keys_and_data: *const KeysAndData,
    pipeline: vk::Pipeline,
    described: *const Described,
}

/// `VkPipelineBinaryDataInfoKHR`, and `VkReleaseCapturedPipelineDataInfoKHR`.
#[repr(C)]
struct Handle {
    s_type: i32,
    p_next: *const c_void,
    handle: u64,
}

type Allocator = *const c_void;
type Create = unsafe extern "system" fn(vk::Device, *const CreateInfo, Allocator, *mut Handles) -> vk::Result;
type Destroy = unsafe extern "system" fn(vk::Device, u64, Allocator);
type GetKey = unsafe extern "system" fn(vk::Device, *const Described, *mut Key) -> vk::Result;
type GetData = unsafe extern "system" fn(vk::Device, *const Handle, *mut Key, *mut usize, *mut u8) -> vk::Result;
type Release = unsafe extern "system" fn(vk::Device, *const Handle, Allocator) -> vk::Result;

/// Pointer to any command.
type Function = unsafe extern "system" fn();

/// The commands of a device.
#[derive(Clone, Copy)]
pub struct Commands {
    device: vk::Device,
    create: Create,
    destroy: Destroy,
    get_key: GetKey,
    get_data: GetData,
    release: Release,
}

/// Creates a device with pipeline binaries, module identifiers, shader objects and more.
pub fn context(instance: &[&CStr], more: &mut [&mut dyn Chain]) -> (Context, Commands) {
    let mut binaries = enabled();
    let mut identifiers = vk::PhysicalDeviceShaderModuleIdentifierFeaturesEXT::default().shader_module_identifier(true);
    let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
    let mut objects = vk::PhysicalDeviceShaderObjectFeaturesEXT::default().shader_object(true);
    let control = vk::PhysicalDevicePipelineCreationCacheControlFeatures::default();
    let mut control = control.pipeline_creation_cache_control(true);
    let mut features: Vec<&mut dyn Chain> =
        vec![&mut binaries, &mut identifiers, &mut rendering, &mut objects, &mut control];
    features.extend(more.iter_mut().map(|feature| &mut **feature as &mut dyn Chain));
    let names = [
        c"VK_KHR_dynamic_rendering",
        c"VK_KHR_pipeline_binary",
        c"VK_EXT_shader_module_identifier",
        c"VK_EXT_validation_cache",
        c"VK_EXT_shader_object",
    ];
    let c = Context::with(instance, &names, &mut features);
    let commands = Commands::new(&c);
    (c, commands)
}

impl Commands {
    pub fn new(c: &Context) -> Commands {
        // SAFETY: valid usage.
        let get = |name: &CStr| unsafe { c.instance.get_device_proc_addr(c.device.handle(), name.as_ptr()) };
        let get = |name: &CStr| get(name).unwrap_or_else(|| panic!("{name:?}"));
        // SAFETY: each command has this type.
        unsafe {
            Commands {
                device: c.device.handle(),
                create: std::mem::transmute::<Function, Create>(get(c"vkCreatePipelineBinariesKHR")),
                destroy: std::mem::transmute::<Function, Destroy>(get(c"vkDestroyPipelineBinaryKHR")),
                get_key: std::mem::transmute::<Function, GetKey>(get(c"vkGetPipelineKeyKHR")),
                get_data: std::mem::transmute::<Function, GetData>(get(c"vkGetPipelineBinaryDataKHR")),
                release: std::mem::transmute::<Function, Release>(get(c"vkReleaseCapturedPipelineDataKHR")),
            }
        }
    }

    /// Returns the number of binaries, or creates them; `space` is the size of the array.
    fn made(&self, info: &CreateInfo, space: Option<usize>) -> (vk::Result, Vec<u64>) {
        let mut list = vec![u64::MAX; space.unwrap_or(0)];
        let handles = if space.is_some() { list.as_mut_ptr() } else { std::ptr::null_mut() };
        let mut handles = Handles { s_type: 1_000_483_009, p_next: null(), count: list.len() as u32, handles };
        // SAFETY: valid usage, apart from the data of some tests.
        let result = unsafe { (self.create)(self.device, info, null(), &raw mut handles) };
        if space.is_none() {
            list.resize(handles.count as usize, 0);
        }
        list.truncate(handles.count as usize);
        (result, list)
    }

    fn all(&self, info: &CreateInfo) -> Result<Vec<u64>, vk::Result> {
        let (result, list) = self.made(info, None);
        result.result()?;
        let (result, list) = self.made(info, Some(list.len()));
        if result == vk::Result::SUCCESS { Ok(list) } else { Err(result) }
    }

    /// Creates all binaries of a pipeline.
    pub fn of_pipeline(&self, pipeline: vk::Pipeline) -> Result<Vec<u64>, vk::Result> {
        self.all(&CreateInfo { pipeline, ..NOTHING })
    }

    /// Creates binaries of a pipeline in an array of this size.
    pub fn some_of_pipeline(&self, pipeline: vk::Pipeline, space: usize) -> (vk::Result, Vec<u64>) {
        self.made(&CreateInfo { pipeline, ..NOTHING }, Some(space))
    }

    /// Creates binaries of data and keys.
    pub fn of_data(&self, list: &[(Key, &[u8])]) -> (vk::Result, Vec<u64>) {
        let keys: Vec<_> = list.iter().map(|(key, _)| *key).collect();
        let data: Vec<_> = list.iter().map(|(_, data)| Data { size: data.len(), bytes: data.as_ptr() }).collect();
        let all = KeysAndData { count: list.len() as u32, keys: keys.as_ptr(), data: data.as_ptr() };
        self.made(&CreateInfo { keys_and_data: &raw const all, ..NOTHING }, Some(list.len()))
    }

    /// Creates the binaries of the pipeline that `info` describes, from the internal cache.
    pub fn of_info<T>(&self, info: &T) -> Result<Vec<u64>, vk::Result> {
        let described = Described { s_type: 1_000_483_007, p_next: (&raw const *info).cast() };
        let info = CreateInfo { described: &raw const described, ..NOTHING };
        let (result, list) = self.made(&info, None);
        if result != vk::Result::SUCCESS {
            return Err(result);
        }
        let (result, list) = self.made(&info, Some(list.len()));
        if result == vk::Result::SUCCESS { Ok(list) } else { Err(result) }
    }

    /// Returns the key of the pipeline that `info` describes.
    pub fn key<T>(&self, info: &T) -> Key {
        let described = Described { s_type: 1_000_483_007, p_next: (&raw const *info).cast() };
        self.key_of(&raw const described)
    }

    /// Returns the key that applies to all pipelines.
    pub fn global_key(&self) -> Key {
        self.key_of(null())
    }

    fn key_of(&self, described: *const Described) -> Key {
        let mut key = Key::new(&[]);
        // SAFETY: valid usage.
        unsafe { (self.get_key)(self.device, described, &raw mut key) }.result().expect("key");
        assert!((1..=32).contains(&key.size));
        key
    }

    /// Returns key and data, with an array of this size or of the size that is needed.
    pub fn data_in(&self, binary: u64, space: Option<usize>) -> (vk::Result, Key, Vec<u8>) {
        let info = Handle { s_type: 1_000_483_006, p_next: null(), handle: binary };
        let (mut key, mut size) = (Key::new(&[]), 0);
        // SAFETY: valid usage.
        unsafe {
            let get =
                |key: &mut Key, size: &mut usize, data| (self.get_data)(self.device, &raw const info, key, size, data);
            get(&mut key, &mut size, std::ptr::null_mut()).result().expect("size");
            let mut data = vec![0xee; space.unwrap_or(size)];
            let mut filled = data.len();
            let result = get(&mut key, &mut filled, data.as_mut_ptr());
            assert_eq!(filled, size, "the size that is needed");
            (result, key, data)
        }
    }

    /// Returns key and data.
    pub fn data(&self, binary: u64) -> (Key, Vec<u8>) {
        let (result, key, data) = self.data_in(binary, None);
        result.result().expect("data");
        (key, data)
    }

    /// Returns keys and data, and destroys the binaries.
    pub fn take(&self, binaries: Vec<u64>) -> Vec<(Key, Vec<u8>)> {
        let data = binaries.iter().map(|binary| self.data(*binary)).collect();
        binaries.into_iter().for_each(|binary| self.destroy(binary));
        data
    }

    pub fn destroy(&self, binary: u64) {
        // SAFETY: valid usage.
        unsafe { (self.destroy)(self.device, binary, null()) };
    }

    pub fn release_captured(&self, pipeline: vk::Pipeline) {
        let info = Handle { s_type: 1_000_483_005, p_next: null(), handle: vk::Handle::as_raw(pipeline) };
        // SAFETY: valid usage.
        unsafe { (self.release)(self.device, &raw const info, null()) }.result().expect("release");
    }
}

const NOTHING: CreateInfo = CreateInfo {
    s_type: 1_000_483_001,
    p_next: null(),
    keys_and_data: null(),
    pipeline: vk::Pipeline::null(),
    described: null(),
};
