//! Signatures, the types of operands and results of operations: fixed lists in terms of type
//! variables, or a function if the payload decides.

use crate::ir::{
    InterpolateAt, Op, RAY_QUERY_PADDING, RAY_QUERY_WORDS, RayQueryOp, Scan, Shader, Space, Subgroup, Ty, Var, eval,
};
use base::abi::{AtomicOp, LodMode, SampleOp};
use base::shader::{HitObjectField, InstanceWord, RayValue, ReadInstanceOperand, ReorderOperand, TraceRayOperand};

/// A set of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeSet(u16);

impl TypeSet {
    const fn of(types: &[Ty]) -> TypeSet {
        let (mut bits, mut i) = (0, 0);
        while i < types.len() {
            bits |= 1 << types[i] as u16;
            i += 1;
        }
        TypeSet(bits)
    }
    const fn and(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 | other.0)
    }
    /// Returns true if the set contains the type.
    pub const fn contains(self, ty: Ty) -> bool {
        self.0 >> ty as u16 & 1 != 0
    }
    /// Iterates over the types of the set.
    pub fn types(self) -> impl Iterator<Item = Ty> {
        const ALL: [Ty; 11] =
            [Ty::B1, Ty::I8, Ty::I16, Ty::I32, Ty::I64, Ty::F16, Ty::F32, Ty::F64, Ty::Buf, Ty::Img, Ty::Smp];
        ALL.into_iter().filter(move |&ty| self.contains(ty))
    }
}

const INT: TypeSet = TypeSet::of(&[Ty::I8, Ty::I16, Ty::I32, Ty::I64]);
const FLOAT: TypeSet = TypeSet::of(&[Ty::F16, Ty::F32, Ty::F64]);
const LOGIC: TypeSet = INT.and(TypeSet::of(&[Ty::B1]));
const SCALAR: TypeSet = LOGIC.and(FLOAT);
const ANY: TypeSet = SCALAR.and(TypeSet::of(&[Ty::Buf, Ty::Img, Ty::Smp]));

/// Type of an operand or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypePattern {
    /// A fixed type.
    Is(Ty),
    /// The row's type variable T, which is one of these types.
    T(TypeSet),
    /// The row's second type variable, which is one of these types.
    U(TypeSet),
}

use TypePattern::{Is, T, U};

/// Types of the operands and results of a row.
#[derive(Clone, Copy)]
pub enum Signature {
    /// Lists of operands and results.
    Fixed(&'static [TypePattern], &'static [TypePattern]),
    /// A function that checks operands and results against the payload.
    Payload(fn(&Shader, &Op, &[Ty], &[Ty]) -> bool),
}

impl std::fmt::Debug for Signature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Signature::Fixed(args, results) => write!(f, "{args:?} -> {results:?}"),
            Signature::Payload(_) => f.write_str("by payload"),
        }
    }
}

impl Signature {
    /// Returns true if operands and results fit.
    pub(super) fn fits(&self, shader: &Shader, op: &Op, args: &[Ty], results: &[Ty]) -> bool {
        match self {
            Signature::Fixed(want_args, want_results) => {
                let mut variables = Variables { t: ANY, u: ANY };
                variables.all(want_args, args) && variables.all(want_results, results)
            }
            Signature::Payload(fit) => fit(shader, op, args, results),
        }
    }

    /// Returns all lists of operands and results that fit a fixed row; none if the payload decides.
    pub fn instances(self) -> Vec<(Vec<Ty>, Vec<Ty>)> {
        let Signature::Fixed(args, results) = self else { return Vec::new() };
        let variable = |select: fn(TypePattern) -> Option<TypeSet>| {
            let set = args.iter().chain(results).copied().find_map(select);
            set.map_or(vec![Ty::I32], |set| set.types().collect())
        };
        let first = variable(|kind| if let T(set) = kind { Some(set) } else { None });
        let second = variable(|kind| if let U(set) = kind { Some(set) } else { None });
        let mut all = Vec::new();
        for &t in &first {
            for &u in &second {
                let list = |kinds: &[TypePattern]| -> Vec<Ty> {
                    let of = |kind: &TypePattern| match *kind {
                        Is(ty) => ty,
                        T(_) => t,
                        U(_) => u,
                    };
                    kinds.iter().map(of).collect()
                };
                all.push((list(args), list(results)));
            }
        }
        all
    }
}

/// Signature that the type variables may stand for: a single type after their first use.
struct Variables {
    t: TypeSet,
    u: TypeSet,
}

