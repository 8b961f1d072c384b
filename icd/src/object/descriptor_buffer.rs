//! Descriptors in the application's memory (VK_EXT_descriptor_buffer).
//!
//! Any code may write there, including shaders, and memory that was not written has undefined
//! contents. A descriptor there is therefore not an address that generated code could follow. It is
//! a description ([`PackedDescriptor`]), from which a set of the driver's own is materialized
//! before it is used (`command/execute/descriptor_buffer.rs`).
//!
//! Addresses are then looked up in the heap, and views and samplers by their names among the live
//! ones ([`DescriptorNames`]). Names are handles, or numbers if another process must find the same
//! descriptors again. A descriptor that is not found is a null descriptor. The elements of a
//! binding have the offsets that they have in a set.

use super::image::ImageView;
use super::sampler::Sampler;
use crate::ffi::handle;
use ash::vk;
use base::abi::DESCRIPTOR_SIZE;
use base::format::Format;
use base::shader::DescriptorKind;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// A descriptor as vkGetDescriptorEXT writes it. All zeros is a null descriptor.
///
/// The first number has the kind and, below it, the address of a buffer or the name of a view. The
/// second one has the format and the range of a buffer, or the name of a sampler. Addresses and
/// handles are those of a process: 47 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackedDescriptor([u64; 2]);

const KIND_SHIFT: u32 = 56;
const FORMAT_SHIFT: u32 = 48;
const BELOW_KIND_MASK: u64 = (1 << KIND_SHIFT) - 1;
const BELOW_FORMAT_MASK: u64 = (1 << FORMAT_SHIFT) - 1;

impl PackedDescriptor {
    /// Describes a buffer, or a texel buffer with its format.
    pub fn buffer(kind: DescriptorKind, address: u64, range: u64, format: Option<Format>) -> PackedDescriptor {
        let format = u64::from(format.unwrap_or_default().0);
        PackedDescriptor::new(kind, address, range.min(BELOW_FORMAT_MASK) | format << FORMAT_SHIFT)
    }

    /// Describes an image, a sampler or both, by their names; 0 stands for none.
    pub fn image(kind: DescriptorKind, view: u64, sampler: u64) -> PackedDescriptor {
        PackedDescriptor::new(kind, view, sampler)
    }

    fn new(kind: DescriptorKind, first: u64, second: u64) -> PackedDescriptor {
        PackedDescriptor([first & BELOW_KIND_MASK | (kind as u64 + 1) << KIND_SHIFT, second])
    }

    /// Reads a descriptor from memory.
    pub fn from_bytes(bytes: [u8; DESCRIPTOR_SIZE]) -> PackedDescriptor {
        PackedDescriptor(std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|j| bytes[8 * i + j]))))
    }

    /// Returns the bytes of a descriptor for memory.
    pub fn to_bytes(self) -> [u8; DESCRIPTOR_SIZE] {
        std::array::from_fn(|i| self.0[i / 8].to_le_bytes()[i % 8])
    }

    /// Returns true if the descriptor is of this kind.
    pub fn is(self, kind: DescriptorKind) -> bool {
        self.0[0] >> KIND_SHIFT == kind as u64 + 1
    }

    /// Returns address and range of a buffer, and the format of a texel buffer.
    pub fn as_buffer(self) -> (u64, u64, Format) {
        (self.0[0] & BELOW_KIND_MASK, self.0[1] & BELOW_FORMAT_MASK, Format((self.0[1] >> FORMAT_SHIFT) as u16))
    }

    /// Returns the names of a view and a sampler.
    pub fn as_image(self) -> (u64, u64) {
        (self.0[0] & BELOW_KIND_MASK, self.0[1])
    }
}

/// Name by which descriptors refer to a view or a sampler (descriptorBufferCaptureReplay).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescriptorName {
    /// The handle.
    Handle,
    /// A new number, which can be requested in another process.
    New,
    /// This number of an earlier run.
    Replayed(u64),
}

impl DescriptorName {
    /// Returns the name that a creation requests; `captured` is the data of an earlier run.
    pub fn requested(replayed: bool, captured: Option<u64>) -> DescriptorName {
        match captured {
            Some(name) => DescriptorName::Replayed(name),
            None if replayed => DescriptorName::New,
            None => DescriptorName::Handle,
        }
    }
}

/// Live objects of one kind by name. Names are handles, which are even, or odd numbers.
struct NameTable<T> {
    by_name: HashMap<u64, Weak<T>>,
    /// Names that are not handles, by handle.
    numbers: HashMap<u64, u64>,
    /// Smallest odd number that no object had.
    next: u64,
}

impl<T> Default for NameTable<T> {
    fn default() -> NameTable<T> {
        NameTable { by_name: HashMap::new(), numbers: HashMap::new(), next: 1 }
    }
}

impl<T> NameTable<T> {
    /// Records an object. Fails with VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS if the name is not
    /// valid or another object has it.
    fn insert(&mut self, object: &Arc<T>, name: DescriptorName) -> Result<(), vk::Result> {
        let handle = handle::raw(object);
        let name = match name {
            DescriptorName::Handle => handle,
            DescriptorName::New => self.next,
            DescriptorName::Replayed(name) => {
                let free = name & 1 == 1 && name < BELOW_FORMAT_MASK && !self.by_name.contains_key(&name);
                Some(name).filter(|_| free).ok_or(vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS)?
            }
        };
        if name != handle {
            self.numbers.insert(handle, name);
            self.next = self.next.max(name + 2);
        }
        self.by_name.insert(name, Arc::downgrade(object));
        Ok(())
    }

    fn name(&self, handle: u64) -> u64 {
        self.numbers.get(&handle).copied().unwrap_or(handle)
    }

