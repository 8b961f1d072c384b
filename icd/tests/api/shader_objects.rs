//! Tests of shader objects: draws and dispatches with them, stages without an object, pipelines
//! beside them, and creations that fail.

use crate::common::{Buffer, Context, Image, info};
use crate::pipeline::{self, Messenger, Set};
use ash::vk;
use cts_runner::vk::{PipelineDesc, Target, blend_state};
use vk::ShaderStageFlags as S;

const SIDE: u32 = 16;
/// Number of pixels of a row of one of 4×4 cells.
const CELL: u32 = SIDE / 4;

/// Stages of draws. Each of them has an object or none in every draw.
const STAGES: [S; 7] = [
    S::VERTEX,
    S::TESSELLATION_CONTROL,
    S::TESSELLATION_EVALUATION,
    S::GEOMETRY,
    S::TASK_EXT,
    S::MESH_EXT,
    S::FRAGMENT,
];

/// A device with shader objects, and a target of numbers.
struct Scene {
    c: Context,
    objects: ash::ext::shader_object::Device,
    meshes: ash::ext::mesh_shader::Device,
    target: Image,
}

/// Returns the parameters of an object without descriptors.
fn object(stage: S, words: &[u32]) -> vk::ShaderCreateInfoEXT<'_> {
    // SAFETY: the bytes of the words are alive as long as these.
    let bytes = unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) };
    let info = vk::ShaderCreateInfoEXT::default().stage(stage).code_type(vk::ShaderCodeTypeEXT::SPIRV);
    let info = info.next_stage(next_stage(stage)).code(bytes).name(c"main");
    let without_task = vk::ShaderCreateFlagsEXT::from_raw(1 << 3);
    if stage == S::MESH_EXT { info.flags(without_task) } else { info }
}

/// Returns the stages that may follow a stage.
fn next_stage(stage: S) -> S {
    match stage {
        S::VERTEX => S::TESSELLATION_CONTROL | S::GEOMETRY | S::FRAGMENT,
        S::TESSELLATION_CONTROL => S::TESSELLATION_EVALUATION,
        S::TESSELLATION_EVALUATION => S::GEOMETRY | S::FRAGMENT,
        S::GEOMETRY | S::MESH_EXT => S::FRAGMENT,
        S::TASK_EXT => S::MESH_EXT,
        _ => S::empty(),
    }
}

