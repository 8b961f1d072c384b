//! Random builds, updates and copies of acceleration structures on the queue, and rays through what
//! they left.

use super::*;
use ash::khr::acceleration_structure::Device as Functions;
use std::marker::PhantomData;
use std::ptr::null_mut;
use vulkan_grus::caps::newer::{self, TaggedStructure};

type Kind = vk::AccelerationStructureTypeKHR;
type Geometry = vk::AccelerationStructureGeometryKHR<'static>;
type Range = vk::AccelerationStructureBuildRangeInfoKHR;

/// Byte offsets in the buffer of inputs.
const VERTICES: u64 = 0;
const INDICES: u64 = 1024;
const INSTANCES: u64 = 2048;
const TRANSFORM: u64 = 3072;
const BOXES: u64 = 3328;
const RANGES: u64 = 3584;
/// Number of triangles, boxes and rays that hit them.
const TRIANGLES: u32 = 8;
/// Number of copies of an instance.
const COPIES: u32 = 4;

/// A device with structures in the first buffer, inputs in the second one, scratch memory and
/// serialized structures in the third one, and the results of a shader in the fourth one.
struct World {
    guarded: Guarded,
    f: Functions,
    set: Set,
    pipeline: vk::Pipeline,
    queries: vk::QueryPool,
    addresses: [u64; 4],
}

/// A structure with its address.
#[derive(Clone, Copy)]
struct Structure {
    handle: vk::AccelerationStructureKHR,
    address: u64,
}

impl World {
    fn new() -> World {
        let mut structures = vk::PhysicalDeviceAccelerationStructureFeaturesKHR::default()
            .acceleration_structure(true)
            .acceleration_structure_indirect_build(true);
        let mut v12 = vk::PhysicalDeviceVulkan12Features::default().buffer_device_address(true);
        let mut rays = vk::PhysicalDeviceRayQueryFeaturesKHR::default().ray_query(true);
        let extensions = [
            c"VK_KHR_acceleration_structure",
            c"VK_KHR_deferred_host_operations",
            c"VK_KHR_ray_query",
            c"VK_NV_ray_tracing_linear_swept_spheres",
            c"VK_NV_ray_tracing_motion_blur",
        ];
        let mut motion = vk::PhysicalDeviceRayTracingMotionBlurFeaturesNV::default().ray_tracing_motion_blur(true);
        let c = Context::with(&[], &extensions, &mut [&mut structures, &mut v12, &mut rays, &mut motion]);
        let guarded = Guarded::new(c, 4, &[]);
        let (c, d) = (&guarded.c, &guarded.c.device);
        let f = Functions::new(&c.instance, d);
        let set = Set::new(c, &[(D::STORAGE_BUFFER, 1)]);
        set.buffers(c, 0, D::STORAGE_BUFFER, &[(guarded.buffers[3], 0, BUFFER)]);
        let words = spirv(include_bytes!("../data/ray_query.comp.spv"));
        let pipeline = compute(c, vk::PipelineCache::null(), set.layout, &words, &[]);
        let info = vk::QueryPoolCreateInfo::default()
            .query_type(vk::QueryType::ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR)
            .query_count(1);
        // SAFETY: the usage is valid, except that the buffers were not created for addresses, which
        // the driver ignores.
        let (queries, addresses) = unsafe {
            let address = |i: usize| {
                d.get_buffer_device_address(&vk::BufferDeviceAddressInfo::default().buffer(guarded.buffers[i]))
            };
            (d.create_query_pool(&info, None).expect("a pool"), std::array::from_fn(address))
        };
        World { guarded, f, set, pipeline, queries, addresses }
    }

    fn destroy(self) {
        // SAFETY: the objects are not in use any more.
        unsafe {
            self.guarded.c.device.destroy_pipeline(self.pipeline, None);
            self.guarded.c.device.destroy_query_pool(self.queries, None);
        }
        self.set.destroy(&self.guarded.c);
    }

    fn structure(&self, kind: Kind, offset: u64, size: u64) -> Structure {
        let info = vk::AccelerationStructureCreateInfoKHR::default().buffer(self.guarded.buffers[0]);
        // SAFETY: the range is inside of the buffer.
        unsafe {
            let info = info.offset(offset).size(size).ty(kind);
            let handle = self.f.create_acceleration_structure(&info, None).expect("a structure");
            let info = vk::AccelerationStructureDeviceAddressInfoKHR::default().acceleration_structure(handle);
            Structure { handle, address: self.f.get_acceleration_structure_device_address(&info) }
        }
    }

