//! Tests of generated commands (VK_EXT_device_generated_commands): each token, execution sets,
//! counts in memory, preprocessing, and what is wrong in the memory.
//!
//! A triangle pair covers each cell of a 4×4 grid. A pixel of a cell shows the two words of push
//! constants and the number of the pipeline that drew it.

use crate::common::{Buffer, Context, Image, info};
use crate::generated::{Generated, Sequences, Token, Type};
use crate::pipeline::{AREA, GENERAL, Messenger, RGBA8, Set, compute, render, with_stages};
use ash::vk;
use cts_runner::vk::{PipelineDesc, Target, blend_state};
use std::slice;

const GRAPHICS: vk::ShaderStageFlags =
    vk::ShaderStageFlags::from_raw(vk::ShaderStageFlags::VERTEX.as_raw() | vk::ShaderStageFlags::FRAGMENT.as_raw());
const MESHES: vk::ShaderStageFlags =
    vk::ShaderStageFlags::from_raw(vk::ShaderStageFlags::MESH_EXT.as_raw() | vk::ShaderStageFlags::FRAGMENT.as_raw());
const COMPUTE: vk::ShaderStageFlags = vk::ShaderStageFlags::COMPUTE;
const VALUE: Token = (Type::PUSH_CONSTANT, [0, 4], 0);
const SEQUENCE: Token = (Type::SEQUENCE_INDEX, [4, 4], 4);
/// Number of vertices of a cell.
const CELL: u32 = 6;
/// Value of VK_PIPELINE_CREATE_2_INDIRECT_BINDABLE_BIT_EXT.
const INDIRECT_BINDABLE: u64 = 1 << 38;

/// Returns the corners of both triangles of a cell.
fn corners(cell: u32) -> [[f32; 2]; CELL as usize] {
    let [x, y] = [cell % 4, cell / 4].map(|n| n as f32 * 0.5 - 1.0);
    [[0, 0], [1, 0], [0, 1], [0, 1], [1, 0], [1, 1]]
        .map(|[i, j]: [u8; 2]| [x + f32::from(i) * 0.5, y + f32::from(j) * 0.5])
}

/// A device, a target, vertices of all cells, and memory for sequences.
struct Grid {
    g: Generated,
    set: Set,
    target: Image,
    vertices: Buffer,
    data: Buffer,
    pipelines: Vec<vk::Pipeline>,
}

impl Grid {
    /// Makes pipelines with the numbers from 1 on.
    fn new(pipelines: u32) -> Grid {
        let g = Generated::new();
        let c = &g.c;
        let set = Set::new(c, &[]);
        let target = c.image(RGBA8, [64, 64], vk::SampleCountFlags::TYPE_1, 1);
        let mut vertices = c.buffer(16 * 8 * u64::from(CELL));
        let all: Vec<u32> = (0..16).flat_map(corners).flatten().map(f32::to_bits).collect();
        vertices.fill_words(|i| all[i as usize]);
        let mut data = c.buffer(1 << 16);
        data.fill_words(|_| 0);
        let pipelines = (1..=pipelines).map(|number| draw_pipeline(c, set.layout, number, false)).collect();
        Grid { g, set, target, vertices, data, pipelines }
    }

    fn write(&mut self, at: usize, words: &[u32]) {
        let bytes = &mut self.data.bytes_mut()[at..][..4 * words.len()];
        bytes.as_chunks_mut::<4>().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
    }

    fn data_at(&self, offset: u64) -> u64 {
        self.g.address(&self.data) + offset
    }

    /// Returns sequences at the beginning of the data.
    fn sequences(&self, tokens: &[Token], stride: u32, count: u32) -> Sequences {
        let stages = if tokens.iter().any(|t| matches!(t.0, Type::DRAW_MESH_TASKS | Type::DRAW_MESH_TASKS_COUNT)) {
            MESHES
        } else {
            GRAPHICS
        };
        let layout = self.g.layout((self.set.layout, stages), tokens, stride, 0).expect("a layout");
        let (address, size) = (self.data_at(0), self.data.size);
        Sequences { layout, address, size, count, pipeline: self.pipelines[0], stages, ..Sequences::default() }
    }

