//! The derive macro `FromText`, which reads a value back from the text that `derive(Debug)` writes.
//! The crate `base` re-exports it; `base::text` defines the trait.

#![forbid(unsafe_code)]

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};
use std::fmt::Write;

/// Implements `base::text::FromText` for a structure or an enumeration without type parameters.
///
/// # Errors
/// A type with parameters, or a union, is an error of the compilation.
#[proc_macro_derive(FromText)]
pub fn from_text(item: TokenStream) -> TokenStream {
    let source = implementation(item).unwrap_or_else(|message| format!("compile_error!({message:?});"));
    source.parse().expect("the source is valid")
}

/// Returns the source of the implementation, or a message.
fn implementation(item: TokenStream) -> Result<String, &'static str> {
    let mut tokens = Declarations(item.into_iter().peekable());
    tokens.skip_attributes();
    let (kind, name) = (tokens.ident().ok_or("not a type")?, tokens.ident().ok_or("a type without a name")?);
    let body = match tokens.0.next() {
        Some(TokenTree::Group(body)) => Some(body),
        Some(TokenTree::Punct(punct)) if punct.as_char() == ';' => None,
        _ => return Err("types with parameters cannot be read"),
    };
    let arms = match (kind.as_str(), body) {
        ("struct", body) => arm(&name, "Self", &fields(body)),
        ("enum", Some(body)) => {
            variants(body).map(|(name, body)| arm(&name, &format!("Self::{name}"), &fields(body))).collect()
        }
        _ => return Err("only structures and enumerations can be read"),
    };
    Ok(format!(
        "impl ::base::text::FromText for {name} {{
            fn from_text(tree: &::base::text::Tree) -> Option<Self> {{
                match tree.name()? {{ {arms} _ => None }}
            }}
        }}"
    ))
}

/// Returns the match arm that builds a structure or a variant.
fn arm(name: &str, path: &str, fields: &[String]) -> String {
    let count = fields.len();
    let mut values = String::new();
    for field in fields {
        // A field without a name is built by its position, as `Type { 0: value }`.
        write!(values, "{field}: tree.field(\"{field}\")?,").expect("strings grow");
    }
    format!("\"{name}\" if tree.has_fields({count}) => Some({path} {{ {values} }}),")
}

/// Returns the names of the fields of a structure or a variant: positions, if they have no names.
fn fields(body: Option<Group>) -> Vec<String> {
    let Some(body) = body else { return Vec::new() };
    let parts = parts(body.stream());
    match body.delimiter() {
        Delimiter::Parenthesis => (0..parts.len()).map(|i| i.to_string()).collect(),
        _ => parts.into_iter().filter_map(|mut part| part.ident()).collect(),
    }
}

/// Returns the names of the variants of an enumeration, with their fields.
fn variants(body: Group) -> impl Iterator<Item = (String, Option<Group>)> {
    parts(body.stream()).into_iter().filter_map(|mut part| {
        let name = part.ident()?;
        let fields = match part.0.next() {
            Some(TokenTree::Group(fields)) => Some(fields),
            _ => None,
        };
        Some((name, fields))
    })
}

/// Tokens of a declaration.
struct Declarations(std::iter::Peekable<<TokenStream as IntoIterator>::IntoIter>);

impl Declarations {
    /// Skips attributes and the visibility.
    fn skip_attributes(&mut self) {
        loop {
            match self.0.peek() {
                Some(TokenTree::Punct(punct)) if punct.as_char() == '#' => {
                    self.0.next();
                    self.0.next();
                }
                Some(TokenTree::Ident(name)) if name.to_string() == "pub" => {
                    self.0.next();
                    if matches!(self.0.peek(), Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis) {
                        self.0.next();
                    }
                }
                _ => return,
            }
        }
    }

    /// Takes an identifier. An argument of a macro is one in invisible delimiters.
    fn ident(&mut self) -> Option<String> {
        match self.0.next()? {
            TokenTree::Ident(name) => Some(name.to_string()),
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                group.stream().into_iter().next().map(|token| token.to_string())
            }
            _ => None,
        }
    }
}

/// Splits a list at its commas, outside of angle brackets, and removes attributes.
fn parts(list: TokenStream) -> Vec<Declarations> {
    let mut parts: Vec<Vec<TokenTree>> = vec![Vec::new()];
    let mut depth = 0;
    for token in list {
        let punct = if let TokenTree::Punct(punct) = &token { punct.as_char() } else { ' ' };
        match punct {
            ',' if depth == 0 => {
                parts.push(Vec::new());
                continue;
            }
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        parts.last_mut().expect("a list has a part").push(token);
    }
    let mut declarations = Vec::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        let mut part = Declarations(part.into_iter().collect::<TokenStream>().into_iter().peekable());
        part.skip_attributes();
        declarations.push(part);
    }
    declarations
}
