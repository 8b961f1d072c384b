//! Tests of work that never ends: the device is lost after the budget, with a message that names
//! the pipeline, and the process continues.

mod common;
#[path = "common/generated.rs"]
mod generated;
#[path = "common/pipeline.rs"]
mod pipeline;
#[path = "common/rays.rs"]
mod rays;
use ash::vk;
use common::{Buffer, Context, spirv};
use generated::{Functions, Sequences, Type};
use pipeline::{
    AREA, Between, Messenger, RGBA8, Set, compute, graphics, graphics_of_meshes, graphics_with, record_dispatch,
    render, render_context,
};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

macro_rules! shader {
    ($name:literal) => {
        spirv(include_bytes!(concat!("data/", $name, ".spv")))
    };
}

const BUDGET: Duration = Duration::from_millis(400);

/// Returns a guard that a test holds until it ends. Tests that share the processors take longer
/// than one after the other, because a device is lost only after the budget of its shader.
fn take_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a device in a process with a short budget.
fn context() -> (Context, Messenger) {
    context_of(|| render_context(&[c"VK_EXT_debug_utils"], false))
}

fn context_of(create: impl FnOnce() -> Context) -> (Context, Messenger) {
    static BUDGET_IS_SET: Once = Once::new();
    // SAFETY: this happens once, before any device of this process starts a thread; no other code
    // changes the environment.
    BUDGET_IS_SET.call_once(|| unsafe { std::env::set_var("GRUS_SHADER_TIMEOUT_MS", BUDGET.as_millis().to_string()) });
    let c = create();
    let messenger = Messenger::new(&c);
    (c, messenger)
}

/// Makes a set with one zeroed storage buffer.
fn stop_set(c: &Context) -> (Set, Buffer) {
    let set = Set::new(c, &[(vk::DescriptorType::STORAGE_BUFFER, 1)]);
    let buffer = c.buffer(64);
    set.buffers(c, 0, vk::DescriptorType::STORAGE_BUFFER, &[(buffer.buffer, 0, vk::WHOLE_SIZE)]);
    (set, buffer)
}

/// Checks that the device is lost in time, that the message names the pipeline, that the device is
/// destroyed in time, and that another device works.
fn expect_lost(c: Context, messenger: Messenger, name: &str, start: Instant, result: Result<(), vk::Result>) {
    assert_eq!(result, Err(vk::Result::ERROR_DEVICE_LOST), "{name}");
    // A separate message reports that a task requested too much.
    let mut messages = messenger.take();
    messages.retain(|message| !message.contains("maxMeshWorkGroupTotalCount"));
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(messages[0].contains(name) && !messages[0].contains("bystander"), "{messages:?}");
    assert!(start.elapsed() >= BUDGET);
    // SAFETY: valid usage.
    unsafe {
        assert_eq!(c.device.queue_submit(c.queue, &[], vk::Fence::null()), Err(vk::Result::ERROR_DEVICE_LOST));
    }
    drop(messenger);
    drop(c);
    assert!(start.elapsed() < BUDGET * 20, "{:?}", start.elapsed());
    Context::new(&[], &[]).run(|_| ()).expect("another device works");
}

fn lost_by_draws(vertex: &[u32], fragment: &[u32], name: &str, draw: impl FnOnce(&Context, vk::CommandBuffer)) {
    lost_by_draws_with([vertex, fragment], Between::default(), name, draw);
}

fn lost_by_draws_with(
    [vertex, fragment]: [&[u32]; 2],
    between: Between<'_>,
    name: &str,
    draw: impl FnOnce(&Context, vk::CommandBuffer),
) {
    let create = |c: &Context, layout| graphics_with(c, [vertex, fragment], between, layout, false);
    lost_by_draws_of(name, create, draw);
}

