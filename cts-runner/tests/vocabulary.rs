//! Tests of the language of the source: names that the glossary has retired, doc comments that
//! begin with a fragment, long comment lines, and SAFETY comments without a reason. The documents
//! that are read first have largest sizes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Section of `docs/glossary.md` with one row per retired name: the names, the path prefixes in
/// which they must not occur (or `all`), and the terms in their place.
const SECTION: &str = "## Names that do not come back";

/// Largest sizes in bytes of the documents that are read first.
const DOCUMENTS: [(&str, usize); 2] = [("ARCHITECTURE.md", 8 << 10), ("README.md", 9 << 10)];

/// Largest number of columns of a comment line.
const COLUMNS: usize = 100;

/// First words that make the beginning of a doc comment a fragment, which cannot be read alone. A
/// sentence, a verb phrase and a noun phrase begin otherwise.
const FRAGMENTS: &str = "Also And But Ditto How Its Likewise Nor Not Of Or Same So Such That Their Them Then They Those \
     What Whatever Where Wherever Whether Which Whichever Who Whoever Whom Whose Why";

/// Reasons that name no invariant.
const EMPTY_REASONS: &[&str] = &[
    "as above",
    "as before",
    "as below",
    "by contract",
    "caller's contract",
    "caller's promise",
    "caller's promises",
    "caller's responsibility",
    "caller guarantees",
    "caller promises",
    "ditto",
    "see above",
    "see below",
];

/// Largest number of characters of a reason that is judged by [`EMPTY_REASONS`]: a longer one says
/// something else too.
const SHORT_REASON: usize = 60;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the workspace")
}

/// Returns all files of the repository, as paths relative to its root. Hidden folders and build
/// output are left out.
fn files() -> Vec<PathBuf> {
    fn walk(folder: &Path, root: &Path, all: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                walk(&path, root, all);
            } else if path.is_file() {
                all.push(path.strip_prefix(root).expect("below the root").to_path_buf());
            }
        }
    }
    let mut all = Vec::new();
    walk(&root(), &root(), &mut all);
    all.sort();
    all
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// Returns path and text of all Rust files.
fn sources() -> Vec<(PathBuf, String)> {
    let sources: Vec<_> = files().into_iter().filter(|path| is_rust(path)).collect();
    assert!(sources.len() > 500, "only {} files were found", sources.len());
    sources.into_iter().map(|path| (path.clone(), std::fs::read_to_string(root().join(path)).expect("text"))).collect()
}

/// Part of a Rust file that the tests judge.
#[derive(Debug, PartialEq, Eq)]
enum Token<'a> {
    Identifier(&'a str),
    /// A line comment or a block comment, with its delimiters.
    Comment(&'a str),
}

/// Returns the identifiers and comments of a Rust file, each with its byte offset. Literals and
/// lifetimes are skipped.
fn tokens(text: &str) -> Vec<(usize, Token<'_>)> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            tokens.push((at, Token::Comment(&rest[..length])));
            length
        } else if rest.starts_with("/*") {
            let length = block_comment(rest);
            tokens.push((at, Token::Comment(&rest[..length])));
            length
        } else if first == '"' {
            string(rest)
        } else if first == '\'' {
            quote(rest)
        } else if first.is_alphabetic() || first == '_' {
            let length = word(rest);
            let (name, behind) = rest.split_at(length);
            match name {
                "r" | "br" | "cr" if behind.starts_with(['"', '#']) => length + raw(behind),
                "b" | "c" if behind.starts_with('"') => length + string(behind),
                "b" if behind.starts_with('\'') => length + quote(behind),
                _ => {
                    tokens.push((at, Token::Identifier(name)));
                    length
                }
            }
        } else if first.is_ascii_digit() {
            word(rest)
        } else {
            first.len_utf8()
        };
        at += length;
    }
    tokens
}

/// Returns the number of bytes of the word at the beginning of a text.
fn word(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    loop {
        match text.as_bytes().get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") => (depth, at) = (depth - 1, at + 2),
            Some(_) => at += 1,
            None => return text.len(),
        }
        if depth == 0 {
            return at;
        }
    }
}

fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the number of bytes of what follows `r`: a raw string, or the `#` of a raw identifier.
fn raw(text: &str) -> usize {
    let hashes = text.find(|c| c != '#').unwrap_or(text.len());
    if !text[hashes..].starts_with('"') {
        return hashes;
    }
    let end = format!("\"{}", &text[..hashes]);
    text[hashes + 1..].find(&end).map_or(text.len(), |at| hashes + 1 + at + end.len())
}

/// Returns the number of bytes of a character literal or a lifetime.
fn quote(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    let (Some((_, first)), Some((second, next))) = (chars.next(), chars.next()) else { return text.len() };
    if first == '\\' {
        return text[second + next.len_utf8()..].find('\'').map_or(text.len(), |at| second + next.len_utf8() + at + 1);
    }
    if next == '\'' { second + 1 } else { 1 + word(&text[1..]).max(1) }
}

/// A comment of one or more lines: consecutive line comments of one kind, or a block comment.
struct Comment {
    /// Number of the first line, from 1.
    line: usize,
    /// True for documentation.
    is_doc: bool,
    /// Text of the lines without the delimiters.
    lines: Vec<String>,
}

/// Returns the comments of a Rust file.
fn comments(text: &str) -> Vec<Comment> {
    let mut all: Vec<(Comment, &str)> = Vec::new();
    let (mut line, mut counted) = (1, 0);
    for (at, token) in tokens(text) {
        let Token::Comment(comment) = token else { continue };
        line += text[counted..at].matches('\n').count();
        counted = at;
        let begin = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let is_alone = text[begin..at].trim().is_empty();
        let kinds = ["///", "//!", "//", "/**", "/*!", "/*"];
        let kind = kinds.into_iter().find(|kind| comment.starts_with(kind)).expect("a comment");
        let lines: Vec<String> =
            comment[kind.len()..].trim_end_matches("*/").split('\n').map(|l| l.trim().to_owned()).collect();
        match all.last_mut() {
            Some((last, before)) if *before == kind && is_alone && last.line + last.lines.len() == line => {
                last.lines.extend(lines)
            }
            _ => all.push((Comment { line, is_doc: !matches!(kind, "//" | "/*"), lines }, kind)),
        }
    }
    all.into_iter().map(|(comment, _)| comment).collect()
}

/// Returns true if a doc comment begins with a fragment: one of [`FRAGMENTS`], "The same", or "It",
/// which needs a noun before it except in "It is known that".
fn begins_with_fragment(text: &str) -> bool {
    let begins = |words: &str| text.strip_prefix(words).is_some_and(|rest| word(rest) == 0);
    FRAGMENTS.split_whitespace().any(begins) || begins("The same") || begins("It") && !begins("It is")
}

#[test]
fn doc_comments_do_not_begin_with_fragments() {
    let mut found = String::new();
    for (path, text) in sources() {
        for comment in comments(&text).iter().filter(|comment| comment.is_doc) {
            let first = comment.lines.first().map(String::as_str).unwrap_or_default();
            if begins_with_fragment(first) {
                found += &format!("{}:{}: {first}\n", path.display(), comment.line);
            }
        }
    }
    assert!(found.is_empty(), "doc comments that cannot be read alone:\n{found}");
}

#[test]
fn comment_lines_have_at_most_100_columns() {
    let mut found = String::new();
    for (path, text) in sources() {
        let in_comments: BTreeSet<usize> =
            comments(&text).iter().flat_map(|c| c.line..c.line + c.lines.len().max(1)).collect();
        for (number, line) in (1..).zip(text.lines()) {
            let columns = line.chars().count();
            if columns > COLUMNS && in_comments.contains(&number) && line.trim_start().starts_with('/') {
                found += &format!("{}:{number}: {columns} columns\n", path.display());
            }
        }
    }
    assert!(found.is_empty(), "{found}");
}

/// Returns true if the reason of a SAFETY comment names no invariant.
fn is_empty_reason(reason: &str) -> bool {
    let reason = reason.trim().to_lowercase();
    reason.chars().count() <= SHORT_REASON && EMPTY_REASONS.iter().any(|empty| reason.contains(empty))
}

