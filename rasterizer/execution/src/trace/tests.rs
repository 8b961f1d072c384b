//! Launches of shaders written in Rust, with a traversal that has a list of candidates.

use super::*;
use crate::only_stages::OnlyStages;
use crate::worker_pool::{RunningCommand, WorkerPool};
use base::abi::{BatchHeader, InvocationBatch, ShaderContext};
use base::shader::*;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use test_support::stage::context;

/// The words of an invocation's frame.
struct Frame {
    first: *mut u8,
    inputs: u32,
}

impl Frame {
    fn at(&self, word: u32) -> *mut u32 {
        // SAFETY: the frame has the word, because the test's stages access words of their
        // `FrameInfo` only.
        unsafe { self.first.add(FrameInfo::word_bytes(word) as usize).cast() }
    }
    fn get(&self, word: u32) -> u32 {
        // SAFETY: as in `at`; the batch belongs to this thread.
        unsafe { *self.at(word) }
    }
    fn set(&self, word: u32, bits: u32) {
        // SAFETY: as in `get`.
        unsafe { *self.at(word) = bits }
    }
    fn input(&self, i: u32) -> u32 {
        self.get(self.inputs + i)
    }
    fn set_input(&self, i: u32, bits: u32) {
        self.set(self.inputs + i, bits);
    }
}

/// A stage that is a function from frame and point to the end of the invocation.
struct Code<F> {
    run: F,
    inputs: u32,
    /// Numbers of invocations of all calls, by point.
    calls: Arc<Mutex<Vec<(u32, u32)>>>,
}

impl<F: Fn(&Frame, u32) -> InvocationEnd + Send + Sync> StageCode for Code<F> {
    unsafe fn run(&self, _: &ShaderContext, batch: *mut BatchHeader) {
        // SAFETY: the stage is called with an `InvocationBatch`, whose lists have `count` elements.
        unsafe {
            let batch = &mut *batch.cast::<InvocationBatch>();
            self.calls.lock().push((batch.point, batch.count));
            for i in 0..batch.count as usize {
                let first = batch.memory.add(*batch.frames.add(i) as usize);
                *batch.ends.add(i) = (self.run)(&Frame { first, inputs: self.inputs }, batch.point).word();
            }
        }
    }
    fn scratch_bytes(&self) -> usize {
        0
    }
}

type Calls = Arc<Mutex<Vec<(u32, u32)>>>;

fn ray_value(value: RayValue, word: u8) -> SlotKind {
    SlotKind::Builtin(BuiltinSlot::Ray(RayWord { value, word }))
}

fn data(location: u32) -> SlotKind {
    SlotKind::User { location, component: 0, index: 0 }
}

fn shader(
    stage: Stage,
    inputs: &[SlotKind],
    points: &[SuspensionPoint],
    run: impl Fn(&Frame, u32) -> InvocationEnd + Send + Sync + 'static,
) -> (CompiledStage, Calls) {
    let first = points.iter().map(|point| point.operands).max().unwrap_or(0);
    let slot = |&kind: &SlotKind| Slot { kind, ty: SlotType::Uint, interpolation: Interpolation::Flat };
    let data = inputs.iter().filter(|kind| matches!(kind, SlotKind::User { .. }));
    let interface = StageInterface {
        inputs: inputs.iter().map(slot).collect(),
        outputs: data.map(slot).collect(),
        ..StageInterface::default()
    };
    let words = first + inputs.len() as u32 + 2;
    let frame = FrameInfo { words, inputs: first, queries: words, points: points.to_vec() };
    let calls = Calls::default();
    let info = ShaderInfo {
        stage_info: StageSpecificInfo::new(stage),
        lanes: 8,
        interface: Arc::new(interface),
        capture: None,
        side_effects: true,
        has_loops: false,
        draw_parameters: false,
        frame: Some(Arc::new(frame)),
    };
    (CompiledStage { info, code: Arc::new(Code { run, inputs: first, calls: calls.clone() }) }, calls)
}

/// Point of a trace with this number of words of payload.
fn trace_point(payload: u32) -> SuspensionPoint {
    SuspensionPoint {
        reason: SuspendReason::TraceRay,
        operands: TraceRayOperand::COUNT + payload,
        results: payload,
        is_last: false,
    }
}