/// Checks draws after which the device is lost; `create` makes the pipeline at fault.
fn lost_by_draws_of(
    name: &str,
    create: impl FnOnce(&Context, vk::PipelineLayout) -> vk::Pipeline,
    draw: impl FnOnce(&Context, vk::CommandBuffer),
) {
    let (c, messenger) = context();
    let (set, _buffer) = stop_set(&c);
    let target = c.image(RGBA8, [64, 64], vk::SampleCountFlags::TYPE_1, 1);
    let innocent = graphics(&c, &shader!("full.vert"), &shader!("red.frag"), set.layout, false);
    let endless = create(&c, set.layout);
    let terminated = std::ffi::CString::new(name).unwrap();
    pipeline::name(&c, endless, &terminated);
    pipeline::name(&c, innocent, c"innocent bystander");
    let record = |b| {
        let point = vk::PipelineBindPoint::GRAPHICS;
        // SAFETY: valid usage.
        unsafe {
            c.device.cmd_bind_descriptor_sets(b, point, set.layout, 0, &[set.set], &[]);
            c.device.cmd_bind_pipeline(b, point, innocent);
            c.device.cmd_draw(b, 3, 1, 0, 0);
            c.device.cmd_bind_pipeline(b, point, endless);
            draw(&c, b);
            // Later draws in the same pass are not at fault. (This one is beside the target,
            // because fragments that it covered would not be shaded.)
            c.device.cmd_bind_pipeline(b, point, innocent);
            c.device.cmd_draw(b, 3, 1, 2, 0);
        }
    };
    let start = Instant::now();
    let result = render(&c, &target, AREA, record);
    expect_lost(c, messenger, name, start, result);
}

fn one_triangle(c: &Context, b: vk::CommandBuffer) {
    // SAFETY: valid usage.
    unsafe { c.device.cmd_draw(b, 3, 1, 0, 0) };
}

#[test]
fn an_endless_vertex_shader() {
    let _turn = take_turn();
    lost_by_draws(&shader!("endless.vert"), &shader!("red.frag"), "vertex top", one_triangle);
}

#[test]
fn an_endless_fragment_shader() {
    let _turn = take_turn();
    lost_by_draws(&shader!("full.vert"), &shader!("endless.frag"), "fragment top", one_triangle);
}

#[test]
fn an_endless_geometry_shader() {
    let _turn = take_turn();
    let stages = [&shader!("full.vert")[..], &shader!("red.frag")];
    let geometry = shader!("endless.geom");
    let between = Between { geometry: Some(&geometry), ..Between::default() };
    lost_by_draws_with(stages, between, "geometry top", one_triangle);
}

#[test]
fn endless_tessellation() {
    let _turn = take_turn();
    let stages = [&shader!("full.vert")[..], &shader!("red.frag")];
    let (most, plain) = (shader!("most.tesc"), shader!("flat.tese"));
    let lost = |control: &[u32], evaluation: &[u32], instances: u32, name: &str| {
        let between = Between { tessellation: Some([control, evaluation]), ..Between::default() };
        lost_by_draws_with(stages, between, name, |c, b| {
            // SAFETY: valid usage.
            unsafe { c.device.cmd_draw(b, 3, instances, 0, 0) };
        });
    };
    lost(&shader!("endless.tesc"), &plain, 1, "control top");
    lost(&most, &shader!("endless.tese"), 1, "evaluation top");
    lost(&most, &plain, u32::MAX, "too many patches");
}

fn lost_by_meshes(task: Option<&[u32]>, mesh: &[u32], name: &str, groups: [u32; 3]) {
    let create = |c: &Context, layout| graphics_of_meshes(c, task, [mesh, &shader!("red.frag")], layout);
    lost_by_draws_of(name, create, |c, b| {
        let functions = ash::ext::mesh_shader::Device::new(&c.instance, &c.device);
        // SAFETY: valid usage, except for the counts.
        unsafe { functions.cmd_draw_mesh_tasks(b, groups[0], groups[1], groups[2]) };
    });
}

#[test]
fn endless_task_and_mesh_shaders() {
    let _turn = take_turn();
    let endless = shader!("endless.mesh");
    lost_by_meshes(None, &endless, "mesh top", [1; 3]);
    lost_by_meshes(Some(&shader!("endless.task")), &endless, "task top", [1; 3]);
}

#[test]
fn absurd_counts_of_meshes() {
    let _turn = take_turn();
    let few = shader!("few.mesh");
    lost_by_meshes(None, &few, "too many meshes", [u32::MAX; 3]);
    lost_by_meshes(Some(&shader!("absurd.task")), &few, "too many tasks", [u32::MAX; 3]);
}

