//! Meaning of an id during translation.
//!
//! Everything static (which variable, which binding, which member) is in the structure; everything
//! dynamic is a [`Value`]. Any of these can therefore be kept in variables by keeping its values.

use crate::ir::{Label, Space, Ty, Value, Var};
use base::shader::Records;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::rc::Rc;

/// State of the vertices that a stage of primitives makes.
pub(crate) struct EmittedVertices {
    /// Number of vertices so far.
    pub count: Var,
    /// A bit per stream, from [`base::shader::VertexMark::BEGINS`] on: its next vertex begins a
    /// strip.
    pub begins: Var,
    /// True if a strip ends before the last vertex, or there are streams.
    pub marked: bool,
    /// Variables from which slots are stored; `None` for the mark.
    pub sources: Vec<Option<Var>>,
}

/// Memory offsets of a mesh stage's outputs.
#[derive(Default)]
pub(crate) struct MeshOutputs {
    /// For each variable, its byte in the record, and whether that is a primitive's record.
    pub places: HashMap<u32, (u32, bool)>,
    pub vertices: Records,
    pub primitives: Records,
}

impl MeshOutputs {
    /// Returns the records of primitives, or of vertices.
    pub fn records(&self, of_primitives: bool) -> Records {
        if of_primitives { self.primitives } else { self.vertices }
    }
}

/// State of a stage of ray tracing.
#[derive(Default)]
pub(crate) struct RayState {
    /// The payload or callable data that the stage is called with.
    pub incoming: Option<Pointer>,
    /// The hit attribute.
    pub attribute: Option<Pointer>,
    /// The scope of the entry point, behind which outputs are stored.
    pub end: Option<Label>,
    /// End of the ray's remaining interval, in an intersection stage.
    pub t_max: Option<Var>,
}

/// A layout of the driver's own: everything packed to the alignment of its scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DriverLayout {
    /// Scalars have their own size.
    Packed,
    /// Scalars have the size of slots: one word, or two.
    Words,
}

/// Leaves of a composite.
pub(crate) type Flat = SmallVec<[Value; 4]>;

/// Number of leaves above which a composite is kept in pieces that ids share.
const SHARED_FROM: usize = 256;
/// Number of leaves of a piece.
const PIECE: usize = 256;

/// Leaves of a large composite. A copy shares all pieces; a copy with a changed part shares all
/// pieces but those with that part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shared {
    /// Pieces of [`PIECE`] leaves each, of which the last one has the rest.
    pieces: Rc<[Rc<[Value]>]>,
    len: usize,
}

impl Shared {
    fn new(flat: &[Value]) -> Shared {
        let mut pieces: Vec<Rc<[Value]>> = Vec::with_capacity(flat.len().div_ceil(PIECE));
        for piece in flat.chunks(PIECE) {
            // Arrays of one value, such as zeros, share one piece many times.
            match pieces.last() {
                Some(last) if **last == *piece => pieces.push(last.clone()),
                _ => pieces.push(piece.into()),
            }
        }
        Shared { pieces: pieces.into(), len: flat.len() }
    }

    /// Returns the number of leaves.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns some of the leaves, or `None` if they are not all inside.
    pub fn part(&self, at: usize, n: usize) -> Option<Flat> {
        let end = at.checked_add(n).filter(|&end| end <= self.len)?;
        let mut out = Flat::with_capacity(n);
        let mut next = at;
        while next < end {
            let piece = &self.pieces[next / PIECE];
            let first = next % PIECE;
            let last = piece.len().min(first + end - next);
            out.extend_from_slice(&piece[first..last]);
            next += last - first;
        }
        Some(out)
    }

    /// Returns a copy with other leaves from `at` on, or `None` if they are not all inside.
    pub fn with(&self, at: usize, part: &[Value]) -> Option<Shared> {
        at.checked_add(part.len()).filter(|&end| end <= self.len)?;
        let mut pieces = self.pieces.to_vec();
        let (mut next, mut part) = (at, part);
        while !part.is_empty() {
            let piece = Rc::make_mut(&mut pieces[next / PIECE]);
            let room = &mut piece[next % PIECE..];
            let n = room.len().min(part.len());
            room[..n].copy_from_slice(&part[..n]);
            part = &part[n..];
            next += n;
        }
        Some(Shared { pieces: pieces.into(), len: self.len })
    }