/// Sets the operands of a ray from (x, y, z) along z.
fn set_ray(frame: &Frame, x: u32, flags: u32) {
    use TraceRayOperand::*;
    for word in 0..TraceRayOperand::COUNT {
        frame.set(word, 0);
    }
    frame.set(Flags as u32, flags);
    frame.set(MissIndex as u32, 1);
    frame.set(OriginX as u32, (x as f32).to_bits());
    frame.set(DirectionZ as u32, 1f32.to_bits());
    frame.set(TMax as u32, 100f32.to_bits());
}

const PAYLOAD: u32 = TraceRayOperand::COUNT;

/// Candidates of each ray, by the x of its origin.
#[derive(Default)]
struct Candidates(HashMap<u32, Vec<Intersection>>);

struct Walk {
    left: Vec<Intersection>,
    candidate: Option<Intersection>,
    committed: Option<Intersection>,
    ray: RayArguments,
    t_max: f32,
}

impl Walk {
    /// Finds the next candidate.
    fn advance(&mut self) {
        self.candidate = self.left.pop();
        while self.candidate.is_some_and(|hit| hit.kind == IntersectionKind::Triangle && hit.t >= self.t_max) {
            self.candidate = self.left.pop();
        }
    }
}

impl Tracer for Candidates {
    type Structure = u64;
    type Traversal = Walk;

    fn open(&self, address: u64) -> u64 {
        address
    }