#[test]
fn draws_of_absurd_counts() {
    let _turn = take_turn();
    lost_by_draws(&shader!("full.vert"), &shader!("red.frag"), "too many", |c, b| {
        // SAFETY: valid usage.
        unsafe { c.device.cmd_draw(b, u32::MAX, u32::MAX, 7, 9) };
    });
    lost_by_draws(&shader!("full.vert"), &shader!("red.frag"), "too many instances", |c, b| {
        let mut indirect = c.buffer(64);
        indirect.fill_words(|i| [3, u32::MAX, 0, u32::MAX][i as usize % 4]);
        // SAFETY: valid usage; the buffer lives as long as the device.
        unsafe { c.device.cmd_draw_indirect(b, indirect.buffer, 0, 1, 16) };
    });
    lost_by_draws(&shader!("full.vert"), &shader!("red.frag"), "too many draws", |c, b| {
        let mut indirect = c.buffer(64);
        indirect.fill_words(|i| [3, 1, 0, 0][i as usize % 4]);
        // SAFETY: valid usage except for the count and stride.
        unsafe { c.device.cmd_draw_indirect(b, indirect.buffer, 0, u32::MAX, 0) };
    });
}

/// `VkPhysicalDeviceFaultFeaturesKHR`.
#[repr(C)]
struct FaultFeatures {
    s_type: i32,
    p_next: *mut std::ffi::c_void,
    features: [vk::Bool32; 4],
}
// SAFETY: it has the tag and the layout of the feature's structure.
unsafe impl vk::ExtendsDeviceCreateInfo for FaultFeatures {}

/// `VkDeviceFaultInfoKHR`.
#[repr(C)]
#[derive(Clone, Copy)]
struct FaultInfo {
    s_type: i32,
    p_next: *mut std::ffi::c_void,
    flags: u32,
    group: u64,
    description: [std::ffi::c_char; 256],
    addresses: [vk::DeviceFaultAddressInfoEXT; 2],
    vendor: vk::DeviceFaultVendorInfoEXT,
}

type GetReports = unsafe extern "system" fn(vk::Device, u64, *mut u32, *mut FaultInfo) -> vk::Result;

fn fault_context() -> Context {
    let mut fault = vk::PhysicalDeviceFaultFeaturesEXT::default().device_fault(true);
    let mut khr = FaultFeatures { s_type: 1_000_573_000, p_next: std::ptr::null_mut(), features: [1, 0, 0, 0] };
    let extensions = [c"VK_EXT_device_fault", c"VK_KHR_device_fault"];
    Context::with(&[c"VK_EXT_debug_utils"], &extensions, &mut [&mut fault, &mut khr])
}

/// Checks that both commands give one report, of this pipeline, and that the second command gives
/// it only once.
fn expect_fault(c: &Context, pipeline: vk::Pipeline, start: &str) {
    let fault = ash::ext::device_fault::Device::new(&c.instance, &c.device);
    let mut counts = vk::DeviceFaultCountsEXT::default();
    // SAFETY: valid usage.
    unsafe { (fault.fp().get_device_fault_info_ext)(c.device.handle(), &mut counts, std::ptr::null_mut()) }
        .result()
        .unwrap();
    assert_eq!((counts.vendor_info_count, counts.address_info_count, counts.vendor_binary_size), (1, 0, 0));
    let mut vendor = vk::DeviceFaultVendorInfoEXT::default();
    let mut info = vk::DeviceFaultInfoEXT { p_vendor_infos: &mut vendor, ..Default::default() };
    // SAFETY: valid usage.
    let result = unsafe { (fault.fp().get_device_fault_info_ext)(c.device.handle(), &mut counts, &mut info) };
    assert_eq!((result, counts.vendor_info_count), (vk::Result::SUCCESS, 1));
    assert!(info.description_as_c_str().unwrap().to_str().unwrap().contains("GRUS_SHADER_TIMEOUT_MS"));
    let description = vendor.description_as_c_str().unwrap().to_str().unwrap();
    assert!(description.starts_with(start), "{description}");
    assert_eq!((vendor.vendor_fault_code, vendor.vendor_fault_data), (1, vk::Handle::as_raw(pipeline)));

    // SAFETY: valid usage.
    let reports = unsafe {
        let name = c"vkGetDeviceFaultReportsKHR".as_ptr();
        let function = c.instance.get_device_proc_addr(c.device.handle(), name).expect("the command");
        std::mem::transmute::<unsafe extern "system" fn(), GetReports>(function)
    };
    let none = vk::DeviceFaultAddressInfoEXT::default();
    let (s_type, p_next) = (1_000_573_002, std::ptr::null_mut());
    let empty = FaultInfo { s_type, p_next, flags: 0, group: 0, description: [0; 256], addresses: [none; 2], vendor };
    let mut list = [empty; 2];
    let mut count = 2;
    // SAFETY: valid usage.
    let mut ask = |timeout, count: &mut u32| unsafe { reports(c.device.handle(), timeout, count, list.as_mut_ptr()) };
    assert_eq!((ask(u64::MAX, &mut count), count), (vk::Result::SUCCESS, 1));
    assert_eq!((ask(u64::MAX, &mut count), count), (vk::Result::TIMEOUT, 0), "each is given once");
    assert_eq!(list[0].flags, 1 | 8 | 16, "the device is lost, by time, and there is something of the vendor's");
    assert_eq!(list[0].vendor.vendor_fault_data, vk::Handle::as_raw(pipeline));
    assert_eq!(list[0].description[..start.len()], vendor.description[..start.len()]);
}