    fn bind(&self, b: vk::CommandBuffer) {
        let d = &self.g.c.device;
        // SAFETY: valid usage.
        unsafe {
            d.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, self.pipelines[0]);
            d.cmd_push_constants(b, self.set.layout, vk::ShaderStageFlags::ALL, 0, &[0; 8]);
            let (buffers, zero, stride) = (slice::from_ref(&self.vertices.buffer), [0], [8]);
            d.cmd_bind_vertex_buffers2(b, 0, buffers, &zero, None, Some(&stride));
        }
    }

    /// Draws over a cleared target, and returns the colours of the cells.
    fn draw(&self, s: &Sequences) -> Vec<[u8; 4]> {
        self.draw_with(|b| {
            self.bind(b);
            self.g.execute(b, s);
        })
    }

    fn draw_with(&self, with: impl FnOnce(vk::CommandBuffer)) -> Vec<[u8; 4]> {
        render(&self.g.c, &self.target, AREA, with).expect("drawn");
        self.cells()
    }

    fn cells(&self) -> Vec<[u8; 4]> {
        let texels = self.g.c.read_image(&self.target, 4);
        (0..16).map(|cell| texels.as_chunks::<4>().0[(cell / 4 * 16 + 8) * 64 + cell % 4 * 16 + 8]).collect()
    }

    fn free(self, sequences: &[Sequences]) {
        sequences.iter().for_each(|s| self.g.destroy(s.layout, s.set));
        let c = &self.g.c;
        // SAFETY: the objects are not in use any more.
        self.pipelines.iter().for_each(|&pipeline| unsafe { c.device.destroy_pipeline(pipeline, None) });
        c.free(self.vertices);
        c.free(self.data);
        c.free_image(self.target);
        self.set.destroy(c);
    }
}

/// Makes a pipeline with a number, of vertices with a dynamic stride or of mesh workgroups, one per
/// cell.
fn draw_pipeline(c: &Context, layout: vk::PipelineLayout, number: u32, meshes: bool) -> vk::Pipeline {
    let first = if meshes { shader!("mesh_cells.mesh") } else { shader!("attribute.vert") };
    let kind = if meshes { vk::ShaderStageFlags::MESH_EXT } else { vk::ShaderStageFlags::VERTEX };
    let fragment = shader!("generated.frag");
    let dynamic = [vk::DynamicState::VERTEX_INPUT_BINDING_STRIDE];
    let desc = PipelineDesc {
        bindings: &[vk::VertexInputBindingDescription::default().stride(8)],
        attributes: &[vk::VertexInputAttributeDescription::default().format(vk::Format::R32G32_SFLOAT)],
        viewports: &[info::viewport(64)],
        scissors: &[AREA],
        blend: &[blend_state(None)],
        dynamic: if meshes { &[] } else { &dynamic },
        flags2: Some(vk::PipelineCreateFlags2KHR::from_raw(INDIRECT_BINDABLE)),
        ..PipelineDesc::new(&[], layout, Target::Formats(&[RGBA8]))
    };
    let code = [(kind, &first[..]), (vk::ShaderStageFlags::FRAGMENT, &fragment)];
    with_stages(c, &code, &[(0, number)], |stages| PipelineDesc { stages, ..desc }.create(&c.device)).expect("pipeline")
}

/// Returns the words of an address.
fn halves(address: u64) -> [u32; 2] {
    [address as u32, (address >> 32) as u32]
}

#[test]
fn draws_have_push_constants_and_their_number() {
    let mut grid = Grid::new(1);
    // The words of a sequence: value, placeholder, and a VkDrawIndirectCommand.
    for i in 0..16usize {
        grid.write(24 * i, &[10 * i as u32, 77, CELL, 1, CELL * i as u32, 0]);
    }
    let tokens = [VALUE, SEQUENCE, (Type::DRAW, [0, 0], 8)];
    let s = grid.sequences(&tokens, 24, 9);
    let expected: Vec<_> = (0..16u8).map(|i| if i < 9 { [10 * i, i, 1, 255] } else { [0; 4] }).collect();
    assert_eq!(grid.draw(&s), expected);
    // The number of sequences in memory, which the other one bounds.
    grid.write(4096, &[3, 12]);
    for (offset, count) in [(4096, 3), (4100, 9)] {
        let cells = grid.draw(&Sequences { count_address: grid.data_at(offset), ..s });
        assert_eq!(cells[..count], expected[..count]);
        assert!(cells[count..].iter().all(|cell| *cell == [0; 4]), "{cells:?}");
    }
    // A larger distance: the 16 sequences are four.
    let far = grid.sequences(&tokens, 96, 4);
    let cells = grid.draw(&far);
    for i in 0..16u8 {
        let expected = if i % 4 == 0 { [10 * i, i / 4, 1, 255] } else { [0; 4] };
        assert_eq!(cells[usize::from(i)], expected);
    }
    grid.free(&[s, far]);
}

