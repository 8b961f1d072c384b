//! The libraries that a binary for Windows needs.

use crate::Result;
use object::LittleEndian;
use object::read::pe::PeFile64;

/// Libraries of Windows 10, as the beginnings of their names in lower case.
const SYSTEM: [&str; 11] = [
    "advapi32.dll",
    "api-ms-win-core-",
    "bcrypt.dll",
    "bcryptprimitives.dll",
    "gdi32.dll",
    "kernel32.dll",
    "msvcrt.dll",
    "ntdll.dll",
    "user32.dll",
    "userenv.dll",
    "ws2_32.dll",
];

/// Returns the first library that a binary of 64 bits needs and that is no part of Windows.
///
/// # Errors
/// Returns a message if the bytes are no such binary, or if it needs no library at all.
pub fn foreign(bytes: &[u8]) -> Result<Option<String>> {
    let names = libraries(bytes).map_err(|e| format!("the binary is not understood: {e}"))?;
    if names.is_empty() {
        return Err("the binary needs no library of Windows".to_owned());
    }
    Ok(names.into_iter().find(|name| !SYSTEM.iter().any(|begin| name.to_lowercase().starts_with(begin))))
}

fn libraries(bytes: &[u8]) -> object::Result<Vec<String>> {
    let file = PeFile64::parse(bytes)?;
    let mut names = Vec::new();
    if let Some(table) = file.import_table()? {
        let mut descriptors = table.descriptors()?;
        while let Some(descriptor) = descriptors.next()? {
            let name = table.name(descriptor.name.get(LittleEndian))?;
            names.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_formats_are_refused() {
        let program = std::env::current_exe().and_then(std::fs::read).expect("this program");
        assert!(foreign(&program).is_err() && foreign(b"MZ").is_err());
    }
}