#[test]
fn safety_comments_name_an_invariant() {
    let (mut all, mut found) = (0, Vec::new());
    for (path, text) in sources() {
        for comment in comments(&text).iter().filter(|comment| !comment.is_doc) {
            let block = comment.lines.join(" ");
            for reason in block.split("SAFETY:").skip(1) {
                all += 1;
                if is_empty_reason(reason) {
                    found.push(format!("{}:{}: {}", path.display(), comment.line, reason.trim()));
                }
            }
        }
    }
    assert!(all > 1000, "only {all} SAFETY comments were found");
    assert!(found.len() * 20 <= all, "{} of {all} SAFETY comments have no reason:\n{}", found.len(), found.join("\n"));
}

#[test]
fn the_first_documents_are_short() {
    for (name, max) in DOCUMENTS {
        let bytes = std::fs::read(root().join(name)).expect("a document").len();
        assert!(bytes <= max, "{name} has {bytes} of {max} bytes");
    }
}

/// Row of the glossary: a retired name and the path prefixes in which it must not occur. The name
/// is an identifier, or two of a path: `Host::WIDE`.
#[derive(Debug, PartialEq, Eq)]
struct RetiredName {
    name: String,
    /// Path prefixes relative to the repository; the empty one stands for all files.
    scopes: Vec<String>,
}

/// Returns the rows of the glossary's section of retired names. A cell may hold several names or
/// scopes, separated by commas.
///
/// # Errors
/// The section is missing, or a row has no scope, or a name that is neither an identifier nor two
/// of a path.
fn retired_names(glossary: &str) -> Result<Vec<RetiredName>, String> {
    let (_, section) = glossary.split_once(SECTION).ok_or("the section is missing")?;
    let section = section.split("\n## ").next().unwrap_or_default();
    let list = |cell: &str| -> Vec<String> {
        cell.split(',').map(|item| item.trim().trim_matches('`').to_owned()).filter(|item| !item.is_empty()).collect()
    };
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with('|')).collect();
    let [_header, _rule, rows @ ..] = &rows[..] else { return Err("the table is missing".into()) };
    let mut names = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let [old, scope, _, ..] = cells[..] else { return Err(format!("{row}: fewer than three cells")) };
        let scopes: Vec<String> = list(scope).into_iter().map(|s| if s == "all" { String::new() } else { s }).collect();
        let old = list(old);
        if old.is_empty() || scopes.is_empty() {
            return Err(format!("{row}: no name or no scope"));
        }
        for name in old {
            let is_identifier = |part: &str| {
                !part.is_empty() && word(part) == part.len() && !part.starts_with(|c: char| c.is_ascii_digit())
            };
            if name.split("::").count() > 2 || !name.split("::").all(is_identifier) {
                return Err(format!("{row}: {name} is no identifier"));
            }
            names.push(RetiredName { name, scopes: scopes.clone() });
        }
    }
    Ok(names)
}