impl Variables {
    fn all(&mut self, kinds: &[TypePattern], types: &[Ty]) -> bool {
        kinds.len() == types.len() && kinds.iter().zip(types).all(|(&kind, &ty)| self.one(kind, ty))
    }

    fn one(&mut self, kind: TypePattern, ty: Ty) -> bool {
        let (variable, set) = match kind {
            Is(want) => return want == ty,
            T(set) => (&mut self.t, set),
            U(set) => (&mut self.u, set),
        };
        let fits = variable.contains(ty) && set.contains(ty);
        *variable = TypeSet::of(&[ty]);
        fits
    }
}

// Signatures of the fixed rows, named by their operands.

pub(super) const NOTHING: Signature = Signature::Fixed(&[], &[]);
pub(super) const INT_1: Signature = Signature::Fixed(&[T(INT)], &[T(INT)]);
pub(super) const LOGIC_1: Signature = Signature::Fixed(&[T(LOGIC)], &[T(LOGIC)]);
pub(super) const FLOAT_1: Signature = Signature::Fixed(&[T(FLOAT)], &[T(FLOAT)]);
pub(super) const SINGLE_1: Signature = Signature::Fixed(&[Is(Ty::F32)], &[Is(Ty::F32)]);
pub(super) const INT_COUNT: Signature = Signature::Fixed(&[T(INT)], &[Is(Ty::I32)]);
pub(super) const INT_2: Signature = Signature::Fixed(&[T(INT), T(INT)], &[T(INT)]);
pub(super) const LOGIC_2: Signature = Signature::Fixed(&[T(LOGIC), T(LOGIC)], &[T(LOGIC)]);
pub(super) const FLOAT_2: Signature = Signature::Fixed(&[T(FLOAT), T(FLOAT)], &[T(FLOAT)]);
pub(super) const FLOAT_3: Signature = Signature::Fixed(&[T(FLOAT), T(FLOAT), T(FLOAT)], &[T(FLOAT)]);
pub(super) const FLOAT_EXPONENT: Signature = Signature::Fixed(&[T(FLOAT), Is(Ty::I32)], &[T(FLOAT)]);
pub(super) const FLOAT_PARTS: Signature = Signature::Fixed(&[T(FLOAT)], &[T(FLOAT), Is(Ty::I32)]);
pub(super) const INT_TEST: Signature = Signature::Fixed(&[T(INT), T(INT)], &[Is(Ty::B1)]);
pub(super) const LOGIC_TEST: Signature = Signature::Fixed(&[T(LOGIC), T(LOGIC)], &[Is(Ty::B1)]);
pub(super) const FLOAT_TEST: Signature = Signature::Fixed(&[T(FLOAT), T(FLOAT)], &[Is(Ty::B1)]);
pub(super) const FLOAT_TO_INT: Signature = Signature::Fixed(&[T(FLOAT)], &[U(INT)]);
pub(super) const INT_TO_FLOAT: Signature = Signature::Fixed(&[T(INT)], &[U(FLOAT)]);
pub(super) const FLOAT_TO_FLOAT: Signature = Signature::Fixed(&[T(FLOAT)], &[U(FLOAT)]);
pub(super) const INT_TO_INT: Signature = Signature::Fixed(&[T(INT)], &[U(INT)]);
pub(super) const BOOL_TO_WORD: Signature = Signature::Fixed(&[Is(Ty::B1)], &[Is(Ty::I32)]);
pub(super) const CHOICE: Signature = Signature::Fixed(&[Is(Ty::B1), T(ANY), T(ANY)], &[T(ANY)]);
pub(super) const INT_CARRY: Signature = Signature::Fixed(&[T(INT), T(INT)], &[T(INT), T(INT)]);
pub(super) const FIELD_INSERT: Signature = Signature::Fixed(&[T(INT), T(INT), Is(Ty::I32), Is(Ty::I32)], &[T(INT)]);
pub(super) const FIELD_EXTRACT: Signature = Signature::Fixed(&[T(INT), Is(Ty::I32), Is(Ty::I32)], &[T(INT)]);
pub(super) const BUFFER: Signature = Signature::Fixed(&[Is(Ty::I32)], &[Is(Ty::Buf)]);
pub(super) const IMAGE: Signature = Signature::Fixed(&[Is(Ty::I32)], &[Is(Ty::Img)]);
pub(super) const SAMPLER: Signature = Signature::Fixed(&[Is(Ty::I32)], &[Is(Ty::Smp)]);
pub(super) const STRUCTURE: Signature = Signature::Fixed(&[Is(Ty::I32)], &[Is(Ty::I64)]);
pub(super) const BUFFER_WORD: Signature = Signature::Fixed(&[Is(Ty::Buf)], &[Is(Ty::I32)]);
pub(super) const TAKES_WORD: Signature = Signature::Fixed(&[Is(Ty::I32)], &[]);
pub(super) const GIVES_WORD: Signature = Signature::Fixed(&[], &[Is(Ty::I32)]);
pub(super) const GIVES_LONG: Signature = Signature::Fixed(&[], &[Is(Ty::I64)]);
pub(super) const GIVES_FLOAT: Signature = Signature::Fixed(&[], &[Is(Ty::F32)]);
pub(super) const GIVES_BOOL: Signature = Signature::Fixed(&[], &[Is(Ty::B1)]);
pub(super) const BOOL_1: Signature = Signature::Fixed(&[Is(Ty::B1)], &[Is(Ty::B1)]);
pub(super) const SCALAR_1: Signature = Signature::Fixed(&[T(SCALAR)], &[T(SCALAR)]);
pub(super) const SCALAR_TEST: Signature = Signature::Fixed(&[T(SCALAR)], &[Is(Ty::B1)]);
pub(super) const SCALAR_LANE: Signature = Signature::Fixed(&[T(SCALAR), Is(Ty::I32)], &[T(SCALAR)]);