#[test]
fn execution_sets_choose_pipelines() {
    let mut grid = Grid::new(3);
    let tokens =
        [(Type::EXECUTION_SET, [0, GRAPHICS.as_raw()], 0), (Type::PUSH_CONSTANT, [0, 4], 4), (Type::DRAW, [0, 0], 8)];
    // Pipelines alternate, and stay the same for two sequences.
    let chosen = [0u32, 2, 2, 1, 0, 1, 1, 2];
    for (i, &index) in (0u32..).zip(&chosen) {
        grid.write(24 * i as usize, &[index, i, CELL, 1, CELL * i, 0]);
    }
    let set = grid.g.set(&grid.pipelines, 8);
    let s = Sequences { set, ..grid.sequences(&tokens, 24, 8) };
    let cells = grid.draw(&s);
    for (i, &index) in chosen.iter().enumerate() {
        assert_eq!(cells[i], [i as u8, 0, index as u8 + 1, 255]);
    }
    // An updated element is another pipeline.
    grid.g.update(set, 2, grid.pipelines[0]);
    let cells = grid.draw(&s);
    for (i, &index) in chosen.iter().enumerate() {
        assert_eq!(cells[i], [i as u8, 0, [1, 2, 1][index as usize], 255]);
    }
    // Recorded commands keep the set.
    let messages = Messenger::new(&grid.g.c);
    for index in [3, 7, 8, u32::MAX] {
        grid.write(24 * 2, &[index]);
        let cells = grid.draw(&s);
        assert_eq!((cells[2], cells[3][2]), ([0; 4], 2), "the other sequences are drawn");
        let message = messages.take();
        assert!(message.len() == 1 && message[0].contains(&format!("index {index} ")), "{message:?}");
        assert!(message[0].contains("sequence 2 of 8"), "{message:?}");
    }
    grid.g.update(set, 8, grid.pipelines[1]);
    let message = messages.take();
    assert!(message.len() == 1 && message[0].contains("index 8 is not one of the 8"), "{message:?}");
    drop(messages);
    grid.free(&[s]);
}

#[test]
fn index_buffers_of_both_modes() {
    let mut grid = Grid::new(1);
    // Indices of cell 3, as words, halves and bytes.
    let indices: Vec<u32> = (0..CELL).map(|i| 3 * CELL + i).collect();
    let pack = |bits: usize| {
        let per_word = 32 / bits;
        let words = indices.chunks(per_word);
        words.map(|w| w.iter().rev().fold(0u32, |all, i| all << (bits % 32) | i)).collect::<Vec<u32>>()
    };
    for (at, bits) in [(8192, 32), (8256, 16), (8320, 8)] {
        grid.write(at, &pack(bits));
    }
    let uint8 = vk::IndexType::UINT8_KHR.as_raw() as u32;
    let messages = Messenger::new(&grid.g.c);
    let mut all = Vec::new();
    for (mode, types) in [(1, [1, 0, uint8]), (2, [42, 57, 62])] {
        let tokens = [(Type::INDEX_BUFFER, [mode, 0], 0), (Type::DRAW_INDEXED, [0, 0], 16)];
        let s = grid.sequences(&tokens, 36, 3);
        for (i, (&ty, at)) in types.iter().zip([8192, 8256, 8320]).enumerate() {
            let [low, high] = halves(grid.data_at(at));
            // The vertices of another cell for each sequence.
            let offset = CELL as i32 * (i as i32 - 1);
            grid.write(36 * i, &[low, high, 24, ty, CELL, 1, 0, offset as u32, 0]);
        }
        let cells = grid.draw(&s);
        let drawn: Vec<_> = (0..16).filter(|&i| cells[i][3] == 255).collect();
        assert_eq!(drawn, [2, 3, 4], "mode {mode}");
        assert!(messages.take().is_empty());
        // A type of the other mode is none.
        grid.write(36 + 12, &[if mode == 1 { 57 } else { 0 }]);
        let cells = grid.draw(&s);
        assert_eq!([cells[2][3], cells[3][3], cells[4][3]], [255, 0, 255]);
        let message = messages.take();
        assert!(
            message.len() == 1 && message[0].contains("sequence 1 of 3") && message[0].contains("type of indices"),
            "{message:?}"
        );
        all.push(s);
    }
    drop(messages);
    grid.free(&all);
}