    /// Writes the inputs of valid builds.
    fn fill(&self, bottom: u64) {
        let corners = (0..3 * TRIANGLES)
            .flat_map(|i| [(i / 3 + u32::from(i % 3 == 1)) as f32, f32::from(u8::from(i % 3 == 2)), 0.0]);
        let boxes = (0..TRIANGLES).map(|i| i as f32).flat_map(|x| [x, 0.0, 0.0, x + 1.0, 1.0, 1.0]);
        let identity = [1.0f32, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        let instance: Vec<u32> = identity
            .map(f32::to_bits)
            .into_iter()
            .chain([0xff00_0005, 0, bottom as u32, (bottom >> 32) as u32])
            .collect();
        self.write(VERTICES, corners.map(f32::to_bits));
        self.write(INDICES, 0..3 * TRIANGLES);
        self.write(INSTANCES, instance.repeat(COPIES as usize).into_iter());
        self.write(TRANSFORM, identity.map(f32::to_bits).into_iter());
        self.write(BOXES, boxes.map(f32::to_bits));
        self.write(RANGES, [TRIANGLES, 0, 0, 0].into_iter());
    }

    fn write(&self, offset: u64, words: impl Iterator<Item = u32>) {
        for (i, word) in words.enumerate() {
            self.write_word(1, offset + 4 * i as u64, word);
        }
    }

    fn write_word(&self, buffer: usize, offset: u64, word: u32) {
        // SAFETY: the memory is mapped, the offset is inside of it, and nothing executes.
        unsafe { self.guarded.bytes.add((self.guarded.inside[buffer].0 + offset) as usize).cast::<u32>().write(word) };
    }

    /// Returns a geometry of spheres or of linear swept spheres, which are the boxes' corners. Its
    /// chain is never freed.
    fn spheres(&self, ty: vk::GeometryTypeKHR, chaos: &mut Chaos<'_>) -> Geometry {
        let (s_type, p_next) = (newer::AccelerationStructureGeometrySpheresDataNV::STRUCTURE_TYPE, null_mut());
        let data = newer::AccelerationStructureGeometrySpheresDataNV {
            s_type,
            p_next,
            vertex_format: vk::Format::from_raw(chaos.raw(vk::Format::R32G32B32_SFLOAT.as_raw(), 110)),
            vertex_data: chaos.address(self.addresses[1] + BOXES),
            vertex_stride: chaos.long(12),
            radius_format: vk::Format::from_raw(chaos.raw(vk::Format::R32_SFLOAT.as_raw(), 110)),
            radius_data: chaos.address(self.addresses[1] + TRANSFORM),
            radius_stride: chaos.long(4),
            index_type: vk::IndexType::from_raw(chaos.raw(1, 3)),
            index_data: chaos.address(self.addresses[1] + INDICES),
            index_stride: chaos.long(4),
            _marker: PhantomData,
        };
        let mut geometry = Geometry::default().geometry_type(ty);
        if ty == newer::GEOMETRY_TYPE_SPHERES_NV {
            geometry.p_next = (&raw const *Box::leak(Box::new(data))).cast();
            return geometry;
        }
        let [indexing_mode, end_caps_mode] = [(); 2].map(|()| {
            let usual = i32::from(chaos.happens(50));
            chaos.raw(usual, 2)
        });
        let swept = newer::AccelerationStructureGeometryLinearSweptSpheresDataNV {
            s_type: newer::AccelerationStructureGeometryLinearSweptSpheresDataNV::STRUCTURE_TYPE,
            p_next,
            vertex_format: data.vertex_format,
            vertex_data: data.vertex_data,
            vertex_stride: data.vertex_stride,
            radius_format: data.radius_format,
            radius_data: data.radius_data,
            radius_stride: data.radius_stride,
            index_type: data.index_type,
            index_data: data.index_data,
            index_stride: data.index_stride,
            indexing_mode,
            end_caps_mode,
            _marker: PhantomData,
        };
        geometry.p_next = (&raw const *Box::leak(Box::new(swept))).cast();
        geometry
    }

    /// Returns a geometry of this kind of primitives.
    fn geometry(&self, ty: vk::GeometryTypeKHR, chaos: &mut Chaos<'_>) -> Geometry {
        if [newer::GEOMETRY_TYPE_SPHERES_NV, newer::GEOMETRY_TYPE_LINEAR_SWEPT_SPHERES_NV].contains(&ty) {
            return self.spheres(ty, chaos);
        }
        let address = |offset, chaos: &mut Chaos<'_>| vk::DeviceOrHostAddressConstKHR {
            device_address: chaos.address(self.addresses[1] + offset),
        };
        let data = match ty {
            vk::GeometryTypeKHR::TRIANGLES => {
                let format = chaos.raw(vk::Format::R32G32B32_SFLOAT.as_raw(), 110);
                let indices = chaos.raw(1, 3);
                let mut triangles = vk::AccelerationStructureGeometryTrianglesDataKHR::default()
                    .vertex_format(vk::Format::from_raw(format))
                    .vertex_data(address(VERTICES, chaos))
                    .vertex_stride(chaos.long(12))
                    .max_vertex(chaos.word(3 * TRIANGLES - 1))
                    .index_type(vk::IndexType::from_raw(indices))
                    .index_data(address(INDICES, chaos))
                    .transform_data(address(TRANSFORM, chaos));
                if chaos.happens(20) {
                    // The chain is never freed.
                    let motion = vk::AccelerationStructureGeometryMotionTrianglesDataNV::default()
                        .vertex_data(address(BOXES, chaos));
                    triangles.p_next = (&raw const *Box::leak(Box::new(motion))).cast();
                }
                vk::AccelerationStructureGeometryDataKHR { triangles }
            }
            vk::GeometryTypeKHR::AABBS => {
                let aabbs = vk::AccelerationStructureGeometryAabbsDataKHR::default()
                    .data(address(BOXES, chaos))
                    .stride(chaos.long(24));
                vk::AccelerationStructureGeometryDataKHR { aabbs }
            }
            _ => {
                let instances = vk::AccelerationStructureGeometryInstancesDataKHR::default()
                    .array_of_pointers(chaos.happens(10))
                    .data(address(INSTANCES, chaos));
                vk::AccelerationStructureGeometryDataKHR { instances }
            }
        };
        Geometry::default().geometry_type(ty).geometry(data).flags(vk::GeometryFlagsKHR::OPAQUE)
    }

