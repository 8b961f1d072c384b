//! Compares the results case by case with another driver or an earlier run. Differences are folded
//! so that the most important one to fix is the first line.
//!
//! A difference belongs to a [`DifferenceKind`]. The cases of a kind are folded along the
//! names. A group becomes one line if all its compared cases belong to the kind, or if it would
//! have more than a few lines. Its line then names the longest prefix that its cases share, and how
//! many of the compared cases under the prefix differ.

use super::status::Status;

/// Number of lines above which a subtree is folded into one line.
const LINES: usize = 4;

/// Result of one side, as far as differences are concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CaseResult {
    Passes,
    Unsupported,
    Fails,
}

fn case_result(status: Status) -> CaseResult {
    match status {
        Status::NotSupported => CaseResult::Unsupported,
        status if status.failed() => CaseResult::Fails,
        _ => CaseResult::Passes,
    }
}

/// Kinds of differences, worst first: the result of the case there, the result here, and the title.
/// `{}` in the title is the other side.
const KINDS: [(CaseResult, CaseResult, &str); 6] = [
    (CaseResult::Passes, CaseResult::Fails, "passes {}, fails here"),
    (CaseResult::Unsupported, CaseResult::Fails, "not supported {}, fails here"),
    (CaseResult::Passes, CaseResult::Unsupported, "supported {}, not here"),
    (CaseResult::Fails, CaseResult::Unsupported, "fails {}, not supported here"),
    (CaseResult::Fails, CaseResult::Passes, "fails {}, passes here"),
    (CaseResult::Unsupported, CaseResult::Passes, "supported here, not {}"),
];

/// A case that both sides ran.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pair<'a> {
    /// Full name of the case.
    pub name: &'a str,
    /// Status on this side.
    pub here: Status,
    /// Status on the other side.
    pub there: Status,
    /// Message of the case on this side.
    pub message: &'a str,
    /// Seconds on this side and on the other side.
    pub seconds: [f64; 2],
}

/// Cases that differ in the same way.
#[derive(Clone, PartialEq, Debug)]
pub struct DifferenceKind {
    /// Description of the difference.
    pub title: String,
    /// True if the cases work on the other side and not on this side.
    pub worse: bool,
    /// Number of cases.
    pub cases: usize,
    /// The cases, folded into groups, largest group first.
    pub groups: Vec<Group>,
}

/// Cases with a common prefix.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// The common prefix with a star, or the name of the only case.
    pub pattern: String,
    /// Number of cases that differ.
    pub cases: usize,
    /// Number of compared cases under the prefix.
    pub of: usize,
    /// Message of the first case that differs.
    pub example: String,
}

/// All differences from one other side.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// Name of the other side with its preposition, for example "on llvmpipe".
    pub with: String,
    /// Number of cases that both sides ran.
    pub compared: usize,
    /// Seconds for the cases that passed on both sides, on this side and on the other side.
    pub seconds: [f64; 2],
    /// Kinds of differences that occur.
    pub kinds: Vec<DifferenceKind>,
}

impl Comparison {
    /// Compares pairs of results. `with` is the name of the other side with its preposition.
    pub fn new(with: &str, mut pairs: Vec<Pair<'_>>) -> Self {
        pairs.sort_by(|a, b| a.name.cmp(b.name));
        let mut seconds = [0.0; 2];
        for pair in pairs.iter().filter(|pair| [pair.here, pair.there].iter().all(|status| status.passed())) {
            seconds[0] += pair.seconds[0];
            seconds[1] += pair.seconds[1];
        }
        let kind = |&(there, here, title): &(CaseResult, CaseResult, &str)| {
            let differs = |pair: &Pair<'_>| case_result(pair.here) == here && case_result(pair.there) == there;
            let cases = pairs.iter().filter(|pair| differs(pair)).count();
            let mut groups = fold(&pairs, 0, &differs);
            // The sort is stable, so groups of equal size stay in the order of their names.
            groups.sort_by_key(|group| std::cmp::Reverse(group.cases));
            DifferenceKind {
                title: title.replace("{}", with),
                worse: here == CaseResult::Fails || there == CaseResult::Passes,
                cases,
                groups,
            }
        };
        let kinds = KINDS.iter().map(kind).filter(|kind| kind.cases > 0).collect();
        Self { with: with.into(), compared: pairs.len(), seconds, kinds }
    }
}

/// Folds the cases that differ into groups. The pairs are sorted by name and share their first
/// `prefix` bytes.
fn fold(pairs: &[Pair<'_>], prefix: usize, differs: &impl Fn(&Pair<'_>) -> bool) -> Vec<Group> {
    let members: Vec<&Pair<'_>> = pairs.iter().filter(|pair| differs(pair)).collect();
    let (Some(first), Some(last)) = (members.first(), members.last()) else { return Vec::new() };
    let group = |pattern: String, of: usize| {
        let example = match first.message {
            message if message.is_empty() || message == first.here.name() => first.here.to_string(),
            message => format!("{}: {message}", first.here),
        };
        vec![Group { pattern, cases: members.len(), of, example }]
    };
    if members.len() == 1 {
        return group(first.name.to_string(), 1);
    }
    let common = common_prefix(first.name, last.name);
    if members.len() == pairs.len() {
        return group(format!("{common}*"), pairs.len());
    }
    let mut lines = Vec::new();
    let mut rest = pairs;
    while let Some(pair) = rest.first() {
        let end = pair.name[prefix..].find('.').map_or(pair.name.len(), |dot| prefix + dot + 1);
        let child = &pair.name[..end];
        let count = rest.iter().take_while(|other| inside_of(other.name, child)).count();
        let (now, later) = rest.split_at(count);
        lines.extend(fold(now, end, differs));
        rest = later;
    }
    // The root ("dEQP-VK.") is never folded into one line, because that line would contain no
    // information.
    let inside = pairs[0].name[..prefix].matches('.').count() >= 2;
    if lines.len() <= LINES || !inside {
        return lines;
    }
    let of = pairs.iter().filter(|pair| pair.name.starts_with(common)).count();
    group(format!("{common}*"), of)
}

