//! Tests of reductions and scans of floats: if lanes have values with different bits, the result is
//! that of the scalar operation in the order of the lanes.

use crate::emit_common::*;
use jit::ir::*;
use jit_test_support::ir_random::Rng;

const LANES: usize = 8;

/// Returns the expected result of each lane.
fn expected(op: Binary, scan: Scan, values: &[u32]) -> Vec<u32> {
    let two = |a: u32, b: u32| {
        eval::eval(&Op::Binary(op), Ty::F32, Ty::F32, &[a.into(), b.into()]).expect("an operation")[0] as u32
    };
    let joined = |from: usize, to: usize| values[from..to].iter().copied().reduce(two);
    let first = if op == Binary::FMin { f32::INFINITY } else { f32::NEG_INFINITY };
    (0..LANES)
        .map(|lane| match scan {
            Scan::Reduce => joined(0, LANES),
            Scan::Inclusive => joined(0, lane + 1),
            Scan::Exclusive => joined(0, lane),
            Scan::Cluster(n) => {
                joined(lane / usize::from(n) * usize::from(n), (lane / usize::from(n) + 1) * usize::from(n))
            }
        })
        .map(|bits| bits.unwrap_or(first.to_bits()))
        .collect()
}

/// Checks that among zeros the first lane's one is the result, for any signs.
#[test]
fn extremes_of_zeros_are_in_lane_order() {
    let mut rng = Rng::new(5);
    for op in [Binary::FMin, Binary::FMax] {
        for scan in [Scan::Reduce, Scan::Inclusive, Scan::Exclusive, Scan::Cluster(4), Scan::Cluster(2)] {
            let s = shader([LANES as u32, 1, 1], |b| {
                let lane = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
                let value = get(b, 0, lane, Ty::F32);
                let joined = b.op(Op::Subgroup(Subgroup::Arithmetic(op, scan)), &[value], Ty::F32);
                put(b, 1, lane, joined);
            });
            for _ in 0..12 {
                let values: Vec<u32> =
                    (0..LANES).map(|_| [0f32, -0.0, 0.0, -0.0, 1.0, -1.0][rng.below(6)].to_bits()).collect();
                let buffers = memory(vec![words(values.clone()), vec![0; 4 * LANES]]);
                let layout = buffers_layout(2);
                for tier in jit::tier::Tier::ALL {
                    let after = run_compiled(&compile_tier(&s, &layout, LANES as u32, tier), &buffers, [1; 3]);
                    assert_eq!(as_words(&after[1]), expected(op, scan, &values), "{op:?} {scan:?} of {values:x?}");
                }
            }
        }
    }
}