// Rows whose payload decides.

pub(super) const CONSTANT: Signature = Signature::Payload(|_, op, args, results| {
    let (Op::Const(bits), &[], &[ty]) = (op, args, results) else { return false };
    match ty.bytes() {
        0 => ty == Ty::B1 && *bits <= 1,
        8 => true,
        bytes => bits >> (bytes * 8) == 0,
    }
});

pub(super) const SAME_SIZE: Signature = Signature::Payload(
    |_, _, args, results| matches!((args, results), (&[a], &[r]) if a.bytes() != 0 && a.bytes() == r.bytes()),
);

pub(super) const ELEMENT: Signature = Signature::Payload(|shader, op, args, results| match (op, args, results) {
    (Op::VarLoad(var), index, [result]) => variable_fits(shader, *var, index, *result),
    (Op::VarStore(var), [index @ .., value], []) => variable_fits(shader, *var, index, *value),
    _ => false,
});

fn variable_fits(shader: &Shader, var: Var, index: &[Ty], value: Ty) -> bool {
    let Some(data) = shader.vars.get(var) else { return false };
    let index_fits = if data.len > 1 { index == [Ty::I32] } else { index.is_empty() };
    index_fits && value == data.ty && !matches!(data.ty, Ty::Buf | Ty::Img | Ty::Smp)
}

fn all(types: &[Ty], ty: Ty) -> bool {
    types.iter().all(|&t| t == ty)
}

/// Returns true if these are `n` components of one texel type.
fn texel(types: &[Ty], n: usize) -> bool {
    types.len() == n && (all(types, Ty::I32) || all(types, Ty::F32) || all(types, Ty::I64))
}

/// Returns true if these are 1 to 4 elements of one memory type.
fn elements(types: &[Ty]) -> bool {
    matches!(types.len(), 1..=4) && types[0].bytes() != 0 && all(types, types[0])
}

/// Returns the operands behind the address, if the address operands fit the space.
fn address(space: Space, args: &[Ty]) -> Option<&[Ty]> {
    let address: &[Ty] = match space {
        Space::Buffer => &[Ty::Buf, Ty::I32],
        Space::Shared | Space::Push => &[Ty::I32],
        Space::Global => &[Ty::I64],
    };
    args.strip_prefix(address)
}

pub(super) const ACCESS: Signature = Signature::Payload(|_, op, args, results| match *op {
    Op::Load(space, _) => address(space, args) == Some(&[]) && elements(results),
    Op::Store(space, _) => space != Space::Push && results.is_empty() && address(space, args).is_some_and(elements),
    Op::Atomic(space, op) => space != Space::Push && atomic_fits(op, address(space, args), results),
    _ => false,
});

