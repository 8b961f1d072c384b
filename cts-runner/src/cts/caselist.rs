//! Which cases to run: case lists (files, patterns of files, lists of lists as in the CTS's mustpass folder), or what the deqp
//! binary itself lists; filtered by groups, patterns and a fraction.
//!
//! Invariant: the selection has no name twice and keeps the order of the lists, so neighbours share deqp's groups.

use super::error::{At, Error, Result};
use super::glob;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Part `part` of `of`, from 1: chosen by a hash of the name, so a case stays in its part whatever else is listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fraction {
    /// Which part, from 1.
    pub part: u64,
    /// How many parts there are.
    pub of: u64,
}

impl Fraction {
    /// Reads `K/N`.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        let inside = parsed.filter(|&(part, of)| (1..=of).contains(&part));
        inside
            .map(|(part, of)| Fraction { part, of })
            .ok_or_else(|| "expected K/N with K from 1 to N, as in 1/20".into())
    }

    /// Whether a case is in this part.
    pub fn holds(self, name: &str) -> bool {
        hash(name.as_bytes()) % self.of == self.part - 1
    }
}

/// FNV-1a, mixed so that all bits depend on all bytes. Part of the contract: `--fraction` must choose the same cases for ever.
pub fn hash(bytes: &[u8]) -> u64 {
    let mut h = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    h ^= h >> 33;
    h = h.wrapping_mul(0xff51_afd7_ed55_8ccd);
    h ^ (h >> 33)
}

/// What the command line says about the selection.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Files with case names, or patterns of files.
    pub lists: Vec<String>,
    /// Groups: whole components at the beginning of a name, with or without `dEQP-VK.`.
    pub groups: Vec<String>,
    /// Patterns or exact names.
    pub cases: Vec<String>,
    /// A part of what the rest selects.
    pub fraction: Option<Fraction>,
}

impl Selection {
    /// Whether a case belongs to the selection.
    pub fn holds(&self, name: &str) -> bool {
        let in_group = |group: &String| {
            let name =
                if group.starts_with("dEQP-") { name } else { name.split_once('.').map_or(name, |(_, rest)| rest) };
            name.strip_prefix(group.trim_end_matches('.')).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let chosen = self.groups.is_empty() && self.cases.is_empty()
            || self.groups.iter().any(in_group)
            || self.cases.iter().any(|pattern| glob::matches(pattern, name));
        chosen && self.fraction.is_none_or(|fraction| fraction.holds(name))
    }

    /// What to pass to `--deqp-case` so that deqp lists the groups and patterns; none when that would be everything.
    pub fn deqp_patterns(&self) -> Option<String> {
        let group = |group: &String| {
            let prefix = if group.starts_with("dEQP-") { "" } else { "dEQP-VK." };
            let group = group.trim_end_matches('.');
            [format!("{prefix}{group}"), format!("{prefix}{group}.*")]
        };
        let patterns: Vec<String> = self.groups.iter().flat_map(group).chain(self.cases.iter().cloned()).collect();
        (!patterns.is_empty()).then(|| patterns.join(","))
    }

    /// The selected cases of all lists.
    pub fn read(&self) -> Result<Vec<String>> {
        let mut reader = Reader { selection: self, seen: HashSet::new(), names: Vec::new() };
        for list in &self.lists {
            for path in expand(list)? {
                reader.file(&path, 0)?;
            }
        }
        reader.done()
    }

    /// The selected cases among those that deqp listed with `--deqp-runmode=stdout-caselist`.
    pub fn listed(&self, output: &str) -> Result<Vec<String>> {
        let mut reader = Reader { selection: self, seen: HashSet::new(), names: Vec::new() };
        output.lines().filter_map(|line| line.strip_prefix("TEST: ")).for_each(|name| reader.name(name));
        reader.done()
    }
}

struct Reader<'a> {
    selection: &'a Selection,
    seen: HashSet<String>,
    names: Vec<String>,
}

impl Reader<'_> {
    fn name(&mut self, name: &str) {
        if self.selection.holds(name) && self.seen.insert(name.into()) {
            self.names.push(name.into());
        }
    }

    /// A list: case names, or further lists relative to its folder (`vk-default.txt` of the CTS); `#` begins a comment.
    fn file(&mut self, path: &Path, depth: u32) -> Result<()> {
        let text = std::fs::read_to_string(path).at(path)?;
        for (number, line) in text.lines().enumerate() {
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

    fn done(self) -> Result<Vec<String>> {
        match self.names.is_empty() {
            true => Err(Error::Usage("no case is selected: check --caselist, --group, --case and --fraction".into())),
            false => Ok(self.names),
        }
    }
}

/// The files of a pattern, sorted; a plain name stands for itself.
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
    fn fractions_cover_every_case_once_and_stay() {
        let names: Vec<String> = (0..2000).map(|i| format!("dEQP-VK.group{}.case_{i}", i % 7)).collect();
        let parts: Vec<Fraction> = (1..=10).map(|part| Fraction { part, of: 10 }).collect();
        for name in &names {
            assert_eq!(parts.iter().filter(|part| part.holds(name)).count(), 1, "{name}");
        }
        for part in parts {
            let held = names.iter().filter(|name| part.holds(name)).count();
            assert!((140..260).contains(&held), "part {} holds {held} of 2000", part.part);
        }
        // The hash is a promise to users: a nightly job on 3/20 must keep its cases.
        assert_eq!(hash(b"dEQP-VK.api.smoke.triangle"), 0xf7ea_4366_c7d7_f417);
        for wrong in ["0/4", "5/4", "4", "a/b", "1/0"] {
            assert!(Fraction::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn groups_are_whole_components() {
        let of = |groups: &[&str], cases: &[&str]| Selection {
            groups: groups.iter().map(|g| g.to_string()).collect(),
            cases: cases.iter().map(|c| c.to_string()).collect(),
            ..Selection::default()
        };
        let api = of(&["api"], &[]);
        assert!(api.holds("dEQP-VK.api.smoke.triangle") && !api.holds("dEQP-VK.apis.smoke"));
        let full = of(&["dEQP-VK.glsl.loops."], &["*.triangle"]);
        assert!(full.holds("dEQP-VK.glsl.loops.generic.x") && full.holds("dEQP-VK.api.smoke.triangle"));
        assert!(!full.holds("dEQP-VK.glsl.loop"));
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
        assert_eq!(read("main.txt").unwrap(), ["g.one", "g.two", "g.three"]);
        assert_eq!(read("sub/*.txt").unwrap(), ["g.one", "g.two", "g.three"]);
        std::fs::write(folder.join("trie.txt"), "{dEQP-VK{api}}\n").unwrap();
        assert!(matches!(read("trie.txt"), Err(Error::Line { line: 1, .. })));
        assert!(matches!(read("sub/*.none"), Err(Error::Usage(_))));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
