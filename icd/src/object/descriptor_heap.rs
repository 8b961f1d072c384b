//! Descriptors of heaps (VK_EXT_descriptor_heap), in the format of [`base::abi::HeapEntry`].
//!
//! A buffer is its address and range. Views and samplers have no handles here. Equal descriptions
//! are the same word as long as the image, or the memory of a texel buffer, lives; samplers live as
//! long as the device. Words are not reused, so stale words in a heap are null descriptors.

use super::image::ImageView;
use super::memory::Heap;
use super::sampler::Sampler;
use crate::shader_compiler::heap_table::HeapTable;
use ash::vk;
use base::abi::{self, HEAP_INDEX_BITS, HeapContext};
use base::format::Format;
use base::mem::MemoryRange;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use texture::{buffer_view, default_sampler, null_view, zero_page};

/// Capacity of a device's table of samplers.
const SAMPLERS: usize = 1 << 16;
/// Factor of the upper parts of words: they take all values of their bits before one repeats, and
/// successive ones are far apart.
const WORD_MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Source of an image or texel buffer descriptor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ViewKey {
    /// An image, by its handle, and everything that the description of its view contains.
    Image(u64, Vec<u32>),
    /// Format, address and range of a buffer.
    Texels(Format, u64, u64),
}

/// Object that shaders see behind a descriptor.
pub enum HeapView {
    /// A view as a sampled image or an input attachment.
    Sampled(ImageView),
    /// A view as a storage image.
    Storage(ImageView),
    /// A texel buffer.
    Texels(Box<abi::ImageView>),
}

impl HeapView {
    fn address(&self) -> *const u8 {
        match self {
            HeapView::Sampled(view) => std::ptr::from_ref(view.view()).cast(),
            HeapView::Storage(view) => std::ptr::from_ref(view.storage()).cast(),
            HeapView::Texels(view) => (&raw const **view).cast(),
        }
    }
}

/// Objects with their words.
struct HeapObjects<K, T> {
    table: HeapTable,
    by_key: HashMap<K, (u64, T)>,
    /// Keys of the objects that end with an image or memory, by its handle or address.
    keys_by_owner: BTreeMap<u64, Vec<K>>,
    /// Used entries that are free again.
    free: Vec<u32>,
    used: usize,
    serial: u64,
}

impl<K: Clone + Eq + std::hash::Hash, T> HeapObjects<K, T> {
    fn new(count: usize, first: *const u8) -> Result<Self, vk::Result> {
        let table = HeapTable::new(count, first)?;
        Ok(HeapObjects {
            table,
            by_key: HashMap::new(),
            keys_by_owner: BTreeMap::new(),
            free: Vec::new(),
            used: 1,
            serial: 0,
        })
    }

    fn word(
        &mut self,
        (owner, key): (u64, K),
        make: impl FnOnce() -> Result<T, vk::Result>,
        address: impl Fn(&T) -> *const u8,
    ) -> Result<u64, vk::Result> {
        if let Some((word, _)) = self.by_key.get(&key) {
            return Ok(*word);
        }
        let object = make()?;
        let index = match self.free.pop() {
            Some(index) => index as usize,
            None if self.used as u64 <= self.table.last() => {
                self.used += 1;
                self.used - 1
            }
            None => return Err(vk::Result::ERROR_OUT_OF_HOST_MEMORY),
        };
        self.serial += 1;
        let word = self.serial.wrapping_mul(WORD_MULTIPLIER) << HEAP_INDEX_BITS | index as u64;
        self.table.set(index, word, address(&object));
        self.keys_by_owner.entry(owner).or_default().push(key.clone());
        self.by_key.insert(key, (word, object));
        Ok(word)
    }

    /// Removes the objects that end with these handles or addresses. Returns them, because an
    /// executing submission may still read them.
    fn remove_owned_by(&mut self, removed: std::ops::RangeInclusive<u64>) -> Vec<T> {
        let owners: Vec<u64> = self.keys_by_owner.range(removed).map(|(&owner, _)| owner).collect();
        let mut objects = Vec::new();
        for key in owners.iter().filter_map(|owner| self.keys_by_owner.remove(owner)).flatten() {
            if let Some((word, object)) = self.by_key.remove(&key) {
                let index = word & ((1 << HEAP_INDEX_BITS) - 1);
                self.table.set(index as usize, 0, std::ptr::null());
                self.free.push(index as u32);
                objects.push(object);
            }
        }
        objects
    }

    fn context(&self, memory: MemoryRange) -> HeapContext {
        let none = memory.size < abi::DESCRIPTOR_SIZE as u64;
        let (address, size) =
            if none { (zero_page(), abi::DESCRIPTOR_SIZE as u64) } else { (memory.address, memory.size) };
        HeapContext { address, size, entries: self.table.base(), last: self.table.last() }
    }
}

/// Objects behind the descriptors of a device's heaps.
pub struct DescriptorHeaps {
    views: Mutex<HeapObjects<ViewKey, HeapView>>,
    samplers: Mutex<HeapObjects<Vec<u32>, Sampler>>,
    /// Numbers of registered border colours.
    colors: Mutex<BTreeSet<u32>>,
}

impl DescriptorHeaps {
    /// Creates tables without objects.
    pub fn new() -> Result<DescriptorHeaps, vk::Result> {
        Ok(DescriptorHeaps {
            views: Mutex::new(HeapObjects::new(1 << HEAP_INDEX_BITS, std::ptr::from_ref(null_view()).cast())?),
            samplers: Mutex::new(HeapObjects::new(SAMPLERS, std::ptr::from_ref(default_sampler()).cast())?),
            colors: Mutex::default(),
        })
    }

