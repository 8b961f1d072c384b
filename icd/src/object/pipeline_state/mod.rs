//! Fixed-function state of graphics pipelines.
//!
//! A piece of state is a row of the [`table`]: its name, the subset that owns it, its decoding, and
//! its conversion to the rasterizer's draw state. For state that can be dynamic, a pipeline has the
//! static values and a command buffer the current ones ([`Values`]). Binding a pipeline copies its
//! static values, a [`DynamicState`] is a command that changes one, and a draw combines them with
//! the state that cannot be dynamic ([`Fixed`]).

mod change;
mod create_info;
pub mod decode;
mod table;
mod unused;

pub use change::{Attachments, BindingStride, Elements, Faces, VertexLayout};
pub use create_info::{BlendAttachments, CreateInfo, RenderingFormats, VertexInput, ViewportState};
pub use table::{Dynamic, DynamicState, Fixed, Row, Subset, Values, join};

/// All of a graphics pipeline that is not code.
pub struct GraphicsState {
    /// State that cannot be dynamic.
    pub fixed: Fixed,
    /// Static values of the other state.
    pub values: Values,
    /// Set of the values that are dynamic.
    pub dynamic: Dynamic,
}

impl GraphicsState {
    /// Decodes the state of a pipeline; the error says what is not supported. If nothing is
    /// rasterized, the subsets of fragments are ignored.
    pub fn new(info: &CreateInfo<'_>, dynamic: Dynamic) -> Result<GraphicsState, String> {
        let (mut fixed, mut values) = (Fixed::default(), Values::default());
        let subsets = Subset::ALL.iter().filter(|subset| !info.discards || !subset.is_of_fragments());
        for &subset in subsets {
            fixed.decode(info, subset)?;
            values.decode(info, subset, dynamic)?;
        }
        Ok(GraphicsState { fixed, values, dynamic })
    }

    /// Returns true if nothing is rasterized, for any state of a command buffer.
    pub fn discards(&self) -> bool {
        self.values.rasterizer_discard && !self.dynamic.has(Row::RasterizerDiscardEnable)
    }
}