    /// Records a build or an update.
    fn build(&self, b: vk::CommandBuffer, kind: Kind, (from, to): (Structure, Structure), chaos: &mut Chaos<'_>) {
        use vk::BuildAccelerationStructureModeKHR as Mode;
        let usual = match kind {
            Kind::TOP_LEVEL => vk::GeometryTypeKHR::INSTANCES,
            _ if chaos.happens(20) => vk::GeometryTypeKHR::AABBS,
            _ if chaos.happens(10) => newer::GEOMETRY_TYPE_SPHERES_NV,
            _ if chaos.happens(10) => newer::GEOMETRY_TYPE_LINEAR_SWEPT_SPHERES_NV,
            _ => vk::GeometryTypeKHR::TRIANGLES,
        };
        let count = if kind == Kind::TOP_LEVEL { COPIES } else { TRIANGLES };
        let geometries: Vec<_> = (0..if chaos.happens(30) { 3 } else { 1 })
            .map(|_| {
                let ty = if chaos.happens(5) { vk::GeometryTypeKHR::from_raw(chaos.raw(1, 2)) } else { usual };
                self.geometry(ty, chaos)
            })
            .collect();
        let ranges: Vec<_> = geometries
            .iter()
            .map(|_| Range {
                primitive_count: chaos.word(count),
                primitive_offset: chaos.word(0),
                first_vertex: chaos.word(0),
                transform_offset: chaos.word(0),
            })
            .collect();
        let counts: Vec<u32> = ranges.iter().map(|range| chaos.word(range.primitive_count)).collect();
        let motion = if chaos.happens(20) { vk::BuildAccelerationStructureFlagsKHR::MOTION_NV.as_raw() } else { 0 };
        let mut info = vk::AccelerationStructureBuildGeometryInfoKHR::default()
            .ty(kind)
            .flags(vk::BuildAccelerationStructureFlagsKHR::from_raw(chaos.raw(1, 0x1f) as u32 | motion))
            .geometries(&geometries)
            .src_acceleration_structure(from.handle)
            .dst_acceleration_structure(to.handle);
        if chaos.happens(10) {
            info = info.mode(Mode::UPDATE);
        }
        info.scratch_data.device_address = chaos.address(self.addresses[2]);
        let mut sizes = vk::AccelerationStructureBuildSizesInfoKHR::default();
        // SAFETY: all handles are valid; the numbers and addresses are random, which the test is
        // about.
        unsafe {
            let any = vk::AccelerationStructureBuildTypeKHR::HOST_OR_DEVICE;
            self.f.get_acceleration_structure_build_sizes(any, &info, &counts, &mut sizes);
            if chaos.happens(20) {
                let (address, stride) = (chaos.address(self.addresses[1] + RANGES), chaos.word(16));
                self.f.cmd_build_acceleration_structures_indirect(b, &[info], &[address], &[stride], &[&counts]);
            } else {
                self.f.cmd_build_acceleration_structures(b, &[info], &[&ranges]);
            }
        }
    }