    fn ended(&self) -> Walk {
        let (left, candidate, committed, ray) = Default::default();
        Walk { left, candidate, committed, ray, t_max: 0.0 }
    }
    fn begin(&self, walk: &mut Walk, _: &u64, ray: &RayArguments) {
        let mut left = self.0.get(&(ray.origin[0] as u32)).cloned().unwrap_or_default();
        left.reverse();
        *walk = Walk { left, candidate: None, committed: None, ray: *ray, t_max: ray.t_max };
    }
    fn begin_tile(&self) {}
    /// Rays whose x is a multiple of 2 go on together, and the others on their own.
    fn proceed(&self, rays: &mut [Option<&mut Walk>], decide: &mut Decide<'_, Walk>) {
        let is_together = |walk: &Walk| (walk.ray.origin[0] as u32).is_multiple_of(2);
        rays.iter_mut().flatten().for_each(|walk| walk.advance());
        loop {
            let list = (0..).zip(rays.iter_mut()).filter_map(|(position, walk)| Some((position, walk.as_deref_mut()?)));
            let together = list.filter(|(_, walk)| walk.candidate.is_some() && is_together(walk));
            let (positions, mut together): (Vec<u32>, Vec<Option<&mut Walk>>) =
                together.map(|(position, walk)| (position, Some(walk))).unzip();
            if together.is_empty() {
                break;
            }
            decide(&positions, &mut together);
            together.iter_mut().flatten().for_each(|walk| walk.advance());
        }
    }
    fn candidate(&self, walk: &Walk) -> Option<Intersection> {
        walk.candidate
    }
    fn confirm(&self, walk: &mut Walk) {
        walk.committed = walk.candidate;
        walk.t_max = walk.candidate.map_or(walk.t_max, |hit| hit.t);
    }
    fn generate(&self, walk: &mut Walk, t: f32) -> bool {
        let accepted = t >= walk.ray.t_min && t <= walk.t_max;
        if accepted {
            walk.committed = walk.candidate.map(|hit| Intersection { t, ..hit });
            walk.t_max = t;
        }
        accepted
    }
    fn terminate(&self, walk: &mut Walk) {
        walk.left.clear();
    }
    fn t_max(&self, walk: &Walk) -> f32 {
        walk.t_max
    }
    fn committed(&self, walk: &Walk) -> Option<Intersection> {
        walk.committed
    }
    fn instance(&self, &structure: &u64, index: u32, _time: f32) -> Option<Instance> {
        let object_to_world = core::array::from_fn(|i| i as f32);
        let world_to_object = match structure {
            0x1_0000_0002 => core::array::from_fn(|i| 20.0 + i as f32),
            _ => [1.0, 0.0, 0.0, index as f32, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        };
        (index == 3).then_some(Instance { custom_index: 77, sbt_offset: 5, object_to_world, world_to_object })
    }
}

fn intersection(kind: IntersectionKind, primitive: u32, t: f32) -> Intersection {
    Intersection {
        kind,
        t,
        barycentrics: [0.25, 0.5],
        front_facing: true,
        opaque: false,
        instance: 3,
        custom_index: 4,
        sbt_offset: 0,
        geometry: 0,
        primitive,
        vertices: [[0.0; 3]; 3],
    }
}

/// Handles: the address of a record, without the base of its table, is that of group number / 64.
struct Handles;

const TABLE: u64 = 0x1_0000;

impl GroupHandles for Handles {
    fn group(&self, address: u64) -> Option<u32> {
        Some(((address - TABLE) / 64) as u32)
    }
}

/// Runs a launch of `width` ids. Group number n is at record n of each table; the ray generation
/// shader is group 0.
fn run(program: &TraceProgram, tracer: &Candidates, width: u32, threads: usize) -> Result<(), TraceError> {
    let table = ShaderTable { address: TABLE, stride: 64, size: 64 * program.groups.len() as u64 };
    let launch = Launch {
        running: RunningCommand::default(),
        program,
        context: context(),
        tables: ShaderTables { ray_generation: table, miss: table, hit: table, callable: table },
        handles: &Handles,
        tracer,
        size: [width, 2, 1],
        max_depth: 4,
    };
    trace_rays(&WorkerPool::<OnlyStages>::new(threads), &launch)
}

type Output = Arc<Mutex<HashMap<(u32, u32), u32>>>;

/// Ray generation shader that traces a ray from the launch id's x, and keeps the first word of the
/// payload, which is 1000 before.
fn tracing(flags: u32, output: &Output) -> (CompiledStage, Calls) {
    let output = output.clone();
    let inputs = [ray_value(RayValue::LaunchId, 0), ray_value(RayValue::LaunchId, 1)];
    shader(Stage::RayGeneration, &inputs, &[trace_point(1)], move |frame, point| {
        let id = (frame.input(0), frame.input(1));
        if point == 0 {
            set_ray(frame, id.0, flags);
            // The hit group is group 2.
            frame.set(TraceRayOperand::SbtOffset as u32, 2);
            frame.set(PAYLOAD, 1000);
            return InvocationEnd::Suspended(1);
        }
        assert_eq!(output.lock().insert(id, frame.get(PAYLOAD)), None);
        InvocationEnd::Returned
    })
}

fn miss() -> CompiledStage {
    shader(Stage::Miss, &[data(0)], &[], |frame, _| {
        frame.set_input(0, frame.input(0) + 7);
        InvocationEnd::Returned
    })
    .0
}

fn groups(hit: ShaderGroup) -> Vec<ShaderGroup> {
    let general = |shader| ShaderGroup { general: Some(shader), ..ShaderGroup::default() };
    vec![general(0), general(1), hit]
}

#[test]
fn closest_hit_and_miss_shaders_run_and_batches_are_full() {
    let tracer =
        Candidates((0..100).step_by(2).map(|x| (x, vec![intersection(IntersectionKind::Triangle, x, 5.0)])).collect());
    for threads in [1, 3] {
        let output = Output::default();
        let (first, calls) = tracing(0, &output);
        let inputs = [data(0), ray_value(RayValue::PrimitiveId, 0), ray_value(RayValue::RayTmax, 0)];
        let (closest, closest_calls) = shader(Stage::ClosestHit, &inputs, &[], |frame, _| {
            assert_eq!(f32::from_bits(frame.input(2)), 5.0);
            frame.set_input(0, frame.input(0) + 10_000 * frame.input(1));
            InvocationEnd::Returned
        });
        let hit = ShaderGroup { closest_hit: Some(2), ..ShaderGroup::default() };
        let program = TraceProgram { shaders: vec![first, miss(), closest], groups: groups(hit) };
        assert_eq!(run(&program, &tracer, 100, threads), Ok(()));
        let output = output.lock();
        assert_eq!(output.len(), 200);
        for (&(x, _), &word) in &*output {
            assert_eq!(word, if x % 2 == 0 { 1000 + 10_000 * x } else { 1007 }, "{x}");
        }
        let mut calls = calls.lock().clone();
        calls.sort_unstable();
        let of_point = |point| std::iter::once((point, 8)).chain([(point, 32); 6]);
        assert_eq!(calls, of_point(0).chain(of_point(1)).collect::<Vec<_>>());
        assert_eq!(closest_calls.lock().iter().map(|call| call.1).sum::<u32>(), 100);
    }
}

#[test]
fn any_hit_shader_ignores_accepts_and_terminates() {
    // The any-hit shader ignores primitive 1 and terminates at primitive 3.
    let candidates = |list: &[u32]| -> Vec<Intersection> {
        (0..).zip(list).map(|(i, &p)| intersection(IntersectionKind::Triangle, p, 50.0 - i as f32)).collect()
    };
    let tracer =
        Candidates(HashMap::from([(0, candidates(&[1, 1])), (1, candidates(&[2, 1, 4])), (2, candidates(&[1, 3, 4]))]));
    let output = Output::default();
    let inputs = [data(0), ray_value(RayValue::PrimitiveId, 0), ray_value(RayValue::HitKind, 0)];
    let (any, _) = shader(Stage::AnyHit, &inputs, &[], |frame, _| {
        assert_eq!(frame.input(2), 0xfe);
        frame.set_input(0, frame.input(0) + 1);
        match frame.input(1) {
            1 => InvocationEnd::Ignored,
            3 => InvocationEnd::Terminated,
            _ => InvocationEnd::Returned,
        }
    });
    let (closest, _) = shader(Stage::ClosestHit, &inputs[..2], &[], |frame, _| {
        frame.set_input(0, frame.input(0) + 10_000 * frame.input(1));
        InvocationEnd::Returned
    });
    let hit = ShaderGroup { closest_hit: Some(2), any_hit: Some(3), ..ShaderGroup::default() };
    let program = TraceProgram { shaders: vec![tracing(0, &output).0, miss(), closest, any], groups: groups(hit) };
    assert_eq!(run(&program, &tracer, 3, 1), Ok(()));
    let output = output.lock();
    let of = |x| output[&(x, 1)];
    assert_eq!([of(0), of(1), of(2)], [1009, 41_003, 31_002]);
}

#[test]
fn intersection_shader_reports_until_the_first_hit_ends_the_ray() {
    let boxes = vec![intersection(IntersectionKind::Aabb, 6, 0.0), intersection(IntersectionKind::Aabb, 8, 0.0)];
    let tracer = Candidates(HashMap::from([(0, boxes)]));
    // With the flag, the first report ends the ray and the intersection shader.
    for (flags, want) in [(0, 1000 + 8 * 10_000 + 22 + 100_000_000), (4, 1000 + 6 * 10_000 + 22)] {
        let output = Output::default();
        let resumed = Arc::new(Mutex::new(Vec::new()));
        let list = resumed.clone();
        let point =
            SuspensionPoint { reason: SuspendReason::ReportIntersection, operands: 3, results: 2, is_last: false };
        let inputs = [ray_value(RayValue::PrimitiveId, 0)];
        let (intersect, _) = shader(Stage::Intersection, &inputs, &[point, point], move |frame, point| {
            let report = |t: f32| {
                frame.set(0, 11);
                frame.set(1, t.to_bits());
                frame.set(2, 17);
            };
            match point {
                0 => report(if frame.input(0) == 6 { 10.0 } else { 9.0 }),
                1 => {
                    list.lock().push((frame.input(0), frame.get(2), f32::from_bits(frame.get(1))));
                    // This one is behind the first.
                    report(20.0);
                }
                _ => {
                    assert_eq!(frame.get(2), 0);
                    return InvocationEnd::Returned;
                }
            }
            InvocationEnd::Suspended(point + 1)
        });
        let inputs = [
            data(0),
            ray_value(RayValue::PrimitiveId, 0),
            ray_value(RayValue::HitAttribute, 0),
            ray_value(RayValue::HitKind, 0),
            ray_value(RayValue::RayTmax, 0),
        ];
        let (closest, _) = shader(Stage::ClosestHit, &inputs, &[], |frame, _| {
            assert_eq!(frame.input(3), 17);
            let near = u32::from(f32::from_bits(frame.input(4)) == 9.0);
            frame.set_input(0, frame.input(0) + 10_000 * frame.input(1) + 2 * frame.input(2) + 100_000_000 * near);
            InvocationEnd::Returned
        });
        let hit = ShaderGroup { closest_hit: Some(2), intersection: Some(3), ..ShaderGroup::default() };
        let shaders = vec![tracing(flags, &output).0, miss(), closest, intersect];
        assert_eq!(run(&TraceProgram { shaders, groups: groups(hit) }, &tracer, 1, 1), Ok(()));
        assert_eq!(output.lock()[&(0, 0)], want);
        let resumed = resumed.lock();
        if flags == 0 {
            assert_eq!(resumed[..2], [(6, 1, 10.0), (6, 1, 10.0)]);
            assert_eq!(resumed[2..], [(8, 1, 9.0), (8, 1, 9.0)]);
        } else {
            assert!(resumed.is_empty());
        }
    }
}

/// A payload with more words in the called stage than in its caller has zeros there, also in a
/// frame that others have used, and changes of them reach nothing.
#[test]
fn words_that_the_caller_lacks_are_zero() {
    let hit = intersection(IntersectionKind::Triangle, 1, 5.0);
    let tracer = Candidates((0..40).map(|x| (x, vec![Intersection { opaque: true, ..hit }])).collect());
    let output = Output::default();
    let inputs = [data(0), data(1), data(70_000)];
    let (closest, _) = shader(Stage::ClosestHit, &inputs, &[], |frame, _| {
        assert_eq!([frame.input(1), frame.input(2)], [0, 0]);
        (0..3).for_each(|i| frame.set_input(i, 55));
        InvocationEnd::Returned
    });
    let hit = ShaderGroup { closest_hit: Some(2), ..ShaderGroup::default() };
    let program = TraceProgram { shaders: vec![tracing(0, &output).0, miss(), closest], groups: groups(hit) };
    assert_eq!(run(&program, &tracer, 40, 2), Ok(()));
    assert!(output.lock().values().all(|&payload| payload == 55));
}

#[test]
fn nested_callable_shaders_return_and_too_deep_ones_are_refused() {
    let call = SuspensionPoint { reason: SuspendReason::ExecuteCallable, operands: 2, results: 1, is_last: false };
    for (nested, end) in [(2, Ok(())), (3, Ok(())), (4, Err(TraceError::TooDeep))] {
        let output = Output::default();
        let results = output.clone();
        let inputs = [ray_value(RayValue::LaunchId, 0), ray_value(RayValue::LaunchId, 1)];
        let (first, _) = shader(Stage::RayGeneration, &inputs, &[call], move |frame, point| match point {
            0 => {
                // Record 1 is the callable shader; there is no record 7.
                frame.set(0, if frame.input(0) == 0 { 7 } else { 1 });
                frame.set(1, nested);
                InvocationEnd::Suspended(1)
            }
            _ => {
                results.lock().insert((frame.input(0), frame.input(1)), frame.get(1));
                InvocationEnd::Returned
            }
        });
        // Adds 100 for each level, and calls itself as often as the data says.
        let (callable, _) = shader(Stage::Callable, &[data(0)], &[call], |frame, point| {
            let count = frame.input(0);
            if point == 0 && count % 100 > 1 {
                frame.set(0, 1);
                frame.set(1, count - 1);
                return InvocationEnd::Suspended(1);
            }
            frame.set_input(0, 100 + if point == 0 { count } else { frame.get(1) });
            InvocationEnd::Returned
        });
        let general = |shader| ShaderGroup { general: Some(shader), ..ShaderGroup::default() };
        let program = TraceProgram { shaders: vec![first, callable], groups: vec![general(0), general(1)] };
        assert_eq!(run(&program, &Candidates::default(), 2, 1), end);
        if end.is_ok() {
            assert_eq!(output.lock()[&(0, 1)], nested, "a null record runs nothing");
            assert_eq!(output.lock()[&(1, 1)], 100 * nested + 1);
        }
    }
}

#[test]
fn records_outside_of_a_table_are_none() {
    let table = ShaderTable { address: 0x1000, stride: 64, size: 160 };
    assert_eq!([0, 1, 2, 3].map(|i| table.record(i)), [Some(0x1000), Some(0x1040), Some(0x1080), None]);
    assert_eq!(table.record(u64::MAX), None);
    assert_eq!(ShaderTable { address: 0, ..table }.record(0), None);
    assert_eq!(ShaderTable { stride: 0, ..table }.record(9), Some(0x1000));
}
