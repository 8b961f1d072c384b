//! Tests of the external view of a translated stage: slots, flags, and the image operations.

use crate::spirv_common::*;
use base::abi::{LodMode, SampleOp, TexelKind};
use base::shader::{
    BuiltinSlot as B, Captured, FragmentInfo, GeometryInfo, InputPrimitive, Interpolation as I, OutputPrimitive, Slot,
    SlotKind, SlotType as T,
};
use jit::ir::{Builtin, ImageQuery, InterpolateAt, Node, Op, SampleInfo, Shader};
use jit::passes;
use jit::spirv::Specialization;

fn user(location: u32, component: u8) -> SlotKind {
    SlotKind::User { location, component, index: 0 }
}

fn find(slots: &[Slot], kind: SlotKind) -> Slot {
    *slots.iter().find(|s| s.kind == kind).unwrap_or_else(|| panic!("no slot {kind:?} in {slots:#?}"))
}

fn ops(s: &Shader) -> Vec<Op> {
    s.insts.values().map(|i| i.op.clone()).collect()
}

fn fragment(s: &Shader) -> FragmentInfo {
    *s.stage_info.fragment().expect("a fragment stage")
}

fn samples(s: &Shader) -> Vec<SampleInfo> {
    ops(s).into_iter().filter_map(|op| if let Op::Sample(i) = op { Some(i) } else { None }).collect()
}

#[test]
fn vertex_slots() {
    let s = shader("scene.vert");
    // pos, a 2×2 matrix over two locations, ids.x; weights are indexed dynamically, so all of them.
    let kinds: Vec<SlotKind> = s.inputs.iter().map(|i| i.kind).collect();
    for want in [user(0, 2), user(1, 0), user(1, 1), user(2, 1), user(3, 0), user(4, 3), user(5, 0)] {
        assert!(kinds.contains(&want), "{want:?}");
    }
    assert!(kinds.iter().all(|k| !matches!(k, SlotKind::Builtin(_))));
    assert_eq!(find(&s.inputs, user(3, 0)).ty, T::Uint);
    assert!(s.inputs.iter().all(|i| i.interpolation == I::Smooth));
    // Outputs: uv is at components 1 and 2 of its location; PointSize is not written.
    for want in [user(0, 3), user(1, 1), user(1, 2), user(2, 0), user(3, 0), user(4, 1), user(6, 2)] {
        find(&s.outputs, want);
    }
    assert_eq!(find(&s.outputs, user(2, 0)).ty, T::Sint);
    for b in [B::Position(0), B::Position(3), B::ClipDistance(0), B::ClipDistance(1)] {
        find(&s.outputs, SlotKind::Builtin(b));
    }
    assert!(!s.outputs.iter().any(|o| o.kind == SlotKind::Builtin(B::PointSize)));
    assert_eq!(s.outputs.len(), 4 + 2 + 1 + 4 + 3 + 4 + 2);
    let stores = ops(&s).iter().filter(|op| matches!(op, Op::StoreOutput(_))).count();
    assert_eq!(stores, s.outputs.len());
}

/// Checks that an invocation that reaches an unreachable point ends there as by a return: outputs
/// that it has written until then are kept, not old memory contents.
#[test]
fn unreachable_end_keeps_output_stores() {
    let mut words = words("scene.vert");
    let [returns, unreachable] = [0x0001_00fd, 0x0001_00ff];
    words.iter_mut().filter(|w| **w == returns).for_each(|w| *w = unreachable);
    let mut s = compile(&words, base::shader::Stage::Vertex, &Specialization::default()).expect("a module");
    passes::run(&mut s, &passes::PassOptions { verify: true }).expect("passes");
    assert!(!s.to_string().contains("unreachable"), "{s}");
    let stores = ops(&s).iter().filter(|op| matches!(op, Op::StoreOutput(_))).count();
    assert_eq!(stores, s.outputs.len());
}

