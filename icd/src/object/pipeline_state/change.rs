//! How commands change values of dynamic state: as a whole, or in part.

use ash::vk;
use base::pixel::{CompareOp, LogicOp};
use rasterizer::api::{MAX_VERTEX_BINDINGS, MAX_VIEWPORTS, Stipple, Topology};
use smallvec::SmallVec;

/// The type of a piece of dynamic state.
pub trait Changes {
    /// What a command brings.
    type Change;
    /// Takes it over.
    fn change(&mut self, change: &Self::Change);
}

macro_rules! as_a_whole {
    ($($ty:ty),+) => {
        $(impl Changes for $ty {
            type Change = $ty;
            fn change(&mut self, change: &$ty) {
                *self = *change;
            }
        })+
    };
}

as_a_whole!(bool, u32, f32, [f32; 2], [f32; 3], [f32; 4], CompareOp, LogicOp, Stipple, Topology);

/// A list that is short, so that copying values rarely allocates.
pub type List<T> = SmallVec<[T; 1]>;

/// Elements of a list.
pub enum Elements<T> {
    /// Those from a number on.
    From(u32, List<T>),
    /// All: the count comes with them.
    All(List<T>),
}

impl<T: Copy> Changes for List<T> {
    type Change = Elements<T>;
    fn change(&mut self, change: &Elements<T>) {
        match change {
            Elements::All(values) => self.clone_from(values),
            Elements::From(first, values) => {
                for (number, value) in (*first as usize..MAX_VIEWPORTS).zip(values) {
                    if self.len() <= number {
                        self.resize(number + 1, *value);
                    }
                    self[number] = *value;
                }
            }
        }
    }
}

/// A value of each face: front, back.
#[derive(Clone, Copy)]
pub struct PerFace<T>(pub [T; 2]);

/// A value of some faces.
#[allow(missing_docs, reason = "the specification's names")]
pub struct Faces<T> {
    pub faces: vk::StencilFaceFlags,
    pub value: T,
}

impl<T: Copy> Changes for PerFace<T> {
    type Change = Faces<T>;
    fn change(&mut self, change: &Faces<T>) {
        for (value, face) in self.0.iter_mut().zip([vk::StencilFaceFlags::FRONT, vk::StencilFaceFlags::BACK]) {
            if change.faces.contains(face) {
                *value = change.value;
            }
        }
    }
}

/// Strides by binding number. There is no `vkCmdSet…` for them: they come with the buffers of `vkCmdBindVertexBuffers2`.
#[derive(Clone, Copy)]
pub struct Strides(pub [u32; MAX_VERTEX_BINDINGS]);

/// The stride of one binding.
#[allow(missing_docs, reason = "the specification's names")]
pub struct BindingStride {
    pub binding: u32,
    pub stride: u32,
}

impl Changes for Strides {
    type Change = BindingStride;
    fn change(&mut self, change: &BindingStride) {
        if let Some(stride) = self.0.get_mut(change.binding as usize) {
            *stride = change.stride;
        }
    }
}
