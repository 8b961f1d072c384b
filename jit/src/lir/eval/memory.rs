//! Operations on memory, and calls.

use super::{Bits, scalar};
use crate::lir::{Access, Elem, Imm, InstData, Op, Type};
use smallvec::smallvec;

/// Reads `bytes` (up to 8) of memory.
///
/// # Safety
/// The bytes at `address` must be readable.
unsafe fn read(address: u64, bytes: u32) -> u64 {
    let mut word = [0u8; 8];
    // SAFETY: the `# Safety` section requires that the bytes are readable, and `word` has 8.
    unsafe { core::ptr::copy_nonoverlapping(address as *const u8, word.as_mut_ptr(), bytes as usize) };
    u64::from_le_bytes(word)
}

/// Writes the low `bytes` of a number.
///
/// # Safety
/// The bytes at `address` must be writable.
unsafe fn write(address: u64, bytes: u32, bits: u64) {
    // SAFETY: the `# Safety` section requires that the bytes are writable.
    unsafe { core::ptr::copy_nonoverlapping(bits.to_le_bytes().as_ptr(), address as *mut u8, bytes as usize) };
}

/// Loads a value. A lane of a mask is a word, whose lowest bit is used.
///
/// # Safety
/// The bytes of the type at `address` must be readable.
unsafe fn load(address: u64, ty: Type) -> Bits {
    let bytes = ty.lane_bytes();
    (0..ty.lanes() as u64)
        .map(|l| {
            // SAFETY: the lane lies in the bytes that the `# Safety` section requires to be
            // readable.
            let bits = unsafe { read(address + l * u64::from(bytes), bytes) };
            if ty.elem == Elem::B { bits & 1 } else { bits }
        })
        .collect()
}

/// Stores a value.
///
/// # Safety
/// The bytes of the type at `address` must be writable.
unsafe fn store(address: u64, ty: Type, value: &Bits) {
    let bytes = ty.lane_bytes();
    for (l, &bits) in value.iter().enumerate() {
        let word = if ty.elem == Elem::B && ty.is_vector() { bits.wrapping_neg() } else { bits };
        // SAFETY: the lane lies in the bytes that the `# Safety` section requires to be writable.
        unsafe { write(address + l as u64 * u64::from(bytes), bytes, word) };
    }
}

/// Executes an operation with effects that stays in the block, and returns its results.
///
/// # Safety
/// The addresses in `args` must be those of memory that the instruction may access, or of a
/// function that it may call.
pub unsafe fn access(data: &InstData, args: &[Bits]) -> Vec<Bits> {
    let ty = data.ty;
    let (offset, count) = match data.imm {
        Imm::Access(Access { offset, .. }) => (offset, 1),
        Imm::Gather(Access { offset, .. }, count) => (offset, usize::from(count)),
        _ => (0, 1),
    };
    let at = |i: usize| args[i][0].wrapping_add(i64::from(offset) as u64);
    let word = ty.lane_bytes();
    // SAFETY: the `# Safety` section requires that every address may be accessed or called.
    unsafe {
        match data.op {
            Op::Load => vec![load(at(0), ty)],
            Op::LoadU8 => vec![smallvec![read(at(0), 1)]],
            Op::LoadU16 => vec![smallvec![read(at(0), 2)]],
            Op::Store => {
                store(at(0), ty, &args[1]);
                Vec::new()
            }
            Op::Gather => {
                let mut out = vec![Bits::from_elem(0, ty.lanes()); count];
                for l in (0..ty.lanes()).filter(|&l| args[0][l] != 0) {
                    for (i, component) in out.iter_mut().enumerate() {
                        component[l] = read(at(1) + args[2][l] + i as u64 * u64::from(word), word);
                    }
                }
                out
            }
            Op::Scatter => {
                for l in (0..ty.lanes()).filter(|&l| args[0][l] != 0) {
                    for (i, component) in args[4..].iter().enumerate() {
                        write(at(1) + args[2][l] + i as u64 * u64::from(word), word, component[l]);
                    }
                }
                Vec::new()
            }
            Op::AtomicRmw | Op::AtomicCas | Op::AtomicLoad => atomic(data, args),
            Op::Call => {
                call(args);
                Vec::new()
            }
            Op::Fence => Vec::new(),
            other => panic!("{other:?} is no access"),
        }
    }
}

/// Executes an atomic operation, without synchronization: the interpreter runs on one thread.
///
/// # Safety
/// The address must satisfy the requirements of [`access`].
unsafe fn atomic(data: &InstData, args: &[Bits]) -> Vec<Bits> {
    let bytes = data.ty.lane_bytes();
    // SAFETY: the `# Safety` section requires that the address may be accessed.
    let old = unsafe { read(args[0][0], bytes) };
    let new = match (data.op, data.imm) {
        (Op::AtomicRmw, Imm::Rmw(kind)) => Some(scalar::rmw(kind, data.ty.elem, old, args[1][0])),
        (Op::AtomicCas, _) => (old == args[1][0]).then(|| args[2][0]),
        _ => None,
    };
    if let Some(new) = new {
        // SAFETY: the `# Safety` section requires that the address may be accessed.
        unsafe { write(args[0][0], bytes, new) };
    }
    vec![smallvec![old]]
}

/// Calls a function with up to six integers.
///
/// # Safety
/// The first argument must be the address of a function that takes the other arguments, and calling
/// it must be sound.
unsafe fn call(args: &[Bits]) {
    type Six = base::code_type!(unsafe extern "code" fn(u64, u64, u64, u64, u64, u64));
    assert!(args.len() <= 7, "a call with arguments on the stack");
    let arg = |i: usize| args.get(i + 1).map_or(0, |a| a[0]);
    // SAFETY: excess arguments are in registers that a System V function ignores and may overwrite.
    let function: Six = unsafe { core::mem::transmute(args[0][0] as usize) };
    // SAFETY: the `# Safety` section requires that the function may be called with these arguments.
    unsafe { function(arg(0), arg(1), arg(2), arg(3), arg(4), arg(5)) };
}
