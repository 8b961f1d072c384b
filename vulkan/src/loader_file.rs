//! A file with the name of the Vulkan loader that stands for the driver's library.
//!
//! A program finds a library by the name `libvulkan.so.1` only if a folder of the linker has a file
//! of that name, or if a library with that name in its dynamic section (`DT_SONAME`) is part of the
//! process. The file is such a library. It has no code, and needs the driver's library, so that
//! `dlsym` on its handle finds the driver's symbols. The driver's library itself cannot have the
//! name, because `ldconfig` would make it the loader of the whole system.

#![forbid(unsafe_code)]

/// Name of the loader's library.
pub const LOADER: &str = "libvulkan.so.1";

/// `EM_X86_64` of the ELF format.
pub const X86_64: u16 = 62;
/// `EM_AARCH64` of the ELF format.
pub const AARCH64: u16 = 183;

const HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;
const SYMBOL: u64 = 24;
/// The largest page of the supported systems.
const PAGE: u64 = 1 << 16;

/// Returns the file for a machine of the ELF format. The driver's library is a path, or a name that
/// is searched in a folder: `$ORIGIN` is that of the file.
///
/// The parts are the ELF header, three program headers, a symbol table with the null symbol, a hash
/// table of it, the strings, and the dynamic section (System V ABI, chapters 4 and 5). The linker
/// writes addresses into the dynamic section, so the segment is writable.
pub fn loader_file(machine: u16, library: &str, folder: Option<&str>) -> Vec<u8> {
    const NEEDED: u64 = 1;
    const RUNPATH: u64 = 29;
    let mut strings = vec![0u8];
    let mut string = |text: &str| {
        let at = strings.len() as u64;
        strings.extend(text.bytes());
        strings.push(0);
        at
    };
    let mut dynamic = vec![(NEEDED, string(library)), (14, string(LOADER))];
    dynamic.extend(folder.map(|folder| (RUNPATH, string(folder))));
    let symbols = HEADER + 3 * PROGRAM_HEADER;
    let hash = symbols + SYMBOL;
    let text = hash + 16;
    let used = strings.len() as u64;
    strings.resize(strings.len().next_multiple_of(8), 0);
    let section = text + strings.len() as u64;
    // DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT, DT_NULL.
    dynamic.extend([(4, hash), (5, text), (6, symbols), (10, used), (11, SYMBOL), (0, 0)]);
    let size = 16 * dynamic.len() as u64;
    let end = section + size;

    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    // ET_DYN, the machine, version 1; no entry, the program headers, no sections, no flags.
    file.extend([3u16, machine].iter().flat_map(|half| half.to_le_bytes()));
    file.extend(1u32.to_le_bytes());
    file.extend([0, HEADER, 0].iter().flat_map(|word: &u64| word.to_le_bytes()));
    file.extend(0u32.to_le_bytes());
    file.extend([64u16, 56, 3, 64, 0, 0].iter().flat_map(|half| half.to_le_bytes()));
    // PT_LOAD, PT_DYNAMIC and PT_GNU_STACK, readable and writable.
    for (kind, offset, size, align) in [(1u32, 0, end, PAGE), (2, section, size, 8), (0x6474_e551, 0, 0, 16)] {
        file.extend([kind, 6].iter().flat_map(|word| word.to_le_bytes()));
        file.extend([offset, offset, offset, size, size, align].iter().flat_map(|word: &u64| word.to_le_bytes()));
    }
    file.extend([0; SYMBOL as usize]);
    // One bucket, one symbol, both empty.
    file.extend([1u32, 1, 0, 0].iter().flat_map(|word| word.to_le_bytes()));
    file.extend(strings);
    file.extend(dynamic.iter().flat_map(|(tag, value)| [*tag, *value]).flat_map(u64::to_le_bytes));
    debug_assert_eq!(file.len() as u64, end);
    file
}
