//! Tests of physical pointers: live memory is accessed; elsewhere, loads give zero and stores are
//! dropped.

use crate::emit_common::*;
use base::abi::{ADDRESS_GRANULE_BITS, AddressSpace, AtomicOp};
use base::shader::Stage;
use jit::ir::*;

const FLAGS: MemFlags = MemFlags { readonly: false, volatile: false, align: 4 };
const GRANULE: u64 = 1 << ADDRESS_GRANULE_BITS;
const GRANULES: usize = 4;
/// Liveness of four granules, of which only number 2 is live.
const LIVE: [u8; GRANULES] = [0, 0, 1, 0];

/// Builds a shader in which invocation i uses the pointer in buffer 0 at [i] (or [0] for all). It
/// loads from the pointer to buffer 1 at [i], stores a mark, and counts behind it.
fn shader(components: usize, uniform: bool) -> Shader {
    let mut shader = Shader::new(Stage::Compute, "test");
    shader.workgroup_mut().expect("workgroups").local_size = [8, 1, 1];
    shader.side_effects = true;
    let mut b = Builder::new(&mut shader);
    let index = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
    let (eight, sixteen, zero) = (b.u32(8), b.u32(16), b.u32(0));
    let (input, output) = (b.buffer(0, 0), b.buffer(0, 1));
    let at = if uniform { zero } else { b.binary(Binary::IMul, index, eight) };
    let pointer = b.load(input, at, Ty::I64);
    let types = vec![Ty::I32; components];
    let inst = b.inst(Op::Load(Space::Global, FLAGS), &[pointer], &types);
    let loaded: Vec<Value> = b.shader.insts[inst].results().collect();
    let row = b.binary(Binary::IMul, index, sixteen);
    let mut args = vec![output, row];
    args.extend(&loaded);
    b.inst(Op::Store(Space::Buffer, FLAGS), &args, &[]);
    let mark = b.u32(0x77);
    b.inst(Op::Store(Space::Global, FLAGS), &[pointer, mark], &[]);
    let behind = b.constant(Ty::I64, 16);
    let behind = b.binary(Binary::IAdd, pointer, behind);
    let one = b.u32(1);
    b.op(Op::Atomic(Space::Global, AtomicOp::Add), &[behind, one], Ty::I32);
    b.finish();
    verify(&shader).unwrap_or_else(|e| panic!("{e}\n{shader}"));
    shader
}

#[test]
fn only_live_memory_is_accessed() {
    for components in 1..=4usize {
        for uniform in [false, true] {
            for lanes in WIDTHS {
                check(components, uniform, lanes);
            }
        }
    }
}

fn check(components: usize, uniform: bool, lanes: u32) {
    let bytes = GRANULE as usize * GRANULES;
    let mut memory = Aligned::new(bytes, 0x11);
    let base = memory.ptr() as u64;
    let alive = base + 2 * GRANULE;
    let wild =
        [alive, 0, u64::MAX - 64, base, base - 4, alive - 4, alive + GRANULE, base + (GRANULES as u64) * GRANULE];
    let far = [alive + 32, base.wrapping_add(1 << 63), 4, 1 << 47, !0 << 47, base + GRANULE, alive + GRANULE - 64, 64];
    for pointers in [wild, far] {
        memory.bytes(bytes).fill(0x11);
        let input = pointers.iter().flat_map(|p| p.to_le_bytes()).collect();
        let mut env = Environment::new(&[input, vec![0xee; 8 * 16]], &[]);
        env.context.addresses = AddressSpace::new(memory.ptr(), GRANULES, LIVE.as_ptr(), AddressSpace::EMPTY.runs);
        let stage = compile(&shader(components, uniform), &buffers_layout(2), lanes);
        dispatch(&stage, &mut env, [1, 1, 1]);
        let out = env.buffer(1);
        let mut expected = vec![0x11u8; bytes];
        for (i, own) in pointers.iter().enumerate() {
            let p = if uniform { pointers[0] } else { *own };
            let is_alive = (alive..alive + GRANULE).contains(&p);
            let row = &out[i * 16..][..4 * components];
            // In the uniform case, the first invocation's mark is stored only after its load.
            let first = u32::from_le_bytes([row[0], row[1], row[2], row[3]]);
            assert!(
                first == if is_alive { 0x1111_1111 } else { 0 } || (uniform && first == 0x77),
                "{p:#x}: {first:#x}"
            );
            assert!(row[4..].iter().all(|&b| b == if is_alive { 0x11 } else { 0 }), "{p:#x}: {row:x?}");
            let mut put = |at: u64, word: fn(u32) -> u32| {
                if (alive..alive + GRANULE).contains(&at) {
                    let place = &mut expected[(at - base) as usize..][..4];
                    let old = u32::from_le_bytes([place[0], place[1], place[2], place[3]]);
                    place.copy_from_slice(&word(old).to_le_bytes());
                }
            };
            put(p, |_| 0x77);
            put(p.wrapping_add(16), |old| old + 1);
        }
        assert!(memory.bytes(bytes) == expected, "{components} components, {lanes} lanes, uniform {uniform}");
    }
}