    /// Records a copy, or writes a property.
    fn copy(&self, b: vk::CommandBuffer, (from, to): (Structure, Structure), chaos: &mut Chaos<'_>) {
        use vk::CopyAccelerationStructureModeKHR as Mode;
        let memory = chaos.target(self.addresses[2]);
        // SAFETY: all handles are valid; the addresses are random, which the test is about.
        unsafe {
            match chaos.rng.below(4) {
                0 => {
                    let mode = chaos.rng.pick(&[Mode::CLONE, Mode::COMPACT]);
                    let info =
                        vk::CopyAccelerationStructureInfoKHR::default().src(from.handle).dst(to.handle).mode(mode);
                    self.f.cmd_copy_acceleration_structure(b, &info);
                }
                1 => {
                    let mut info = vk::CopyAccelerationStructureToMemoryInfoKHR::default().src(from.handle);
                    info.mode = Mode::SERIALIZE;
                    info.dst.device_address = memory;
                    self.f.cmd_copy_acceleration_structure_to_memory(b, &info);
                }
                2 => {
                    let mut info = vk::CopyMemoryToAccelerationStructureInfoKHR::default().dst(to.handle);
                    info.mode = Mode::DESERIALIZE;
                    info.src.device_address = memory;
                    self.f.cmd_copy_memory_to_acceleration_structure(b, &info);
                }
                _ => {
                    let query = vk::QueryType::ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR;
                    self.guarded.c.device.cmd_reset_query_pool(b, self.queries, 0, 1);
                    let list = [from.handle];
                    self.f.cmd_write_acceleration_structures_properties(b, &list, query, self.queries, 0);
                }
            }
        }
    }

    /// Records, submits and waits. Unlike [`Context::run`] it returns errors of the recording.
    fn submit(&self, with: impl FnOnce(vk::CommandBuffer)) -> Result<(), vk::Result> {
        let (c, d) = (&self.guarded.c, &self.guarded.c.device);
        let info = vk::CommandBufferAllocateInfo::default().command_pool(c.pool).command_buffer_count(1);
        // SAFETY: valid usage.
        unsafe {
            let buffers = d.allocate_command_buffers(&info)?;
            d.begin_command_buffer(buffers[0], &Default::default())?;
            with(buffers[0]);
            d.end_command_buffer(buffers[0])?;
            let submit = vk::SubmitInfo::default().command_buffers(&buffers);
            let fence = d.create_fence(&Default::default(), None)?;
            let result = d.queue_submit(c.queue, &[submit], fence);
            let result = result.and_then(|()| d.wait_for_fences(&[fence], true, 60_000_000_000));
            d.destroy_fence(fence, None);
            result
        }
    }

    /// Changes random words of the first buffers.
    fn change_words(&self, buffers: usize, chaos: &mut Chaos<'_>) {
        while chaos.happens(60) {
            let number = chaos.rng.next() as u32;
            let word = chaos.rng.pick(&[number, 0, 1, u32::MAX, f32::NAN.to_bits(), f32::MAX.to_bits(), 1 << 20]);
            let (buffer, place) = (chaos.rng.below(buffers), 4 * chaos.rng.below(BUFFER as usize / 4) as u64);
            self.write_word(buffer, place, word);
        }
    }

