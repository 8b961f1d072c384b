//! Tests of ray queries: helpers whose results are functions of their arguments stand for a
//! traversal (`emit_common::ray_query`).

use crate::emit_common::*;
use base::abi::RayGetter;
use base::shader::Stage;
use jit::ir::*;
use jit::passes::{self, PassOptions};

/// Number of queries of the variable, and of words that an invocation writes.
const QUERIES: u32 = 3;
const OUT: u32 = 15;

/// A variable of queries, and the marks of those that are initialized.
#[derive(Clone, Copy)]
pub struct Queries {
    words: Var,
    initialized: Var,
}

impl Queries {
    pub fn new(b: &mut Builder<'_>, count: u32) -> Queries {
        let words = b.var(Ty::I32, count * RAY_QUERY_WORDS + RAY_QUERY_PADDING, "queries");
        Queries { words, initialized: b.var(Ty::B1, count, "initialized") }
    }

    fn mark(self, b: &mut Builder<'_>, index: Value) -> Value {
        let index = (b.shader.vars[self.initialized].len > 1).then_some(index);
        b.var_load(self.initialized, index)
    }

    fn set_mark(self, b: &mut Builder<'_>, index: Value, mark: Value) {
        let index = (b.shader.vars[self.initialized].len > 1).then_some(index);
        b.var_store(self.initialized, index, mark);
    }

    /// Initializes a query with numbers that follow from one.
    pub fn initialize(self, b: &mut Builder<'_>, index: Value, number: Value) {
        let float = b.convert(Convert::UToF, number, Ty::F32);
        let mut args = vec![index, b.convert(Convert::UToU, number, Ty::I64), number, number];
        for i in 0..8 {
            let factor = b.constant(Ty::F32, u64::from((i as f32 + 1.0).to_bits()));
            args.push(b.binary(Binary::FMul, float, factor));
        }
        b.inst(Op::RayQuery(self.words, RayQueryOp::Initialize), &args, &[]);
        let yes = b.constant(Ty::B1, 1);
        self.set_mark(b, index, yes);
    }

    fn copy(self, b: &mut Builder<'_>, index: Value, from: Queries, from_index: Value) {
        let mark = from.mark(b, from_index);
        b.inst(Op::RayQuery(self.words, RayQueryOp::Copy(from.words)), &[index, mark, from_index], &[]);
        self.set_mark(b, index, mark);
    }

    /// Appends an operation with results.
    pub fn op(self, b: &mut Builder<'_>, op: RayQueryOp, index: Value, operands: &[Value]) -> Vec<Value> {
        let mark = self.mark(b, index);
        let args = [&[index, mark], operands].concat();
        let inst = b.inst(Op::RayQuery(self.words, op), &args, &vec![Ty::I32; op.results()]);
        b.shader.insts[inst].results().collect()
    }

    pub fn get(self, b: &mut Builder<'_>, getter: RayGetter, committed: bool, index: Value) -> Vec<Value> {
        self.op(b, RayQueryOp::Get { getter, committed }, index, &[])
    }
}

fn is_set(b: &mut Builder<'_>, value: Value, bits: u32) -> Value {
    let (bits, zero) = (b.u32(bits), b.i32(0));
    let bits = b.binary(Binary::And, value, bits);
    b.cmp(Cmp::INe, bits, zero)
}

/// Builds a shader that initializes some queries of an array, and operates on one that differs
/// between the lanes and on a copy of it.
fn program() -> Shader {
    let mut s = shader([33, 1, 1], |b| {
        let id = b.builtin(Builtin::GlobalInvocationId(0), Ty::I32);
        let (queries, copy) = (Queries::new(b, QUERIES), Queries::new(b, 1));
        let (zero, one, three) = (b.i32(0), b.i32(1), b.i32(3));
        for q in 0..QUERIES {
            let q = b.u32(q);
            let number = b.binary(Binary::IAdd, id, q);
            let odd = is_set(b, number, 1);
            b.if_(
                odd,
                &[],
                |b| {
                    queries.initialize(b, q, number);
                    Term::default()
                },
                |_| Term::default(),
            );
        }
        let index = b.binary(Binary::UMod, id, three);
        let mut out = Vec::new();
        // Candidates of the query, in a loop whose number of iterations differs.
        out.extend(b.loop_(&[zero], &[Ty::I32], |b, label, p| {
            let more = queries.op(b, RayQueryOp::Proceed, index, &[])[0];
            let done = b.cmp(Cmp::IEq, more, zero);
            b.break_if(done, label, &[p[0]]);
            Term::Yield(vec![b.binary(Binary::IAdd, p[0], one)])
        }));
        copy.copy(b, zero, queries, index);
        let confirmed = is_set(b, id, 4);
        b.if_(
            confirmed,
            &[],
            |b| {
                queries.op(b, RayQueryOp::Confirm, index, &[]);
                Term::default()
            },
            |b| {
                let t = b.constant(Ty::F32, u64::from(0.5f32.to_bits()));
                copy.op(b, RayQueryOp::Generate, zero, &[t]);
                Term::default()
            },
        );
        for (of, index) in [(queries, index), (copy, zero)] {
            out.extend(of.get(b, RayGetter::IntersectionType, true, index));
            out.extend(of.get(b, RayGetter::IntersectionT, true, index));
        }
        out.extend(queries.get(b, RayGetter::RayFlags, false, index));
        out.extend(queries.get(b, RayGetter::WorldRayOrigin, false, index));
        out.extend(copy.get(b, RayGetter::WorldRayDirection, false, zero));
        out.extend(copy.get(b, RayGetter::RayTMin, false, zero));
        // A variable that is never initialized.
        let never = Queries::new(b, 2);
        out.extend(never.op(b, RayQueryOp::Proceed, one, &[]));
        out.extend(never.get(b, RayGetter::RayFlags, false, zero));
        let words = b.u32(OUT);
        let first = b.binary(Binary::IMul, id, words);
        for (i, &value) in out.iter().enumerate() {
            let i = b.u32(i as u32);
            let at = b.binary(Binary::IAdd, first, i);
            put(b, 0, at, value);
        }
    });
    s.side_effects = true;
    s
}

