//! Lists the cases that deqp itself has, and how many each group has. A complete run must have run
//! all of them.
//!
//! deqp takes minutes to list all 3.2 million cases. The complete list is therefore stored in the
//! folder of the results, under the build of deqp and its arguments. Names are streamed, and only
//! the selected ones are kept in memory.

use super::caselist::Selection;
use super::error::{At, Error, Result};
use super::names::Names;
use super::portion::hash;
use super::process::{self, ProcessGroup};
use super::shard::Launch;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The selected cases and the size of each group.
#[derive(Debug, Default)]
pub struct Listing {
    /// Names of the selected cases, in the order of the lists.
    pub names: Names,
    /// Number of cases per [`table_group`], of all portions, with the filters applied. Empty if
    /// lists define the cases.
    pub totals: BTreeMap<String, u64>,
}

/// Returns the group in which a case is counted: the first two components of its name.
pub fn table_group(name: &str) -> &str {
    let second = name.match_indices('.').nth(1).map(|(dot, _)| dot);
    second.or_else(|| name.find('.')).map_or(name, |end| &name[..end])
}

/// Returns the cases of a selection without lists. `build` is the identity of deqp, `folder` the
/// place of the complete list.
pub fn of_deqp(selection: &Selection, launch: &Launch, build: &str, folder: &Path) -> Result<Listing> {
    let kept = place(launch, build, folder);
    let mut collector = Collector { selection, seen: HashSet::new(), listing: Listing::default() };
    if kept.exists() {
        for line in BufReader::new(File::open(&kept).at(&kept)?).lines() {
            collector.name(&line.at(&kept)?);
        }
    } else if selection.groups.is_empty() && selection.cases.is_empty() {
        // The list is written to a temporary file and then renamed, because a killed run may leave
        // an incomplete list.
        let part = kept.with_extension("part");
        let mut file = BufWriter::new(File::create(&part).at(&part)?);
        let mut written = Ok(());
        list_cases(selection, launch, &mut |name| {
            if written.is_ok() {
                written = writeln!(file, "{name}");
            }
            collector.name(name);
        })?;
        written.and_then(|()| file.flush()).at(&part)?;
        std::fs::rename(&part, &kept).at(&kept)?;
    } else {
        list_cases(selection, launch, &mut |name| collector.name(name))?;
    }
    match collector.listing.names.is_empty() {
        true => Err(Error::Usage("no case is selected: check --group, --case and --portion".into())),
        false => Ok(collector.listing),
    }
}

/// Returns the path of the complete list.
fn place(launch: &Launch, build: &str, folder: &Path) -> PathBuf {
    let mut key = build.to_string();
    if !launch.arguments.is_empty() {
        key += &format!("-{:016x}", hash(launch.arguments.join("\n").as_bytes()));
    }
    folder.join(format!("cases-{key}.txt"))
}

/// Runs deqp to list its cases.
fn list_cases(selection: &Selection, launch: &Launch, each: &mut dyn FnMut(&str)) -> Result<()> {
    const LAST: usize = 5;
    let mut command = launch.command();
    command.arg("--deqp-runmode=stdout-caselist").arg("--deqp-log-filename=/dev/null").args(&launch.arguments);
    command.args(selection.deqp_patterns().map(|patterns| format!("--deqp-case={patterns}")));
    let mut group = ProcessGroup::start(&mut command)?;
    let mut last = VecDeque::new();
    if let Some(output) = group.output() {
        process::lines(output, |line| match line.strip_prefix("TEST: ") {
            Some(name) => each(name),
            None => {
                last.push_back(line.to_string());
                last.drain(..last.len().saturating_sub(LAST));
            }
        });
    }
    match group.wait() {
        Some(status) if status.success() => Ok(()),
        status => {
            let how = status.map(process::describe).unwrap_or_default();
            let last = Vec::from(last).join("\n");
            Err(Error::Usage(format!("deqp cannot list its cases, {how}; give --caselist. It printed last:\n{last}")))
        }
    }
}

struct Collector<'a> {
    selection: &'a Selection,
    seen: HashSet<u64>,
    listing: Listing,
}

impl Collector<'_> {
    fn name(&mut self, name: &str) {
        if !self.selection.is_selected(name) || !self.seen.insert(hash(name.as_bytes())) {
            return;
        }
        let group = table_group(name);
        match self.listing.totals.get_mut(group) {
            Some(total) => *total += 1,
            None => drop(self.listing.totals.insert(group.into(), 1)),
        }
        if self.selection.portion.is_none_or(|portion| portion.contains_case(name)) {
            self.listing.names.insert(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_the_table_are_two_components() {
        assert_eq!(table_group("dEQP-VK.api.smoke.triangle"), "dEQP-VK.api");
        assert_eq!(table_group("dEQP-VK.api.x"), "dEQP-VK.api");
        assert_eq!(table_group("dEQP-VK.x"), "dEQP-VK");
        assert_eq!(table_group("x"), "x");
    }
}
