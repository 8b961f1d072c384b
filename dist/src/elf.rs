//! The libraries and the version of glibc that a binary needs.

use crate::Result;
use object::read::elf::{Dyn, ElfFile64, FileHeader, SectionTable};
use object::{Endianness, elf};

type Header = elf::FileHeader64<Endianness>;

/// Libraries of glibc, each as the beginning of its name.
const GLIBC: [&str; 6] = ["ld-linux-", "libc.so.", "libdl.so.", "libm.so.", "libpthread.so.", "librt.so."];

/// Libraries and versions of symbols that a binary of 64 bits needs.
#[derive(Debug, Default)]
pub struct Needs {
    libraries: Vec<String>,
    versions: Vec<String>,
}

impl Needs {
    /// Reads a binary.
    ///
    /// # Errors
    /// Returns a message if the bytes are no such binary.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        read(bytes).map_err(|e| format!("the binary is not understood: {e}"))
    }

    /// Returns the newest version `GLIBC_x.y` among those of the symbols.
    ///
    /// # Errors
    /// Returns a message if there is none.
    pub fn glibc(&self) -> Result<(u32, u32)> {
        let newest = self.versions.iter().filter_map(|name| parse(name)).max();
        newest.ok_or_else(|| "the binary needs no version of glibc".to_owned())
    }

    /// Returns the first library that is no part of glibc.
    pub fn foreign(&self) -> Option<&str> {
        let is_foreign = |name: &&String| !GLIBC.iter().any(|begin| name.starts_with(begin));
        self.libraries.iter().find(is_foreign).map(String::as_str)
    }
}

fn read(bytes: &[u8]) -> object::Result<Needs> {
    let file = ElfFile64::<Endianness>::parse(bytes)?;
    let endian = file.endian();
    let sections: SectionTable<'_, Header> = file.elf_header().sections(endian, bytes)?;
    let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    let mut needs = Needs::default();
    if let Some((entries, link)) = sections.dynamic(endian, bytes)? {
        let strings = sections.strings(endian, bytes, link)?;
        for entry in entries.iter().filter(|entry| entry.tag(endian) == elf::DT_NEEDED) {
            needs.libraries.push(text(entry.string(endian, strings)?));
        }
    }
    if let Some((mut libraries, link)) = sections.gnu_verneed(endian, bytes)? {
        let strings = sections.strings(endian, bytes, link)?;
        while let Some((_, mut versions)) = libraries.next()? {
            while let Some(version) = versions.next()? {
                needs.versions.push(text(version.name(endian, strings)?));
            }
        }
    }
    Ok(needs)
}

/// Reads `GLIBC_2.28` or `GLIBC_2.2.5`.
fn parse(name: &str) -> Option<(u32, u32)> {
    let mut numbers = name.strip_prefix("GLIBC_")?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert!(parse("GLIBC_2.4") < parse("GLIBC_2.28") && parse("GLIBC_2.2.5") == Some((2, 2)));
        assert_eq!(parse("GLIBC_PRIVATE"), None);
    }

    /// This test is itself a program that needs glibc, and gcc's unwinder.
    #[test]
    fn a_program_needs_libraries_and_versions() {
        let program = std::env::current_exe().and_then(std::fs::read).expect("this program");
        let needs = Needs::read(&program).expect("a program");
        assert!(needs.libraries.iter().any(|name| name.starts_with("libc.so.")), "{:?}", needs.libraries);
        assert!(needs.glibc().expect("a version") >= (2, 2), "{:?}", needs.versions);
        assert_eq!(needs.foreign(), Some("libgcc_s.so.1"));
        assert!(Needs::read(b"no binary").is_err());
    }
}
