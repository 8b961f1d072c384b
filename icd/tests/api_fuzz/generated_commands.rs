//! Random sequences of generated commands.

use super::*;

/// Layouts of sequences.
#[rustfmt::skip]
const LAYOUTS: &[&[Token]] = &[
    &[(Type::EXECUTION_SET, [0, 0x11], 0), (Type::PUSH_CONSTANT, [0, 8], 4), (Type::SEQUENCE_INDEX, [8, 4], 12), (Type::DRAW, [0; 2], 16)],
    &[(Type::VERTEX_BUFFER, [0; 2], 0), (Type::DRAW, [0; 2], 16)],
    &[(Type::INDEX_BUFFER, [1, 0], 0), (Type::VERTEX_BUFFER, [0; 2], 16), (Type::DRAW_INDEXED, [0; 2], 32)],
    &[(Type::EXECUTION_SET, [0, 0x11], 0), (Type::INDEX_BUFFER, [2, 0], 4), (Type::DRAW_INDEXED, [0; 2], 20)],
    &[(Type::PUSH_CONSTANT, [0, 16], 0), (Type::DRAW_COUNT, [0; 2], 16)],
    &[(Type::EXECUTION_SET, [0, 0x11], 0), (Type::INDEX_BUFFER, [1, 0], 4), (Type::DRAW_INDEXED_COUNT, [0; 2], 20)],
    &[(Type::EXECUTION_SET, [0, 0x20], 0), (Type::PUSH_CONSTANT, [0, 16], 4), (Type::DISPATCH, [0; 2], 20)],
    &[(Type::SEQUENCE_INDEX, [4, 4], 0), (Type::DISPATCH, [0; 2], 4)],
];

/// Distances of sequences in bytes: none, some that are shorter than a sequence, and longer ones.
const STRIDES: [u32; 10] = [0, 4, 16, 32, 40, 52, 64, 96, 2048, 1 << 20];

/// Distances of draws in bytes, which are numbers of words: what is read between two words is
/// large, and takes long as a count.
const STEPS: [u32; 7] = [0, 4, 12, 16, 20, 24, 32];

/// Number of words of the vertices, behind which the buffer has indices and draws.
const VERTICES: usize = 64;

fn stages(tokens: &[Token]) -> vk::ShaderStageFlags {
    match tokens.last() {
        Some((Type::DISPATCH, ..)) => vk::ShaderStageFlags::COMPUTE,
        _ => vk::ShaderStageFlags::VERTEX | vk::ShaderStageFlags::FRAGMENT,
    }
}

/// Returns a number that as a count does not take long: a low one, or a multiple of 4 that is a
/// size or a stride. (Words that are read between two of them would be large.)
fn short_count(rng: &mut Rng) -> u32 {
    if rng.chance(80) { rng.below(7) as u32 } else { rng.pick(&[12, 16, 20, 24, 32]) }
}

/// Returns the address in a token of this type: mostly one of its data, else one of no memory.
fn token_address(rng: &mut Rng, ty: Type, data: u64) -> u64 {
    let word = match ty {
        Type::VERTEX_BUFFER => rng.below(2 * VERTICES),
        _ => VERTICES + rng.below(200),
    };
    let wild = [0, 4, data.wrapping_sub(1 << 33), 1 << 47, u64::MAX - 7];
    if rng.chance(90) { data + 4 * word as u64 } else { rng.pick(&wild) }
}