    /// Runs builds of changed inputs, and copies of and rays through changed structures.
    fn run(&self, [bottom, top]: [Structure; 2], chaos: &mut Chaos<'_>) -> Result<(), vk::Result> {
        let c = &self.guarded.c;
        let wait = |b| {
            let barrier = vk::MemoryBarrier::default()
                .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
                .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE);
            let (all, none) = (vk::PipelineStageFlags::ALL_COMMANDS, vk::DependencyFlags::empty());
            // SAFETY: valid usage.
            unsafe { c.device.cmd_pipeline_barrier(b, all, all, none, &[barrier], &[], &[]) };
        };
        self.fill(bottom.address);
        self.change_words(3, chaos);
        self.submit(|b| {
            self.build(b, Kind::BOTTOM_LEVEL, (bottom, bottom), chaos);
            wait(b);
            self.build(b, Kind::TOP_LEVEL, (top, top), chaos);
        })?;
        self.change_words(1, chaos);
        self.submit(|b| {
            if chaos.happens(30) {
                let pair = chaos.rng.pick(&[(bottom, top), (top, bottom)]);
                self.copy(b, pair, chaos);
                wait(b);
            }
            let address = chaos.address(top.address);
            let push = [address as u32, (address >> 32) as u32, 0, 0];
            record_dispatch(c, b, &self.set, self.pipeline, &push.map(u32::to_le_bytes).concat(), 1);
        })
    }
}

/// Source of random values in the place of usual ones.
struct Chaos<'a> {
    rng: &'a mut Rng,
    /// Chance that a value is random, in percent.
    share: usize,
}

impl Chaos<'_> {
    /// Returns true with a chance in percent, and never if all values are the usual ones.
    fn happens(&mut self, percent: usize) -> bool {
        self.share > 0 && self.rng.chance(percent)
    }

    fn is_random(&mut self) -> bool {
        let share = self.share;
        self.happens(share)
    }

    fn long(&mut self, usual: u64) -> u64 {
        if self.is_random() { near(self.rng, usual) } else { usual }
    }

    fn word(&mut self, usual: u32) -> u32 {
        self.long(usual.into()) as u32
    }

    /// Returns an enumerant up to the largest one, or beyond it.
    fn raw(&mut self, usual: i32, last: u32) -> i32 {
        if self.is_random() { word(self.rng, last) as i32 } else { usual }
    }

    fn address(&mut self, usual: u64) -> u64 {
        match self.is_random() {
            true if self.rng.chance(50) => usual.wrapping_add(near(self.rng, BUFFER)),
            true => near(self.rng, BUFFER),
            false => usual,
        }
    }

    /// Returns an address of the first quarter of a buffer, or one where no memory is. A serialized
    /// structure fits behind it, because a structure has half of a buffer.
    fn target(&mut self, buffer: u64) -> u64 {
        match self.is_random() {
            true => near(self.rng, BUFFER),
            false => buffer + self.rng.below(BUFFER as usize / 4) as u64,
        }
    }
}

#[test]
fn builds_and_rays_reach_only_their_memory() {
    let mut world = World::new();
    let half = BUFFER / 2;
    let mut one = |seed: u64, rng: &mut Rng, share: usize| {
        let mut chaos = Chaos { rng, share };
        let kinds =
            [Kind::BOTTOM_LEVEL, Kind::TOP_LEVEL].map(|kind| if chaos.happens(10) { Kind::GENERIC } else { kind });
        let structures = [0, 1].map(|i| {
            let offset = if chaos.happens(10) { 256 * chaos.rng.below(15) as u64 } else { i * half };
            let size = if chaos.happens(10) { 1 + chaos.rng.below(256) as u64 } else { half.min(BUFFER - offset) };
            world.structure(kinds[i as usize], offset, size)
        });
        let result = world.run(structures, &mut chaos);
        world.guarded.check(&format!("seed {seed}: {result:?}"));
        let (c, at) = (&world.guarded.c, world.guarded.inside[3].0 as usize);
        // SAFETY: nothing executes; the memory is mapped and as large as the results.
        let results = unsafe {
            structures.iter().for_each(|s| world.f.destroy_acceleration_structure(s.handle, None));
            c.device.reset_command_pool(c.pool, vk::CommandPoolResetFlags::empty()).expect("reset");
            world.guarded.bytes.add(at).cast::<[[u32; 4]; 16]>().read()
        };
        assert_ne!(result, Err(vk::Result::TIMEOUT), "seed {seed}");
        if result == Err(vk::Result::ERROR_DEVICE_LOST) {
            std::mem::replace(&mut world, World::new()).destroy();
        }
        results
    };
    // Without random values all triangles are hit.
    let results = one(0, &mut Rng::new(1), 0);
    for (i, result) in (0..).zip(results) {
        let expected = if i < TRIANGLES { [1, i, 5, 1f32.to_bits()] } else { [0, 7, 7, 7] };
        assert_eq!(result, expected, "ray {i}");
    }
    rounds(|seed, rng| {
        let share = rng.pick(&[1, 3, 10, 30]);
        one(seed, rng, share);
    });
    world.destroy();
}