    /// Returns all leaves.
    pub fn flat(&self) -> Flat {
        self.part(0, self.len).unwrap_or_default()
    }

    fn each(&mut self, f: &mut dyn FnMut(&mut Value)) {
        let mut flat = self.flat();
        flat.iter_mut().for_each(f);
        *self = Shared::new(&flat);
    }
}

/// The meaning of an id.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Val {
    /// Scalars of a value.
    Flat(Flat),
    /// A large composite in memory that is not written while the id is used (`large`).
    Kept(Pointer),
    /// Scalars of a value with many of them.
    Shared(Shared),
    /// A pointer.
    Ptr(Pointer),
    /// An image, a sampler or both.
    Handle(Handle),
}

/// A descriptor: set, binding and index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Desc {
    pub set: u32,
    pub binding: u32,
    /// Index in the binding's array, of type I32.
    pub index: Value,
}

/// The buffer that a pointer points into.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Origin {
    /// A descriptor of a binding.
    Desc(Desc),
    /// A buffer given by its number, of type I32 (`variable`). It is one of those that contain
    /// something of type `to`.
    Number { number: Value, to: u32 },
}

/// A loaded image, sampler or sampled image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Handle {
    /// Descriptor of the image, with its OpTypeImage id.
    pub image: Option<(Desc, u32)>,
    pub sampler: Option<Desc>,
}

/// A pointer to something of type `ty`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pointer {
    pub ty: u32,
    pub place: PointerTarget,
}

/// Location that a pointer points to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PointerTarget {
    Local(LocalTarget),
    Memory(Memory),
    /// A descriptor, or an array of them.
    Resource(Resource),
    Texel {
        image: Desc,
        image_ty: u32,
        coords: SmallVec<[Value; 4]>,
        sample: Option<Value>,
    },
}

/// Location in a variable that is held in scalars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LocalTarget {
    pub local: usize,
    /// First leaf.
    pub first: usize,
    /// Element of the leaves' arrays, of type I32.
    pub index: Value,
    /// Dynamic component of the vector at `first`, and the number of its components.
    pub comp: Option<(Value, u32)>,
}

/// Location in memory with a layout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Memory {
    pub space: Space,
    /// Buffer, for [`Space::Buffer`].
    pub origin: Option<Origin>,
    /// Dynamic part of the address: I32, for [`Space::Global`] I64.
    pub base: Value,
    /// Static part of the address.
    pub offset: u32,
    /// The driver's own layout, which replaces decorations.
    pub driver_layout: Option<DriverLayout>,
    /// Bytes between elements of the array that is pointed to, if its layout does not give them.
    pub stride: Option<u32>,
    /// MatrixStride and RowMajor for matrices inside.
    pub matrix: Option<(u32, bool)>,
    /// Bytes between components if the pointee is a column of a row-major matrix.
    pub comp_stride: Option<u32>,
    pub readonly: bool,
    pub volatile: bool,
    /// True if each component is checked against the buffer's end on its own.
    pub by_component: bool,
}

/// A UniformConstant variable or an array of blocks, with the index so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Resource {
    pub variable: u32,
    pub desc: Desc,
}

impl Val {
    /// Returns the value of one scalar.
    pub fn one(v: Value) -> Val {
        Val::Flat(SmallVec::from_slice(&[v]))
    }

    /// Returns scalars in the representation that fits their number.
    pub fn of(flat: Flat) -> Val {
        if flat.len() > SHARED_FROM { Val::Shared(Shared::new(&flat)) } else { Val::Flat(flat) }
    }

    /// Returns the number of values, which is the cost of visiting each.
    pub fn size(&self) -> usize {
        match self {
            Val::Flat(flat) => flat.len(),
            Val::Shared(shared) => shared.len(),
            Val::Ptr(_) | Val::Handle(_) | Val::Kept(_) => 4,
        }
    }