#[test]
fn emitted_vertices_fill_their_slots() {
    let mut s = shader("strip.geom");
    let position = |c| SlotKind::Builtin(B::Position(c));
    let mark = SlotKind::Builtin(B::VertexMark);
    let info = |s: &Shader| *s.stage_info.geometry().expect("a geometry stage");
    let (input, output) = (InputPrimitive::Triangles, OutputPrimitive::TriangleStrip);
    assert_eq!(info(&s), GeometryInfo { input, output, max_vertices: 3, invocations: 1 });
    for want in [user(2, 0), user(2, 1), position(0), position(3)] {
        find(&s.inputs, want);
    }
    assert_eq!(s.inputs.len(), 6);
    // The strip's end is translated before it is known that nothing follows it.
    find(&s.outputs, mark);
    passes::run(&mut s, &passes::PassOptions { verify: true }).expect("passes");
    let mut kinds: Vec<SlotKind> = s.outputs.iter().map(|o| o.kind).collect();
    kinds.sort();
    let mut want = [position(0), position(1), position(2), position(3), user(1, 0), user(1, 1)];
    want.sort();
    assert_eq!(kinds, want);
    assert!(s.root.body.nodes.iter().all(|node| matches!(node, Node::Inst(_))), "{s}");
    let placed =
        s.root.body.nodes.iter().filter_map(|node| if let Node::Inst(i) = node { Some(&s.insts[*i]) } else { None });
    let of = |wanted: fn(&Op) -> bool| placed.clone().filter(move |i| wanted(&i.op)).collect::<Vec<_>>();
    let stores = of(|op| matches!(op, Op::StoreVertex(_)));
    assert!(stores.len() == 18 && stores.iter().all(|i| s.as_const(i.args[0]).is_some_and(|n| n < 3)), "{s}");
    let counts = of(|op| *op == Op::StoreVertexCount);
    assert!(counts.len() == 1 && s.as_const(counts[0].args[0]) == Some(3), "{s}");

    let mut s = shader("strips.geom");
    let (input, output) = (InputPrimitive::LinesAdjacency, OutputPrimitive::LineStrip);
    assert_eq!(info(&s), GeometryInfo { input, output, max_vertices: 6, invocations: 2 });
    // An array of each vertex has a location each.
    for want in [user(0, 0), user(1, 0), user(2, 0)] {
        find(&s.inputs, want);
    }
    passes::run(&mut s, &passes::PassOptions { verify: true }).expect("passes");
    find(&s.outputs, mark);
    assert_eq!(s.outputs.len(), 6);
}

#[test]
fn fragment_slots_and_flags() {
    let s = shader("scene.frag");
    assert_eq!(find(&s.inputs, user(0, 0)).interpolation, I::Smooth);
    assert_eq!(find(&s.inputs, user(1, 1)).interpolation, I::Linear);
    let id = find(&s.inputs, user(2, 0));
    assert_eq!((id.ty, id.interpolation), (T::Sint, I::Flat));
    find(&s.inputs, user(10, 3));
    for want in [user(0, 0), user(0, 3), user(2, 1)] {
        find(&s.outputs, want);
    }
    assert_eq!(find(&s.outputs, user(2, 0)).ty, T::Sint);
    find(&s.outputs, SlotKind::Builtin(B::FragDepth));
    find(&s.outputs, SlotKind::Builtin(B::SampleMask));
    let f = fragment(&s);
    assert!(
        s.side_effects
            && f.kills
            && f.early_fragment_tests
            && f.writes_depth
            && f.writes_sample_mask
            && f.sample_shading
    );
    assert!(!f.writes_stencil && !f.reads_input_attachments);
    let loads: Vec<InterpolateAt> =
        ops(&s).into_iter().filter_map(|op| if let Op::LoadInput(_, at) = op { Some(at) } else { None }).collect();
    for want in [InterpolateAt::Centroid, InterpolateAt::Default, InterpolateAt::Offset] {
        assert!(loads.contains(&want), "{want:?}");
    }
}

/// Checks that tests come before the stage if they need nothing that it writes.
#[test]
fn early_and_late_tests_are_early_without_written_depth_and_stencil() {
    let early = |modes: [(u32, u32); 2]| {
        let mut words = words("scene.frag");
        let mut at = 5;
        while let Some(&first) = words.get(at) {
            // Replaces the modes of OpExecutionMode.
            for (old, new) in modes {
                if first & 0xffff == 16 && words[at + 2] == old {
                    words[at + 2] = new;
                    break;
                }
            }
            at += (first >> 16) as usize;
        }
        let s = compile(&words, stage("scene.frag"), &Specialization::default()).expect("a valid shader");
        fragment(&s).early_fragment_tests
    };
    let (early_tests, early_and_late, replacing, unchanged, stencil) = (9, 5017, 12, 16, 5027);
    assert!(early([(early_tests, early_tests); 2]));
    assert!(!early([(early_tests, early_and_late); 2]), "the stage writes depth");
    assert!(early([(early_tests, early_and_late), (replacing, unchanged)]));
    assert!(!early([(early_tests, early_and_late), (replacing, stencil)]));
}