#[test]
fn vertex_buffers_have_addresses_and_strides() {
    let mut grid = Grid::new(1);
    let vertices = grid.g.address(&grid.vertices);
    // Vertices of cell 5 at a distance of 24 bytes.
    for (i, corner) in corners(5).iter().enumerate() {
        grid.write(4096 + 24 * i, &corner.map(f32::to_bits));
    }
    let tokens = [(Type::VERTEX_BUFFER, [0, 0], 0), (Type::DRAW, [0, 0], 16)];
    let s = grid.sequences(&tokens, 32, 3);
    let draw = [CELL, 1, 0, 0];
    for (i, (address, stride)) in
        [(vertices, 8), (grid.data_at(4096), 24), (vertices + 8 * 6 * 9, 8)].into_iter().enumerate()
    {
        let [low, high] = halves(address);
        grid.write(32 * i, &[[low, high, 144, stride], draw].concat());
    }
    let drawn = |grid: &Grid| {
        let cells = grid.draw(&s);
        (0..16).filter(|&i| cells[i][3] == 255).collect::<Vec<_>>()
    };
    assert_eq!(drawn(&grid), [0, 5, 9]);
    // Vertices where no memory is are zeros, whose triangles are empty; the first one is reported.
    let messages = Messenger::new(&grid.g.c);
    grid.write(32, &[0x40, 0]);
    grid.write(0, &[0x40, 0]);
    assert_eq!(drawn(&grid), [9]);
    let message = messages.take();
    assert!(
        message.len() == 1 && message[0].contains("sequence 0 of 3") && message[0].contains("(2 errors in all)"),
        "{message:?}"
    );
    drop(messages);
    grid.free(&[s]);
}

#[test]
fn counts_of_draws_are_clamped() {
    let mut grid = Grid::new(2);
    let mesh = draw_pipeline(&grid.g.c, grid.set.layout, 9, true);
    grid.pipelines.push(mesh);
    // Structures: draws of cells, indexed draws of them, and mesh workgroups.
    for i in 0..8u32 {
        grid.write(4096 + 32 * i as usize, &[CELL, 1, CELL * i, 0]);
        grid.write(8192 + 32 * i as usize, &[CELL, 1, 0, CELL * i, 0]);
        grid.write(12288 + 32 * i as usize, &[i + 1, 1, 1]);
    }
    grid.write(16384, &[0, 1, 2, 3, 4, 5]);
    let mut all = Vec::new();
    for (ty, at, pipeline) in
        [(Type::DRAW_COUNT, 4096, 0), (Type::DRAW_INDEXED_COUNT, 8192, 1), (Type::DRAW_MESH_TASKS_COUNT, 12288, 2)]
    {
        let [low, high] = halves(grid.data_at(at));
        for (count, draws, drawn) in [(5, 8, 5), (5, 3, 3), (u32::MAX, 8, 8), (0, 8, 0)] {
            grid.write(0, &[low, high, 32, count]);
            let pipeline = grid.pipelines[pipeline];
            let s = Sequences { draws, pipeline, ..grid.sequences(&[(ty, [0, 0], 0)], 16, 1) };
            let cells = grid.draw_with(|b| {
                grid.bind(b);
                // SAFETY: valid usage.
                unsafe {
                    grid.g.c.device.cmd_bind_index_buffer(b, grid.data.buffer, 16384, vk::IndexType::UINT32);
                    grid.g.c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
                }
                grid.g.execute(b, &s);
            });
            let found = cells.iter().filter(|cell| cell[3] == 255).count();
            assert_eq!(found, drawn, "{at}: {count} draws of at most {draws}");
            all.push(s);
        }
    }
    // Structures that lie where no memory is.
    let messages = Messenger::new(&grid.g.c);
    grid.write(0, &[0x1000, 0, 16, 4]);
    let s = Sequences { draws: 8, ..grid.sequences(&[(Type::DRAW_COUNT, [0, 0], 0)], 16, 1) };
    assert!(grid.draw(&s).iter().all(|cell| *cell == [0; 4]));
    let message = messages.take();
    assert!(message.len() == 1 && message[0].contains("draw 0 of the sequence"), "{message:?}");
    // Too many draws of all sequences together.
    grid.draw(&Sequences { draws: 1 << 24, ..s });
    assert!(messages.take()[0].contains("draws of each sequence"));
    drop(messages);
    all.push(s);
    grid.free(&all);
}

#[test]
fn mesh_tasks_are_drawn() {
    let mut grid = Grid::new(0);
    grid.pipelines.push(draw_pipeline(&grid.g.c, grid.set.layout, 4, true));
    grid.pipelines.push(draw_pipeline(&grid.g.c, grid.set.layout, 5, false));
    let tokens = [VALUE, SEQUENCE, (Type::DRAW_MESH_TASKS, [0, 0], 8)];
    grid.write(0, &[50, 0, 7, 1, 1]);
    grid.write(20, &[60, 0, 3, 1, 1]);
    let s = grid.sequences(&tokens, 20, 2);
    let cells = grid.draw(&s);
    for (i, cell) in cells.iter().enumerate() {
        let expected = match i {
            0..3 => [60, 1, 4, 255],
            3..7 => [50, 0, 4, 255],
            _ => [0; 4],
        };
        assert_eq!(*cell, expected, "{i}");
    }
    // A pipeline of vertices draws no mesh tasks.
    let messages = Messenger::new(&grid.g.c);
    let cells = grid.draw_with(|b| {
        grid.bind(b);
        // SAFETY: only the pipeline is of another kind.
        unsafe { grid.g.c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, grid.pipelines[1]) };
        grid.g.execute(b, &s);
    });
    assert!(cells.iter().all(|cell| *cell == [0; 4]));
    let message = messages.take();
    assert!(message.len() == 1 && message[0].contains("mesh"), "{message:?}");
    drop(messages);
    grid.free(&[s]);
}