    /// Returns the word of an image's view.
    pub fn view(&self, key: ViewKey, make: impl FnOnce() -> Result<HeapView, vk::Result>) -> Result<u64, vk::Result> {
        let (ViewKey::Image(of, _) | ViewKey::Texels(_, of, _)) = key;
        self.views.lock().word((of, key), make, HeapView::address)
    }

    /// Returns the word of a texel buffer, or that of the null descriptor if the memory is not
    /// live.
    pub fn texels(&self, heap: &Heap, format: Format, address: u64, range: u64) -> Result<u64, vk::Result> {
        let Some(memory) = heap.live_prefix(address, range).filter(|alive| alive.size > 0) else { return Ok(0) };
        let make = || Ok(HeapView::Texels(Box::new(buffer_view(memory, format))));
        self.view(ViewKey::Texels(format, address, range), make)
    }

    /// Returns the word of a sampler.
    pub fn sampler(&self, sampler: abi::Sampler) -> Result<u64, vk::Result> {
        let key = sampler_key(&sampler);
        self.samplers.lock().word((0, key), || Ok(Sampler::new(sampler)), |s| (&raw const *s.sampler).cast())
    }

    /// Removes the views of an image whose handle is destroyed. They are dropped when no executing
    /// submission can read them.
    pub fn remove_image(&self, heap: &Heap, image: u64) {
        let views = self.views.lock().remove_owned_by(image..=image);
        heap.executions.retire_described(views);
    }

    /// Removes the views of texel buffers in memory that is freed. They are dropped when no
    /// executing submission can read them.
    pub fn remove_memory(&self, heap: &Heap, memory: MemoryRange) {
        let first = memory.address as u64;
        let views = self.views.lock().remove_owned_by(first..=first.saturating_add(memory.size.saturating_sub(1)));
        heap.executions.retire_described(views);
    }

    /// Returns a heap of resources or of samplers as shaders see it.
    pub fn context(&self, kind: HeapKind, memory: MemoryRange) -> HeapContext {
        match kind {
            HeapKind::Resources => self.views.lock().context(memory),
            HeapKind::Samplers => self.samplers.lock().context(memory),
        }
    }

    /// Implements vkRegisterCustomBorderColorEXT: registers this number, or a free one. A sampler
    /// contains its colour itself.
    pub fn register_color(&self, wanted: Option<u32>, most: u32) -> Result<u32, vk::Result> {
        let mut colors = self.colors.lock();
        if let Some(wanted) = wanted {
            let new = wanted < most && colors.insert(wanted);
            return if new { Ok(wanted) } else { Err(vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS) };
        }
        let free = (0..most).find(|number| !colors.contains(number)).ok_or(vk::Result::ERROR_TOO_MANY_OBJECTS)?;
        colors.insert(free);
        Ok(free)
    }

    /// Implements vkUnregisterCustomBorderColorEXT.
    pub fn unregister_color(&self, number: u32) {
        self.colors.lock().remove(&number);
    }
}

/// Kind of a descriptor heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeapKind {
    /// The heap of vkCmdBindResourceHeapEXT.
    Resources,
    /// The heap of vkCmdBindSamplerHeapEXT.
    Samplers,
}

/// Returns everything that distinguishes a sampler.
fn sampler_key(s: &abi::Sampler) -> Vec<u32> {
    let floats = [s.lod_bias, s.min_lod, s.max_lod, s.max_anisotropy].map(f32::to_bits);
    let words = [
        s.mag_filter,
        s.min_filter,
        s.mipmap_mode,
        s.compare_enable,
        s.compare_op,
        s.border_is_int,
        s.unnormalized,
        s.reduction,
        s.non_seamless,
    ];
    [&floats[..], &words, &s.address_mode, &s.border_color].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_descriptions_have_equal_words_and_words_are_not_reused() {
        let mut objects: HeapObjects<u32, Box<u32>> = HeapObjects::new(4, std::ptr::null()).unwrap();
        let word = |objects: &mut HeapObjects<u32, Box<u32>>, key: u32| {
            objects.word((key.into(), key), || Ok(Box::new(key)), |object| (&raw const **object).cast())
        };
        let first = word(&mut objects, 7).unwrap();
        assert_eq!(word(&mut objects, 7), Ok(first));
        let second = word(&mut objects, 8).unwrap();
        assert!(first != second && first != 0 && word(&mut objects, 9).is_ok());
        assert_eq!(word(&mut objects, 10), Err(vk::Result::ERROR_OUT_OF_HOST_MEMORY));
        objects.remove_owned_by(7..=7);
        let again = word(&mut objects, 7).unwrap();
        assert!(again != first && again & 0xff == first & 0xff, "another word in the same entry");
    }

    #[test]
    fn colours_are_registered_with_the_requested_numbers() {
        let heaps = DescriptorHeaps::new().unwrap();
        assert_eq!(heaps.register_color(Some(0), 3), Ok(0));
        assert_eq!(heaps.register_color(None, 3), Ok(1));
        assert_eq!(heaps.register_color(Some(1), 3), Err(vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS));
        assert_eq!(heaps.register_color(None, 3), Ok(2));
        assert_eq!(heaps.register_color(None, 3), Err(vk::Result::ERROR_TOO_MANY_OBJECTS));
        heaps.unregister_color(0);
        assert_eq!(heaps.register_color(None, 3), Ok(0));
    }
}
