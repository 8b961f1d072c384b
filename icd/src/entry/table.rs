//! The command table: all rows.

#![forbid(unsafe_code)]

use super::*;
use crate::ffi::table::{CommandRow, Requirement};

/// Tables of all families.
pub static TABLES: [&[CommandRow]; 37] = [
    instance::COMMANDS,
    physical_device::COMMANDS,
    device::COMMANDS,
    device_fault::COMMANDS,
    resource::COMMANDS,
    sparse::COMMANDS,
    descriptor::COMMANDS,
    descriptor_buffer::COMMANDS,
    descriptor_heap::COMMANDS,
    cooperative_vector::COMMANDS,
    deferred_operation::COMMANDS,
    acceleration_structure::COMMANDS,
    micromap::COMMANDS,
    pipeline::COMMANDS,
    ray_tracing::COMMANDS,
    pipeline_binary::COMMANDS,
    pipeline_executable::COMMANDS,
    shader_object::COMMANDS,
    stage_source::COMMANDS,
    validation_cache::COMMANDS,
    render_pass::COMMANDS,
    sync::COMMANDS,
    command_buffer::COMMANDS,
    cmd_state::COMMANDS,
    cmd_extended_state::STATE3,
    cmd_extended_state::COMMANDS,
    cmd_draw::COMMANDS,
    cmd_transform_feedback::COMMANDS,
    cmd_transfer::COMMANDS,
    cmd_address::COMMANDS,
    generated_commands::COMMANDS,
    calibration::COMMANDS,
    external::COMMANDS,
    HANDLES,
    host_image_copy::COMMANDS,
    WSI,
    crate::wsi::WINDOW_COMMANDS,
];

/// Rows of commands for the system's handles.
#[cfg(unix)]
const HANDLES: &[CommandRow] = external_fd::COMMANDS;
/// Rows of commands for the system's handles.
#[cfg(windows)]
const HANDLES: &[CommandRow] = external_win32::COMMANDS;

/// Rows of window system commands.
const WSI: &[CommandRow] = crate::wsi::COMMANDS;

/// A name: the position of its text and its length (0 in a free slot), and the position of its row:
/// table, row, number among the row's names.
#[derive(Clone, Copy)]
struct NameSlot {
    text: u16,
    length: u8,
    table: u8,
    row: u8,
    number: u8,
}

/// Number of slots, more than twice the number of names.
const SLOTS: usize = 2048;
const FREE_SLOT: NameSlot = NameSlot { text: 0, length: 0, table: 0, row: 0, number: 0 };

/// Names by their hash, in the next free slot, and their texts.
///
/// The compiler makes it, because a table made at run time would touch more memory than all that an
/// instance needs before its first device. Texts are duplicated here, because those of the rows are
/// spread over the constants: a program's first query for a command would wait for further pages.
/// The parts that an instance's queries read, all slots and the first texts, never cross a border
/// between two of the pieces (16 pages of 4 KiB) in which the system reads the file. Sections of
/// Windows's object files are aligned to 8 KiB at most, so that some may cross one there.
#[cfg_attr(not(windows), repr(align(0x4000)))]
#[cfg_attr(windows, repr(align(0x2000)))]
struct Index {
    slots: [NameSlot; SLOTS],
    text: [u8; TEXT],
}

static INDEX: Index = index();

/// Number of bytes for the texts of all names.
const TEXT: usize = 1 << 15;

const fn index() -> Index {
    let mut index = Index { slots: [FREE_SLOT; SLOTS], text: [0; TEXT] };
    let (mut count, mut text, mut table) = (0, 0, 0);
    while table < TABLES.len() {
        let mut row = 0;
        while row < TABLES[table].len() {
            let names = TABLES[table][row].names;
            let mut number = 0;
            while number < names.len() {
                let name = names[number].0.as_bytes();
                let mut slot = slot_of(name);
                while index.slots[slot].length != 0 {
                    slot = (slot + 1) % SLOTS;
                }
                assert!(!name.is_empty() && name.len() < 256, "a name's length is a byte");
                let (length, begin) = (name.len() as u8, text as u16);
                index.slots[slot] =
                    NameSlot { text: begin, length, table: table as u8, row: row as u8, number: number as u8 };
                let mut i = 0;
                while i < name.len() {
                    index.text[text + i] = name[i];
                    i += 1;
                }
                (count, number, text) = (count + 1, number + 1, text + name.len());
            }
            row += 1;
        }
        assert!(row <= 256, "a row's number is a byte");
        table += 1;
    }
    assert!(count <= SLOTS / 2, "a search ends at a free slot, soon");
    index
}

/// Returns the slot where the search for a name begins. The hash multiplies words of eight bytes,
/// the last of which may overlap the one before it. (Hashing byte by byte is a long chain of
/// products, which takes a sixth of the time of an instance.)
const fn slot_of(name: &[u8]) -> usize {
    const HASH_MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let (mut hash, mut at) = (name.len() as u64, 0);
    while at < name.len() {
        let begin = if at + 8 > name.len() { name.len().saturating_sub(8) } else { at };
        hash = (hash ^ hash >> 29 ^ word(name, begin)).wrapping_mul(HASH_MULTIPLIER);
        at += 8;
    }
    (hash >> (u64::BITS - SLOTS.trailing_zeros())) as usize
}

/// Returns eight bytes of a name from a position on, or as many as it has.
const fn word(name: &[u8], begin: usize) -> u64 {
    if let Some((_, rest)) = name.split_at_checked(begin)
        && let Some(eight) = rest.first_chunk()
    {
        return u64::from_le_bytes(*eight);
    }
    let (mut word, mut i) = (0, begin);
    while i < name.len() {
        word = word << 8 | name[i] as u64;
        i += 1;
    }
    word
}

/// Finds a row by any of its names.
///
/// It is inlined into its callers, which are placed beside the other code that runs at the start
/// (`vk_icdNegotiateLoaderICDInterfaceVersion`).
#[inline(always)]
pub fn find(name: &[u8]) -> Option<(&'static CommandRow, Requirement)> {
    let mut slot = slot_of(name);
    loop {
        let slot_name = INDEX.slots[slot];
        if slot_name.length == 0 {
            return None;
        }
        let text = usize::from(slot_name.text);
        if &INDEX.text[text..text + usize::from(slot_name.length)] == name {
            let row = &TABLES[usize::from(slot_name.table)][usize::from(slot_name.row)];
            return Some((row, row.names[usize::from(slot_name.number)].1));
        }
        slot = (slot + 1) % SLOTS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_well_formed() {
        let mut seen = std::collections::HashSet::new();
        for row in TABLES.into_iter().flatten() {
            assert!(!row.names.is_empty());
            for (name, need) in row.names {
                assert!(name.starts_with("vk"), "{name}");
                let (found, with) = find(name.as_bytes()).expect("a row");
                assert!(core::ptr::eq(found.names, row.names) && with == *need, "{name}");
                assert!(seen.insert(*name), "{name} has two rows");
                for extension in need.extensions() {
                    assert!(extension.starts_with("VK_"), "{name}: {extension}");
                }
            }
        }
        for unknown in ["", "vk", "vkCreateInstance2", "vkCreateInstanc", "vkcreateinstance", "vkCreateInstanc\u{e9}"] {
            assert!(find(unknown.as_bytes()).is_none(), "{unknown}");
        }
    }
}