/// Checks conditional rendering, queries, and secondary command buffers.
#[test]
fn draws_depend_on_the_state_around_them() {
    let mut grid = Grid::new(1);
    for i in 0..4u32 {
        grid.write(16 * i as usize, &[CELL, 1, CELL * i, 0]);
    }
    let s = grid.sequences(&[(Type::DRAW, [0, 0], 0)], 16, 4);
    grid.write(4096, &[0, 1]);
    let c = &grid.g.c;
    let functions = ash::ext::conditional_rendering::Device::new(&c.instance, &c.device);
    for (offset, drawn) in [(4096, 0), (4100, 4)] {
        let cells = grid.draw_with(|b| {
            grid.bind(b);
            let begin = vk::ConditionalRenderingBeginInfoEXT::default().buffer(grid.data.buffer).offset(offset);
            // SAFETY: valid usage.
            unsafe {
                (functions.fp().cmd_begin_conditional_rendering_ext)(b, &begin);
                grid.g.execute(b, &s);
                (functions.fp().cmd_end_conditional_rendering_ext)(b);
            }
        });
        assert_eq!(cells.iter().filter(|cell| cell[3] == 255).count(), drawn);
    }
    let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::OCCLUSION).query_count(1);
    // SAFETY: valid usage.
    let pool = unsafe { c.device.create_query_pool(&info, None) }.unwrap();
    // SAFETY: valid usage.
    c.run(|b| unsafe { c.device.cmd_reset_query_pool(b, pool, 0, 1) }).unwrap();
    grid.draw_with(|b| {
        grid.bind(b);
        // SAFETY: valid usage.
        unsafe { c.device.cmd_begin_query(b, pool, 0, vk::QueryControlFlags::PRECISE) };
        grid.g.execute(b, &s);
        // SAFETY: valid usage.
        unsafe { c.device.cmd_end_query(b, pool, 0) };
    });
    let mut samples = [0u64];
    // SAFETY: valid usage.
    unsafe {
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
        c.device.get_query_pool_results(pool, 0, &mut samples, flags).unwrap();
        c.device.destroy_query_pool(pool, None);
    }
    assert_eq!(samples, [4 * 256]);
    let expected = grid.draw(&s);
    let secondary = secondary(&grid, &s);
    let rendering = vk::RenderingAttachmentInfo::default()
        .image_view(grid.target.view)
        .image_layout(GENERAL)
        .load_op(vk::AttachmentLoadOp::CLEAR);
    let info = vk::RenderingInfo::default()
        .render_area(AREA)
        .layer_count(1)
        .color_attachments(slice::from_ref(&rendering))
        .flags(vk::RenderingFlags::CONTENTS_SECONDARY_COMMAND_BUFFERS);
    // SAFETY: valid usage.
    c.run(|b| unsafe {
        c.device.cmd_begin_rendering(b, &info);
        c.device.cmd_execute_commands(b, &[secondary]);
        c.device.cmd_end_rendering(b);
    })
    .unwrap();
    assert_eq!(grid.cells(), expected);
    grid.free(&[s]);
}

/// Records a secondary command buffer with the sequences.
fn secondary(grid: &Grid, s: &Sequences) -> vk::CommandBuffer {
    let c = &grid.g.c;
    let allocate = vk::CommandBufferAllocateInfo::default()
        .command_pool(c.pool)
        .level(vk::CommandBufferLevel::SECONDARY)
        .command_buffer_count(1);
    let mut formats = vk::CommandBufferInheritanceRenderingInfo::default()
        .color_attachment_formats(slice::from_ref(&RGBA8))
        .rasterization_samples(vk::SampleCountFlags::TYPE_1);
    let inherited = vk::CommandBufferInheritanceInfo::default().push_next(&mut formats);
    let begin = vk::CommandBufferBeginInfo::default()
        .flags(vk::CommandBufferUsageFlags::RENDER_PASS_CONTINUE)
        .inheritance_info(&inherited);
    // SAFETY: valid usage.
    unsafe {
        let buffer = c.device.allocate_command_buffers(&allocate).unwrap()[0];
        c.device.begin_command_buffer(buffer, &begin).unwrap();
        grid.bind(buffer);
        grid.g.execute(buffer, s);
        c.device.end_command_buffer(buffer).unwrap();
        buffer
    }
}

