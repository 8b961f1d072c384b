//! Tests of invocations that are suspended one by one, compared with the interpreter. A small
//! scheduler regroups waiting invocations at random, and continues them with code of any number of
//! lanes and any tier.

use crate::emit_common::*;
use crate::ray_queries::Queries;
use base::abi::{BatchHeader, InvocationBatch, RayGetter};
use base::limits::{MAX_FRAME_WORDS, MAX_SUSPENSION_POINTS};
use base::shader::{
    CompiledStage, FrameInfo, HitObjectField, InstanceWord, InvocationEnd, ReadInstanceOperand, ReorderOperand, Stage,
    SuspendReason, TraceRayOperand,
};
use jit::error::ErrorKind;
use jit::ir::*;
use jit::passes::{self, PassOptions};
use jit_test_support::ir_random::{Options, Program, Rng, call_shader, ray_generation_shader};

/// Number of frames that no invocation has, so that frames and invocations differ.
const SPARE_FRAMES: u32 = 21;

/// Runs the invocations of a stage until all have ended.
struct Scheduler<'a> {
    /// Code of the stage, compiled for several numbers of lanes and tiers.
    stages: &'a [CompiledStage],
    frame: &'a FrameInfo,
    env: Environment,
    memory: Aligned,
    /// Frame of each invocation.
    frames: Vec<u32>,
    /// Waiting invocations by the point behind which they continue.
    queues: Vec<Vec<usize>>,
    ends: Vec<Option<InvocationEnd>>,
    rng: Rng,
    /// Number of calls, and number of calls whose invocations did not all come from one call.
    calls: u32,
    regrouped: u32,
    /// Call in which each invocation ran last.
    last_call: Vec<u32>,
}

