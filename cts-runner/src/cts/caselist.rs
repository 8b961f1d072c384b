//! Selects the cases to run. Cases come from case lists (files, patterns of files, lists of lists
//! as in the CTS's mustpass folder) or from the deqp binary ([`super::listing`]). Groups, patterns
//! and a portion filter them.
//!
//! Invariant: the selection contains no name twice and keeps the order of the lists, so
//! neighbouring cases share deqp's groups.

use super::error::{At, Error, Result};
use super::glob;
use super::names::Names;
use super::portion::Portion;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Selection of cases on the command line.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Files with case names, or patterns of such files.
    pub lists: Vec<String>,
    /// Groups, which are whole components at the beginning of a name, with or without `dEQP-VK.`.
    pub groups: Vec<String>,
    /// Patterns or exact names of cases.
    pub cases: Vec<String>,
    /// Portion of the cases that the other fields select.
    pub portion: Option<Portion>,
}

impl Selection {
    /// Returns true if the selection contains a case.
    pub fn contains_case(&self, name: &str) -> bool {
        self.is_selected(name) && self.portion.is_none_or(|portion| portion.contains_case(name))
    }

    /// Returns true if groups and patterns select a case, regardless of its portion.
    pub fn is_selected(&self, name: &str) -> bool {
        is_selected(&self.groups, &self.cases, name)
    }

    /// Returns true if no lists, groups, patterns or portion are given.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty() && self.groups.is_empty() && self.cases.is_empty() && self.portion.is_none()
    }

    /// Returns the argument of `--deqp-case` with which deqp lists the groups and patterns; `None`
    /// if that would be all cases.
    pub fn deqp_patterns(&self) -> Option<String> {
        let group = |group: &String| {
            let prefix = if group.starts_with("dEQP-") { "" } else { "dEQP-VK." };
            let group = group.trim_end_matches('.');
            [format!("{prefix}{group}"), format!("{prefix}{group}.*")]
        };
        let patterns: Vec<String> = self.groups.iter().flat_map(group).chain(self.cases.iter().cloned()).collect();
        (!patterns.is_empty()).then(|| patterns.join(","))
    }

    /// Returns the selected cases of all lists.
    pub fn read(&self) -> Result<Names> {
        let mut reader = Reader { selection: self, names: Names::default() };
        for list in &self.lists {
            for path in expand(list)? {
                reader.file(&path, 0)?;
            }
        }
        reader.done()
    }
}

/// Returns true if groups or patterns select a case. Without any of them, every case is selected.
pub fn is_selected(groups: &[String], cases: &[String], name: &str) -> bool {
    let in_group = |group: &String| {
        let name = if group.starts_with("dEQP-") { name } else { name.split_once('.').map_or(name, |(_, rest)| rest) };
        name.strip_prefix(group.trim_end_matches('.')).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    groups.is_empty() && cases.is_empty()
        || groups.iter().any(in_group)
        || cases.iter().any(|pattern| glob::matches(pattern, name))
}

struct Reader<'a> {
    selection: &'a Selection,
    names: Names,
}

impl Reader<'_> {
    fn name(&mut self, name: &str) {
        if self.selection.contains_case(name) {
            self.names.insert(name);
        }
    }

    /// Reads a list. Its lines are case names or further lists relative to its folder
    /// (`vk-default.txt` of the CTS); `#` begins a comment.
    fn file(&mut self, path: &Path, depth: u32) -> Result<()> {
        let file = BufReader::new(File::open(path).at(path)?);
        for (number, line) in file.lines().enumerate() {
            let line = line.at(path)?;
            let line = line.trim();
            let wrong = |why: &str| Error::Line { path: path.into(), line: number + 1, why: why.into() };
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let line = line.strip_prefix("TEST: ").unwrap_or(line);
            if line.ends_with(".txt") && depth < 4 {
                self.file(&path.with_file_name("").join(line), depth + 1)?;
            } else if line.contains(char::is_whitespace) || !line.contains('.') || line.contains(['{', '}', ',']) {
                return Err(wrong("not a case name; wanted is one full name per line (--deqp-runmode=txt-caselist)"));
            } else {
                self.name(line);
            }
        }
        Ok(())
    }

    fn done(self) -> Result<Names> {
        match self.names.is_empty() {
            true => Err(Error::Usage("no case is selected: check --caselist, --group, --case and --portion".into())),
            false => Ok(self.names),
        }
    }
}

/// Returns the files that match a pattern, sorted. A plain name stands for itself.
fn expand(list: &str) -> Result<Vec<PathBuf>> {
    let path = Path::new(list);
    if !glob::is_pattern(list) || path.exists() {
        return Ok(vec![path.into()]);
    }
    let (folder, pattern) = (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or_default());
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(folder).at(folder)?;
    let pattern = pattern.to_string_lossy();
    let fits = |path: &PathBuf| path.file_name().is_some_and(|name| glob::matches(&pattern, &name.to_string_lossy()));
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(fits).collect();
    found.sort();
    if found.is_empty() { Err(Error::Usage(format!("no file fits --caselist {list}"))) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_whole_components() {
        let of = |groups: &[&str], cases: &[&str]| Selection {
            groups: groups.iter().map(|g| g.to_string()).collect(),
            cases: cases.iter().map(|c| c.to_string()).collect(),
            ..Selection::default()
        };
        let api = of(&["api"], &[]);
        assert!(api.contains_case("dEQP-VK.api.smoke.triangle") && !api.contains_case("dEQP-VK.apis.smoke"));
        let full = of(&["dEQP-VK.glsl.loops."], &["*.triangle"]);
        assert!(full.contains_case("dEQP-VK.glsl.loops.generic.x") && full.contains_case("dEQP-VK.api.smoke.triangle"));
        assert!(!full.contains_case("dEQP-VK.glsl.loop"));
        assert_eq!(api.deqp_patterns().as_deref(), Some("dEQP-VK.api,dEQP-VK.api.*"));
        assert_eq!(of(&[], &[]).deqp_patterns(), None);
    }

    #[test]
    fn lists_of_lists_comments_and_repetitions() {
        let folder = std::env::temp_dir().join(format!("cts-caselist-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        std::fs::write(folder.join("main.txt"), "# all\nsub/a.txt\n\nsub/b.txt\n").unwrap();
        std::fs::write(folder.join("sub/a.txt"), "g.one\r\ng.two\n").unwrap();
        std::fs::write(folder.join("sub/b.txt"), "g.two\nTEST: g.three\n").unwrap();
        let read = |list: &str| {
            Selection { lists: vec![folder.join(list).display().to_string()], ..Selection::default() }.read()
        };
        for list in ["main.txt", "sub/*.txt"] {
            assert_eq!(read(list).unwrap().iter().collect::<Vec<_>>(), ["g.one", "g.two", "g.three"]);
        }
        std::fs::write(folder.join("trie.txt"), "{dEQP-VK{api}}\n").unwrap();
        assert!(matches!(read("trie.txt"), Err(Error::Line { line: 1, .. })));
        assert!(matches!(read("sub/*.none"), Err(Error::Usage(_))));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
