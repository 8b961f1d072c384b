//! Reads the method calls of the types of a crate, and which files write the fields of a type.
//!
//! Types are not inferred. A call counts if its receiver is `self`, a parameter whose type names a
//! type of the crate, or a closure's first parameter without a type or with `Self` (which is taken
//! for `self`), followed by fields that have a type of the crate, perhaps inside of an `Option`, a
//! `Vec` or a reference.
//! `Type::name`, `Self::name` and calls of functions that take the type as a parameter count too.
//! Local variables, results of calls, function pointers and trait objects are not followed.
//!
//! A write is an assignment to a field or to a part of it, `&mut` of it, or the call of a method of
//! the standard library that changes it (`WRITERS`). The call of a method of the field's own type
//! is no write, because that method is the interface of the field.

use super::{ModuleGraph, ModulePath, colons, paths};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::{FnArg, ImplItem, Item, Pat};

/// Methods of the standard library that change their receiver.
const WRITERS: [&str; 17] = [
    "push",
    "pop",
    "insert",
    "remove",
    "take",
    "replace",
    "clear",
    "extend",
    "entry",
    "truncate",
    "retain",
    "resize",
    "drain",
    "as_mut",
    "iter_mut",
    "get_or_insert_with",
    "fill",
];

/// A type: its module and name.
pub type TypeId = (ModulePath, String);

/// A function with a body: a method, or a free function.
struct Function<'g> {
    module: &'g ModulePath,
    file: &'g Path,
    /// The type whose method it is.
    owner: Option<TypeId>,
    name: String,
    /// Types of `self` and of the parameters.
    bindings: BTreeMap<String, TypeId>,
    uses: Vec<Use>,
}

/// The target of a method call or of a write.
enum Use {
    /// A method of a type.
    Call(TypeId, String),
    /// A free function, or an item of a module.
    Path(TypeId),
    /// A field of a type.
    Write(TypeId, String),
}

/// All functions and types of a crate.
pub struct Methods<'g> {
    graph: &'g ModuleGraph,
    /// Names that each module imports, with the module and the name that they stand for.
    imports: BTreeMap<&'g ModulePath, BTreeMap<String, TypeId>>,
    /// Types of the fields of each struct, if they are types of the crate.
    fields: BTreeMap<TypeId, BTreeMap<String, Option<TypeId>>>,
    functions: Vec<Function<'g>>,
}