fn atomic_fits(op: AtomicOp, operands: Option<&[Ty]>, results: &[Ty]) -> bool {
    let Some(operands) = operands else { return false };
    let (values, gives) = match op {
        AtomicOp::Load => (0, true),
        AtomicOp::Store => (1, false),
        AtomicOp::CompareExchange => (2, true),
        AtomicOp::Exchange | AtomicOp::Add | AtomicOp::Sub | AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => (1, true),
        AtomicOp::SMin | AtomicOp::UMin | AtomicOp::SMax | AtomicOp::UMax => (1, true),
        AtomicOp::FAdd | AtomicOp::FMin | AtomicOp::FMax => (1, true),
    };
    let Some(&ty) = operands.first().or(results.first()) else { return false };
    let counts = operands.len() == values && results.len() == usize::from(gives);
    // Halves can be loaded, stored, exchanged, added and compared.
    let half = ty == Ty::F16
        && matches!(
            op,
            AtomicOp::Load | AtomicOp::Store | AtomicOp::Exchange | AtomicOp::FAdd | AtomicOp::FMin | AtomicOp::FMax
        );
    let fits = half || matches!(ty, Ty::I32 | Ty::F32 | Ty::I64 | Ty::F64);
    counts && all(operands, ty) && all(results, ty) && fits
}

pub(super) const INTERFACE: Signature = Signature::Payload(|shader, op, args, results| match op {
    Op::LoadInput(slot, at) => {
        let extra: &[Ty] = match at {
            InterpolateAt::Offset => &[Ty::F32, Ty::F32],
            InterpolateAt::AtSample => &[Ty::I32],
            InterpolateAt::Default | InterpolateAt::Centroid | InterpolateAt::Sample => &[],
        };
        (*slot as usize) < shader.inputs.len() && args == extra && matches!(results, [Ty::I32 | Ty::F32])
    }
    Op::StoreOutput(slot) => {
        (*slot as usize) < shader.outputs.len() && matches!(args, [Ty::I32 | Ty::F32]) && results.is_empty()
    }
    Op::LoadVertex(slot) => {
        (*slot as usize) < shader.inputs.len() && args == [Ty::I32] && matches!(results, [Ty::I32 | Ty::F32])
    }
    Op::StoreVertex(slot) => {
        (*slot as usize) < shader.outputs.len() && matches!(args, [Ty::I32, Ty::I32 | Ty::F32]) && results.is_empty()
    }
    _ => false,
});

pub(super) const SHADER_CALL: Signature = Signature::Payload(|_, _, args, results| {
    let Some((Ty::I32, data)) = args.split_first() else { return false };
    data == results && data.iter().all(|ty| matches!(ty, Ty::I32 | Ty::F32))
});

/// Types of the operands of a trace, in the order of `TraceRayOperand`.
pub(super) const TRACE_OPERANDS: [Ty; TraceRayOperand::COUNT as usize] = {
    let mut types = [Ty::I32; TraceRayOperand::COUNT as usize];
    let mut i = TraceRayOperand::OriginX as usize;
    while i < types.len() {
        types[i] = Ty::F32;
        i += 1;
    }
    types
};

fn words(types: &[Ty]) -> bool {
    types.iter().all(|ty| matches!(ty, Ty::I32 | Ty::F32))
}

pub(super) const TRACE: Signature = Signature::Payload(|_, _, args, results| {
    let Some(payload) = args.strip_prefix(&TRACE_OPERANDS) else { return false };
    payload == results && words(payload)
});

pub(super) const REPORT: Signature = Signature::Payload(|_, _, args, results| {
    let [attribute @ .., Ty::F32, Ty::I32] = args else { return false };
    words(attribute) && attribute.len() <= RayValue::HitAttribute.words() as usize && results == [Ty::F32, Ty::I32]
});

/// Types of the words of a hit object.
pub(super) const OBJECT_WORDS: [Ty; HitObjectField::WORDS as usize] = [Ty::I32; HitObjectField::WORDS as usize];

pub(super) const TRACE_OBJECT: Signature = Signature::Payload(|_, _, args, results| {
    let payload = args.strip_prefix(&TRACE_OPERANDS).zip(results.strip_suffix(&OBJECT_WORDS));
    payload.is_some_and(|(before, after)| before == after && words(before))
});

pub(super) const EXECUTE_OBJECT: Signature = Signature::Payload(|_, _, args, results| {
    args.strip_prefix(&OBJECT_WORDS).is_some_and(|payload| payload == results && words(payload))
});

pub(super) const REORDER: Signature =
    Signature::Payload(|_, _, args, results| args == [Ty::I32; ReorderOperand::COUNT as usize] && results.is_empty());

