//! Copies of structures: clones, compaction, serialization and deserialization.

#![forbid(unsafe_code)]

use crate::build::BuildError;
use crate::instance::{LiveStructures, REFERENCE};
use crate::layout::{Contents, HEADER_BYTES, Header, MICROMAP_ADDRESS_BYTES};
use crate::motion::MOTION_REFERENCE;
use base::mem::DeviceMemory;

/// Returns the header of a structure, if it lies inside of its memory.
pub fn header(structure: DeviceMemory) -> Option<Header> {
    let mut bytes = [0; HEADER_BYTES as usize];
    let header = structure.read(0, &mut bytes).then(|| Header::decode(&bytes)).flatten()?;
    header.fits(structure.len()).then_some(header)
}

/// Returns the number of bytes that a copy of a structure requires, which is also its compacted
/// size: builds leave no gaps, so only the memory behind the structure is given up.
pub fn compacted_size(structure: DeviceMemory) -> u64 {
    header(structure).map_or(0, |header| header.size)
}

/// Copies or compacts a structure, and returns its header.
///
/// # Errors
/// The source is no structure of this version, or the target is smaller.
pub fn copy_structure(target: DeviceMemory, source: DeviceMemory) -> Result<Header, BuildError> {
    let header = header(source).ok_or(BuildError::InvalidSource)?;
    if target.address() != source.address() && !target.copy_from(0, source, 0, header.size) {
        return Err(BuildError::TargetTooSmall);
    }
    // The source may have changed since its header was read.
    target.write(0, &header.encode());
    Ok(header)
}

/// The two UUIDs of serialized data (`VkAccelerationStructureVersionInfoKHR`): those of the driver
/// and of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// UUID of the driver.
    pub driver: [u8; 16],
    /// UUID of the format of structures.
    pub format: [u8; 16],
}

impl Version {
    /// Returns the version with the given driver's UUID. The format's UUID depends on the format's
    /// version only, so that data can be loaded on every processor.
    pub fn new(driver: [u8; 16]) -> Version {
        let mut format = *b"Grus rays\0\0\0\0\0\0\0";
        format[12..].copy_from_slice(&crate::layout::FORMAT_VERSION.to_le_bytes());
        Version { driver, format }
    }

    /// Returns true if serialized data with these version bytes can be loaded
    /// (`vkGetDeviceAccelerationStructureCompatibilityKHR`).
    pub fn is_compatible(&self, version_data: &[u8; 32]) -> bool {
        version_data[..16] == self.driver && version_data[16..] == self.format
    }
}

/// Number of bytes of serialized data before the handles: two UUIDs, the size of the data, the size
/// of the structure, and the number of handles.
const SERIAL_HEADER: u64 = 56;
/// Number of bytes of the header of a block: its type, 0, and its number of addresses.
const BLOCK_HEADER: u64 = 16;
/// Value in place of the number of handles, if one block with the addresses of micromaps follows
/// (`VK_ACCELERATION_STRUCTURE_SERIALIZED_BLOCK_TYPE_OPACITY_MICROMAP_KHR`).
const ONE_BLOCK: u64 = 0xffff_ffff << 32 | 1;
/// Number of bytes from which [`Prefix::read`] reads.
pub const PREFIX_BYTES: u64 = SERIAL_HEADER + BLOCK_HEADER;

/// Sizes of serialized data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SerializedSizes {
    /// Number of bytes of the data.
    pub size: u64,
    /// Number of handles of bottom-level structures in it: one for each active instance, in the
    /// order of the instances.
    pub handles: u64,
}

/// The references that serialized data has in front of the structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Offset of the first reference.
    first: u64,
    /// Number of references.
    count: u64,
}

impl Prefix {
    /// Returns the prefix of a structure's serialized data.
    fn of(structure: DeviceMemory, header: &Header) -> Prefix {
        let block = if header.micromaps == 0 { 0 } else { BLOCK_HEADER };
        Prefix { first: SERIAL_HEADER + block, count: references(structure, header).count() as u64 }
    }

    /// Reads the prefix of serialized data from its first [`PREFIX_BYTES`] bytes; `None` if there
    /// are other blocks than those of this driver.
    pub fn read(source: DeviceMemory) -> Option<Prefix> {
        match read_u64(source, SERIAL_HEADER - 8)? {
            ONE_BLOCK => {
                let is_known = read_u64(source, SERIAL_HEADER)? == 0;
                let count = read_u64(source, SERIAL_HEADER + 8)?;
                is_known.then_some(Prefix { first: SERIAL_HEADER + BLOCK_HEADER, count })
            }
            count => Some(Prefix { first: SERIAL_HEADER, count }),
        }
    }