/// A device, words that dispatches change, and memory for sequences.
struct Words {
    g: Generated,
    set: Set,
    out: Buffer,
    data: Buffer,
    pipelines: Vec<vk::Pipeline>,
}

impl Words {
    fn new(factors: &[u32]) -> Words {
        let g = Generated::new();
        let c = &g.c;
        let set = Set::new(c, &[(vk::DescriptorType::STORAGE_BUFFER, 1)]);
        let (mut out, mut data) = (c.buffer(256), c.buffer(1 << 16));
        out.fill_words(|_| 0);
        data.fill_words(|_| 0);
        set.buffers(c, 0, vk::DescriptorType::STORAGE_BUFFER, &[(out.buffer, 0, vk::WHOLE_SIZE)]);
        let words = shader!("generated.comp");
        let pipeline = |factor: &u32| compute(c, vk::PipelineCache::null(), set.layout, &words, &[*factor]);
        let pipelines = factors.iter().map(pipeline).collect();
        Words { g, set, out, data, pipelines }
    }

    fn sequences(&self, tokens: &[Token], stride: u32, count: u32, flags: u32) -> Sequences {
        let layout = self.g.layout((self.set.layout, COMPUTE), tokens, stride, flags).expect("a layout");
        let (address, size) = (self.g.address(&self.data), self.data.size);
        let pipeline = self.pipelines[0];
        Sequences { layout, address, size, count, pipeline, stages: COMPUTE, ..Sequences::default() }
    }

    fn bind(&self, b: vk::CommandBuffer) {
        let (d, point) = (&self.g.c.device, vk::PipelineBindPoint::COMPUTE);
        // SAFETY: valid usage.
        unsafe {
            d.cmd_bind_pipeline(b, point, self.pipelines[0]);
            d.cmd_bind_descriptor_sets(b, point, self.set.layout, 0, &[self.set.set], &[]);
            d.cmd_push_constants(b, self.set.layout, vk::ShaderStageFlags::ALL, 0, &[0; 8]);
        }
    }

    /// Executes the sequences, and returns the words that they have changed.
    fn run(&mut self, s: &Sequences) -> Vec<u32> {
        self.out.fill_words(|_| 0);
        self.g
            .c
            .run(|b| {
                self.bind(b);
                if s.preprocessed {
                    self.g.preprocess(b, s, b);
                }
                self.g.execute(b, s);
            })
            .expect("done");
        self.out.words()
    }

    fn free(self, sequences: &[Sequences]) {
        sequences.iter().for_each(|s| self.g.destroy(s.layout, s.set));
        let c = &self.g.c;
        // SAFETY: the objects are not in use any more.
        self.pipelines.iter().for_each(|&pipeline| unsafe { c.device.destroy_pipeline(pipeline, None) });
        c.free(self.out);
        c.free(self.data);
        self.set.destroy(c);
    }
}

/// Words of sequences for tokens of an execution set, push constants, the sequence's number and a
/// dispatch: index, value, placeholder, groups.
const DISPATCH: [Token; 4] = [
    (Type::EXECUTION_SET, [0, COMPUTE.as_raw()], 0),
    (Type::PUSH_CONSTANT, [0, 4], 4),
    (Type::SEQUENCE_INDEX, [4, 4], 8),
    (Type::DISPATCH, [0, 0], 12),
];

#[test]
fn dispatches_with_pipelines_and_preprocessing() {
    let mut words = Words::new(&[1, 10]);
    let set = words.g.set(&words.pipelines, 2);
    let all = [[0, 5, 0, 3, 1, 1], [1, 7, 0, 2, 1, 1], [1, 9, 0, 0, 1, 1], [0, 2, 0, 1, 2, 2]];
    let all = all.as_flattened().to_vec();
    words.data.fill_words(|i| all.get(i as usize).copied().unwrap_or(0));
    let mut expected = vec![0; 64];
    expected[..3].fill(5);
    expected[4..6].fill(70);
    expected[12] = 8;
    let mut used = Vec::new();
    // Without flags, with explicit preprocessing, and with unordered sequences.
    for flags in 0..4 {
        let s = words.sequences(&DISPATCH, 24, 4, flags);
        let s = Sequences { set, preprocessed: flags & 1 != 0, ..s };
        assert_eq!(words.run(&s), expected, "flags {flags}");
        let requirements = words.g.requirements(&s);
        assert_eq!(requirements.size, 0, "sequences are decoded when they are executed");
        assert!(requirements.alignment.is_power_of_two() && requirements.memory_type_bits != 0);
        used.push(Sequences { set: Default::default(), ..s });
    }
    used[0].set = set;
    words.free(&used);
}