#[test]
fn an_endless_compute_shader() {
    let _turn = take_turn();
    let (c, messenger) = context_of(fault_context);
    let (set, _buffer) = stop_set(&c);
    let endless = compute(&c, vk::PipelineCache::null(), set.layout, &shader!("spin.comp"), &[]);
    pipeline::name(&c, endless, c"spinning top");
    let start = Instant::now();
    let result = c.run(|b| record_dispatch(&c, b, &set, endless, &[], 1));
    let loops = "pipeline spinning top: Compute stage, entry point \"main\", in a loop of its module: %";
    expect_fault(&c, endless, loops);
    expect_lost(c, messenger, "spinning top", start, result);
}

#[test]
fn an_endless_loop_with_barriers() {
    let _turn = take_turn();
    let (c, messenger) = context();
    let (set, _buffer) = stop_set(&c);
    let endless = compute(&c, vk::PipelineCache::null(), set.layout, &shader!("endless_barrier.comp"), &[]);
    pipeline::name(&c, endless, c"barrier top");
    let start = Instant::now();
    let result = c.run(|b| record_dispatch(&c, b, &set, endless, &[], 3));
    expect_lost(c, messenger, "barrier top", start, result);
}

/// Checks sequences of generated commands: one that runs an endless pipeline of the execution set,
/// and a million that together take too long.
#[test]
fn generated_dispatches() {
    let _turn = take_turn();
    for (endless, groups) in [(true, [1, 1, 1]), (false, [1 << 15, 1, 1])] {
        let (c, messenger) = context_of(generated::context);
        let functions = Functions::new(&c);
        let (set, _zero) = stop_set(&c);
        let short = compute(&c, vk::PipelineCache::null(), set.layout, &shader!("generated.comp"), &[]);
        let spin = compute(&c, vk::PipelineCache::null(), set.layout, &shader!("spin.comp"), &[]);
        let names = if endless { [c"bystander", c"endless sequence"] } else { [c"many sequences", c"bystander"] };
        [short, spin].into_iter().zip(names).for_each(|(pipeline, name)| pipeline::name(&c, pipeline, name));
        let stages = vk::ShaderStageFlags::COMPUTE;
        let tokens = [(Type::EXECUTION_SET, [0, stages.as_raw()], 0), (Type::DISPATCH, [0; 2], 4)];
        // All sequences but the third are short ones; without a stride they are the same.
        let mut data = c.buffer(256);
        let [x, y, z] = groups;
        data.fill_words(|i| [u32::from(endless && i == 8), x, y, z][i as usize % 4]);
        let stride = if endless { 16 } else { 0 };
        let s = Sequences {
            layout: functions.layout((set.layout, stages), &tokens, stride, 0).expect("a layout"),
            set: functions.set(&[short, spin], 2),
            address: functions.address(&data),
            size: 256,
            count: if endless { 16 } else { 1 << 20 },
            stages,
            ..Sequences::default()
        };
        let start = Instant::now();
        let result = c.run(|b| {
            record_dispatch(&c, b, &set, short, &[], 0);
            functions.execute(b, &s);
        });
        let name = if endless { "endless sequence" } else { "many sequences" };
        expect_lost(c, messenger, name, start, result);
    }
}

