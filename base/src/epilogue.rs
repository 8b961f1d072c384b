//! The epilogue of a fragment stage, in which it writes its colours itself.

#![forbid(unsafe_code)]

use crate::pixel::{BlendEquations, BlendFactor};

/// An epilogue for texels of four unsigned normalised bytes, all of which are written by one sample
/// without tests and logic operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Epilogue {
    /// True if texels are stored as B, G, R, A and not as R, G, B, A.
    pub swap: bool,
    /// Blend equations, evaluated in integers: sources are packed first, and a result is rounded
    /// once. `None` stores colours without blending.
    pub blend: Option<BlendEquations>,
    /// Output slots of the stage by component; a component without a slot is 0.
    pub slots: [Option<u16>; 4],
}

impl Epilogue {
    /// Returns true if stages are compiled with this epilogue: it has neither blend constants nor a
    /// second source.
    pub fn is_supported(&self) -> bool {
        self.blend.is_none_or(|BlendEquations { color, alpha }| {
            [color.0, color.1, alpha.0, alpha.1].into_iter().all(depends_on_texels)
        })
    }
}

/// Returns true if the factor follows from source and target.
fn depends_on_texels(factor: BlendFactor) -> bool {
    use BlendFactor::*;
    match factor {
        Zero | One | SrcColor | OneMinusSrcColor | DstColor | OneMinusDstColor | SrcAlpha | OneMinusSrcAlpha
        | DstAlpha | OneMinusDstAlpha => true,
        SrcAlphaSaturate
        | ConstantColor
        | OneMinusConstantColor
        | ConstantAlpha
        | OneMinusConstantAlpha
        | Src1Color
        | OneMinusSrc1Color
        | Src1Alpha
        | OneMinusSrc1Alpha => false,
    }
}
