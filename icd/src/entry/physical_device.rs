//! Queries on the physical device; the answers are in `caps`.

use super::table::CommandRow;

/// Rows.
pub const COMMANDS: &[CommandRow] = &[];