#[test]
fn dispatches_of_absurd_counts() {
    let _turn = take_turn();
    for groups in [[u32::MAX; 3], [u32::MAX, 1, u32::MAX], [1 << 22, 1 << 21, 1 << 21]] {
        let (c, messenger) = context();
        let (set, mut indirect) = stop_set(&c);
        // The shader finds that it should stop, so that each workgroup is short.
        indirect.fill_words(|i| groups.get(i as usize).copied().unwrap_or(0));
        let short = compute(&c, vk::PipelineCache::null(), set.layout, &shader!("endless_barrier.comp"), &[]);
        pipeline::name(&c, short, c"too many groups");
        let start = Instant::now();
        let result = c.run(|b| {
            record_dispatch(&c, b, &set, short, &[], 0);
            // SAFETY: valid usage.
            unsafe { c.device.cmd_dispatch_indirect(b, indirect.buffer, 0) };
        });
        expect_lost(c, messenger, "too many groups", start, result);
    }
}

/// An endless any-hit shader of a launch.
#[test]
fn any_hit_shader() {
    let _turn = take_turn();
    // Sets the budget.
    drop(context());
    let d = rays::Device::new();
    let flags = vk::GeometryFlagsKHR::empty();
    let scene = d.scene(&[rays::Primitives::Triangles { cells: 1, layers: 1, flags }]);
    let stages = [
        (vk::ShaderStageFlags::RAYGEN_KHR, &include_bytes!("data/rays.rgen.spv")[..]),
        (vk::ShaderStageFlags::ANY_HIT_KHR, include_bytes!("data/endless.rahit.spv")),
    ];
    let pipeline = d.pipeline(&stages, &[rays::general(0), rays::triangles(rays::UNUSED, 1)]);
    pipeline::name(&d.c, pipeline.pipeline, c"endless rays");
    let tables = [0, 1].map(|i| d.table(&[(pipeline.handles[i], 0)]));
    let [generation, hits] = [0, 1].map(|i| d.region(&tables[i]));
    let start = Instant::now();
    let result = d.c.run(|b| {
        d.bind(b, &pipeline, rays::push(&scene, 0, 0));
        // SAFETY: valid usage.
        unsafe { d.pipelines.cmd_trace_rays(b, &generation, &rays::NONE, &hits, &rays::NONE, 70, 5, 1) };
    });
    let rays::Device { c, messenger, .. } = d;
    expect_lost(c, messenger, "endless rays", start, result);
}

/// Ray queries without end, in a dispatch and in a launch.
#[test]
fn ray_queries() {
    let _turn = take_turn();
    for launch in [false, true] {
        // Sets the budget.
        drop(context());
        let mut queries = vk::PhysicalDeviceRayQueryFeaturesKHR::default().ray_query(true);
        let d = rays::Device::with(&[c"VK_KHR_ray_query"], &mut [&mut queries]);
        let flags = vk::GeometryFlagsKHR::empty();
        let scene = d.scene(&[rays::Primitives::Triangles { cells: 1, layers: 1, flags }]);
        let push = rays::push(&scene, 0, 0);
        let pipeline = if launch {
            let stage = (vk::ShaderStageFlags::RAYGEN_KHR, &include_bytes!("data/endless_query.rgen.spv")[..]);
            d.pipeline(&[stage], &[rays::general(0)])
        } else {
            let words = shader!("endless_query.comp");
            let pipeline = compute(&d.c, vk::PipelineCache::null(), d.set.layout, &words, &[]);
            rays::Pipeline { pipeline, handles: vec![rays::NULL] }
        };
        pipeline::name(&d.c, pipeline.pipeline, c"endless query");
        let table = d.table(&[(pipeline.handles[0], 0)]);
        let mut zero = d.c.buffer(64);
        zero.fill_words(|_| 0);
        d.set.buffers(&d.c, 0, vk::DescriptorType::STORAGE_BUFFER, &[(zero.buffer, 0, vk::WHOLE_SIZE)]);
        let start = Instant::now();
        let result = d.c.run(|b| {
            if launch {
                d.bind(b, &pipeline, push);
                let none = rays::NONE;
                // SAFETY: valid usage.
                unsafe { d.pipelines.cmd_trace_rays(b, &d.region(&table), &none, &none, &none, 70, 5, 1) };
            } else {
                record_dispatch(&d.c, b, &d.set, pipeline.pipeline, &push.map(u32::to_le_bytes).concat(), 3);
            }
        });
        let rays::Device { c, messenger, .. } = d;
        expect_lost(c, messenger, "endless query", start, result);
    }
}