/// Checks that written depth counts although the shader breaks its promise not to change it.
#[test]
fn written_depth_overrides_depth_unchanged() {
    let mut words = words("scene.frag");
    let mut at = 5;
    // Searches OpExecutionMode %function DepthReplacing.
    while words[at] & 0xffff != 16 || words[at + 2] != 12 {
        at += (words[at] >> 16) as usize;
    }
    let unchanged = [words[at], words[at + 1], 16];
    words.splice(at..at, unchanged);
    let s = compile(&words, stage("scene.frag"), &Specialization::default()).expect("a valid shader");
    assert!(fragment(&s).writes_depth);
}

#[test]
fn image_operations() {
    let s = shader("scene.frag");
    let all = samples(&s);
    let has = |what: &str, f: &dyn Fn(&SampleInfo) -> bool| assert!(all.iter().any(f), "{what}: {all:#?}");
    has("texture", &|i| i.lod_mode == LodMode::Implicit && i.coords == 2 && !i.lod && i.offset == 0);
    has("textureLod", &|i| i.lod_mode == LodMode::Explicit && i.lod);
    has("textureGrad", &|i| i.lod_mode == LodMode::Grad && i.grad == 2);
    has("textureOffset with bias", &|i| i.offset == 2 && i.lod && i.lod_mode == LodMode::Implicit);
    has("shadow array", &|i| i.op == SampleOp::SampleDref && i.dref && i.coords == 3);
    has("cube", &|i| i.op == SampleOp::Sample && i.coords == 3);
    has("gather", &|i| i.op == SampleOp::Gather && i.component == 2 && i.gather_offsets.is_none());
    has("gather offsets", &|i| i.gather_offsets == Some([0, 0, 1, 1, -2, -2, 3, 4]));
    has("query lod", &|i| i.op == SampleOp::QueryLod);
    let ops = ops(&s);
    for want in [
        Op::ImageFetch { coords: 2, level: false, sample: true, kind: TexelKind::Unorm8 },
        Op::ImageFetch { coords: 2, level: true, sample: false, kind: TexelKind::Unorm8 },
        Op::ImageFetch { coords: 1, level: false, sample: false, kind: TexelKind::Word },
        Op::ImageStore { coords: 2, sample: false, kind: TexelKind::Unorm8 },
        Op::ImageStore { coords: 1, sample: false, kind: TexelKind::Float },
        Op::ImageAtomic { op: base::abi::AtomicOp::Add, coords: 3, sample: false },
        Op::ImageQuery(ImageQuery::Levels),
        Op::ImageQuery(ImageQuery::Samples),
        Op::ImageDesc { set: 3, binding: 0 },
        Op::SamplerDesc { set: 4, binding: 0 },
    ] {
        assert!(ops.contains(&want), "{want:?}");
    }
}

#[test]
fn unread_per_sample_input_requires_sample_shading() {
    let s = shader("sample_id_unread.frag");
    assert!(fragment(&s).sample_shading && !ops(&s).iter().any(|op| matches!(op, Op::Builtin(_))));
    assert!(!fragment(&shader("subpass.frag")).sample_shading);
}

#[test]
fn volatile_helper_invocation_observes_demotes() {
    // The Vulkan memory model has no decoration for this, so the load is volatile.
    let s = shader("helper_volatile.frag");
    assert!(ops(&s).contains(&Op::IsHelper) && !ops(&s).iter().any(|op| matches!(op, Op::Builtin(_))), "{s}");
}

#[test]
fn subpass_inputs_and_dual_source() {
    let s = shader("subpass.frag");
    assert!(fragment(&s).reads_input_attachments);
    assert!(ops(&s).contains(&Op::ImageFetch { coords: 3, level: false, sample: true, kind: TexelKind::Word }));
    find(&s.outputs, SlotKind::User { location: 0, component: 0, index: 1 });
    find(&s.outputs, user(0, 0));
}

#[test]
fn components_are_accessed_together() {
    use jit::ir::Space;
    // The physical pointer's vec3 value and matrix columns are one access each.
    let s = shader("nonuniform.comp");
    let wide = s.insts.values().filter(|i| matches!(i.op, Op::Load(Space::Global, _)) && i.result_count == 3).count();
    assert!(wide >= 1, "{s}");
    assert!(s.insts.values().any(|i| matches!(i.op, Op::Store(Space::Global, _)) && i.args.len() == 4));
    assert!(ops(&s).contains(&Op::BufferSize));
}

