//! Reads the modules of a crate and the dependencies between them from its source.
//!
//! A dependency leads from the module that names an item to the module that defines it. A re-export
//! (`pub use`) is no dependency: a path through it leads to the defining module. There are no
//! dependencies between a module and the modules within it, because they are one unit and its
//! parts. Between the parts there are. Tests (`#[cfg(test)]`) are left out. Names inside macro
//! calls count as they are written.

pub mod methods;

use proc_macro2::{Ident, Spacing, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::{Item, UseTree};

/// Path of a module: the names from the root of the crate.
pub type ModulePath = Vec<String>;

/// A module of a crate.
pub struct Module {
    /// File of the module. An inline module has the file of its parent.
    pub file: PathBuf,
    /// True if the module has `#![forbid(unsafe_code)]`, which includes the modules inside it.
    pub forbids_unsafe: bool,
    items: Vec<Item>,
    children: BTreeSet<String>,
    /// Names that the module re-exports, and the paths as written.
    reexports: Vec<(String, Vec<String>)>,
}

/// All modules of a crate.
pub struct ModuleGraph {
    /// Modules by path. The path of the root is empty.
    pub modules: BTreeMap<ModulePath, Module>,
}

impl ModuleGraph {
    /// Reads the crate with this root file.
    pub fn read(root: &Path) -> ModuleGraph {
        let mut graph = ModuleGraph { modules: BTreeMap::new() };
        graph.read_module(Vec::new(), root);
        graph
    }

    fn read_module(&mut self, name: ModulePath, file: &Path) {
        let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        self.add(name, file, &parsed.attrs, parsed.items);
    }

    fn add(&mut self, name: ModulePath, file: &Path, attributes: &[syn::Attribute], items: Vec<Item>) {
        let items: Vec<Item> = items.into_iter().filter(|item| !is_test(item)).collect();
        let forbids_unsafe = attributes.iter().any(|a| has_argument(a, "forbid", "unsafe_code"));
        let mut module = Module {
            file: file.into(),
            forbids_unsafe,
            items: Vec::new(),
            children: BTreeSet::new(),
            reexports: Vec::new(),
        };
        let mut inside = Vec::new();
        for item in items {
            match item {
                Item::Mod(child) => {
                    module.children.insert(child.ident.to_string());
                    inside.push(child);
                }
                Item::Use(item) if !matches!(item.vis, syn::Visibility::Inherited) => {
                    for path in paths(&item.tree) {
                        module.reexports.push((path.last().cloned().unwrap_or_default(), path.path));
                    }
                }
                other => module.items.push(other),
            }
        }
        self.modules.insert(name.clone(), module);
        for child in inside {
            let mut path = name.clone();
            path.push(child.ident.to_string());
            match child.content {
                Some((_, items)) => self.add(path, file, &child.attrs, items),
                None => self.read_module(path, &file_of(file, &name, &child.ident)),
            }
        }
    }

    /// Returns all dependencies, with the items that are named.
    pub fn dependencies(&self) -> BTreeMap<(ModulePath, ModulePath), BTreeSet<String>> {
        let mut dependencies: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for (name, module) in &self.modules {
            for path in module.named_paths() {
                let Some((to, rest)) = self.resolve(name, &path, 0) else { continue };
                if !to.starts_with(name) && !name.starts_with(&to) {
                    dependencies.entry((name.clone(), to)).or_default().insert(rest);
                }
            }
        }
        dependencies
    }

    /// Returns the module to which a path within a module leads, and the item that it names there.
    /// Returns `None` for a path outside the crate.
    fn resolve(&self, from: &ModulePath, path: &[String], depth: usize) -> Option<(ModulePath, String)> {
        let (mut at, mut rest) = (from.clone(), path);
        let (first, tail) = path.split_first()?;
        match first.as_str() {
            "crate" => (at, rest) = (Vec::new(), tail),
            "self" => rest = tail,
            "super" => {
                at.pop()?;
                rest = tail;
            }
            child if self.modules.get(&at)?.children.contains(child) => {}
            _ => return None,
        }
        while let Some((next, tail)) = rest.split_first() {
            let module = self.modules.get(&at)?;
            if next == "super" {
                at.pop()?;
            } else if module.children.contains(next) {
                at.push(next.clone());
            } else {
                // A re-export is followed to the module of its path, if that resolves.
                let reexport = module.reexports.iter().find(|(name, _)| name == next);
                let led = reexport.filter(|_| depth < 8).and_then(|(_, path)| self.resolve(&at, path, depth + 1));
                return Some(led.unwrap_or_else(|| (at, next.clone())));
            }
            rest = tail;
        }
        Some((at, "itself".into()))
    }

    /// Returns groups of modules that depend on each other.
    pub fn cycles(&self) -> Vec<Vec<ModulePath>> {
        let mut next: BTreeMap<ModulePath, BTreeSet<ModulePath>> = BTreeMap::new();
        for (from, to) in self.dependencies().into_keys() {
            next.entry(from).or_default().insert(to);
        }
        components(&next).into_iter().map(|group| group.into_iter().collect()).collect()
    }
}

impl Module {
    /// Returns true if the code of the module contains the keyword or a macro that expands to it:
    /// `base::host::multiversion!`, icd's `ffi::table::row!`.
    pub fn has_unsafe(&self) -> bool {
        fn find(tokens: TokenStream) -> bool {
            let mut before = String::new();
            tokens.into_iter().any(|token| match token {
                TokenTree::Group(group) => find(group.stream()),
                TokenTree::Ident(ident) => {
                    before = ident.to_string();
                    before == "unsafe"
                }
                TokenTree::Punct(punct) => {
                    let before = core::mem::take(&mut before);
                    punct.as_char() == '!' && matches!(before.as_str(), "multiversion" | "row")
                }
                TokenTree::Literal(_) => false,
            })
        }
        self.items.iter().any(|item| find(quote::ToTokens::to_token_stream(item)))
    }

    /// Returns how often the code of the module contains the keyword.
    pub fn unsafe_items(&self) -> usize {
        fn count(tokens: TokenStream) -> usize {
            let of = |token| match token {
                TokenTree::Group(group) => count(group.stream()),
                TokenTree::Ident(ident) => usize::from(ident == "unsafe"),
                TokenTree::Punct(_) | TokenTree::Literal(_) => 0,
            };
            tokens.into_iter().map(of).sum()
        }
        self.items.iter().map(|item| count(quote::ToTokens::to_token_stream(item))).sum()
    }

    /// Returns every path that the module's code names.
    fn named_paths(&self) -> BTreeSet<Vec<String>> {
        let mut all = BTreeSet::new();
        for item in &self.items {
            match item {
                Item::Use(item) => all.extend(paths(&item.tree).into_iter().map(|p| p.path)),
                other => scan(quote::ToTokens::to_token_stream(other), &self.children, &mut all),
            }
        }
        all
    }
}

/// Returns the groups of nodes that reach each other.
fn components<N: Ord + Clone>(next: &BTreeMap<N, BTreeSet<N>>) -> Vec<BTreeSet<N>> {
    let reach = |start: &N| {
        let (mut seen, mut todo) = (BTreeSet::new(), vec![start.clone()]);
        while let Some(node) = todo.pop() {
            for to in next.get(&node).into_iter().flatten() {
                if seen.insert(to.clone()) {
                    todo.push(to.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&N, BTreeSet<N>> = next.keys().map(|node| (node, reach(node))).collect();
    let mut components: Vec<BTreeSet<N>> = Vec::new();
    for (node, to) in &reached {
        if to.contains(*node) && !components.iter().any(|component| component.contains(*node)) {
            let back = |other: &&N| reached.get(*other).is_some_and(|reached| reached.contains(*node));
            components.push(to.iter().filter(back).cloned().collect());
        }
    }
    components
}

fn is_test(item: &Item) -> bool {
    let attributes = match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(|a| has_argument(a, "cfg", "test"))
}

/// Returns true if the attribute is `name(what)`.
fn has_argument(attribute: &syn::Attribute, name: &str, what: &str) -> bool {
    attribute.path().is_ident(name) && attribute.meta.require_list().is_ok_and(|l| l.tokens.to_string() == what)
}

/// Returns the file of a child module that has its own file.
fn file_of(parent: &Path, name: &ModulePath, child: &Ident) -> PathBuf {
    let folder = parent.parent().expect("a folder");
    let stem = parent.file_stem().expect("a file").to_string_lossy();
    let folder = match &*stem {
        "mod" | "lib" | "main" => folder.to_path_buf(),
        _ => folder.join(name.last().expect("not the root")),
    };
    let flat = folder.join(format!("{child}.rs"));
    if flat.exists() { flat } else { folder.join(child.to_string()).join("mod.rs") }
}

struct UsePath {
    path: Vec<String>,
    alias: Option<String>,
}

impl UsePath {
    fn last(&self) -> Option<&String> {
        self.alias.as_ref().or(self.path.last())
    }
}

/// Returns the paths of a use tree. A star names the module before it.
fn paths(tree: &UseTree) -> Vec<UsePath> {
    fn walk(tree: &UseTree, before: &mut Vec<String>, all: &mut Vec<UsePath>) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                walk(&path.tree, before, all);
                before.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| walk(tree, before, all)),
            UseTree::Glob(_) => all.push(UsePath { path: before.clone(), alias: None }),
            UseTree::Name(_) | UseTree::Rename(_) => {
                let (ident, alias) = match tree {
                    UseTree::Rename(r) => (&r.ident, Some(r.rename.to_string())),
                    UseTree::Name(n) => (&n.ident, None),
                    _ => return,
                };
                let path = before.iter().cloned().chain((ident != "self").then(|| ident.to_string())).collect();
                all.push(UsePath { path, alias });
            }
        }
    }
    let mut all = Vec::new();
    walk(tree, &mut Vec::new(), &mut all);
    all
}

/// Collects paths in tokens: `a::b::c` that begin with `crate`, `self`, `super` or a child's name.
fn scan(tokens: TokenStream, children: &BTreeSet<String>, all: &mut BTreeSet<Vec<String>>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut i = 0;
    while i < tokens.len() {
        match &tokens[i] {
            TokenTree::Group(group) => scan(group.stream(), children, all),
            TokenTree::Ident(first) if !colons(&tokens, i.wrapping_sub(2)) => {
                let mut path = vec![first.to_string()];
                let mut end = i;
                while colons(&tokens, end + 1)
                    && let Some(TokenTree::Ident(next)) = tokens.get(end + 3)
                {
                    path.push(next.to_string());
                    end += 3;
                }
                let begins = matches!(path[0].as_str(), "crate" | "self" | "super") || children.contains(&path[0]);
                if path.len() > 1 && begins {
                    all.insert(path);
                }
                i = end;
            }
            _ => {}
        }
        i += 1;
    }
}

/// Returns true if `::` is at this index.
fn colons(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |i: usize| match tokens.get(i) {
        Some(TokenTree::Punct(p)) if p.as_char() == ':' => Some(p.spacing()),
        _ => None,
    };
    colon(at) == Some(Spacing::Joint) && colon(at.wrapping_add(1)).is_some()
}