    fn remove(&mut self, handle: u64) {
        let name = self.numbers.remove(&handle).unwrap_or(handle);
        self.by_name.remove(&name);
    }

    fn get(&self, name: u64) -> Option<Arc<T>> {
        if name == 0 { None } else { self.by_name.get(&name).and_then(Weak::upgrade) }
    }
}

/// Live views and samplers by name. They are recorded only if there may be descriptors in buffers.
#[derive(Default)]
pub struct DescriptorNames {
    is_enabled: bool,
    /// True once an object has a name that is not its handle; until then no name is looked up.
    numbered: AtomicBool,
    views: RwLock<NameTable<ImageView>>,
    samplers: RwLock<NameTable<Sampler>>,
}

impl DescriptorNames {
    /// Creates the lists. `is_enabled` is true if there may be descriptors in buffers.
    pub fn new(is_enabled: bool) -> DescriptorNames {
        DescriptorNames { is_enabled, ..DescriptorNames::default() }
    }

    /// Records a new view. Fails with VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS if it cannot have
    /// this name.
    pub fn record_view(&self, view: &Arc<ImageView>, name: DescriptorName) -> Result<(), vk::Result> {
        self.numbering(name);
        if self.is_enabled { self.views.write().insert(view, name) } else { Ok(()) }
    }

    /// Records a new sampler. Fails as [`DescriptorNames::record_view`] does.
    pub fn record_sampler(&self, sampler: &Arc<Sampler>, name: DescriptorName) -> Result<(), vk::Result> {
        self.numbering(name);
        if self.is_enabled { self.samplers.write().insert(sampler, name) } else { Ok(()) }
    }

    fn numbering(&self, name: DescriptorName) {
        if name != DescriptorName::Handle {
            self.numbered.store(true, Ordering::Relaxed);
        }
    }

    /// Returns true if an object may have a number. A relaxed load suffices: the calling thread got
    /// the handle by synchronisation of the application, so that it sees the store.
    fn is_numbered(&self) -> bool {
        self.numbered.load(Ordering::Relaxed)
    }

    /// Removes a view whose handle is destroyed.
    pub fn remove_view(&self, view: u64) {
        if self.is_enabled {
            self.views.write().remove(view);
        }
    }

    /// Removes a sampler whose handle is destroyed.
    pub fn remove_sampler(&self, sampler: u64) {
        if self.is_enabled {
            self.samplers.write().remove(sampler);
        }
    }

    /// Returns the name that descriptors have for the view with this handle.
    pub fn view_name(&self, view: u64) -> u64 {
        if self.is_numbered() { self.views.read().name(view) } else { view }
    }

    /// Returns the name that descriptors have for the sampler with this handle.
    pub fn sampler_name(&self, sampler: u64) -> u64 {
        if self.is_numbered() { self.samplers.read().name(sampler) } else { sampler }
    }

    /// Returns the view with a name, if it is live.
    pub fn view(&self, name: u64) -> Option<Arc<ImageView>> {
        self.views.read().get(name)
    }

    /// Returns the sampler with a name, if it is live.
    pub fn sampler(&self, name: u64) -> Option<Arc<Sampler>> {
        self.samplers.read().get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_descriptors_round_trip_and_garbage_has_no_kind() {
        let (address, range) = (0x7fff_1234_5678, 0x1_0000_0000);
        let format = Format::from_vk(37).unwrap();
        let texels = PackedDescriptor::buffer(DescriptorKind::StorageTexelBuffer, address, range, Some(format));
        let texels = PackedDescriptor::from_bytes(texels.to_bytes());
        assert_eq!(texels.as_buffer(), (address, range, format));
        assert!(texels.is(DescriptorKind::StorageTexelBuffer) && !texels.is(DescriptorKind::UniformTexelBuffer));
        let image = PackedDescriptor::image(DescriptorKind::CombinedImageSampler, address, address + 8);
        assert_eq!(PackedDescriptor::from_bytes(image.to_bytes()).as_image(), (address, address + 8));
        let descriptor_names = DescriptorNames::new(true);
        for garbage in [[0; 16], [0xcc; 16], [0xff; 16]] {
            let garbage = PackedDescriptor::from_bytes(garbage);
            assert!(!garbage.is(DescriptorKind::Sampler) && !garbage.is(DescriptorKind::Mutable));
            let (view, sampler) = garbage.as_image();
            assert!(descriptor_names.view(view).is_none() && descriptor_names.sampler(sampler).is_none());
        }
    }

    #[test]
    fn a_name_belongs_to_one_object_and_can_be_requested_again() {
        let mut names = NameTable::default();
        let [a, b, c] = [1u8, 2, 3].map(Arc::new);
        let invalid = Err(vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS);
        names.insert(&a, DescriptorName::requested(true, None)).expect("a name");
        let name = names.name(handle::raw(&a));
        assert_eq!(names.insert(&b, DescriptorName::Replayed(name)), invalid, "it has an object");
        for wrong in [0, handle::raw(&a), 1 << 50 | 1, u64::MAX] {
            assert_eq!(names.insert(&b, DescriptorName::Replayed(wrong)), invalid, "{wrong:#x}");
        }
        names.insert(&b, DescriptorName::requested(false, None)).expect("a name");
        assert_eq!(names.name(handle::raw(&b)), handle::raw(&b));
        names.remove(handle::raw(&a));
        assert_eq!(names.get(name), None);
        names.insert(&c, DescriptorName::Replayed(name)).expect("a name");
        names.insert(&a, DescriptorName::New).expect("a name");
        let found = [name, name + 2, handle::raw(&b)].map(|name| names.get(name).map(|object| *object));
        assert_eq!(found, [Some(3), Some(1), Some(2)]);
        assert_eq!(names.get(name + 4), None);
    }
}