impl<'a> Scheduler<'a> {
    fn new(stages: &'a [CompiledStage], count: usize, buffers: &[Vec<u8>], seed: u64) -> Scheduler<'a> {
        let frame = stages[0].info.frame.as_deref().expect("a stage with frames");
        let mut rng = Rng::new(seed ^ 0x5c4ed);
        let mut frames: Vec<u32> = (0..count as u32 + SPARE_FRAMES).collect();
        (1..frames.len()).rev().for_each(|i| frames.swap(i, rng.below(i + 1)));
        let bytes = frame.memory_bytes(frames.len() as u32);
        let mut memory = Aligned::new(bytes + 64, 0x6b);
        frames.truncate(count);
        let mut queues = vec![Vec::new(); frame.points.len() + 1];
        queues[0] = (0..count).collect();
        // Frames of others have any contents.
        for (invocation, &at) in (0u32..).zip(&frames) {
            (0..frame.words).for_each(|word| set_word(frame, memory.bytes(bytes), at, word, 0));
            set_word(frame, memory.bytes(bytes), at, frame.inputs, invocation);
        }
        Scheduler {
            stages,
            frame,
            env: Environment::new(buffers, &[]),
            memory,
            frames,
            queues,
            ends: vec![None; count],
            rng,
            calls: 0,
            regrouped: 0,
            last_call: vec![0; count],
        }
    }

    fn run(&mut self) {
        while let Some(point) = self.next_point() {
            let queue = &mut self.queues[point];
            (1..queue.len()).rev().for_each(|i| queue.swap(i, self.rng.below(i + 1)));
            let count = 1 + self.rng.below(queue.len());
            let batch = queue.split_off(queue.len() - count);
            self.call(point, &batch);
        }
        let bytes = self.frame.memory_bytes(self.frames.len() as u32 + SPARE_FRAMES);
        assert!(self.memory.bytes(bytes + 64)[bytes..].iter().all(|&b| b == 0x6b), "a write behind the frames");
    }

    fn next_point(&mut self) -> Option<usize> {
        let waiting: Vec<usize> = (0..self.queues.len()).filter(|&i| !self.queues[i].is_empty()).collect();
        (!waiting.is_empty()).then(|| self.rng.pick(&waiting))
    }

    /// Continues invocations behind a point, and answers the calls that they make then.
    fn call(&mut self, point: usize, batch: &[usize]) {
        let stage = &self.stages[self.rng.below(self.stages.len())];
        let padded = batch.len().next_multiple_of(stage.info.lanes as usize);
        let frames: Vec<u32> = (0..padded).map(|i| self.frame.offset(self.frames[batch[i % batch.len()]])).collect();
        let mut ends = vec![77; padded];
        let mut scratch = Aligned::new(stage.code.scratch_bytes(), 0x5a);
        let mut sink = Aligned::new(128, 0x77);
        let mut arguments = InvocationBatch {
            header: BatchHeader { scratch: scratch.ptr(), sink: sink.ptr() },
            count: batch.len() as u32,
            point: point as u32,
            frames: frames.as_ptr(),
            memory: self.memory.ptr(),
            ends: ends.as_mut_ptr(),
        };
        // SAFETY: context and batch have the layout of the stage's interface.
        unsafe { stage.run(&self.env.context, (&raw mut arguments).cast()) };
        assert!(sink.bytes(128)[64..].iter().all(|&b| b == 0x77), "a write behind the sink");
        self.calls += 1;
        let first = self.last_call[batch[0]];
        self.regrouped += u32::from(batch.iter().any(|&invocation| self.last_call[invocation] != first));
        for (&invocation, &word) in batch.iter().zip(&ends) {
            self.last_call[invocation] = self.calls;
            match InvocationEnd::from_word(word) {
                InvocationEnd::Suspended(point) if self.frame.points[point as usize - 1].is_last => {
                    assert_eq!(self.ends[invocation].replace(InvocationEnd::Returned), None);
                }
                InvocationEnd::Suspended(point) => {
                    self.answer(invocation, point as usize);
                    self.queues[point as usize].push(invocation);
                }
                end => assert_eq!(self.ends[invocation].replace(end), None),
            }
        }
    }

    /// Runs the callable shader that an invocation waits for.
    fn answer(&mut self, invocation: usize, point: usize) {
        let point = self.frame.points[point - 1];
        let operands = match point.reason {
            SuspendReason::ExecuteCallable => 1,
            SuspendReason::TraceRay | SuspendReason::TraceHitObject => TraceRayOperand::COUNT,
            SuspendReason::ExecuteHitObject => HitObjectField::WORDS,
            SuspendReason::Reorder => ReorderOperand::COUNT,
            SuspendReason::ReadInstance => ReadInstanceOperand::COUNT,
            SuspendReason::ReportIntersection | SuspendReason::Barrier => point.operands - 2,
        };
        assert_eq!(point.operands, point.results + operands);
        let bytes = self.frame.memory_bytes(self.frames.len() as u32 + SPARE_FRAMES);
        let (frame, at) = (self.frame, self.frames[invocation]);
        let memory = self.memory.bytes(bytes);
        let mut words: Vec<u32> = (0..point.operands).map(|word| get_word(frame, memory, at, word)).collect();
        let (own, data) = words.split_at_mut(operands as usize);
        match point.reason {
            SuspendReason::ExecuteCallable => call_shader(own[0], data),
            SuspendReason::TraceRay | SuspendReason::ExecuteHitObject => answer_trace(own, data),
            SuspendReason::TraceHitObject => {
                let (payload, object) = data.split_at_mut(point.data_words() as usize);
                answer_trace(own, payload);
                (1000..).zip(object).for_each(|(i, word)| *word = i);
            }
            SuspendReason::Reorder => assert!(data.is_empty()),
            SuspendReason::ReadInstance => (own[2]..).zip(data).for_each(|(i, word)| *word = i),
            SuspendReason::ReportIntersection | SuspendReason::Barrier => answer_report(own, data),
        }
        (0..).zip(&words).for_each(|(word, &bits)| set_word(frame, memory, at, word, bits));
    }
}

/// Adds the operands of a trace, each with its own factor, to the payload.
fn answer_trace(operands: &[u32], payload: &mut [u32]) {
    let sum = (1..).zip(operands).fold(0u32, |sum, (i, word)| sum.wrapping_add(word.wrapping_mul(i)));
    payload.iter_mut().for_each(|word| *word = word.wrapping_add(sum));
}

/// Accepts intersections of the kind 1 with the attribute 5; the interval ends half a unit earlier.
fn answer_report(operands: &[u32], results: &mut [u32]) {
    assert_eq!(f32::from_bits(results[0]), 2.5);
    results[0] = 2f32.to_bits();
    results[1] = u32::from(operands[0] == 5 && results[1] == 1);
}

fn word_at(frame: &FrameInfo, at: u32, word: u32) -> std::ops::Range<usize> {
    let first = (frame.offset(at) + FrameInfo::word_bytes(word)) as usize;
    first..first + 4
}

fn set_word(frame: &FrameInfo, memory: &mut [u8], at: u32, word: u32, bits: u32) {
    memory[word_at(frame, at, word)].copy_from_slice(&bits.to_le_bytes());
}

fn get_word(frame: &FrameInfo, memory: &[u8], at: u32, word: u32) -> u32 {
    memory[word_at(frame, at, word)].try_into().map(u32::from_le_bytes).expect("four bytes")
}

/// Compiles a shader for several numbers of lanes and tiers, which share their frames.
fn compile_all(shader: &Shader, round: u64) -> Vec<CompiledStage> {
    let layout = buffers_layout(2);
    let stages: Vec<CompiledStage> =
        wide_configurations(round).map(|(lanes, tier)| compile_tier(shader, &layout, lanes as u32, tier)).collect();
    assert!(stages.iter().all(|stage| stage.info.frame == stages[0].info.frame));
    stages
}

/// Counts of the events that the runs of a test have covered.
#[derive(Debug, Default)]
struct Coverage {
    calls: u32,
    regrouped: u32,
    terminated: u32,
    points: usize,
}

/// Checks that a program gives the interpreter's bits, with each stage alone and with all mixed.
fn check(program: &Program, shader: &Shader, seed: u64, covered: &mut Coverage) {
    let (want, outcome) = program.try_interpret(shader, None).unwrap_or_else(|e| panic!("{e:?}\n{shader}"));
    let memory = program.memory();
    let buffers: Vec<Vec<u8>> = memory.buffers.into_iter().map(|b| b.1).collect();
    let count = buffers[1].len() / (4 * jit_test_support::ir_random::OUTPUT_WORDS as usize);
    let stages = compile_all(shader, seed);
    let alone = stages.chunks(1);
    for (run, stages) in (0..).zip(alone.chain([&stages[..]])) {
        let mut scheduler = Scheduler::new(stages, count, &buffers, seed * 64 + run);
        scheduler.run();
        let got = scheduler.env.buffer(1);
        let lanes: Vec<u32> = stages.iter().map(|stage| stage.info.lanes).collect();
        assert!(program.same(&want, &got), "seed {seed}, {lanes:?} lanes\n{shader}\n{want:?}\n{got:?}");
        for (invocation, end) in scheduler.ends.iter().enumerate() {
            let terminated = outcome.terminated >> invocation & 1 == 1;
            let want = if terminated { InvocationEnd::Terminated } else { InvocationEnd::Returned };
            assert_eq!(*end, Some(want), "seed {seed}, invocation {invocation}\n{shader}");
            covered.terminated += u32::from(terminated);
        }
        covered.calls += scheduler.calls;
        covered.regrouped += scheduler.regrouped;
    }
    covered.points += stages[0].info.frame.as_ref().map_or(0, |frame| frame.points.len());
}

fn seeds() -> std::ops::Range<u64> {
    let n = std::env::var("GRUS_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(80);
    let from = std::env::var("GRUS_SEED_FROM").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    from..from + n
}

#[test]
fn regrouped_invocations_match_the_interpreter() {
    let mut covered = Coverage::default();
    for seed in seeds() {
        let local_size = [33, 16, 5, 70, 128][seed as usize % 5];
        let options =
            Options { local_size, vars: seed % 4 != 0, results: seed % 2 == 0, size: 70, ..Options::default() };
        let program = ray_generation_shader(seed, options);
        let mut shader = program.shader.clone();
        if seed % 3 != 0 {
            passes::run(&mut shader, &PassOptions::default()).expect("passes");
        }
        verify(&shader).unwrap_or_else(|e| panic!("{e}\n{shader}"));
        check(&program, &shader, seed, &mut covered);
    }
    let Coverage { calls, regrouped, terminated, points } = covered;
    assert!(calls > 1000 && regrouped > 100 && terminated > 50 && points > 100, "{covered:?}");
}

/// Returns a ray generation shader with the number of the invocation as its input.
fn shader(build: impl FnOnce(&mut Builder<'_>, Value)) -> Shader {
    let empty = Options { size: 0, vars: false, ..Options::default() };
    let inputs = ray_generation_shader(0, empty).shader.inputs;
    let mut shader = Shader::new(Stage::RayGeneration, "test");
    (shader.inputs, shader.side_effects) = (inputs, true);
    let mut b = Builder::new(&mut shader);
    let id = b.op(Op::LoadInput(0, InterpolateAt::Default), &[], Ty::I32);
    build(&mut b, id);
    b.finish();
    verify(&shader).unwrap_or_else(|e| panic!("{e}\n{shader}"));
    shader
}

fn call(b: &mut Builder<'_>, shader: Value, data: Value) -> Value {
    b.op(Op::ExecuteCallable, &[shader, data], Ty::I32)
}

/// Invocations of one call that are in different iterations of a loop continue together, although
/// the loop's counter is uniform in every chunk that starts.
#[test]
fn iterations_of_a_uniform_loop_are_regrouped() {
    let n = 40;
    let s = shader(|b, id| {
        let (zero, four) = (b.i32(0), b.i32(4));
        let sums = b.loop_(&[zero, zero], &[Ty::I32], |b, label, p| {
            let done = b.cmp(Cmp::SLt, four, p[0]);
            b.if_(done, &[], |_| Term::Break(label, vec![p[1]]), |_| Term::Yield(vec![]));
            let got = call(b, p[0], id);
            let sum = b.binary(Binary::IAdd, p[1], got);
            let one = b.i32(1);
            let next = b.binary(Binary::IAdd, p[0], one);
            Term::Yield(vec![next, sum])
        });
        put(b, 1, id, sums[0]);
    });
    let stages = compile_all(&s, 0);
    let frame = stages[0].info.frame.as_ref().expect("a frame");
    assert_eq!(frame.points.len(), 1);
    // Two operands, the input, and what lives across the call: number, counter and sum.
    assert_eq!((frame.inputs, frame.words), (2, 6));
    let mut scheduler = Scheduler::new(&stages, n, &[vec![], vec![0; 4 * n]], 1);
    scheduler.run();
    let want = (0..n as u32).map(|id| {
        (0..5).fold(0u32, |sum, counter| {
            let mut data = [id];
            call_shader(counter, &mut data);
            sum.wrapping_add(data[0])
        })
    });
    assert_eq!(as_words(&scheduler.env.buffer(1)), want.collect::<Vec<u32>>());
    assert!(scheduler.regrouped > 0);
}

/// A frame keeps neither constants, nor what is the same for all invocations, nor descriptors,
/// which are computed again.
#[test]
fn cheap_values_and_descriptors_are_not_kept() {
    let s = shader(|b, id| {
        let zero = b.i32(0);
        let flags = MemFlags { readonly: true, volatile: false, align: 4 };
        let pushed = b.op(Op::Load(Space::Push, flags), &[zero], Ty::I32);
        let seven = b.i32(7);
        let sum = b.binary(Binary::IAdd, pushed, seven);
        let buffer = b.buffer(0, 1);
        let size = b.op(Op::BufferSize, &[buffer], Ty::I32);
        let got = call(b, zero, id);
        let all = b.binary(Binary::IAdd, got, sum);
        let all = b.binary(Binary::IAdd, all, size);
        let at = byte_offset(b, id);
        b.store(buffer, at, all);
    });
    let stages = compile_all(&s, 1);
    // Two operands, the input, and the number that the input has given.
    assert_eq!(stages[0].info.frame.as_ref().map(|frame| frame.words), Some(4));
    let mut scheduler = Scheduler::new(&stages, 20, &[vec![], vec![0; 80]], 2);
    scheduler.env.context.push_constants[..4].copy_from_slice(&100u32.to_le_bytes());
    scheduler.run();
    let want = (0..20u32).map(|id| {
        let mut data = [id];
        call_shader(0, &mut data);
        data[0].wrapping_add(100 + 7 + 80)
    });
    assert_eq!(as_words(&scheduler.env.buffer(1)), want.collect::<Vec<u32>>());
}

/// Ray queries in frames keep their state while invocations wait and are regrouped, and share no
/// bytes with those of other invocations.
#[test]
fn queries_live_across_calls() {
    let n = 70;
    let s = shader(|b, id| {
        let (two, five) = (b.i32(2), b.i32(5));
        let queries = Queries::new(b, 2);
        let index = b.binary(Binary::UMod, id, two);
        queries.initialize(b, index, id);
        let number = b.binary(Binary::UMod, id, five);
        let zero = b.i32(0);
        let sums = b.loop_(&[number, zero], &[Ty::I32], |b, label, p| {
            let done = b.cmp(Cmp::IEq, p[0], zero);
            b.if_(done, &[], |_| Term::Break(label, vec![p[1]]), |_| Term::Yield(vec![]));
            let more = queries.op(b, RayQueryOp::Proceed, index, &[])[0];
            let got = call(b, zero, more);
            let sum = b.binary(Binary::IAdd, p[1], got);
            let minus = b.i32(-1);
            let next = b.binary(Binary::IAdd, p[0], minus);
            Term::Yield(vec![next, sum])
        });
        let flags = queries.get(b, RayGetter::RayFlags, false, index)[0];
        let more = queries.op(b, RayQueryOp::Proceed, index, &[])[0];
        let all = b.binary(Binary::IAdd, sums[0], flags);
        let all = b.binary(Binary::IAdd, all, more);
        put(b, 1, id, all);
    });
    let stages = compile_all(&s, 3);
    let frame = stages[0].info.frame.as_ref().expect("a frame");
    assert_eq!(frame.words - frame.queries, 2 * RAY_QUERY_WORDS + RAY_QUERY_PADDING);
    let want: Vec<u32> = (0..n as u32)
        .map(|id| {
            let candidates = id & 7;
            let sum = (0..id % 5).fold(0u32, |sum, i| {
                let mut data = [u32::from(i < candidates)];
                call_shader(0, &mut data);
                sum.wrapping_add(data[0])
            });
            sum.wrapping_add(id).wrapping_add(u32::from(id % 5 < candidates))
        })
        .collect();
    for (seed, stages) in (0..).zip(stages.chunks(1).chain([&stages[..]])) {
        let mut scheduler = Scheduler::new(stages, n, &[vec![], vec![0; 4 * n]], seed);
        scheduler.run();
        assert_eq!(as_words(&scheduler.env.buffer(1)), want, "{seed}");
    }
}

/// Without points all invocations end in their only call, and need no frame but for their inputs.
#[test]
fn stage_without_points_has_a_frame_of_inputs() {
    let s = shader(|b, id| {
        let odd = b.u32(1);
        let odd = b.binary(Binary::And, id, odd);
        let zero = b.i32(0);
        let odd = b.cmp(Cmp::INe, odd, zero);
        let root = b.shader.root.label;
        b.if_(
            odd,
            &[],
            |b| {
                b.inst(Op::TerminateRay, &[], &[]);
                Term::Break(root, vec![])
            },
            |_| Term::Yield(vec![]),
        );
        put(b, 1, id, id);
    });
    let stages = compile_all(&s, 2);
    assert_eq!(
        stages[0].info.frame.as_deref(),
        Some(&FrameInfo { words: 1, inputs: 0, queries: 1, points: Vec::new() })
    );
    let mut scheduler = Scheduler::new(&stages, 30, &[vec![], vec![0; 120]], 3);
    scheduler.run();
    for (id, (&word, &end)) in as_words(&scheduler.env.buffer(1)).iter().zip(&scheduler.ends).enumerate() {
        let (value, want) =
            if id % 2 == 1 { (0, InvocationEnd::Terminated) } else { (id as u32, InvocationEnd::Returned) };
        assert_eq!((word, end), (value, Some(want)));
    }
}

/// Frames and points beyond the limits are errors of the application.
#[test]
fn limits_of_frames_are_errors() {
    let compiled = |s: &Shader| {
        let error = try_compile(s, &buffers_layout(2), 8, Tier::Quick).err();
        error.map(|e| e.kind)
    };
    let with_array = |len| {
        shader(|b, id| {
            let var = b.var(Ty::I32, len, "");
            b.var_store(var, Some(id), id);
            let got = call(b, id, id);
            let value = b.var_load(var, Some(got));
            put(b, 1, id, value);
        })
    };
    assert_eq!(compiled(&with_array(MAX_FRAME_WORDS / 2)), None);
    assert_eq!(compiled(&with_array(MAX_FRAME_WORDS)), Some(ErrorKind::Limit));
    let with_points = |n| {
        shader(|b, id| {
            (0..n).for_each(|_| {
                b.inst(Op::ExecuteCallable, &[id], &[]);
            });
        })
    };
    assert_eq!(compiled(&with_points(100)), None);
    assert_eq!(compiled(&with_points(MAX_SUSPENSION_POINTS + 1)), Some(ErrorKind::Limit));
}

/// A barrier needs the frame of a chunk, and a call of a shader those of invocations.
#[test]
fn stages_have_one_layout_of_frames() {
    let both = shader(|b, id| {
        b.inst(Op::ExecuteCallable, &[id], &[]);
        b.inst(Op::Barrier, &[], &[]);
    });
    let error = try_compile(&both, &buffers_layout(2), 8, Tier::Quick).err();
    assert_eq!(error.map(|e| e.kind), Some(ErrorKind::Invalid));
}

/// A trace hands over its operands in order, and the payload comes back.
#[test]
fn traces_hand_over_operands_and_payload() {
    let floats = TraceRayOperand::COUNT - TraceRayOperand::OriginX as u32;
    let s = shader(|b, id| {
        let mut args: Vec<Value> = (0..TraceRayOperand::OriginX as u32).map(|i| b.i32(i as i32 + 3)).collect();
        args.extend((0..floats).map(|i| b.constant(Ty::F32, u64::from((i as f32).to_bits()))));
        args.push(id);
        let got = b.op(Op::TraceRay, &args, Ty::I32);
        put(b, 1, id, got);
    });
    let stages = compile_all(&s, 0);
    let mut scheduler = Scheduler::new(&stages, 40, &[vec![], vec![0; 160]], 5);
    scheduler.run();
    let mut operands: Vec<u32> = (0..TraceRayOperand::OriginX as u32).map(|i| i + 3).collect();
    operands.extend((0..floats).map(|i| (i as f32).to_bits()));
    let want = (0..40u32).map(|id| {
        let mut payload = [id];
        answer_trace(&operands, &mut payload);
        payload[0]
    });
    assert_eq!(as_words(&scheduler.env.buffer(1)), want.collect::<Vec<u32>>());
}

/// A trace that records has the payload and the hit object as results, which execute a shader.
#[test]
fn hit_objects_are_results_and_operands() {
    let s = shader(|b, id| {
        let words = TraceRayOperand::OriginX as u32;
        let mut args: Vec<Value> = (0..words).map(|_| id).collect();
        args.extend((words..TraceRayOperand::COUNT).map(|_| b.constant(Ty::F32, 0)));
        args.push(id);
        let types = vec![Ty::I32; 1 + HitObjectField::WORDS as usize];
        let mut object = results(b, Op::TraceHitObject, &args, &types);
        let payload = object.remove(0);
        let three = b.i32(3);
        b.inst(Op::Reorder, &[object[0], object[1], id, three], &[]);
        let types = vec![Ty::I32; InstanceWord::COUNT as usize];
        let instance = results(b, Op::ReadInstance, &[id, id, payload, id], &types);
        object.push(instance[25]);
        let executed = b.op(Op::ExecuteHitObject, &object, Ty::I32);
        put(b, 1, id, executed);
    });
    let stages = compile_all(&s, 3);
    let mut scheduler = Scheduler::new(&stages, 40, &[vec![], vec![0; 160]], 8);
    scheduler.run();
    let want = (0..40u32).map(|id| {
        let mut operands = vec![id; TraceRayOperand::OriginX as usize];
        operands.resize(TraceRayOperand::COUNT as usize, 0);
        let mut payload = [id];
        answer_trace(&operands, &mut payload);
        let object: Vec<u32> = (1000..1000 + HitObjectField::WORDS).collect();
        let mut payload = [payload[0].wrapping_add(25)];
        answer_trace(&object, &mut payload);
        payload[0]
    });
    assert_eq!(as_words(&scheduler.env.buffer(1)), want.collect::<Vec<u32>>());
}

/// Appends an operation, and returns its results.
fn results(b: &mut Builder<'_>, op: Op, args: &[Value], types: &[Ty]) -> Vec<Value> {
    let inst = b.inst(op, args, types);
    b.shader.insts[inst].results().collect()
}

/// A reported intersection has its attribute first, and distance and kind become the results.
#[test]
fn reports_return_whether_they_were_accepted() {
    let s = shader(|b, id| {
        let (three, t) = (b.i32(3), b.constant(Ty::F32, u64::from(2.5f32.to_bits())));
        let kind = b.binary(Binary::And, id, three);
        let five = b.i32(5);
        let &[end, accepted] = &results(b, Op::ReportIntersection, &[five, t, kind], &[Ty::F32, Ty::I32])[..] else {
            panic!("two results")
        };
        let end = b.convert(Convert::FToS, end, Ty::I32);
        let hundred = b.i32(100);
        let end = b.binary(Binary::IMul, end, hundred);
        let sum = b.binary(Binary::IAdd, end, accepted);
        put(b, 1, id, sum);
    });
    let stages = compile_all(&s, 1);
    let mut scheduler = Scheduler::new(&stages, 30, &[vec![], vec![0; 120]], 6);
    scheduler.run();
    let want: Vec<u32> = (0..30).map(|id| 200 + u32::from(id % 4 == 1)).collect();
    assert_eq!(as_words(&scheduler.env.buffer(1)), want);
}

/// A point is the last one if nothing that has an effect follows it in any way.
#[test]
fn invocations_have_no_effect_behind_a_last_point() {
    let s = shader(|b, id| {
        let (zero, one, t) = (b.i32(0), b.i32(1), b.constant(Ty::F32, 0));
        let report = |b: &mut Builder<'_>| results(b, Op::ReportIntersection, &[t, zero], &[Ty::F32, Ty::I32])[1];
        let in_loop = b.loop_(&[zero], &[Ty::I32], |b, label, p| {
            let done = b.cmp(Cmp::IEq, p[0], one);
            b.break_if(done, label, &[p[0]]);
            report(b);
            Term::Yield(vec![b.binary(Binary::IAdd, p[0], one)])
        });
        put(b, 1, id, in_loop[0]);
        let odd = b.cmp(Cmp::IEq, id, one);
        b.if_(
            odd,
            &[],
            |b| {
                report(b);
                let accepted = report(b);
                b.binary(Binary::IAdd, accepted, one);
                Term::default()
            },
            |b| {
                let accepted = report(b);
                put(b, 1, id, accepted);
                Term::default()
            },
        );
    });
    let stages = compile_all(&s, 3);
    let points = &stages[0].info.frame.as_ref().expect("a frame").points;
    assert_eq!(points.iter().map(|point| point.is_last).collect::<Vec<_>>(), [false, false, true, false]);
}

/// An output replaces the input of the same kind, also for lanes that ignore their intersection.
#[test]
fn outputs_replace_inputs_and_intersections_are_ignored() {
    let empty = Options { size: 0, vars: false, ..Options::default() };
    let mut s = Shader::new(Stage::AnyHit, "test");
    s.inputs = ray_generation_shader(0, empty).shader.inputs;
    s.outputs = s.inputs.clone();
    let mut b = Builder::new(&mut s);
    let id = b.op(Op::LoadInput(0, InterpolateAt::Default), &[], Ty::I32);
    let (zero, one, hundred) = (b.i32(0), b.i32(1), b.i32(100));
    let bit = b.binary(Binary::And, id, one);
    let odd = b.cmp(Cmp::INe, bit, zero);
    let ignore = |b: &mut Builder<'_>| {
        b.inst(Op::IgnoreIntersection, &[], &[]);
        Term::Yield(vec![])
    };
    b.if_(odd, &[], ignore, |_| Term::Yield(vec![]));
    let sum = b.binary(Binary::IAdd, id, hundred);
    b.inst(Op::StoreOutput(0), &[sum], &[]);
    b.finish();
    verify(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
    let stages = compile_all(&s, 2);
    let mut scheduler = Scheduler::new(&stages, 21, &[vec![], vec![0; 84]], 7);
    scheduler.run();
    let bytes = scheduler.frame.memory_bytes(21 + SPARE_FRAMES);
    for id in 0..21 {
        let want = if id % 2 == 1 { InvocationEnd::Ignored } else { InvocationEnd::Returned };
        assert_eq!(scheduler.ends[id], Some(want));
        let (frame, at) = (scheduler.frame, scheduler.frames[id]);
        assert_eq!(get_word(frame, scheduler.memory.bytes(bytes), at, frame.inputs), id as u32 + 100);
    }
}