#[test]
fn exclusive_of_passes() {
    for name in ["scene.vert", "scene.frag", "subpass.frag", "nonuniform.comp"] {
        let mut s = shader(name);
        jit::passes::run(&mut s, &jit::passes::PassOptions { verify: true }).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn volatile_load_observes_demotion() {
    let all = ops(&shader("helper.frag"));
    let entry = all.iter().filter(|op| matches!(op, Op::Builtin(Builtin::HelperInvocation))).count();
    let now = all.iter().filter(|op| matches!(op, Op::IsHelper)).count();
    assert_eq!((entry, now), (1, 1));
}

/// Checks the captured outputs of `capture.vert`: for each buffer and byte, the contents of the
/// slots that go there.
#[test]
fn captured_outputs_are_found_in_their_slots() {
    let s = shader("capture.vert");
    let capture = s.capture.as_ref().expect("it has the mode");
    assert_eq!((capture.strides, capture.streams), ([52, 40, 12, 12], [0; 4]));
    let words = |r: &Captured| {
        (0..r.words).map(|i| ((r.buffer, r.offset + 4 * i), s.outputs[(r.slot + i) as usize].kind)).collect::<Vec<_>>()
    };
    let mut found: Vec<_> = capture.outputs.iter().flat_map(words).collect();
    found.sort_unstable();
    let position = (0..4).map(|c| ((0, 4 * u32::from(c)), SlotKind::Builtin(B::Position(c))));
    let mut want: Vec<_> =
        position.chain([((0, 16), SlotKind::Builtin(B::PointSize)), ((0, 20), user(0, 0))]).collect();
    let users = [
        // The block's arrays and vectors are packed at their members' offsets, also behind the
        // member without an offset.
        (0, 28, 1, 0),
        (0, 32, 1, 1),
        (0, 36, 2, 0),
        (0, 40, 2, 1),
        (0, 44, 4, 0),
        (0, 48, 4, 1),
        // Two doubles are four words, a matrix its columns.
        (1, 8, 5, 0),
        (1, 12, 5, 1),
        (1, 16, 5, 2),
        (1, 20, 5, 3),
        (1, 24, 6, 0),
        (1, 28, 6, 1),
        (1, 32, 7, 0),
        (1, 36, 7, 1),
        // An array of blocks has a buffer for each.
        (2, 4, 8, 0),
        (2, 8, 8, 1),
        (3, 4, 9, 0),
        (3, 8, 9, 1),
    ];
    want.extend(users.map(|(buffer, offset, location, component)| ((buffer, offset), user(location, component))));
    assert_eq!(found, want);
    assert!(capture.outputs.len() < 12, "neighbours are copied together: {:?}", capture.outputs);
    assert!(shader("scene.vert").capture.is_none());
}

/// Checks that a structure with scalars of 64 bits begins and ends at multiples of eight bytes, at
/// any position.
#[test]
fn captured_structures_are_aligned_to_their_scalars() {
    let s = shader("capture_nested.vert");
    let capture = s.capture.as_ref().expect("it has the mode");
    let mut places: Vec<u32> = capture.outputs.iter().flat_map(|r| (0..r.words).map(|i| r.offset + 4 * i)).collect();
    places.sort_unstable();
    // Nine words of a matrix; at 40 a vec3, at 56 a dvec2 and a float, up to 80; then what follows.
    let want: Vec<u32> = (0..9).chain(10..13).chain(14..19).chain([20]).map(|word| 4 * word).collect();
    assert_eq!(places, want);
}

/// Checks that decorations that contradict each other or exceed the limits are refused with a
/// message.
#[test]
fn invalid_captures_are_refused() {
    let words = words("capture.vert");
    // The literal of each such decoration is changed in turn.
    let refused = |decoration: u32, before: u32, with: u32| {
        let mut words = words.clone();
        let mut at = 5;
        let mut changed = 0;
        while at < words.len() {
            let (op, last) = (words[at] & 0xffff, at + (words[at] >> 16) as usize - 1);
            if matches!(op, 71 | 72) && words[last - 1] == decoration && words[last] == before {
                words[last] = with;
                changed += 1;
                if changed == 1 {
                    break;
                }
            }
            at = last + 1;
        }
        assert_eq!(changed, 1, "{decoration} {before}");
        compile(&words, stage("capture.vert"), &Specialization::default()).map(|_| ()).expect_err("refused").to_string()
    };
    for (decoration, before, with, says) in [
        (35, 20, 52, "beyond XfbStride"),
        (35, 20, 22, "multiple of four"),
        (37, 52, 50, "multiple of four"),
        (37, 52, 4096, "stride"),
        (37, 40, 44, "different strides"),
        (36, 1, 4, "buffer"),
        (36, 2, 3, "buffer"),
    ] {
        let message = refused(decoration, before, with);
        assert!(message.contains(says), "{decoration} {before} {with}: {message}");
    }
}
