//! Tests that every command of an advertised extension or version is in the command table
//! (`generated/commands.rs`).

use super::extensions::{Dependency, EXTENSIONS, Extension as E};
use super::{V1_1, V1_2, V1_3, V1_4};
use crate::entry::table;
use crate::ffi::table::Requirement as Provider;
use Dependency::{Core, Ext};

macro_rules! commands {
    ($([$($need:expr),*]: $($command:ident)*;)*) => {
        /// Commands, with the needs that together provide them.
        static COMMANDS: &[(&[Dependency], &[&str])] = &[$((&[$($need),*], &[$(stringify!($command)),*])),*];
    };
}

include!("generated/commands.rs");

#[test]
fn core_versions_have_their_commands() {
    let mut checked = 0;
    for (needs, commands) in COMMANDS {
        let [Dependency::Core(version)] = needs else { continue };
        for command in *commands {
            let need = table::find(command.as_bytes()).map(|(_, need)| need);
            assert_eq!(need, Some(Provider::Core(*version)), "{command}");
            checked += 1;
        }
    }
    assert!(checked > 90, "{checked} commands");
}

#[test]
fn advertised_extensions_have_their_commands() {
    for (needs, commands) in COMMANDS.iter().filter(|(needs, _)| needs.iter().all(Dependency::is_met)) {
        for command in *commands {
            assert!(table::find(command.as_bytes()).is_some(), "{needs:?} without {command}");
        }
    }
}

/// Checks that an extension on which alone a command depends makes it visible, whichever other
/// extensions have it too.
#[test]
fn each_extension_provides_its_commands() {
    let mut checked = 0;
    for (needs, commands) in COMMANDS.iter().filter(|(needs, _)| needs.iter().all(Dependency::is_met)) {
        let [Ext(extension)] = needs else { continue };
        for command in *commands {
            let need = table::find(command.as_bytes()).map(|(_, need)| need).expect("a row");
            assert!(need.extensions().contains(&extension.row().name), "{extension:?} does not provide {command}");
            checked += 1;
        }
    }
    assert!(checked > 200, "{checked} commands");
}

#[test]
fn table_names_only_known_extensions() {
    for row in table::TABLES.into_iter().flatten() {
        for (name, need) in row.names {
            for extension in need.extensions() {
                let known = EXTENSIONS.iter().any(|e| e.name == *extension);
                assert!(known, "{name} needs {extension}, which has no row");
            }
        }
    }
}