    /// Calls `f` for every value, in a fixed order.
    pub fn each(&mut self, f: &mut dyn FnMut(&mut Value)) {
        match self {
            Val::Flat(flat) => flat.iter_mut().for_each(f),
            Val::Shared(shared) => shared.each(f),
            Val::Handle(h) => {
                if let Some((d, _)) = &mut h.image {
                    f(&mut d.index);
                }
                if let Some(d) = &mut h.sampler {
                    f(&mut d.index);
                }
            }
            Val::Ptr(p) | Val::Kept(p) => match &mut p.place {
                PointerTarget::Local(l) => {
                    f(&mut l.index);
                    if let Some((c, _)) = &mut l.comp {
                        f(c);
                    }
                }
                PointerTarget::Memory(m) => {
                    match &mut m.origin {
                        Some(Origin::Desc(d)) => f(&mut d.index),
                        Some(Origin::Number { number, .. }) => f(number),
                        None => {}
                    }
                    f(&mut m.base);
                }
                PointerTarget::Resource(r) => f(&mut r.desc.index),
                PointerTarget::Texel { image, coords, sample, .. } => {
                    f(&mut image.index);
                    coords.iter_mut().for_each(&mut *f);
                    if let Some(s) = sample {
                        f(s);
                    }
                }
            },
        }
    }

    /// Returns a copy with the same value everywhere: operands with equal shapes differ only in
    /// values.
    pub fn shape(&self) -> Val {
        let mut shape = self.clone();
        shape.each(&mut |v| *v = Value::from_u32(0));
        shape
    }
}

/// Translation state of an id.
#[derive(Clone, Debug, Default)]
pub(crate) enum Slot {
    #[default]
    None,
    Val(Val),
    /// A shape, with its values in variables (`None` for a constant, which stays in place).
    Stored(Val, Vec<Option<Var>>),
}

/// One scalar of an interface variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct IoLeaf {
    pub kind: IoKind,
    pub ty: Ty,
    pub slot: base::shader::Slot,
    pub at: crate::ir::InterpolateAt,
    /// True for a HelperInvocation that observes demotes since entry.
    pub volatile: bool,
    /// Destination in transform feedback, for outputs.
    pub capture: Option<CapturePlace>,
}

/// Destination of an output scalar in transform feedback.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CapturePlace {
    /// Number of the buffer (`XfbBuffer`).
    pub buffer: u32,
    /// Byte in the buffer's vertex.
    pub offset: u32,
}

/// A scalar of an output variable that is stored to its slot.
pub(crate) struct OutputScalar {
    pub slot: base::shader::Slot,
    /// Variable that holds the scalar until then.
    pub var: crate::ir::Var,
    /// Element of the variable.
    pub index: crate::ir::Value,
    /// Destination in transform feedback, as in [`IoLeaf::capture`].
    pub capture: Option<CapturePlace>,
}

/// Source of an input scalar or destination of an output scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum IoKind {
    Slot,
    /// A built-in, by BuiltIn number and component.
    Builtin(u32, u32),
    /// A scalar of a structure that is not part of the stage's interface.
    Unused,
}

/// A variable that is held in scalars.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    pub ty: u32,
    /// Id of the variable.
    pub root: u32,
    /// Variables of the leaves; empty for inputs that are read in place.
    pub vars: Vec<Var>,
    /// Interface of inputs and outputs, by flat leaf.
    pub io: Vec<IoLeaf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_composites_share_equal_pieces() {
        let leaves: Vec<Value> = (0..1000).map(Value::from_u32).collect();
        let Val::Shared(all) = Val::of(leaves.iter().copied().collect()) else { panic!("1000 leaves are many") };
        assert_eq!((all.len(), &all.flat()[..]), (1000, &leaves[..]));
        assert_eq!(all.part(250, 300).unwrap()[..], leaves[250..550]);
        assert_eq!(all.part(999, 1).unwrap()[..], leaves[999..]);
        assert!(all.part(999, 2).is_none() && all.part(1001, 0).is_none() && all.part(usize::MAX, 2).is_none());

        let new: Vec<Value> = (5000..5010).map(Value::from_u32).collect();
        let with = all.with(510, &new).unwrap();
        let mut want = leaves.clone();
        want[510..520].copy_from_slice(&new);
        assert_eq!(with.flat()[..], want);
        assert_eq!(all.flat()[..], leaves, "the old one stays");
        let shared: Vec<bool> = all.pieces.iter().zip(&*with.pieces).map(|(a, b)| Rc::ptr_eq(a, b)).collect();
        assert_eq!(shared, [true, false, false, true]);
        assert!(all.with(995, &new).is_none());

        let Val::Shared(zeros) = Val::of(smallvec::smallvec![Value::from_u32(7); 2048]) else { panic!("shared") };
        assert!(zeros.pieces.iter().all(|p| Rc::ptr_eq(p, &zeros.pieces[0])), "a splat is one piece");
    }
}
