//! Identities of files and machines, by which a ledger distinguishes builds and hosts.

use super::error::{At, Result};
use crate::fnv::Fnv;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// Returns the identity of a library or program. This is the linker's build id (`readelf -n`) in
/// hexadecimal, which copies of the file keep. A file without one has `content-` and a hash of all
/// bytes.
pub fn of_file(path: &Path) -> Result<String> {
    let mut file = File::open(path).at(path)?;
    if let Some(id) = build_id(&mut file) {
        return Ok(id.iter().map(|byte| format!("{byte:02x}")).collect());
    }
    file.rewind().at(path)?;
    let mut hash = Fnv::default();
    let mut reader = BufReader::new(file);
    let mut buffer = [0; 64 << 10];
    loop {
        let count = reader.read(&mut buffer).at(path)?;
        if count == 0 {
            return Ok(format!("content-{:016x}", hash.0));
        }
        hash.write(&buffer[..count]);
    }
}

/// Maximum size in bytes of a table that is read; a real file has a much smaller one.
const TABLE: u64 = 1 << 20;

/// Returns the NT_GNU_BUILD_ID note of a 64-bit little-endian ELF file; `None` for any other file.
fn build_id(file: &mut (impl Read + Seek)) -> Option<Vec<u8>> {
    const PT_NOTE: u64 = 4;
    let head = bytes(file, 0, 64)?;
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (at, size, count) = (number(&head, 32, 8)?, number(&head, 54, 2)?, number(&head, 56, 2)?);
    let table = bytes(file, at, size * count)?;
    let headers = table.chunks_exact(usize::try_from(size).ok().filter(|&size| size >= 56)?);
    let notes = headers.filter(|header| number(header, 0, 4) == Some(PT_NOTE));
    let places: Vec<_> = notes.filter_map(|header| Some((number(header, 8, 8)?, number(header, 32, 8)?))).collect();
    places.into_iter().find_map(|(at, length)| gnu_build_id(&bytes(file, at, length)?).map(<[u8]>::to_vec))
}

fn bytes(file: &mut (impl Read + Seek), at: u64, length: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).ok().filter(|_| length <= TABLE)?];
    file.seek(SeekFrom::Start(at)).ok()?;
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns the little-endian number of up to 8 bytes at an offset.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

/// Returns the build id among the notes of a segment.
fn gnu_build_id(mut notes: &[u8]) -> Option<&[u8]> {
    const NT_GNU_BUILD_ID: u64 = 3;
    loop {
        let word = |i: usize| usize::try_from(number(notes, i * 4, 4)?).ok();
        let (name, length, kind) = (word(0)?, word(1)?, number(notes, 8, 4)?);
        let at = 12_usize.checked_add(name.checked_next_multiple_of(4)?)?;
        let end = at.checked_add(length)?;
        if kind == NT_GNU_BUILD_ID && notes.get(12..12 + name)? == b"GNU\0" {
            return notes.get(at..end);
        }
        notes = notes.get(end.checked_next_multiple_of(4)?..)?;
    }
}

/// Describes this machine in one line: processor, number of its threads, width of its vectors.
pub fn host() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {cores} threads, {}-bit vectors", processor(&cpuinfo), vector_bits())
}

fn processor(cpuinfo: &str) -> String {
    let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let name = lines.find(|(key, _)| key.trim() == "model name").map(|(_, name)| name.to_string());
    let words = name.unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH));
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn vector_bits() -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            return 512;
        }
        if is_x86_feature_detected!("avx2") {
            return 256;
        }
    }
    128
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// Returns an ELF file with one note segment.
    fn elf(notes: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 64 + 56];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[32] = 64;
        file[54] = 56;
        file[56] = 1;
        file[64] = 4;
        file[64 + 8] = 120;
        file[64 + 32] = u8::try_from(notes.len()).unwrap();
        file.extend(notes);
        file
    }

    #[test]
    fn the_build_id_note_is_found_and_truncated_files_are_harmless() {
        let mut notes = Vec::new();
        for (kind, text) in [(1_u32, &b"abcde"[..]), (3, b"0123456789abcdef0123")] {
            notes.extend([4, text.len() as u32, kind].iter().flat_map(|word| word.to_le_bytes()));
            notes.extend(b"GNU\0");
            notes.extend(text);
            notes.resize(notes.len().next_multiple_of(4), 0);
        }
        let file = elf(&notes);
        assert_eq!(build_id(&mut Cursor::new(&file)).as_deref(), Some(&b"0123456789abcdef0123"[..]));
        for cut in 0..file.len() {
            assert_eq!(build_id(&mut Cursor::new(&file[..cut])), None, "{cut}");
        }
        for at in 0..file.len() {
            let mut file = file.clone();
            file[at] = 0xff;
            build_id(&mut Cursor::new(&file));
        }
    }

    #[test]
    fn files_differ_by_their_bytes() {
        let folder = std::env::temp_dir().join(format!("cts-identity-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let of = |text: &str| {
            std::fs::write(folder.join("x"), text).unwrap();
            of_file(&folder.join("x")).unwrap()
        };
        assert_eq!(of(""), "content-cbf29ce484222325");
        assert_ne!(of("one"), of("two"));
        assert!(of_file(&folder.join("nothing")).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
        // The linker may have written a build id into this program. Otherwise its identity is a
        // hash of its bytes.
        assert!(of_file(&std::env::current_exe().unwrap()).unwrap().len() >= 16);
    }

    #[test]
    fn the_host_is_one_line() {
        assert_eq!(processor("processor : 0\nmodel name\t: Fast   CPU(R) 9\n"), "Fast CPU(R) 9");
        assert!(host().contains("-bit vectors") && !host().contains(['\n', '\t']));
    }
}
