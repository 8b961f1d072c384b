//! Descriptors in the application's memory (VK_EXT_descriptor_buffer).
//!
//! Anybody may write there, shaders too, and what nobody has written may be anything. So a descriptor there is no address that generated code
//! could follow: it is a description ([`Packed`]) of which a set of the driver's own is made before it is used (`command/execute/descriptor_buffer.rs`).
//! Addresses are looked up in the heap then; views and samplers are handles, looked up among those that live ([`Living`]). What is
//! found nowhere is a null descriptor. A binding has its elements where it has them in a set.

use super::image::ImageView;
use super::sampler::Sampler;
use crate::ffi::handle;
use base::abi::DESCRIPTOR_SIZE;
use base::format::Format;
use base::shader::DescriptorKind;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// A descriptor as vkGetDescriptorEXT gives it. All zeros: null.
///
/// The first number is the kind and, below it, the address of a buffer or the handle of a view; the second one the format and the range of
/// a buffer, or the handle of a sampler. Addresses and handles are those of a process: 47 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packed([u64; 2]);

const KIND: u32 = 56;
const FORMAT: u32 = 48;
const BELOW_KIND: u64 = (1 << KIND) - 1;
const BELOW_FORMAT: u64 = (1 << FORMAT) - 1;

impl Packed {
    /// A buffer, or a texel buffer with its format.
    pub fn buffer(kind: DescriptorKind, address: u64, range: u64, format: Option<Format>) -> Packed {
        let format = u64::from(format.unwrap_or_default().0);
        Packed::new(kind, address, range.min(BELOW_FORMAT) | format << FORMAT)
    }

    /// An image, a sampler or both, by their handles; 0: none.
    pub fn image(kind: DescriptorKind, view: u64, sampler: u64) -> Packed {
        Packed::new(kind, view, sampler)
    }

    fn new(kind: DescriptorKind, first: u64, second: u64) -> Packed {
        Packed([first & BELOW_KIND | (kind as u64 + 1) << KIND, second])
    }

    /// From memory.
    pub fn from_bytes(bytes: [u8; DESCRIPTOR_SIZE]) -> Packed {
        Packed(std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|j| bytes[8 * i + j]))))
    }

    /// For memory.
    pub fn to_bytes(self) -> [u8; DESCRIPTOR_SIZE] {
        std::array::from_fn(|i| self.0[i / 8].to_le_bytes()[i % 8])
    }

    /// Is it one of this kind?
    pub fn is(self, kind: DescriptorKind) -> bool {
        self.0[0] >> KIND == kind as u64 + 1
    }

    /// Address and range of a buffer, and the format of a texel buffer.
    pub fn as_buffer(self) -> (u64, u64, Format) {
        (self.0[0] & BELOW_KIND, self.0[1] & BELOW_FORMAT, Format((self.0[1] >> FORMAT) as u16))
    }

    /// Handles of a view and a sampler.
    pub fn as_image(self) -> (u64, u64) {
        (self.0[0] & BELOW_KIND, self.0[1])
    }
}

/// Views and samplers that live, by handle: noted only where somebody may have descriptors in buffers.
#[derive(Default)]
pub struct Living {
    wanted: bool,
    views: RwLock<HashMap<u64, Weak<ImageView>>>,
    samplers: RwLock<HashMap<u64, Weak<Sampler>>>,
}

impl Living {
    /// `wanted`: there may be descriptors in buffers.
    pub fn new(wanted: bool) -> Living {
        Living { wanted, ..Living::default() }
    }

    /// A view has a handle from now on.
    pub fn note_view(&self, view: &Arc<ImageView>) {
        if self.wanted {
            self.views.write().insert(handle::raw(view), Arc::downgrade(view));
        }
    }

    /// A sampler has.
    pub fn note_sampler(&self, sampler: &Arc<Sampler>) {
        if self.wanted {
            self.samplers.write().insert(handle::raw(sampler), Arc::downgrade(sampler));
        }
    }

    /// A view's handle ends.
    pub fn forget_view(&self, view: u64) {
        if self.wanted {
            self.views.write().remove(&view);
        }
    }

    /// A sampler's handle ends.
    pub fn forget_sampler(&self, sampler: u64) {
        if self.wanted {
            self.samplers.write().remove(&sampler);
        }
    }

    /// The view of a handle, if it lives.
    pub fn view(&self, view: u64) -> Option<Arc<ImageView>> {
        if view == 0 { None } else { self.views.read().get(&view).and_then(Weak::upgrade) }
    }

    /// The sampler of a handle, if it lives.
    pub fn sampler(&self, sampler: u64) -> Option<Arc<Sampler>> {
        if sampler == 0 { None } else { self.samplers.read().get(&sampler).and_then(Weak::upgrade) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_out_again_and_garbage_is_of_no_kind() {
        let (address, range) = (0x7fff_1234_5678, 0x1_0000_0000);
        let format = Format::from_vk(37).unwrap();
        let texels = Packed::buffer(DescriptorKind::StorageTexelBuffer, address, range, Some(format));
        let texels = Packed::from_bytes(texels.to_bytes());
        assert_eq!(texels.as_buffer(), (address, range, format));
        assert!(texels.is(DescriptorKind::StorageTexelBuffer) && !texels.is(DescriptorKind::UniformTexelBuffer));
        let image = Packed::image(DescriptorKind::CombinedImageSampler, address, address + 8);
        assert_eq!(Packed::from_bytes(image.to_bytes()).as_image(), (address, address + 8));
        let living = Living::new(true);
        for garbage in [[0; 16], [0xcc; 16], [0xff; 16]] {
            let garbage = Packed::from_bytes(garbage);
            assert!(!garbage.is(DescriptorKind::Sampler) && !garbage.is(DescriptorKind::Mutable));
            let (view, sampler) = garbage.as_image();
            assert!(living.view(view).is_none() && living.sampler(sampler).is_none());
        }
    }
}