impl<'g> Methods<'g> {
    /// Reads the functions of a crate.
    pub fn read(graph: &'g ModuleGraph) -> Methods<'g> {
        let mut methods = Methods { graph, imports: BTreeMap::new(), fields: BTreeMap::new(), functions: Vec::new() };
        methods.read_names();
        methods.read_fields();
        methods.read_functions();
        methods
    }

    /// Returns the structs and enums of the crate.
    pub fn types(&self) -> impl Iterator<Item = &TypeId> {
        self.fields.keys()
    }

    fn read_names(&mut self) {
        for (name, module) in &self.graph.modules {
            let imports = self.imports.entry(name).or_default();
            for item in &module.items {
                match item {
                    Item::Use(item) => {
                        for path in paths(&item.tree) {
                            if let (Some(last), Some(id)) = (path.last(), self.graph.resolve(name, &path.path, 0)) {
                                imports.insert(last.clone(), id);
                            }
                        }
                    }
                    Item::Struct(item) => {
                        _ = self.fields.insert((name.clone(), item.ident.to_string()), BTreeMap::new())
                    }
                    Item::Enum(item) => _ = self.fields.insert((name.clone(), item.ident.to_string()), BTreeMap::new()),
                    _ => {}
                }
            }
        }
    }

    fn read_fields(&mut self) {
        for (name, module) in &self.graph.modules {
            for item in &module.items {
                let Item::Struct(item) = item else { continue };
                let of = |field: &syn::Field| {
                    Some((field.ident.as_ref()?.to_string(), self.type_in(name, field.ty.to_token_stream())))
                };
                let fields = item.fields.iter().filter_map(of).collect();
                self.fields.insert((name.clone(), item.ident.to_string()), fields);
            }
        }
    }

    fn read_functions(&mut self) {
        let mut functions = Vec::new();
        for (module, contents) in &self.graph.modules {
            let mut add = |owner: Option<TypeId>, signature: &syn::Signature, block: &syn::Block| {
                let mut bindings = BTreeMap::new();
                for input in &signature.inputs {
                    match input {
                        FnArg::Receiver(_) => bindings.extend(owner.clone().map(|owner| ("self".to_owned(), owner))),
                        FnArg::Typed(input) => {
                            if let (Pat::Ident(name), Some(id)) =
                                (&*input.pat, self.type_in(module, input.ty.to_token_stream()))
                            {
                                bindings.insert(name.ident.to_string(), id);
                            }
                        }
                    }
                }
                let name = signature.ident.to_string();
                let mut uses = Vec::new();
                self.scan_uses(&bindings, block.to_token_stream(), &mut uses);
                self.scan_paths(module, owner.as_ref(), block.to_token_stream(), &mut uses);
                functions.push(Function { module, file: &contents.file, owner, name, bindings, uses });
            };
            for item in &contents.items {
                match item {
                    Item::Fn(item) => add(None, &item.sig, &item.block),
                    Item::Impl(item) => {
                        let owner = self.type_in(module, item.self_ty.to_token_stream());
                        for item in &item.items {
                            if let ImplItem::Fn(item) = item {
                                add(owner.clone(), &item.sig, &item.block);
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        self.functions = functions;
    }

    /// Returns the first type of the crate that the tokens of a type name.
    fn type_in(&self, module: &ModulePath, tokens: TokenStream) -> Option<TypeId> {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        (0..tokens.len()).find_map(|i| match &tokens[i] {
            TokenTree::Group(group) => self.type_in(module, group.stream()),
            TokenTree::Ident(_) if !colons(&tokens, i.wrapping_sub(2)) => {
                let id = self.name_in(module, &path_at(&tokens, i).0)?;
                self.fields.contains_key(&id).then_some(id)
            }
            _ => None,
        })
    }

    /// Returns the item that a path in a module names.
    fn name_in(&self, module: &ModulePath, path: &[String]) -> Option<TypeId> {
        match path {
            [name] => {
                let own = || (module.clone(), name.clone());
                Some(self.imports[module].get(name).cloned().unwrap_or_else(own))
            }
            [first, rest @ ..] => self.graph.resolve(module, path, 0).or_else(|| {
                let (mut outer, name) = self.imports[module].get(first)?.clone();
                if name != "itself" {
                    outer.push(name);
                }
                let mut full = vec!["crate".to_owned()];
                full.extend(outer);
                full.extend(rest.iter().cloned());
                self.graph.resolve(module, &full, 0)
            }),
            [] => None,
        }
    }

    /// Returns the types whose methods count for a type: itself, and the types of its fields.
    fn parts<'n>(&'n self, of: &'n TypeId) -> BTreeSet<&'n TypeId> {
        self.fields[of].values().flatten().chain([of]).collect()
    }

    /// Returns the calls between files of the methods of a type and its parts, and of functions
    /// that take the type, with the names of the methods.
    pub fn calls(&self, of: &TypeId) -> BTreeMap<(PathBuf, PathBuf), BTreeSet<String>> {
        let parts = self.parts(of);
        let mut files: BTreeMap<(Option<&TypeId>, &ModulePath, &str), &Path> = BTreeMap::new();
        let nowhere = ModulePath::new();
        for f in &self.functions {
            match &f.owner {
                Some(owner) if parts.contains(owner) => _ = files.insert((Some(owner), &nowhere, &f.name), f.file),
                None if f.bindings.values().any(|t| t == of) => _ = files.insert((None, f.module, &f.name), f.file),
                _ => {}
            }
        }
        let mut calls: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for f in &self.functions {
            let mut call = |key: (Option<&TypeId>, &ModulePath, &str)| {
                if let Some(to) = files.get(&key).filter(|to| **to != f.file) {
                    calls.entry((f.file.to_owned(), (*to).to_owned())).or_default().insert(key.2.to_owned());
                }
            };
            for found in &f.uses {
                match found {
                    Use::Call(id, name) => call((Some(id), &nowhere, name)),
                    Use::Path(id) => call((None, &id.0, &id.1)),
                    Use::Write(..) => {}
                }
            }
        }
        calls
    }

    /// Returns the files that write each field of a type.
    pub fn writers(&self, of: &TypeId) -> BTreeMap<String, BTreeSet<&Path>> {
        let mut writers: BTreeMap<String, BTreeSet<&Path>> = BTreeMap::new();
        for f in &self.functions {
            for found in &f.uses {
                if let Use::Write(id, field) = found
                    && id == of
                {
                    writers.entry(field.clone()).or_default().insert(f.file);
                }
            }
        }
        writers
    }

    /// Returns the groups of files that call each other's methods of a type.
    pub fn components(&self, of: &TypeId) -> Vec<BTreeSet<PathBuf>> {
        let mut next: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
        for (from, to) in self.calls(of).into_keys() {
            next.entry(from).or_default().insert(to);
        }
        super::components(&next)
    }

    fn scan_uses(&self, bindings: &BTreeMap<String, TypeId>, tokens: TokenStream, uses: &mut Vec<Use>) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut bindings = bindings.clone();
        for i in 0..tokens.len() {
            match &tokens[i] {
                TokenTree::Group(group) => self.scan_uses(&bindings, group.stream(), uses),
                TokenTree::Punct(p) if p.as_char() == '|' => {
                    if let (Some(TokenTree::Ident(name)), true, Some(owner)) =
                        (tokens.get(i + 1), may_be_self(&tokens, i + 2), bindings.get("self").cloned())
                    {
                        bindings.entry(name.to_string()).or_insert(owner);
                    }
                }
                TokenTree::Ident(name) if !is_punct(&tokens, i.wrapping_sub(1), '.') => {
                    if let Some(id) = bindings.get(&name.to_string()) {
                        self.follow(&tokens, i, id, uses);
                    }
                }
                _ => {}
            }
        }
    }

    /// Follows `.field.field` from a token on to a call or a write.
    fn follow(&self, tokens: &[TokenTree], start: usize, id: &TypeId, uses: &mut Vec<Use>) {
        let mut at = self.fields.get_key_value(id);
        let mut first: Option<(&TypeId, String)> = None;
        let borrowed = start >= 2 && is_punct(tokens, start - 2, '&') && tokens[start - 1].to_string() == "mut";
        let mut written = borrowed;
        let mut i = start + 1;
        loop {
            if is_punct(tokens, i, '.')
                && let Some(TokenTree::Ident(name)) = tokens.get(i + 1)
            {
                let name = name.to_string();
                if is_call(tokens, i + 2) {
                    written |= WRITERS.contains(&&*name) && first.is_some();
                    uses.extend(at.map(|(id, _)| Use::Call(id.clone(), name)));
                    break;
                }
                if let (None, Some((id, _))) = (&first, at) {
                    first = Some((id, name.clone()));
                }
                let next = at.and_then(|(_, fields)| fields.get(&name)?.as_ref());
                at = next.and_then(|id| self.fields.get_key_value(id));
                i += 2;
            } else if matches!(tokens.get(i), Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Bracket) {
                i += 1;
            } else {
                written |= is_assignment(tokens, i);
                break;
            }
        }
        if let (true, Some((id, field))) = (written, first) {
            uses.push(Use::Write(id.clone(), field));
        }
    }

    /// Finds the paths that code calls or names: a free function, or a type and its method.
    fn scan_paths(&self, module: &ModulePath, owner: Option<&TypeId>, tokens: TokenStream, uses: &mut Vec<Use>) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for i in 0..tokens.len() {
            match &tokens[i] {
                TokenTree::Group(group) => self.scan_paths(module, owner, group.stream(), uses),
                TokenTree::Ident(_)
                    if !colons(&tokens, i.wrapping_sub(2)) && !is_punct(&tokens, i.wrapping_sub(1), '.') =>
                {
                    let (path, end) = path_at(&tokens, i);
                    if is_call(&tokens, end) {
                        uses.extend(self.name_in(module, &path).map(Use::Path));
                    }
                    if let [of @ .., method] = &*path
                        && let Some(first) = of.first()
                    {
                        let own = owner.filter(|_| first == "Self").cloned();
                        let id = own.or_else(|| self.name_in(module, of)).filter(|id| self.fields.contains_key(id));
                        uses.extend(id.map(|id| Use::Call(id, method.clone())));
                    }
                }
                _ => {}
            }
        }
    }
}

/// Returns the names of a path `a::b::c`, and the index of the token behind it.
fn path_at(tokens: &[TokenTree], start: usize) -> (Vec<String>, usize) {
    let (mut path, mut end) = (vec![tokens[start].to_string()], start);
    while colons(tokens, end + 1)
        && let Some(TokenTree::Ident(next)) = tokens.get(end + 3)
    {
        path.push(next.to_string());
        end += 3;
    }
    (path, end + 1)
}

fn is_punct(tokens: &[TokenTree], at: usize, char: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == char)
}

/// Returns true if a closure's first parameter, behind whose name this is, has no type or `Self`.
fn may_be_self(tokens: &[TokenTree], at: usize) -> bool {
    let self_type = |token: &TokenTree| matches!(token, TokenTree::Ident(name) if name == "Self");
    let reference = is_punct(tokens, at, ':') && is_punct(tokens, at + 1, '&');
    is_punct(tokens, at, '|')
        || is_punct(tokens, at, ',')
        || reference && tokens.iter().skip(at + 2).take(2).any(self_type)
}

/// Returns true if the arguments of a call are here, perhaps behind `::<types>`.
fn is_call(tokens: &[TokenTree], at: usize) -> bool {
    let parenthesis = matches!(tokens.get(at), Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis);
    parenthesis || colons(tokens, at) && is_punct(tokens, at + 2, '<')
}

/// Returns true if `=` or an operator with it is here, which is no comparison.
fn is_assignment(tokens: &[TokenTree], at: usize) -> bool {
    let char = |i: usize| match tokens.get(i) {
        Some(TokenTree::Punct(p)) => Some(p.as_char()),
        _ => None,
    };
    match char(at) {
        Some('=') => !matches!(char(at + 1), Some('=' | '>')),
        Some('+' | '-' | '*' | '/' | '|' | '&' | '^' | '%') => char(at + 1) == Some('='),
        _ => false,
    }
}