/// Returns true if a path is inside a scope: equal to it, or below it.
fn is_inside(path: &str, scope: &str) -> bool {
    scope.is_empty()
        || path.strip_prefix(scope.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the names of a path's folders and file, without extensions.
fn path_names(path: &Path) -> BTreeSet<String> {
    path.iter().filter_map(|part| Path::new(part).file_stem()).map(|stem| stem.to_string_lossy().into_owned()).collect()
}

/// Returns the identifiers of a Rust file, alone and as the last two of a path.
fn code_names(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut before: Option<(usize, &str)> = None;
    for (at, token) in tokens(text) {
        let Token::Identifier(name) = token else { continue };
        if let Some((end, first)) = before
            && text[end..at].trim() == "::"
        {
            names.insert(format!("{first}::{name}"));
        }
        names.insert(name.to_owned());
        before = Some((at + name.len(), name));
    }
    names
}

#[test]
fn retired_names_do_not_come_back() {
    let glossary = std::fs::read_to_string(root().join("docs/glossary.md")).expect("the glossary");
    let retired = retired_names(&glossary).unwrap_or_else(|e| panic!("docs/glossary.md: {e}"));
    let mut found = String::new();
    for scope in retired.iter().flat_map(|row| &row.scopes) {
        assert!(root().join(scope).exists(), "docs/glossary.md: there is no {scope}");
    }
    for path in files() {
        let shown = path.to_string_lossy().into_owned();
        let rows: Vec<_> =
            retired.iter().filter(|row| row.scopes.iter().any(|scope| is_inside(&shown, scope))).collect();
        let mut names = path_names(&path);
        if is_rust(&path) {
            names.extend(code_names(&std::fs::read_to_string(root().join(&path)).expect("text")));
        }
        for row in rows.into_iter().filter(|row| names.contains(&row.name)) {
            found += &format!("{shown}: {}\n", row.name);
        }
    }
    assert!(found.is_empty(), "names that docs/glossary.md has retired:\n{found}");
}

#[test]
fn tokens_are_identifiers_and_comments() {
    let text = r####"fn a1<'life>(x: u8) { // in `ticks`
        let s = "not \" here"; let r = r#"nor "here""#; let b = br"nor"; /* block /* inner */ end */
        let c = ('\'', '"', 'y', b'\\', 0x1f_u32, 1.5e3); r#match!(c"nul");
    }"####;
    let names: Vec<&str> = tokens(text)
        .into_iter()
        .filter_map(|(_, token)| match token {
            Token::Identifier(name) => Some(name),
            Token::Comment(_) => None,
        })
        .collect();
    assert_eq!(names, ["fn", "a1", "x", "u8", "let", "s", "let", "r", "let", "b", "let", "c", "match"]);
    assert!(code_names("a::b :: c, d").is_superset(&["a::b", "b::c", "d"].map(String::from).into()));
    assert!(!code_names("a, b").contains("a::b"));
    let found: Vec<Token<'_>> =
        tokens(text).into_iter().map(|(_, t)| t).filter(|t| matches!(t, Token::Comment(_))).collect();
    assert_eq!(found, [Token::Comment("// in `ticks`"), Token::Comment("/* block /* inner */ end */")]);
}

#[test]
fn comments_are_joined_and_judged() {
    let text = "//! One.\n//! Two.\n\n/// The same of a row.\n// SAFETY: the bytes are the\n// row's own. SAFETY: as above.\nfn f() {} // trailing\n";
    let found = comments(text);
    let lines: Vec<(usize, bool, usize)> = found.iter().map(|c| (c.line, c.is_doc, c.lines.len())).collect();
    assert_eq!(lines, [(1, true, 2), (4, true, 1), (5, false, 2), (7, false, 1)]);
    assert!(begins_with_fragment(&found[1].lines[0]) && !begins_with_fragment(&found[0].lines[0]));
    assert!(begins_with_fragment("Of those, how many.") && !begins_with_fragment("Offset in bytes."));
    let reasons: Vec<bool> = found[2].lines.join(" ").split("SAFETY:").skip(1).map(is_empty_reason).collect();
    assert_eq!(reasons, [false, true]);
}

#[test]
fn rows_of_retired_names_are_parsed() {
    let table = |rows: &str| {
        format!(
            "# Glossary\n\n{SECTION}\n\nText.\n\n| old | scope | new | term |\n|---|---|---|---|\n{rows}\n\n## Next\n| x |\n"
        )
    };
    let names =
        retired_names(&table("| `Shadow`, `misuse` | `icd/src` | `New` | A term. |\n| `House` | all | a term |"))
            .expect("rows");
    let row = |name: &str, scope: &str| RetiredName { name: name.into(), scopes: vec![scope.into()] };
    assert_eq!(names, [row("Shadow", "icd/src"), row("misuse", "icd/src"), row("House", "")]);
    assert_eq!(retired_names(&table("")), Ok(Vec::new()));
    for wrong in [
        "| `a::b::c` | all | term |",
        "| `a b` | all | term |",
        "| `a` |  | term |",
        "| `a` | all |",
        "| | all | term |",
    ] {
        assert!(retired_names(&table(wrong)).is_err(), "{wrong}");
    }
    assert!(retired_names("# Glossary").is_err());
    assert!(is_inside("icd/src/lib.rs", "icd/src") && is_inside("icd/src/lib.rs", "icd/src/lib.rs"));
    assert!(!is_inside("icd/src2/lib.rs", "icd/src") && is_inside("anything", ""));
    assert_eq!(path_names(Path::new("a/house/mod.rs")), ["a", "house", "mod"].map(String::from).into());
}