impl Scene {
    fn new(instance: &[&std::ffi::CStr]) -> Scene {
        let features = vk::PhysicalDeviceFeatures::default()
            .tessellation_shader(true)
            .geometry_shader(true)
            .fill_mode_non_solid(true);
        let mut features = vk::PhysicalDeviceFeatures2::default().features(features);
        let mut core = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true).maintenance4(true);
        let mut objects = vk::PhysicalDeviceShaderObjectFeaturesEXT::default().shader_object(true);
        let mut meshes = vk::PhysicalDeviceMeshShaderFeaturesEXT::default().mesh_shader(true).task_shader(true);
        let extensions = [c"VK_EXT_shader_object", c"VK_EXT_mesh_shader", c"VK_KHR_dynamic_rendering"];
        let chain: &mut [&mut dyn crate::common::Chain] = &mut [&mut features, &mut core, &mut objects, &mut meshes];
        let c = Context::with(instance, &extensions, chain);
        let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
        let image = crate::common::image_info(vk::Format::R32_UINT, [SIDE; 2], usage);
        Scene {
            objects: ash::ext::shader_object::Device::new(&c.instance, &c.device),
            meshes: ash::ext::mesh_shader::Device::new(&c.instance, &c.device),
            target: c.image_of(&image, vk::ImageAspectFlags::COLOR),
            c,
        }
    }

    /// Creates objects in one call; returns the handles and the result.
    fn try_create(&self, infos: &[vk::ShaderCreateInfoEXT<'_>]) -> (Vec<vk::ShaderEXT>, vk::Result) {
        let mut shaders = vec![vk::Handle::from_raw(!0); infos.len()];
        let create = self.objects.fp().create_shaders_ext;
        let count = infos.len() as u32;
        // SAFETY: valid usage.
        let result =
            unsafe { create(self.c.device.handle(), count, infos.as_ptr(), std::ptr::null(), shaders.as_mut_ptr()) };
        (shaders, result)
    }

    fn create(&self, infos: &[vk::ShaderCreateInfoEXT<'_>]) -> Vec<vk::ShaderEXT> {
        let (shaders, result) = self.try_create(infos);
        assert!(result == vk::Result::SUCCESS && shaders.iter().all(|shader| *shader != vk::ShaderEXT::null()));
        shaders
    }

    fn destroy(&self, shaders: &[vk::ShaderEXT]) {
        // SAFETY: valid usage.
        shaders.iter().for_each(|shader| unsafe { self.objects.destroy_shader(*shader, None) });
    }

    /// Binds objects, and none to all other stages.
    fn bind(&self, b: vk::CommandBuffer, shaders: &[(S, vk::ShaderEXT)]) {
        let of =
            |stage: &S| shaders.iter().find(|(s, _)| s == stage).map_or(vk::ShaderEXT::null(), |(_, shader)| *shader);
        let all: Vec<_> = STAGES.iter().map(of).collect();
        // SAFETY: valid usage.
        unsafe { self.objects.cmd_bind_shaders(b, &STAGES, &all) };
    }

    /// Sets all state that draws with shader objects need.
    fn state(&self, b: vk::CommandBuffer, topology: vk::PrimitiveTopology) {
        let (d, o) = (&self.c.device, &self.objects);
        // SAFETY: valid usage.
        unsafe {
            d.cmd_set_viewport_with_count(b, &[info::viewport(SIDE)]);
            d.cmd_set_scissor_with_count(b, &[info::area(SIDE)]);
            d.cmd_set_rasterizer_discard_enable(b, false);
            o.cmd_set_vertex_input(b, &[], &[]);
            d.cmd_set_primitive_topology(b, topology);
            d.cmd_set_primitive_restart_enable(b, false);
            o.cmd_set_patch_control_points(b, 1);
            o.cmd_set_tessellation_domain_origin(b, vk::TessellationDomainOrigin::UPPER_LEFT);
            o.cmd_set_rasterization_samples(b, vk::SampleCountFlags::TYPE_1);
            o.cmd_set_sample_mask(b, vk::SampleCountFlags::TYPE_1, &[!0]);
            o.cmd_set_alpha_to_coverage_enable(b, false);
            o.cmd_set_polygon_mode(b, vk::PolygonMode::FILL);
            d.cmd_set_line_width(b, 1.0);
            d.cmd_set_cull_mode(b, vk::CullModeFlags::NONE);
            d.cmd_set_front_face(b, vk::FrontFace::COUNTER_CLOCKWISE);
            d.cmd_set_depth_test_enable(b, false);
            d.cmd_set_depth_write_enable(b, false);
            d.cmd_set_depth_bias_enable(b, false);
            d.cmd_set_stencil_test_enable(b, false);
            o.cmd_set_color_blend_enable(b, 0, &[vk::FALSE]);
            o.cmd_set_color_write_mask(b, 0, &[vk::ColorComponentFlags::RGBA]);
        }
    }

    /// Returns the numbers by row and column after these commands over zeros.
    fn draw(&self, with: impl FnOnce(vk::CommandBuffer)) -> Vec<u32> {
        assert_eq!(pipeline::render(&self.c, &self.target, info::area(SIDE), with), Ok(()));
        let bytes = self.c.read_image(&self.target, 4);
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    /// Returns the numbers after a draw of 16 vertices with these objects.
    fn draw_with(&self, shaders: &[(S, vk::ShaderEXT)], topology: vk::PrimitiveTopology) -> Vec<u32> {
        self.draw(|b| {
            self.bind(b, shaders);
            self.state(b, topology);
            // SAFETY: valid usage.
            unsafe { self.c.device.cmd_draw(b, 16, 1, 0, 0) };
        })
    }

    fn end(self) {
        self.c.free_image(self.target);
    }
}

/// Returns the numbers of a target with this number in each cell of column and row.
fn cells(number: impl Fn(u32, u32) -> u32) -> Vec<u32> {
    (0..SIDE * SIDE).map(|i| number(i % SIDE / CELL, i / SIDE / CELL)).collect()
}

/// Returns the numbers that the tessellation stages of the test's data draw.
fn patches() -> Vec<u32> {
    cells(|x, y| if [5, 6].contains(&(y * 4 + x)) { 0 } else { y * 4 + x + 1 })
}

const PATCHES: vk::PrimitiveTopology = vk::PrimitiveTopology::PATCH_LIST;
const POINTS: vk::PrimitiveTopology = vk::PrimitiveTopology::POINT_LIST;

/// Draws with tessellation stages, a geometry stage and without a fragment stage, by binding and
/// unbinding objects that were created one by one, or linked.
#[test]
fn stages_are_bound_and_unbound_one_by_one() {
    let s = Scene::new(&[]);
    let words = [
        (S::VERTEX, shader!("cells.vert")),
        (S::TESSELLATION_CONTROL, shader!("patches.tesc")),
        (S::TESSELLATION_EVALUATION, shader!("patches.tese")),
        (S::FRAGMENT, shader!("number.frag")),
    ];
    let geometry = shader!("strip.geom");
    for is_linked in [false, true] {
        let flags = vk::ShaderCreateFlagsEXT::from_raw(u32::from(is_linked));
        let infos = words.iter().map(|(stage, words)| match stage {
            // A linked stage names the one that follows.
            &S::VERTEX if is_linked => object(*stage, words).flags(flags).next_stage(S::TESSELLATION_CONTROL),
            &S::TESSELLATION_EVALUATION if is_linked => object(*stage, words).flags(flags).next_stage(S::FRAGMENT),
            stage => object(*stage, words).flags(flags),
        });
        let infos: Vec<_> = infos.collect();
        let made = s.create(&infos);
        let all: Vec<_> = words.iter().map(|(stage, _)| *stage).zip(made.iter().copied()).collect();
        assert_eq!(s.draw_with(&all, PATCHES), patches(), "linked: {is_linked}");
        if is_linked {
            s.destroy(&made);
            continue;
        }
        let without_fragments = &all[..3];
        assert_eq!(s.draw_with(without_fragments, PATCHES), vec![0; (SIDE * SIDE) as usize]);
        // Points of one cell each are replaced by strips over everything.
        let strips = s.create(&[object(S::GEOMETRY, &geometry)]);
        let drawn = s.draw_with(&[all[0], (S::GEOMETRY, strips[0]), all[3]], POINTS);
        assert!(drawn.iter().all(|number| [1, 2].contains(number)), "{drawn:?}");
        // One stage is replaced, and the others stay.
        let both = s.draw(|b| {
            s.bind(b, &all);
            s.state(b, PATCHES);
            // SAFETY: valid usage.
            unsafe {
                s.c.device.cmd_draw(b, 8, 1, 0, 0);
                let none = [vk::ShaderEXT::null(); 2];
                s.objects.cmd_bind_shaders(b, &[S::TESSELLATION_CONTROL, S::TESSELLATION_EVALUATION], &none);
                s.objects.cmd_bind_shaders(b, &[S::GEOMETRY], &strips);
                s.c.device.cmd_set_primitive_topology(b, POINTS);
                let half = vk::Rect2D { offset: vk::Offset2D { x: 0, y: SIDE as i32 / 2 }, ..info::area(SIDE) };
                s.c.device.cmd_set_scissor_with_count(b, &[half]);
                s.c.device.cmd_draw(b, 1, 1, 0, 0);
            }
        });
        let half = both.len() / 2;
        assert_eq!(both[..half], patches()[..half]);
        assert!(both[half..].iter().all(|number| [1, 2].contains(number)), "{both:?}");
        s.destroy(&made);
        s.destroy(&strips);
    }
    s.end();
}

#[test]
fn mesh_stages_draw_with_and_without_tasks() {
    let s = Scene::new(&[]);
    let (task, tasks, mesh) = (shader!("mesh_tasks.task"), shader!("mesh_tasks.mesh"), shader!("mesh_cells.mesh"));
    let fragment = shader!("mesh_number.frag");
    let infos = [
        object(S::TASK_EXT, &task),
        object(S::MESH_EXT, &tasks).flags(vk::ShaderCreateFlagsEXT::empty()),
        object(S::MESH_EXT, &mesh),
        object(S::FRAGMENT, &fragment),
    ];
    let made = s.create(&infos);
    let draw = |shaders: &[(S, vk::ShaderEXT)], groups| {
        s.draw(|b| {
            s.bind(b, shaders);
            s.state(b, vk::PrimitiveTopology::TRIANGLE_LIST);
            // SAFETY: valid usage.
            unsafe { s.meshes.cmd_draw_mesh_tasks(b, groups, 1, 1) };
        })
    };
    let drawn = draw(&[(S::TASK_EXT, made[0]), (S::MESH_EXT, made[1]), (S::FRAGMENT, made[3])], 4);
    assert_eq!(drawn, cells(|x, y| if x == 2 || x == y { 0 } else { 301 + x }));
    let drawn = draw(&[(S::MESH_EXT, made[2]), (S::FRAGMENT, made[3])], 16);
    let cell_numbers: Vec<u32> = drawn.iter().map(|number| (number - 1) % 20).collect();
    assert_eq!(cell_numbers, cells(|x, y| y * 4 + x));
    s.destroy(&made);
    s.end();
}

/// Makes a pipeline of the number of each vertex's cell, whose state is static.
fn static_pipeline(s: &Scene, layout: vk::PipelineLayout) -> vk::Pipeline {
    let words = [shader!("cells.vert"), shader!("strip.geom"), shader!("number.frag")];
    let stages = [S::VERTEX, S::GEOMETRY, S::FRAGMENT];
    let code: Vec<_> = stages.iter().zip(&words).map(|(stage, words)| (*stage, &words[..])).collect();
    // The upper half only.
    let half = vk::Rect2D { extent: vk::Extent2D { width: SIDE, height: SIDE / 2 }, ..Default::default() };
    let desc = PipelineDesc {
        topology: POINTS,
        viewports: &[info::viewport(SIDE)],
        scissors: &[half],
        blend: &[blend_state(None).color_write_mask(vk::ColorComponentFlags::R)],
        ..PipelineDesc::new(&[], layout, Target::Formats(&[vk::Format::R32_UINT]))
    };
    pipeline::create(&s.c, &code, desc).expect("pipeline")
}

/// Draws with a pipeline, shader objects and the pipeline again in one command buffer. The pipeline
/// brings its static state, and takes it away.
#[test]
fn pipelines_and_objects_unbind_each_other() {
    let s = Scene::new(&[]);
    let words = [
        (S::VERTEX, shader!("cells.vert")),
        (S::TESSELLATION_CONTROL, shader!("patches.tesc")),
        (S::TESSELLATION_EVALUATION, shader!("patches.tese")),
        (S::FRAGMENT, shader!("number.frag")),
    ];
    let infos: Vec<_> = words.iter().map(|(stage, words)| object(*stage, words)).collect();
    let made = s.create(&infos);
    let all: Vec<_> = words.iter().map(|(stage, _)| *stage).zip(made.iter().copied()).collect();
    let d = &s.c.device;
    // SAFETY: valid usage.
    unsafe {
        let layout = d.create_pipeline_layout(&Default::default(), None).expect("layout");
        let pipeline = static_pipeline(&s, layout);
        let strips = |b| {
            d.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
            d.cmd_draw(b, 1, 1, 0, 0);
        };
        let is_strip = |number: &u32| [1, 2].contains(number);
        let half = (SIDE * SIDE / 2) as usize;
        // The objects draw over everything after the pipeline has drawn.
        let drawn = s.draw(|b| {
            strips(b);
            s.bind(b, &all);
            s.state(b, PATCHES);
            d.cmd_draw(b, 16, 1, 0, 0);
        });
        let cell = |i: usize| i as u32 % SIDE / CELL + i as u32 / SIDE / CELL * 4;
        for (i, (number, patch)) in drawn.iter().zip(patches()).enumerate() {
            // Patches 5 and 6 are dropped, so that the strip is seen there.
            assert!(if [5, 6].contains(&cell(i)) { is_strip(number) } else { *number == patch }, "{i}: {drawn:?}");
        }
        // The pipeline's own scissor is in force again after that of the objects.
        let drawn = s.draw(|b| {
            s.bind(b, &all);
            s.state(b, PATCHES);
            d.cmd_draw(b, 16, 1, 0, 0);
            strips(b);
        });
        assert!(drawn[..half].iter().all(is_strip), "{drawn:?}");
        assert_eq!(drawn[half..], patches()[half..]);
        d.destroy_pipeline(pipeline, None);
        d.destroy_pipeline_layout(layout, None);
    }
    s.destroy(&made);
    s.end();
}

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;

/// The dispatch of `square.comp`, which mirrors numbers within workgroups.
struct Square {
    set: Set,
    data: Buffer,
    parameters: Buffer,
}

impl Square {
    const COUNT: u32 = 64;

    fn new(s: &Scene) -> Square {
        let set = Set::new(&s.c, &[(STORAGE, 1), (vk::DescriptorType::UNIFORM_BUFFER, 1)]);
        let (data, mut parameters) = (s.c.buffer(u64::from(4 * Square::COUNT)), s.c.buffer(16));
        parameters.fill_words(|_| 5);
        set.buffers(&s.c, 0, STORAGE, &[(data.buffer, 0, data.size)]);
        set.buffers(&s.c, 1, vk::DescriptorType::UNIFORM_BUFFER, &[(parameters.buffer, 0, 16)]);
        Square { set, data, parameters }
    }

    /// Returns the numbers after a dispatch of `groups` from workgroup `base` on, with an object of
    /// workgroups of 8 invocations that multiplies by 7; 9 is pushed, and 5 is in the parameters.
    fn run(&mut self, s: &Scene, shader: vk::ShaderEXT, base: u32, groups: u32) -> Vec<u32> {
        self.data.fill_words(|i| i);
        let ran = s.c.run(|b| {
            let d = &s.c.device;
            // SAFETY: valid usage.
            unsafe {
                s.objects.cmd_bind_shaders(b, &[S::COMPUTE], &[shader]);
                let point = vk::PipelineBindPoint::COMPUTE;
                d.cmd_bind_descriptor_sets(b, point, self.set.layout, 0, &[self.set.set], &[]);
                d.cmd_push_constants(b, self.set.layout, S::ALL, 0, &[9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
                d.cmd_dispatch_base(b, base, 0, 0, groups, 1, 1);
            }
        });
        assert_eq!(ran, Ok(()));
        self.data.words()
    }

    /// Returns the expected numbers of [`Square::run`].
    fn expected(base: u32, groups: u32) -> Vec<u32> {
        let one = |i: u32| if (base..base + groups).contains(&(i / 8)) { (i ^ 7) * 7 + 5 + 9 } else { i };
        (0..Square::COUNT).map(one).collect()
    }

    fn end(self, s: &Scene) {
        self.set.destroy(&s.c);
        s.c.free(self.data);
        s.c.free(self.parameters);
    }
}

/// Calls `with` with the parameters of the object that [`Square`] dispatches.
fn with_square<R>(square: &Square, with: impl FnOnce(vk::ShaderCreateInfoEXT<'_>) -> R) -> R {
    let entry = |id, offset| vk::SpecializationMapEntry { constant_id: id, offset, size: 4 };
    let (map, values) = ([entry(0, 0), entry(1, 4)], [8u32, 7].map(u32::to_le_bytes).concat());
    let specialization = vk::SpecializationInfo::default().map_entries(&map).data(&values);
    let layouts = [square.set.set_layout];
    let range = [vk::PushConstantRange { stage_flags: S::ALL, offset: 0, size: 16 }];
    let words = shader!("square.comp");
    let dispatch_base = vk::ShaderCreateFlagsEXT::from_raw(1 << 4);
    let info = object(S::COMPUTE, &words).flags(dispatch_base).set_layouts(&layouts).push_constant_ranges(&range);
    with(info.specialization_info(&specialization))
}

#[test]
fn dispatches_have_constants_descriptors_and_bases() {
    let s = Scene::new(&[]);
    let mut square = Square::new(&s);
    let made = with_square(&square, |info| s.create(&[info]));
    for (base, groups) in [(0, 8), (2, 3)] {
        assert_eq!(square.run(&s, made[0], base, groups), Square::expected(base, groups));
    }
    s.destroy(&made);
    square.end(&s);
    s.end();
}

/// Checks that the first handle which is null is that of the object that cannot be created, that
/// the objects before it exist, and that there is a message.
#[test]
fn failed_creations_leave_null_handles() {
    let s = Scene::new(&[c"VK_EXT_debug_utils"]);
    let messenger = Messenger::new(&s.c);
    let good = shader!("full.vert");
    // The version is one that no module has.
    let bad: Vec<u32> = good.iter().enumerate().map(|(i, word)| if i == 1 { 0x00ff_0000 } else { *word }).collect();
    let infos = [&good, &bad, &good].map(|words| object(S::VERTEX, words));
    let (shaders, result) = s.try_create(&infos);
    assert_eq!(result, vk::Result::ERROR_INITIALIZATION_FAILED);
    assert_ne!(shaders[0], vk::ShaderEXT::null());
    assert_eq!(shaders[1..], [vk::ShaderEXT::null(); 2]);
    assert_eq!(messenger.take().len(), 1);
    s.destroy(&shaders);
    drop(messenger);
    s.end();
}

/// Returns the binary of an object.
fn binary(s: &Scene, shader: vk::ShaderEXT) -> Vec<u8> {
    // SAFETY: valid usage.
    unsafe { s.objects.get_shader_binary_data(shader) }.expect("a binary")
}

/// Returns the parameters of an object of a binary, which are otherwise those of its SPIR-V.
fn of_binary<'a>(info: vk::ShaderCreateInfoEXT<'a>, data: &'a [u8]) -> vk::ShaderCreateInfoEXT<'a> {
    info.code_type(vk::ShaderCodeTypeEXT::BINARY).code(data)
}

/// Checks that an object of a binary does what the object did whose binary it is, and has the same
/// binary.
#[test]
fn binaries_make_the_same_objects() {
    let s = Scene::new(&[]);
    let mut square = Square::new(&s);
    let made = with_square(&square, |info| s.create(&[info]));
    let data = binary(&s, made[0]);
    assert_eq!(data, binary(&s, made[0]));
    // The code runs, and is then made again by another object.
    assert_eq!(square.run(&s, made[0], 0, 8), Square::expected(0, 8));
    s.destroy(&made);
    // The binary has the constants.
    let none = vk::SpecializationInfo::default();
    let again = with_square(&square, |info| s.create(&[of_binary(info, &data).specialization_info(&none)]));
    assert_eq!(square.run(&s, again[0], 1, 6), Square::expected(1, 6));
    assert_eq!(binary(&s, again[0]), data);
    s.destroy(&again);
    square.end(&s);

    let words = [
        (S::VERTEX, shader!("cells.vert")),
        (S::TESSELLATION_CONTROL, shader!("patches.tesc")),
        (S::TESSELLATION_EVALUATION, shader!("patches.tese")),
        (S::FRAGMENT, shader!("number.frag")),
    ];
    let infos: Vec<_> = words.iter().map(|(stage, words)| object(*stage, words)).collect();
    let made = s.create(&infos);
    let binaries: Vec<_> = made.iter().map(|shader| binary(&s, *shader)).collect();
    s.destroy(&made);
    let infos: Vec<_> = infos.iter().zip(&binaries).map(|(info, data)| of_binary(*info, data)).collect();
    let made = s.create(&infos);
    let all: Vec<_> = words.iter().map(|(stage, _)| *stage).zip(made.iter().copied()).collect();
    assert_eq!(s.draw_with(&all, PATCHES), patches());
    s.destroy(&made);
    s.end();
}

#[test]
fn binaries_are_returned_as_a_whole() {
    let s = Scene::new(&[]);
    let vertex = shader!("full.vert");
    let made = s.create(&[object(S::VERTEX, &vertex)]);
    let data = binary(&s, made[0]);
    let get = s.objects.fp().get_shader_binary_data_ext;
    for (space, size, result) in [
        (0, 0, vk::Result::INCOMPLETE),
        (data.len() - 1, 0, vk::Result::INCOMPLETE),
        (data.len(), data.len(), vk::Result::SUCCESS),
        (data.len() + 1, data.len(), vk::Result::SUCCESS),
    ] {
        let (mut bytes, mut count) = (vec![123; data.len() + 1], space);
        // SAFETY: valid usage.
        let got = unsafe { get(s.c.device.handle(), made[0], &mut count, bytes.as_mut_ptr().cast()) };
        assert_eq!((got, count), (result, size), "{space} bytes");
        assert_eq!(bytes[..size], data[..size]);
        assert!(bytes[size..].iter().all(|byte| *byte == 123), "{space} bytes");
    }
    s.destroy(&made);
    s.end();
}

/// Checks that binaries of which anything has changed are not used: neither a bit nor a length, and
/// neither the stage nor the layout.
#[test]
fn other_binaries_are_incompatible() {
    let s = Scene::new(&[]);
    let vertex = shader!("full.vert");
    let made = s.create(&[object(S::VERTEX, &vertex)]);
    let data = binary(&s, made[0]);
    s.destroy(&made);
    let refused = |info: vk::ShaderCreateInfoEXT<'_>| {
        let (shaders, result) = s.try_create(&[info]);
        s.destroy(&shaders);
        result == vk::Result::INCOMPATIBLE_SHADER_BINARY_EXT && shaders == [vk::ShaderEXT::null()]
    };
    fn of(data: &[u8]) -> vk::ShaderCreateInfoEXT<'_> {
        of_binary(object(S::VERTEX, &[]), data)
    }
    assert!(!refused(of(&data)));
    // (Lengths are positive in valid usage.)
    for length in 1..data.len() {
        assert!(refused(of(&data[..length])), "truncated to {length}");
    }
    assert!(refused(of(&[&data[..], &[0]].concat())), "a byte more");
    let mut changed = data.clone();
    for bit in 0..data.len() * 8 {
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(refused(of(&changed)), "bit {bit}");
        changed[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(refused(of_binary(object(S::FRAGMENT, &[]), &data)), "another stage");
    let set = Set::new(&s.c, &[(STORAGE, 1)]);
    assert!(refused(of(&data).set_layouts(&[set.set_layout])), "another layout");
    set.destroy(&s.c);
    // The objects before the refused one exist, and those behind it do not.
    let infos = [of(&data), of(&data[1..]), of(&data)];
    let (shaders, result) = s.try_create(&infos);
    assert_eq!(result, vk::Result::INCOMPATIBLE_SHADER_BINARY_EXT);
    assert_eq!(shaders.iter().map(|shader| *shader == vk::ShaderEXT::null()).collect::<Vec<_>>(), [false, true, true]);
    s.destroy(&shaders);
    s.end();
}

/// Checks that the identity of binaries is that of the build and processor.
#[test]
fn binaries_have_an_identity() {
    let s = Scene::new(&[]);
    let of_binaries = || {
        let mut objects = vk::PhysicalDeviceShaderObjectPropertiesEXT::default();
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut objects);
        // SAFETY: valid usage.
        unsafe { s.c.instance.get_physical_device_properties2(s.c.physical, &mut properties) };
        (objects.shader_binary_uuid, objects.shader_binary_version)
    };
    assert_eq!(of_binaries(), of_binaries());
    assert_ne!(of_binaries().0, [0; 16]);
    s.end();
}