pub(super) const READ_INSTANCE: Signature = Signature::Payload(|_, _, args, results| {
    args == [Ty::I32; ReadInstanceOperand::COUNT as usize] && results == [Ty::I32; InstanceWord::COUNT as usize]
});

pub(super) const RAY_QUERY: Signature = Signature::Payload(|shader, op, args, results| {
    let Op::RayQuery(var, op) = op else { return false };
    let are_queries = |var: Var| {
        shader.vars.get(var).is_some_and(|data| {
            let words = data.len.checked_sub(RAY_QUERY_PADDING);
            data.ty == Ty::I32 && words.is_some_and(|n| n > 0 && n.is_multiple_of(RAY_QUERY_WORDS))
        })
    };
    let queries = are_queries(*var) && op.source().is_none_or(are_queries);
    let (own_args, own_results) = ray_query_types(*op);
    queries && args == own_args && results == own_results
});

/// Returns the types of the operands and results of an operation on a ray query.
pub(super) fn ray_query_types(op: RayQueryOp) -> (Vec<Ty>, Vec<Ty>) {
    let own: &[Ty] = if op == RayQueryOp::Initialize { &[Ty::I32] } else { &[Ty::I32, Ty::B1] };
    ([own, op.operands()].concat(), vec![Ty::I32; op.results()])
}

pub(super) const SAMPLE: Signature = Signature::Payload(|_, op, args, results| {
    let Op::Sample(info) = op else { return false };
    let before_offset =
        usize::from(info.coords) + usize::from(info.dref) + usize::from(info.lod) + 2 * usize::from(info.grad);
    let offset = usize::from(info.offset);
    let count = before_offset + offset + usize::from(info.min_lod);
    if args.len() != 2 + count || args[..2] != [Ty::Img, Ty::Smp] || (info.lod_mode == LodMode::Grad) != (info.grad > 0)
    {
        return false;
    }
    let (floats, rest) = args[2..].split_at(before_offset);
    let (offsets, min_lod) = rest.split_at(offset);
    let results_fit = match info.op {
        SampleOp::Sample | SampleOp::Gather | SampleOp::GatherDref => texel(results, 4),
        SampleOp::SampleDref => texel(results, 1),
        SampleOp::QueryLod => texel(results, 2),
        SampleOp::Resident | SampleOp::ResidentGather => results == [Ty::I32],
    };
    all(floats, Ty::F32) && all(offsets, Ty::I32) && all(min_lod, Ty::F32) && results_fit
});

/// Returns the operands behind the image and `n` integers.
fn texel_address<'a>(args: &'a [Ty], coords: u8, more: &[bool]) -> Option<&'a [Ty]> {
    let n = usize::from(coords) + more.iter().filter(|&&more| more).count();
    let rest = args.strip_prefix(&[Ty::Img])?;
    let (ints, rest) = rest.split_at_checked(n)?;
    all(ints, Ty::I32).then_some(rest)
}

pub(super) const TEXEL: Signature = Signature::Payload(|_, op, args, results| match *op {
    Op::ImageFetch { coords, level, sample, .. } => {
        texel_address(args, coords, &[level, sample]) == Some(&[]) && texel(results, 4)
    }
    Op::ImageResident { coords, level, sample } => {
        texel_address(args, coords, &[level, sample]) == Some(&[]) && results == [Ty::I32]
    }
    Op::ImageStore { coords, sample, .. } => {
        results.is_empty() && texel_address(args, coords, &[sample]).is_some_and(|components| texel(components, 4))
    }
    Op::ImageAtomic { op, coords, sample } => atomic_fits(op, texel_address(args, coords, &[sample]), results),
    _ => false,
});

pub(super) const LEVEL_QUERY: Signature =
    Signature::Payload(|_, _, args, results| matches!(args, [Ty::Img] | [Ty::Img, Ty::I32]) && results == [Ty::I32]);
pub(super) const VIEW_QUERY: Signature = Signature::Fixed(&[Is(Ty::Img)], &[Is(Ty::I32)]);

pub(super) const COMBINATION: Signature = Signature::Payload(|shader, op, args, results| {
    let (Op::Subgroup(Subgroup::Arithmetic(op, scan)), &[a], &[_]) = (op, args, results) else { return false };
    let cluster = !matches!(scan, Scan::Cluster(n) if !n.is_power_of_two());
    let operation = Op::Binary(*op).fits(shader, &[a, a], results);
    operation && eval::identity(*op, a).is_some() && cluster
});