/// Returns what [`program`] writes for an invocation.
fn expected(id: u32) -> Vec<u32> {
    let number = id + id % QUERIES;
    if number.is_multiple_of(2) {
        return vec![0; OUT as usize];
    }
    let ray: Vec<u32> = (0..8).map(|i| (number as f32 * (i as f32 + 1.0)).to_bits()).collect();
    let confirmed = id & 4 != 0;
    let mut out = vec![number & 7];
    out.extend(if confirmed { [1, ray[7]] } else { [0, ray[7]] });
    out.extend(if confirmed { [0, ray[7]] } else { [2, 0.5f32.to_bits()] });
    out.push(number);
    out.extend(&ray[..3]);
    out.extend(&ray[4..7]);
    out.push(ray[3]);
    out.resize(OUT as usize, 0);
    out
}

#[test]
fn queries_at_any_index_in_every_tier() {
    let plain = program();
    let mut optimized = plain.clone();
    passes::run(&mut optimized, &PassOptions::default()).expect("passes");
    verify(&optimized).unwrap_or_else(|e| panic!("{e}\n{optimized}"));
    let groups = 5;
    let count = 33 * groups;
    let want: Vec<u32> = (0..count).flat_map(expected).collect();
    let memory = memory(vec![words(vec![7; (count * OUT) as usize])]);
    for (lanes, tier) in all_configurations() {
        for shader in [&plain, &optimized] {
            let stage = compile_tier(shader, &buffers_layout(1), lanes as u32, tier);
            let got = run_compiled(&stage, &memory, [groups, 1, 1]);
            let got = as_words(&got[0]);
            for (id, (want, got)) in want.chunks(OUT as usize).zip(got.chunks(OUT as usize)).enumerate() {
                let got = &got[..want.len()];
                assert!(want == got, "{lanes} {tier:?}, invocation {id}\n{want:x?}\n{got:x?}\n{shader}");
            }
        }
    }
}

/// A stage without points has queries in scratch memory, which may be anywhere.
#[test]
fn memory_of_queries_is_aligned() {
    let mut s = Shader::new(Stage::Compute, "test");
    s.workgroup_mut().expect("workgroups").local_size = [8, 1, 1];
    let mut b = Builder::new(&mut s);
    // An array of 16 bytes a lane lies before the queries.
    let (zero, index) = (b.i32(0), b.builtin(Builtin::LocalInvocationIndex, Ty::I32));
    let array = b.var(Ty::I32, 5, "array");
    b.var_store(array, Some(index), index);
    let queries = Queries::new(&mut b, 1);
    queries.initialize(&mut b, zero, index);
    let value = queries.get(&mut b, RayGetter::RayFlags, false, zero)[0];
    let own = b.var_load(array, Some(index));
    let sum = b.binary(Binary::IAdd, own, value);
    put(&mut b, 0, index, sum);
    b.finish();
    s.side_effects = true;
    verify(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
    let memory = memory(vec![vec![0; 32]]);
    for (lanes, tier) in CONFIGURATIONS {
        let stage = compile_tier(&s, &buffers_layout(1), lanes as u32, tier);
        // The last element takes the indices behind it.
        let want = [0, 2, 4, 6, 11, 12, 13, 14];
        let got = as_words(&run_compiled(&stage, &memory, [1, 1, 1])[0]);
        assert_eq!(got[..4], want[..4], "{lanes} {tier:?}");
    }
}
