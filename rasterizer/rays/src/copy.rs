//! Copies of structures: clones, compaction, serialization and deserialization.

#![forbid(unsafe_code)]

use crate::build::BuildError;
use crate::instance::{LiveStructures, REFERENCE};
use crate::layout::{Contents, HEADER_BYTES, Header, INSTANCE_BYTES};
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

/// Sizes of serialized data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SerializedSizes {
    /// Number of bytes of the data.
    pub size: u64,
    /// Number of handles of bottom-level structures in it: one for each active instance, in the
    /// order of the instances.
    pub handles: u64,
}

/// Returns the references of a structure's active instances, with their offsets.
fn references(structure: DeviceMemory, header: &Header) -> impl Iterator<Item = (u64, u64)> + use<> {
    let instances = if header.contents == Contents::Instances { header.leaves } else { 0 };
    let first = header.leaves_offset + REFERENCE as u64 * 4;
    (0..instances).filter_map(move |i| {
        let offset = first + u64::from(i) * INSTANCE_BYTES;
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
    let handles = references(structure, &header).count() as u64;
    SerializedSizes { size: SERIAL_HEADER + handles * 8 + header.size, handles }
}

/// Serializes a structure.
///
/// # Errors
/// The source is no structure of this version, or the target is smaller.
pub fn serialize(target: DeviceMemory, source: DeviceMemory, version: &Version) -> Result<(), BuildError> {
    let header = header(source).ok_or(BuildError::InvalidSource)?;
    let mut handles = 0;
    for (_, reference) in references(source, &header) {
        if !target.write(SERIAL_HEADER + handles * 8, &reference.to_le_bytes()) {
            return Err(BuildError::TargetTooSmall);
        }
        handles += 1;
    }
    let data = SERIAL_HEADER + handles * 8;
    let mut bytes = [0; SERIAL_HEADER as usize];
    bytes[..16].copy_from_slice(&version.driver);
    bytes[16..32].copy_from_slice(&version.format);
    bytes[32..40].copy_from_slice(&(data + header.size).to_le_bytes());
    bytes[40..48].copy_from_slice(&header.size.to_le_bytes());
    bytes[48..].copy_from_slice(&handles.to_le_bytes());
    let written = target.write(0, &bytes)
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
    let handles = read_u64(source, 48).unwrap_or(u64::MAX);
    let data = handles.checked_mul(8).and_then(|bytes| bytes.checked_add(SERIAL_HEADER));
    let Some(data) = data.filter(|_| version.is_compatible(&version_data)) else {
        return Err(BuildError::InvalidSource);
    };
    let structure = source.slice(data, u64::MAX);
    let header = copy_structure(target, structure)?;
    for (number, (offset, _)) in references(target, &header).enumerate() {
        let handle = read_u64(source, SERIAL_HEADER + number as u64 * 8).filter(|_| (number as u64) < handles);
        let found = handle.and_then(|handle| structures.find(handle));
        target.write(offset, &found.map_or(0, |found| found.address).to_le_bytes());
    }
    Ok(header)
}
