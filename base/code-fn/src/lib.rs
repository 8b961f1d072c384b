//! The attribute `#[code_fn]`, which gives a function the calling convention of generated code. The
//! crate `base` re-exports it; `base::abi::calling_convention` describes the convention.

#![forbid(unsafe_code)]

use proc_macro::{Delimiter, Literal, TokenStream, TokenTree};

/// Name of the calling convention in the source.
const CODE: &str = "\"code\"";

/// Gives a function that is written as `extern "code" fn` the calling convention of generated code,
/// which is named `sysv64` on x86-64, and `C` on other architectures. A function without `extern`
/// stays as it is, so that macros may define functions of both kinds.
///
/// The function is emitted once for each architecture, because this crate runs on the machine that
/// compiles and does not know for which one.
///
/// # Errors
/// Another calling convention is an error of the compilation.
#[proc_macro_attribute]
pub fn code_fn(_: TokenStream, function: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = function.into_iter().collect();
    let is_extern = |token: &TokenTree| matches!(token, TokenTree::Ident(name) if name.to_string() == "extern");
    let Some(at) = tokens.iter().position(is_extern) else {
        return tokens.into_iter().collect();
    };
    if tokens.get(at + 1).and_then(literal).as_deref() != Some(CODE) {
        return parse("compile_error!(\"a function with this attribute is written as `extern \\\"code\\\" fn`\");");
    }
    let variants = [("target_arch = \"x86_64\"", "sysv64"), ("not(target_arch = \"x86_64\")", "C")];
    let variants = variants.map(|(condition, convention)| {
        let mut tokens = tokens.clone();
        let span = tokens[at + 1].span();
        let mut name = Literal::string(convention);
        name.set_span(span);
        tokens[at + 1] = name.into();
        parse(&format!("#[cfg({condition})]")).into_iter().chain(tokens)
    });
    variants.into_iter().flatten().collect()
}

/// Returns the text of a literal. An argument of a macro is one in invisible delimiters.
fn literal(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Literal(literal) => Some(literal.to_string()),
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => literal(&group.stream().into_iter().next()?),
        _ => None,
    }
}

fn parse(source: &str) -> TokenStream {
    source.parse().expect("the source is valid")
}