#[test]
fn dispatches_with_shader_objects() {
    let mut words = Words::new(&[1]);
    let c = &words.g.c;
    let functions = ash::ext::shader_object::Device::new(&c.instance, &c.device);
    let code = shader!("generated.comp");
    let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let layouts = [words.set.set_layout()];
    let range = [vk::PushConstantRange { stage_flags: vk::ShaderStageFlags::ALL, offset: 0, size: 16 }];
    let entries = [vk::SpecializationMapEntry { constant_id: 0, offset: 0, size: 4 }];
    let shaders = [2u32, 3].map(|factor| {
        let factor = factor.to_ne_bytes();
        let specialization = vk::SpecializationInfo::default().map_entries(&entries).data(&factor);
        let info = vk::ShaderCreateInfoEXT::default()
            .flags(vk::ShaderCreateFlagsEXT::from_raw(1 << 7))
            .stage(COMPUTE)
            .code_type(vk::ShaderCodeTypeEXT::SPIRV)
            .code(&bytes)
            .name(c"main")
            .set_layouts(&layouts)
            .push_constant_ranges(&range)
            .specialization_info(&specialization);
        // SAFETY: valid usage.
        unsafe { functions.create_shaders(&[info], None) }.expect("a shader object")[0]
    });
    let set = words.g.set_of_shaders(&shaders, 3);
    let mut tokens = DISPATCH;
    tokens[0].1[0] = 1;
    let s = Sequences { set, pipeline: vk::Pipeline::null(), ..words.sequences(&tokens, 24, 4, 0) };
    let all = [[0, 5, 0, 3, 1, 1], [1, 7, 0, 2, 1, 1], [2, 9, 0, 1, 1, 1], [1, 2, 0, 1, 1, 1]];
    let all = all.as_flattened().to_vec();
    words.data.fill_words(|i| all.get(i as usize).copied().unwrap_or(0));
    let mut expected = vec![0; 64];
    expected[..3].fill(10);
    expected[4..6].fill(21);
    expected[12] = 6;
    let messages = Messenger::new(&words.g.c);
    assert_eq!(words.run(&s), expected);
    let message = messages.take();
    assert!(message.len() == 1 && message[0].contains("sequence 2 of 4: index 2 of the execution set"), "{message:?}");
    words.g.update_shader(set, 3, shaders[0]);
    words.g.update(set, 0, words.pipelines[0]);
    let message = messages.take();
    assert!(message.len() == 2 && message[0].contains("index 3 is not one of the 3"), "{message:?}");
    assert!(message[1].contains("members of another kind"), "{message:?}");
    drop(messages);
    // SAFETY: the objects are not in use any more.
    shaders.iter().for_each(|&shader| unsafe { functions.destroy_shader(shader, None) });
    words.free(&[s]);
}

/// Checks each kind of error of a command: one message, and no work or a part of it.
#[test]
fn errors_of_dispatches_are_reported_once() {
    let mut words = Words::new(&[1]);
    let all: Vec<u32> = (0..8).flat_map(|i| [i + 1, 0, 1, 1, 1]).collect();
    words.data.fill_words(|i| all.get(i as usize).copied().unwrap_or(0));
    let tokens = [VALUE, SEQUENCE, (Type::DISPATCH, [0, 0], 8)];
    let s = words.sequences(&tokens, 20, 8, 0);
    let (with_set, set) = (words.sequences(&DISPATCH, 24, 1, 0), words.g.set(&words.pipelines, 1));
    let messages = Messenger::new(&words.g.c);
    let (live, behind) = (s.address, s.address + (1 << 33));
    let cases = [
        (s, 8, ""),
        // The memory ends inside of the sixth sequence.
        (Sequences { size: 119, ..s }, 5, "sequence 5 of 8: the sequence reaches beyond its memory (3 errors in all)"),
        (Sequences { address: 0, ..s }, 0, "the sequences are where no memory is"),
        (Sequences { address: behind, ..s }, 0, "the sequences are where no memory is"),
        (Sequences { address: u64::MAX - 3, size: u64::MAX, ..s }, 0, "the sequences are where no memory is"),
        (Sequences { count_address: behind, ..s }, 0, "the number of sequences is where no memory is"),
        (Sequences { count_address: live, ..s }, 1, ""),
        // A set that no token uses has no effect.
        (Sequences { set, ..s }, 8, ""),
        (with_set, 0, "the layout's token of an execution set has no set"),
    ];
    for (case, done, message) in cases {
        let found = words.run(&case).iter().filter(|word| **word != 0).count();
        let reported = messages.take();
        assert_eq!(found, done, "{message} {reported:?}");
        let is_expected =
            if message.is_empty() { reported.is_empty() } else { reported.len() == 1 && reported[0].contains(message) };
        assert!(is_expected, "{message}: {reported:?}");
    }
    // More sequences than there may be: both messages.
    words.run(&Sequences { count: u32::MAX, ..s });
    let reported = messages.take();
    assert!(
        reported.len() == 2 && reported[0].contains("4294967295 sequences are more than the 1048576"),
        "{reported:?}"
    );
    // A dispatch without a pipeline, and one inside of a render pass.
    words.g.c.run(|b| words.g.execute(b, &s)).unwrap();
    assert!(messages.take()[0].contains("neither a pipeline nor a shader object is bound"));
    let target = words.g.c.image(RGBA8, [64, 64], vk::SampleCountFlags::TYPE_1, 1);
    render(&words.g.c, &target, AREA, |b| words.g.execute(b, &s)).unwrap();
    assert!(messages.take()[0].contains("a dispatch inside of a render pass"));
    words.g.c.free_image(target);
    drop(messages);
    words.g.destroy(with_set.layout, set);
    words.free(&[s]);
}

