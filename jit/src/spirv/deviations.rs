//! Table of violations of the specification that are accepted all the same. Old optimisers produced
//! them, programs in the field contain them, and each has only one possible meaning. The
//! application gets a warning.
//!
//! Rules that the validator (`validate`) does not check, because only the Vulkan environment
//! requires them, are not deviations in this sense.

use super::module::{Function, Merge, Module};

/// A row of [`DEVIATIONS`].
#[derive(Debug)]
struct DeviationRow {
    /// Rule that is violated, with the section of the SPIR-V specification.
    rule: &'static str,
    /// Meaning that the translation gives to the violation.
    meaning: &'static str,
    /// Returns the label of a block that violates the rule.
    find: fn(&Function) -> Option<u32>,
}

static DEVIATIONS: &[DeviationRow] = &[
    // This deviation comes from spirv-opt of 2018 to 2020, in modules of Unreal Engine 4 and of
    // DXC. `Structurer::merged` implements its meaning.
    DeviationRow {
        rule: "the merge block of a construct is the continue target of a loop around it (2.11)",
        meaning: "the end of the construct continues the loop",
        find: merge_is_continue_target,
    },
];

/// A deviation in a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    row: usize,
    id: u32,
}

impl std::fmt::Display for Deviation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let DeviationRow { rule, meaning, .. } = &DEVIATIONS[self.row];
        write!(f, "%{}: {rule}: accepted, {meaning}", self.id)
    }
}

impl Module {
    /// Returns the deviations of the module, the first one of each kind.
    pub fn deviations(&self) -> Vec<Deviation> {
        let first = |(row, of): (usize, &DeviationRow)| {
            let id = self.functions.iter().filter(|f| f.blocks.len() > 1).find_map(of.find)?;
            Some(Deviation { row, id })
        };
        DEVIATIONS.iter().enumerate().filter_map(first).collect()
    }
}

fn merge_is_continue_target(f: &Function) -> Option<u32> {
    let mut continues = vec![false; f.blocks.len()];
    for block in &f.blocks {
        if let Merge::Loop { cont, .. } = block.merge {
            continues[cont as usize] = true;
        }
    }
    let merge = |merge: Merge| match merge {
        Merge::None => None,
        Merge::Selection(merge) | Merge::Loop { merge, .. } => Some(merge),
    };
    f.blocks.iter().find(|b| merge(b.merge).is_some_and(|merge| continues[merge as usize])).map(|b| b.label)
}
