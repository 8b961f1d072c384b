//! Descriptors in the application's memory (VK_EXT_descriptor_buffer).
//!
//! Anybody may write there, shaders too, and what nobody has written may be anything. So a descriptor there is no address that generated code
//! could follow: it is a description ([`Packed`]) of which a set of the driver's own is made before it is used (`command/execute/descriptor_buffer.rs`).
//! Addresses are looked up in the heap then; views and samplers by their names among those that live ([`Living`]): their handles, or numbers where another
//! process is to find the same descriptors again. What is found nowhere is a null descriptor. A binding has its elements where it has them in a set.

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

/// A descriptor as vkGetDescriptorEXT gives it. All zeros: null.
///
/// The first number is the kind and, below it, the address of a buffer or the name of a view; the second one the format and the range of
/// a buffer, or the name of a sampler. Addresses and handles are those of a process: 47 bits.
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

    /// An image, a sampler or both, by their names; 0: none.
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

    /// Names of a view and a sampler.
    pub fn as_image(self) -> (u64, u64) {
        (self.0[0] & BELOW_KIND, self.0[1])
    }
}

/// The name of a view or a sampler that is to be found again by it (descriptorBufferCaptureReplay).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// Its handle is enough.
    Handle,
    /// One that can be asked for in another process.
    New,
    /// This one.
    Again(u64),
}

impl Name {
    /// What a creation asks for; `captured`: the data of an earlier run.
    pub fn of(replayed: bool, captured: Option<u64>) -> Name {
        match captured {
            Some(name) => Name::Again(name),
            None if replayed => Name::New,
            None => Name::Handle,
        }
    }
}

/// Those that live of one kind. Names are handles, which are even, or odd numbers.
struct Names<T> {
    by_name: HashMap<u64, Weak<T>>,
    /// Of those that are no handles, by handle.
    numbers: HashMap<u64, u64>,
    /// The least odd number that nobody had.
    next: u64,
}

impl<T> Default for Names<T> {
    fn default() -> Names<T> {
        Names { by_name: HashMap::new(), numbers: HashMap::new(), next: 1 }
    }
}

impl<T> Names<T> {
    /// VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS: it is no name, or another one has it.
    fn note(&mut self, object: &Arc<T>, name: Name) -> Result<(), vk::Result> {
        let handle = handle::raw(object);
        let name = match name {
            Name::Handle => handle,
            Name::New => self.next,
            Name::Again(name) => {
                let free = name & 1 == 1 && name < BELOW_FORMAT && !self.by_name.contains_key(&name);
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

    fn forget(&mut self, handle: u64) {
        let name = self.numbers.remove(&handle).unwrap_or(handle);
        self.by_name.remove(&name);
    }

    fn get(&self, name: u64) -> Option<Arc<T>> {
        if name == 0 { None } else { self.by_name.get(&name).and_then(Weak::upgrade) }
    }
}

/// Views and samplers that live, by name: noted only where somebody may have descriptors in buffers.
#[derive(Default)]
pub struct Living {
    wanted: bool,
    /// Something has a name that is not its handle: until then nobody looks for one.
    numbered: AtomicBool,
    views: RwLock<Names<ImageView>>,
    samplers: RwLock<Names<Sampler>>,
}

impl Living {
    /// `wanted`: there may be descriptors in buffers.
    pub fn new(wanted: bool) -> Living {
        Living { wanted, ..Living::default() }
    }

    /// A view has a handle from now on. VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS: not with this name.
    pub fn note_view(&self, view: &Arc<ImageView>, name: Name) -> Result<(), vk::Result> {
        self.numbering(name);
        if self.wanted { self.views.write().note(view, name) } else { Ok(()) }
    }

    /// A sampler has. As [`Living::note_view`].
    pub fn note_sampler(&self, sampler: &Arc<Sampler>, name: Name) -> Result<(), vk::Result> {
        self.numbering(name);
        if self.wanted { self.samplers.write().note(sampler, name) } else { Ok(()) }
    }

    fn numbering(&self, name: Name) {
        if name != Name::Handle {
            self.numbered.store(true, Ordering::Relaxed);
        }
    }

    /// Who asks has been given the handle, by whatever means threads of the application have: behind what this thread knows of.
    fn is_numbered(&self) -> bool {
        self.numbered.load(Ordering::Relaxed)
    }

    /// A view's handle ends.
    pub fn forget_view(&self, view: u64) {
        if self.wanted {
            self.views.write().forget(view);
        }
    }

    /// A sampler's handle ends.
    pub fn forget_sampler(&self, sampler: u64) {
        if self.wanted {
            self.samplers.write().forget(sampler);
        }
    }

    /// What a descriptor calls the view of a handle.
    pub fn view_name(&self, view: u64) -> u64 {
        if self.is_numbered() { self.views.read().name(view) } else { view }
    }

    /// What it calls a sampler.
    pub fn sampler_name(&self, sampler: u64) -> u64 {
        if self.is_numbered() { self.samplers.read().name(sampler) } else { sampler }
    }

    /// The view of a name, if it lives.
    pub fn view(&self, name: u64) -> Option<Arc<ImageView>> {
        self.views.read().get(name)
    }

    /// The sampler of a name, if it lives.
    pub fn sampler(&self, name: u64) -> Option<Arc<Sampler>> {
        self.samplers.read().get(name)
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

    #[test]
    fn a_name_is_one_object_s_and_comes_again() {
        let mut names = Names::default();
        let [a, b, c] = [1u8, 2, 3].map(Arc::new);
        let invalid = Err(vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS);
        names.note(&a, Name::of(true, None)).expect("a name");
        let name = names.name(handle::raw(&a));
        assert_eq!(names.note(&b, Name::Again(name)), invalid, "it has an object");
        for wrong in [0, handle::raw(&a), 1 << 50 | 1, u64::MAX] {
            assert_eq!(names.note(&b, Name::Again(wrong)), invalid, "{wrong:#x}");
        }
        names.note(&b, Name::of(false, None)).expect("a name");
        assert_eq!(names.name(handle::raw(&b)), handle::raw(&b));
        names.forget(handle::raw(&a));
        assert_eq!(names.get(name), None);
        names.note(&c, Name::Again(name)).expect("a name");
        names.note(&a, Name::New).expect("a name");
        let found = [name, name + 2, handle::raw(&b)].map(|name| names.get(name).map(|object| *object));
        assert_eq!(found, [Some(3), Some(1), Some(2)]);
        assert_eq!(names.get(name + 4), None);
    }
}