#[test]
fn layouts_that_cannot_exist_are_refused() {
    let words = Words::new(&[1]);
    let messages = Messenger::new(&words.g.c);
    let dispatch = (Type::DISPATCH, [0, 0], 8);
    let (invalid, missing) = (vk::Result::ERROR_UNKNOWN, vk::Result::ERROR_FEATURE_NOT_PRESENT);
    let many = vec![SEQUENCE; 256];
    let cases: [(&[Token], u32, vk::Result, &str); 16] = [
        (&[], 16, invalid, "no token that draws or dispatches"),
        (&[VALUE], 16, invalid, "PUSH_CONSTANT_EXT cannot be token 0 of 1"),
        (&[dispatch, VALUE], 16, invalid, "DISPATCH_EXT cannot be token 0 of 2"),
        (&[VALUE, (Type::EXECUTION_SET, [0, 0], 0), dispatch], 16, invalid, "EXECUTION_SET_EXT cannot be token 1 of 3"),
        (&[(Type::INDEX_BUFFER, [1, 0], 0), dispatch], 32, invalid, "DISPATCH_EXT cannot be token 1 of 2"),
        (
            &[(Type::INDEX_BUFFER, [3, 0], 0), (Type::DRAW_INDEXED, [0; 2], 16)],
            36,
            invalid,
            "INDEX_BUFFER_EXT has no mode",
        ),
        (
            &[(Type::VERTEX_BUFFER, [32, 0], 0), (Type::DRAW, [0; 2], 16)],
            36,
            invalid,
            "VERTEX_BUFFER_EXT has no vertex binding",
        ),
        (&[(Type::PUSH_CONSTANT, [252, 8], 0), dispatch], 36, invalid, "PUSH_CONSTANT_EXT has a range"),
        (&[(Type::PUSH_CONSTANT, [u32::MAX, 4], 0), dispatch], 36, invalid, "PUSH_CONSTANT_EXT has a range"),
        (&[(Type::PUSH_CONSTANT, [0, 6], 0), dispatch], 36, invalid, "PUSH_CONSTANT_EXT has a range"),
        (&[(Type::SEQUENCE_INDEX, [0, 8], 0), dispatch], 36, invalid, "SEQUENCE_INDEX_EXT has a range"),
        (&[(Type::DISPATCH, [0; 2], 6)], 36, invalid, "DISPATCH_EXT has the offset 6"),
        (&[(Type::DISPATCH, [0; 2], (1 << 20) + 4)], 36, invalid, "DISPATCH_EXT has the offset 1048580"),
        (&[dispatch], (1 << 20) + 4, invalid, "1 tokens with a stride of 1048580 bytes"),
        (&many, 16, invalid, "SEQUENCE_INDEX_EXT cannot be token 255"),
        (&[(Type::DRAW_MESH_TASKS_NV, [0; 2], 0)], 16, missing, "DRAW_MESH_TASKS_NV_EXT needs VK_NV_mesh_shader"),
    ];
    for (tokens, stride, result, message) in cases {
        let layout = words.g.layout((words.set.layout, COMPUTE), tokens, stride, 0);
        let reported = messages.take();
        assert_eq!(layout.err(), Some(result), "{message}");
        assert!(reported.len() == 1 && reported[0].contains(message), "{message}: {reported:?}");
    }
    // The largest layout that there may be.
    let most = [&many[1..], &[(Type::DISPATCH, [0; 2], 1 << 20)]].concat();
    let s = words.sequences(&most, 1 << 20, 1, 0);
    assert!(messages.take().is_empty());
    drop(messages);
    words.free(&[s]);
}