/// Returns true if a name is the child itself or, if the child is a group (it ends in a dot), lies
/// in it.
fn inside_of(name: &str, child: &str) -> bool {
    if child.ends_with('.') { name.starts_with(child) } else { name == child }
}

/// Returns the longest prefix of whole components that two names share. For sorted names, the
/// prefix of the first and the last is common to all.
fn common_prefix<'a>(a: &'a str, b: &str) -> &'a str {
    let same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let end = a.as_bytes()[..same].iter().rposition(|&c| c == b'.').map_or(0, |dot| dot + 1);
    &a[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use Status::{Crash, Fail, NotSupported, Pass, Warning};

    fn pair(name: &str, here: Status, there: Status) -> Pair<'static> {
        let name = format!("dEQP-VK.{name}").leak();
        Pair { name, here, there, message: "", seconds: [1.0, 2.0] }
    }

    #[test]
    fn kinds_come_worst_first_and_same_is_no_difference() {
        let pairs = vec![
            pair("a.1", Pass, Fail),
            pair("a.2", Crash, Pass),
            pair("a.3", NotSupported, Pass),
            pair("a.4", Fail, Crash),
            pair("a.5", Warning, Pass),
            pair("a.6", Pass, Pass),
        ];
        let comparison = Comparison::new("on B", pairs);
        let titles: Vec<_> = comparison.kinds.iter().map(|kind| (kind.title.as_str(), kind.worse)).collect();
        let expected =
            [("passes on B, fails here", true), ("supported on B, not here", true), ("fails on B, passes here", false)];
        assert_eq!(titles, expected);
        assert_eq!((comparison.compared, comparison.seconds), (6, [2.0, 4.0]));
    }

    #[test]
    fn whole_groups_are_one_line_and_the_largest_is_first() {
        let mut pairs: Vec<Pair<'_>> = (0..5).map(|i| pair(&format!("glsl.loops.case_{i}"), Fail, Pass)).collect();
        pairs.extend((0..9).map(|i| pair(&format!("glsl.ops.add.case_{i}"), Fail, Pass)));
        pairs.push(pair("glsl.ops.mul", Pass, Pass));
        pairs.push(pair("api.smoke", Fail, Pass));
        let groups = &Comparison::new("on B", pairs).kinds[0].groups;
        let lines: Vec<_> = groups.iter().map(|g| (g.pattern.as_str(), g.cases, g.of)).collect();
        let expected = [("dEQP-VK.glsl.ops.add.*", 9, 9), ("dEQP-VK.glsl.loops.*", 5, 5), ("dEQP-VK.api.smoke", 1, 1)];
        assert_eq!(lines, expected);
    }

    #[test]
    fn scattered_cases_fold_into_their_group() {
        let status = |i: usize| if i.is_multiple_of(3) { NotSupported } else { Pass };
        let pairs = (0..60).map(|i| pair(&format!("tex.filter.f{}.case_{i:02}", i % 5), status(i), Pass)).collect();
        let kinds = Comparison::new("in old.csv", pairs).kinds;
        assert_eq!(kinds[0].title, "supported in old.csv, not here");
        let lines: Vec<_> = kinds[0].groups.iter().map(|g| (g.pattern.as_str(), g.cases, g.of)).collect();
        assert_eq!(lines, [("dEQP-VK.tex.filter.*", 20, 60)]);
    }

    #[test]
    fn every_differing_case_is_in_one_group() {
        for seed in 0..200_u64 {
            let bit = |i: u64, m: u64| super::super::portion::hash(&[i as u8, m as u8, seed as u8]) % m;
            let make = |i: u64| {
                let name = format!("g{}.h{}.{}c{i}", bit(i, 3), bit(i, 5), if bit(i, 2) == 0 { "k." } else { "" });
                pair(&name, if bit(i, 7) < 1 + seed % 6 { Fail } else { Pass }, Pass)
            };
            let pairs: Vec<Pair<'_>> = (0..80).map(make).collect();
            let failing: Vec<Pair<'_>> = pairs.iter().filter(|pair| pair.here == Fail).copied().collect();
            let comparison = Comparison::new("on B", pairs);
            let Some(kind) = comparison.kinds.first() else {
                assert!(failing.is_empty());
                continue;
            };
            assert_eq!(kind.groups.iter().map(|group| group.cases).sum::<usize>(), failing.len());
            for pair in failing {
                let fits = |group: &&Group| super::super::glob::matches(&group.pattern, pair.name);
                assert!(kind.groups.iter().any(|group| fits(&group)), "{}", pair.name);
            }
        }
    }
}