    /// Returns the offset of the structure; `None` if there is none, because of the number of
    /// references.
    pub fn end(&self) -> Option<u64> {
        self.count.checked_mul(8)?.checked_add(self.first)
    }

    /// Returns the words behind the version and the sizes.
    fn words(&self) -> [u64; 3] {
        if self.first == SERIAL_HEADER { [self.count, 0, 0] } else { [ONE_BLOCK, 0, self.count] }
    }
}

/// Returns the references of a structure's active instances, or of its geometries to micromaps,
/// with their offsets.
fn references(structure: DeviceMemory, header: &Header) -> impl Iterator<Item = (u64, u64)> + use<> {
    let instances = |word: usize| (header.leaves, header.leaves_offset + word as u64 * 4, header.contents.leaf_bytes());
    let (count, first, stride) = match header.contents {
        Contents::Instances => instances(REFERENCE),
        Contents::MotionInstances => instances(MOTION_REFERENCE),
        Contents::Triangles
        | Contents::MotionTriangles
        | Contents::Aabbs
        | Contents::Micromap
        | Contents::Spheres
        | Contents::SweptSpheres => (header.micromaps, header.leaves_end(), MICROMAP_ADDRESS_BYTES),
    };
    (0..count).filter_map(move |i| {
        let offset = first + u64::from(i) * stride;
        let reference = read_u64(structure, offset)?;
        (reference != 0).then_some((offset, reference))
    })
}

fn read_u64(memory: DeviceMemory, offset: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    memory.read(offset, &mut bytes).then(|| u64::from_le_bytes(bytes))
}

/// Returns the sizes of a structure's serialized data; 0 if it is none.
pub fn serialized_sizes(structure: DeviceMemory) -> SerializedSizes {
    let Some(header) = header(structure) else { return SerializedSizes { size: 0, handles: 0 } };
    let prefix = Prefix::of(structure, &header);
    let handles = if header.contents.is_top_level() { prefix.count } else { 0 };
    SerializedSizes { size: prefix.end().unwrap_or(0) + header.size, handles }
}

/// Serializes a structure.
///
/// # Errors
/// The source is no structure of this version, or the target is smaller.
pub fn serialize(target: DeviceMemory, source: DeviceMemory, version: &Version) -> Result<(), BuildError> {
    let header = header(source).ok_or(BuildError::InvalidSource)?;
    let mut prefix = Prefix { count: 0, ..Prefix::of(source, &header) };
    for (_, reference) in references(source, &header) {
        if !target.write(prefix.first + prefix.count * 8, &reference.to_le_bytes()) {
            return Err(BuildError::TargetTooSmall);
        }
        prefix.count += 1;
    }
    let data = prefix.first + prefix.count * 8;
    let mut bytes = [0; PREFIX_BYTES as usize];
    bytes[..16].copy_from_slice(&version.driver);
    bytes[16..32].copy_from_slice(&version.format);
    bytes[32..40].copy_from_slice(&(data + header.size).to_le_bytes());
    bytes[40..48].copy_from_slice(&header.size.to_le_bytes());
    for (to, word) in bytes[48..].as_chunks_mut::<8>().0.iter_mut().zip(prefix.words()) {
        *to = word.to_le_bytes();
    }
    let written = target.write(0, &bytes[..prefix.first as usize])
        && target.copy_from(data, source, 0, header.size)
        && target.write(data, &header.encode());
    if written { Ok(()) } else { Err(BuildError::TargetTooSmall) }
}

/// Makes a structure of serialized data, whose handles the application has replaced by those of
/// bottom-level structures of this process, and returns its header. A handle that `structures` does
/// not find leaves the instance inactive.
///
/// # Errors
/// The data is of another version, or is not complete; or the target is smaller.
pub fn deserialize(
    target: DeviceMemory,
    source: DeviceMemory,
    version: &Version,
    structures: &dyn LiveStructures,
) -> Result<Header, BuildError> {
    let mut bytes = [0; SERIAL_HEADER as usize];
    let mut version_data = [0; 32];
    if !source.read(0, &mut bytes) {
        return Err(BuildError::InvalidSource);
    }
    version_data.copy_from_slice(&bytes[..32]);
    let prefix = Prefix::read(source).filter(|_| version.is_compatible(&version_data));
    let prefix = prefix.ok_or(BuildError::InvalidSource)?;
    let data = prefix.end().ok_or(BuildError::InvalidSource)?;
    let structure = source.slice(data, u64::MAX);
    let header = copy_structure(target, structure)?;
    for (number, (offset, _)) in references(target, &header).enumerate() {
        let number = number as u64;
        let handle = read_u64(source, prefix.first + number * 8).filter(|_| number < prefix.count);
        let found = handle.and_then(|handle| structures.find(handle));
        target.write(offset, &found.map_or(0, |found| found.address).to_le_bytes());
    }
    Ok(header)
}