/// Ends the second thread of a test, also if the test fails.
struct StopAtEnd<'a>(&'a AtomicBool);
impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Checks sequences of random words, sizes, counts and strides, half of which a second thread
/// changes while they are executed. The buffers are 0 for a shader's results, 1 for vertices,
/// indices and draws, and 2 for sequences. No number is a large count, so that a round ends soon.
#[test]
fn sequences_of_generated_commands_may_be_anything() {
    let guarded = Guarded::new(generated::context(), 3, &[]);
    let (c, d) = (&guarded.c, &guarded.c.device);
    let functions = Functions::new(c);
    let set = Set::new(c, &[(D::STORAGE_BUFFER, 1)]);
    set.buffers(c, 0, D::STORAGE_BUFFER, &[(guarded.buffers[0], 0, BUFFER)]);
    let words = spirv(include_bytes!("../data/generated.comp.spv"));
    let computes = [1, 3].map(|factor| compute(c, vk::PipelineCache::null(), set.layout, &words, &[factor]));
    let [v, f] = [
        module(c, &spirv(include_bytes!("../data/attribute.vert.spv"))),
        module(c, &spirv(include_bytes!("../data/generated.frag.spv"))),
    ];
    let attributes = [(vk::Format::R32G32_SFLOAT, 0)];
    let triangles =
        Triangles { side: Some(SIDE), stride: 8, attributes: &attributes, ..Triangles::new(v, f, set.layout) };
    let draws = [(); 2].map(|()| triangles.create(d).expect("a pipeline"));
    let sets = [functions.set(&draws, 4), functions.set(&computes, 3)];
    let target = c.image(RGBA8, [SIDE, SIDE], vk::SampleCountFlags::TYPE_1, 1);
    let [data, sequences] = [1, 2].map(|number: usize| {
        let info = vk::BufferDeviceAddressInfo::default().buffer(guarded.buffers[number]);
        // SAFETY: valid usage.
        unsafe { d.get_buffer_device_address(&info) }
    });
    let at = |place: usize, word: usize| {
        assert!(word < BUFFER as usize / 4);
        // SAFETY: the word is in a buffer whose memory is mapped as long as the test runs, and all
        // accesses are atomic.
        unsafe { AtomicU32::from_ptr(guarded.bytes.add(guarded.inside[place].0 as usize + 4 * word).cast()) }
    };
    struct Shared<T>(T);
    // SAFETY: the closure reads addresses, which do not change, and writes atomically.
    unsafe impl<T> Sync for Shared<T> {}
    let at = Shared(at);
    let at = &at;
    let (stop, changes, changed) = (AtomicBool::new(false), AtomicBool::new(false), AtomicU32::new(1));
    std::thread::scope(|threads| {
        let ends = StopAtEnd(&stop);
        threads.spawn(|| {
            let at = &at.0;
            let mut rng = Rng::new(11);
            while !stop.load(Ordering::Relaxed) {
                if !changes.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                    continue;
                }
                rng = Rng::new(u64::from(changed.load(Ordering::Relaxed)) << 20 ^ rng.next());
                for _ in 0..64 {
                    let (place, word) = (1 + rng.below(2), rng.below(128));
                    at(place, word).store(rng.pick(&STEPS), Ordering::Relaxed);
                }
            }
        });
        let mut layouts = Vec::new();
        rounds(|number, rng| {
            // Layouts are made again from time to time, with other strides.
            if number % 64 == 1 || layouts.is_empty() {
                layouts.drain(..).for_each(|(layout, _)| functions.destroy(layout, Default::default()));
                layouts.extend(LAYOUTS.iter().map(|tokens| {
                    let (flags, stride) = (rng.below(4) as u32, rng.pick(&STRIDES));
                    let layout = functions.layout((set.layout, stages(tokens)), tokens, stride, flags);
                    (layout.expect("a layout"), stride)
                }));
            }
            let kind = rng.below(LAYOUTS.len());
            let (tokens, (layout, stride)) = (LAYOUTS[kind], layouts[kind]);
            for place in [1, 2] {
                (0..BUFFER as usize / 4).for_each(|word| {
                    let vertex = place == 1 && word < VERTICES && rng.chance(50);
                    let number = if vertex { 1.0f32.to_bits() } else { short_count(rng) };
                    (at.0)(place, word).store(number, Ordering::Relaxed);
                });
            }
            // Addresses lie where tokens expect them. If the sequences begin elsewhere, there are
            // none.
            let offset = if rng.chance(30) { 4 * rng.below(64) as u64 } else { 0 };
            if offset == 0 && stride >= 52 {
                for (ty, _, begin) in tokens.iter().filter(|token| token.0.has_address()) {
                    let words = (0..8).map(|i| (i * stride + begin) as usize / 4);
                    for word in words.filter(|word| word + 3 < BUFFER as usize / 4) {
                        let address = token_address(rng, *ty, data);
                        (at.0)(2, word).store(address as u32, Ordering::Relaxed);
                        (at.0)(2, word + 1).store((address >> 32) as u32, Ordering::Relaxed);
                        if matches!(ty, Type::DRAW_COUNT | Type::DRAW_INDEXED_COUNT) {
                            (at.0)(2, word + 2).store(rng.pick(&STEPS), Ordering::Relaxed);
                        }
                        if *ty == Type::INDEX_BUFFER && rng.chance(80) {
                            let index_type = rng.pick(&[0, 1, 1_000_265_000, 42, 57, 62]);
                            (at.0)(2, word + 3).store(index_type, Ordering::Relaxed);
                        }
                    }
                }
            }
            changed.store(number as u32, Ordering::Relaxed);
            let is_compute = stages(tokens) == vk::ShaderStageFlags::COMPUTE;
            let other_set = usize::from(is_compute != rng.chance(2));
            let has_set = (tokens[0].0 == Type::EXECUTION_SET) != rng.chance(2);
            let dead = |rng: &mut Rng| rng.pick(&[1, 0x1000, sequences + (1 << 34), u64::MAX - 3]);
            let size = if rng.chance(80) { BUFFER / 2 } else { rng.below(BUFFER as usize / 2) as u64 };
            let s = Sequences {
                layout,
                set: if has_set { sets[other_set] } else { Default::default() },
                address: if rng.chance(97) { sequences + offset } else { dead(rng) },
                size,
                count: if stride == 0 || rng.chance(95) {
                    rng.below(12) as u32
                } else {
                    rng.next() as u32 >> rng.below(32)
                },
                count_address: match rng.below(20) {
                    0 => dead(rng),
                    1..=8 => data + 4 * (VERTICES + rng.below(64)) as u64,
                    _ => 0,
                },
                draws: rng.below(9) as u32,
                pipeline: if is_compute { computes[0] } else { draws[0] },
                stages: stages(tokens),
                preprocessed: rng.chance(50),
            };
            let (is_inside, is_bound) = (is_compute == rng.chance(2), !rng.chance(2));
            let point = if is_compute { vk::PipelineBindPoint::COMPUTE } else { vk::PipelineBindPoint::GRAPHICS };
            let record = |b| {
                // SAFETY: all handles are valid; the parameters are random, which the test is
                // about.
                unsafe {
                    if is_bound {
                        d.cmd_bind_pipeline(b, point, s.pipeline);
                        d.cmd_bind_descriptor_sets(b, point, set.layout, 0, &[set.set], &[]);
                        d.cmd_bind_vertex_buffers(b, 0, &[guarded.buffers[1]], &[0]);
                        d.cmd_push_constants(b, set.layout, vk::ShaderStageFlags::ALL, 0, &[0; 16]);
                    }
                    functions.preprocess(b, &s, b);
                    functions.execute(b, &s);
                }
            };
            changes.store(rng.chance(50), Ordering::Relaxed);
            let result = if is_inside { render(c, &target, area(SIDE), record) } else { c.run(record) };
            changes.store(false, Ordering::Relaxed);
            result.unwrap_or_else(|error| panic!("seed {number}, {kind}: {error}"));
            guarded.check(&format!("seed {number}, {kind}"));
            if number % 7 == 0 {
                let pipeline = rng.pick(&[draws[0], draws[1], computes[0]]);
                functions.update(sets[rng.below(2)], rng.below(6) as u32, pipeline);
            }
            // SAFETY: nothing executes.
            unsafe { d.reset_command_pool(c.pool, vk::CommandPoolResetFlags::empty()) }.expect("reset");
        });
        drop(ends);
        layouts.drain(..).for_each(|(layout, _)| functions.destroy(layout, Default::default()));
    });
    sets.into_iter().for_each(|set| functions.destroy(Default::default(), set));
    // SAFETY: the objects are not in use any more.
    unsafe {
        [v, f].into_iter().for_each(|m| d.destroy_shader_module(m, None));
        draws.into_iter().chain(computes).for_each(|p| d.destroy_pipeline(p, None));
    }
    set.destroy(c);
    c.free_image(target);
}
