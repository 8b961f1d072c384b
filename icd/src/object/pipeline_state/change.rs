//! Changes of dynamic state by commands: as a whole, or in part.

use ash::vk;
use base::limits::{MAX_COLOR_ATTACHMENTS, MAX_VERTEX_BINDINGS, MAX_VIEWPORTS};
use base::pixel::{BlendAttachment, CompareOp, LogicOp, SampleLocations};
use rasterizer::api::{
    AttachmentLoops, ConservativeMode, DepthBias, LineMode, PolygonMode, ShadingRate, SmallVec4, Stipple, Topology,
    VertexAttribute, VertexBinding,
};
use std::sync::Arc;

/// Type of a piece of dynamic state.
pub trait DynamicValue {
    /// Contents of a command that changes the value.
    type Change;
    /// Applies a command's change.
    fn change(&mut self, change: &Self::Change);
}

macro_rules! replaced_whole {
    ($($ty:ty),+) => {
        $(impl DynamicValue for $ty {
            type Change = $ty;
            fn change(&mut self, change: &$ty) {
                *self = *change;
            }
        })+
    };
}

replaced_whole!(SampleLocations, bool, Option<bool>, u32, f32, [f32; 2], [f32; 4]);
replaced_whole!(
    AttachmentLoops,
    CompareOp,
    DepthBias,
    ConservativeMode,
    LineMode,
    LogicOp,
    PolygonMode,
    ShadingRate,
    Stipple,
    Topology
);

/// A short list, so that copying values rarely allocates.
pub type List<T> = rasterizer::api::SmallVec1<T>;

/// Elements of a list that a command sets.
pub enum ListChange<T> {
    /// The elements from a number on.
    From(u32, List<T>),
    /// All elements; the command also sets their number.
    All(List<T>),
}

impl<T: Copy> DynamicValue for List<T> {
    type Change = ListChange<T>;
    fn change(&mut self, change: &ListChange<T>) {
        match change {
            ListChange::All(values) => self.clone_from(values),
            ListChange::From(first, values) => {
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

/// One value for each face: front, back.
#[derive(Clone, Copy)]
pub struct PerFace<T>(pub [T; 2]);

/// A value for some faces.
#[allow(missing_docs, reason = "the specification's names")]
pub struct Faces<T> {
    pub faces: vk::StencilFaceFlags,
    pub value: T,
}

impl<T: Copy> DynamicValue for PerFace<T> {
    type Change = Faces<T>;
    fn change(&mut self, change: &Faces<T>) {
        for (value, face) in self.0.iter_mut().zip([vk::StencilFaceFlags::FRONT, vk::StencilFaceFlags::BACK]) {
            if change.faces.contains(face) {
                *value = change.value;
            }
        }
    }
}

/// One value for each colour attachment.
#[derive(Clone, Copy)]
pub struct PerAttachment<T>(pub [T; MAX_COLOR_ATTACHMENTS]);

/// Values of the attachments from a number on.
#[allow(missing_docs, reason = "the specification's names")]
pub struct Attachments<T> {
    pub first: u32,
    pub values: List<T>,
}

impl<T: Copy> PerAttachment<T> {
    /// Converts one value of each element; attachments without an element get `rest`.
    pub fn from_elements<A>(
        all: &[A],
        rest: T,
        one: impl Fn(&A) -> Result<T, String>,
    ) -> Result<PerAttachment<T>, String> {
        let mut values = PerAttachment([rest; MAX_COLOR_ATTACHMENTS]);
        for (to, from) in values.0.iter_mut().zip(all) {
            *to = one(from)?;
        }
        Ok(values)
    }

    /// Applies each value to its attachment.
    pub fn join(&self, blend: &mut [BlendAttachment; MAX_COLOR_ATTACHMENTS], one: impl Fn(&mut BlendAttachment, T)) {
        blend.iter_mut().zip(self.0).for_each(|(to, value)| one(to, value));
    }
}

impl<T: Copy> DynamicValue for PerAttachment<T> {
    type Change = Attachments<T>;
    fn change(&mut self, change: &Attachments<T>) {
        let from_first = self.0.iter_mut().skip(change.first as usize);
        from_first.zip(&change.values).for_each(|(to, value)| *to = *value);
    }
}

/// Vertex bindings and attributes.
#[derive(Default)]
#[allow(missing_docs, reason = "the specification's names")]
pub struct VertexLayout {
    pub bindings: SmallVec4<VertexBinding>,
    pub attributes: SmallVec4<VertexAttribute>,
}

impl DynamicValue for Arc<VertexLayout> {
    type Change = Arc<VertexLayout>;
    fn change(&mut self, change: &Arc<VertexLayout>) {
        self.clone_from(change);
    }
}

/// Strides by binding number, which `vkCmdBindVertexBuffers2` and `vkCmdSetVertexInputEXT` set.
#[derive(Clone, Copy)]
pub struct Strides(pub [u32; MAX_VERTEX_BINDINGS]);

/// Stride of one binding.
#[allow(missing_docs, reason = "the specification's names")]
pub struct BindingStride {
    pub binding: u32,
    pub stride: u32,
}

impl DynamicValue for Strides {
    type Change = BindingStride;
    fn change(&mut self, change: &BindingStride) {
        if let Some(stride) = self.0.get_mut(change.binding as usize) {
            *stride = change.stride;
        }
    }
}
