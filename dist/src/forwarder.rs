//! A file with the name of the Vulkan loader of Windows that stands for the driver's library.
//!
//! The file has no code: each export is forwarded to the library that has the driver (PE format,
//! "Export Address Table"). The system searches that library by its name among those of the process
//! and in the folders of the program, so that both files lie beside a program, or a process has
//! loaded the library before.

use crate::Result;
use object::read::pe::PeFile64;

/// Name of the loader's library.
pub const LOADER: &str = "vulkan-1.dll";

const HEADERS: u32 = 0x200;
const FILE_ALIGNMENT: u32 = 0x200;
const PAGE: u32 = 0x1000;
/// Size of the optional header with its sixteen directories.
const OPTIONAL: u16 = 240;
/// Size of the export directory table.
const DIRECTORY: u32 = 40;

/// Returns the file that forwards the commands of a library.
///
/// # Errors
/// Returns a message if the bytes are no library of 64 bits that exports commands of Vulkan.
pub fn forwarder(library: &[u8], name: &str) -> Result<Vec<u8>> {
    let commands = commands(library).map_err(|e| format!("{name} is not understood: {e}"))?;
    if commands.is_empty() {
        return Err(format!("{name} exports no commands"));
    }
    Ok(file(&section(&commands, name.trim_end_matches(".dll"))))
}

/// Returns the names of exported commands, sorted by bytes. Names of the interface between loader
/// and driver begin with `vk_`.
fn commands(library: &[u8]) -> object::Result<Vec<String>> {
    let file = PeFile64::parse(library)?;
    let Some(table) = file.export_table()? else { return Ok(Vec::new()) };
    let names = table.exports()?.into_iter().filter_map(|export| export.name);
    let is_command = |name: &&[u8]| name.starts_with(b"vk") && name.get(2).is_some_and(u8::is_ascii_uppercase);
    let mut names: Vec<_> = names.filter(is_command).map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    names.sort();
    Ok(names)
}

/// Returns the section: the export directory table, addresses, names, ordinals, and strings.
/// An address inside of the section is that of the text to which an export is forwarded.
fn section(commands: &[String], library: &str) -> Vec<u8> {
    let count = commands.len() as u32;
    let addresses = PAGE + DIRECTORY;
    let names = addresses + 4 * count;
    let ordinals = names + 4 * count;
    let strings = ordinals + 2 * count;
    let mut text = Vec::new();
    let mut string = |value: &str| {
        let at = strings + text.len() as u32;
        text.extend(value.bytes());
        text.push(0);
        at
    };
    let own = string(LOADER);
    let targets: Vec<u32> = commands.iter().map(|name| string(&format!("{library}.{name}"))).collect();
    let named: Vec<u32> = commands.iter().map(|name| string(name)).collect();
    // No flags, time or version; the first ordinal is 1.
    let directory = [0, 0, 0, own, 1, count, count, addresses, names, ordinals];
    let words = directory.into_iter().chain(targets).chain(named);
    let mut bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    bytes.extend((0..commands.len() as u16).flat_map(u16::to_le_bytes));
    bytes.extend(text);
    bytes
}

/// Returns a library with one section that is read only.
fn file(section: &[u8]) -> Vec<u8> {
    let size = section.len() as u32;
    let mut file = b"MZ".to_vec();
    file.resize(0x3c, 0);
    file.extend(0x40u32.to_le_bytes());
    file.extend(b"PE\0\0");
    // x86-64, one section, no time, no symbols; an executable image for large addresses, a library.
    push(&mut file, &[0x8664, 1, 0, 0, 0, 0, 0, 0, OPTIONAL, 0x2022]);
    // PE32+, no code, no entry point.
    push(&mut file, &[0x20b, 0]);
    words(&mut file, &[0, size.next_multiple_of(FILE_ALIGNMENT), 0, 0, PAGE]);
    file.extend(0x1_8000_0000u64.to_le_bytes());
    words(&mut file, &[PAGE, FILE_ALIGNMENT]);
    // Versions of the system, the image and the subsystem: 6.0 is required.
    push(&mut file, &[6, 0, 0, 0, 6, 0]);
    words(&mut file, &[0, PAGE + size.next_multiple_of(PAGE), HEADERS, 0]);
    // A graphical subsystem; any address of 64 bits, no execution of data.
    push(&mut file, &[2, 0x160]);
    // Stack and heap are those of the program.
    words(&mut file, &[0; 8]);
    // No flags, sixteen directories, of which the first one has the exports.
    words(&mut file, &[0, 16, PAGE, size]);
    words(&mut file, &[0; 30]);
    file.extend(b".rdata\0\0");
    words(&mut file, &[size, PAGE, size.next_multiple_of(FILE_ALIGNMENT), HEADERS, 0, 0, 0]);
    // Initialized data that is read.
    words(&mut file, &[0x4000_0040]);
    file.resize(HEADERS as usize, 0);
    file.extend(section);
    file.resize(file.len().next_multiple_of(FILE_ALIGNMENT as usize), 0);
    file
}

fn push(file: &mut Vec<u8>, values: &[u16]) {
    file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

fn words(file: &mut Vec<u8>, values: &[u32]) {
    file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::read::pe::ExportTarget;

    #[test]
    fn commands_are_forwarded_by_name() {
        let names = ["vkA".to_owned(), "vkB".to_owned()];
        let bytes = file(&section(&names, "driver"));
        let parsed = PeFile64::parse(&bytes[..]).expect("a library");
        let table = parsed.export_table().expect("a table").expect("exports");
        for (export, name) in table.exports().expect("exports").iter().zip(&names) {
            let ExportTarget::ForwardByName(library, command) = export.target else { panic!("{export:?}") };
            assert_eq!((library, command, export.name), (&b"driver"[..], name.as_bytes(), Some(name.as_bytes())));
        }
        // A library of this kind is one that exports commands, too.
        let again = forwarder(&bytes, "vulkan-1.dll").expect("a library");
        assert!(commands(&again).expect("names") == names);
        assert!(forwarder(b"MZ", "x.dll").is_err());
    }
}
