//! Reads the text form of a shader, as `print` writes it.
//!
//! Values and labels are numbered in the order of the text. Their names in the text may be any of
//! the form `v12` and `label3`, so that tests may be edited by hand. A shader that was read prints
//! as a text that is read as an equal shader.

use super::{FloatFlags, If, Label, Loop, Node, Op, Region, Scope, Shader, Term, Ty, Value, VarData};
use base::text::{FromText, Tree};
use cranelift_entity::EntityRef;
use std::collections::HashMap;

/// Upper bound of the nesting depth of regions.
const DEPTH: usize = 256;

const TYPES: [Ty; 11] =
    [Ty::B1, Ty::I8, Ty::I16, Ty::I32, Ty::I64, Ty::F16, Ty::F32, Ty::F64, Ty::Buf, Ty::Img, Ty::Smp];

/// Reads a shader. Lines that begin with `;` are comments.
///
/// # Errors
/// Returns a message with the number of the line that cannot be read.
pub fn parse(text: &str) -> Result<Shader, String> {
    let lines = text.lines().map(str::trim).enumerate();
    let mut parser = Parser {
        shader: Shader::new(base::shader::Stage::Compute, ""),
        lines: lines.filter(|(_, line)| !line.is_empty() && !line.starts_with(';')).collect(),
        at: 0,
        values: HashMap::new(),
        labels: HashMap::new(),
    };
    let result = parser.shader();
    let at = parser.at.clamp(1, parser.lines.len().max(1)) - 1;
    let (number, line) = parser.lines.get(at).copied().unwrap_or((0, "no text"));
    result.map_err(|message| format!("line {}: {message}: {line}", number + 1))?;
    Ok(parser.shader)
}

type Parsed<T> = Result<T, &'static str>;

struct Parser<'a> {
    shader: Shader,
    /// Lines with their numbers, without comments.
    lines: Vec<(usize, &'a str)>,
    /// Index of the next line.
    at: usize,
    values: HashMap<&'a str, Value>,
    labels: HashMap<&'a str, Label>,
}

/// A line of a region.
enum Line<'a> {
    /// An instruction.
    Node(Node),
    /// The terminator of the region.
    End(Term),
    /// The first line of a node with regions: the names and types of its results, and the text
    /// after them.
    Nested(Vec<(&'a str, Ty)>, &'a str),
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Parsed<&'a str> {
        let line = self.lines.get(self.at).ok_or("the text ends")?.1;
        self.at += 1;
        Ok(line)
    }

    fn shader(&mut self) -> Parsed<()> {
        let line = self.next()?;
        let (info, rest) = read(line)?;
        let (name, rest) = read(rest.trim_start())?;
        (self.shader.stage_info, self.shader.name) = (info, name);
        end(rest)?;
        loop {
            let line = self.next()?;
            if let Some(label) = line.strip_suffix(": {") {
                self.labels.insert(label, self.shader.root.label);
                break;
            }
            self.declaration(line)?;
        }
        self.shader.root.body = self.region(0)?;
        if self.next()? != "}" {
            return Err("expected the end of the body");
        }
        if self.at == self.lines.len() { Ok(()) } else { Err("expected the end of the text") }
    }

    /// Reads a line between the first one and the body.
    fn declaration(&mut self, line: &'a str) -> Parsed<()> {
        let (head, rest) = line.split_once(": ").unwrap_or((line, ""));
        let kind = head.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end();
        let shader = &mut self.shader;
        let rest = match kind {
            "in" => push(&mut shader.inputs, rest)?,
            "out" => push(&mut shader.outputs, rest)?,
            "placement" => push(&mut shader.placements, rest)?,
            "capture" => {
                let (capture, rest) = read(rest)?;
                shader.capture = Some(capture);
                rest
            }
            "side_effects" => {
                shader.side_effects = true;
                rest
            }
            "uses_subgroup" => {
                shader.uses_subgroup = true;
                rest
            }
            "var" => {
                let (ty, rest) = rest.split_once('[').ok_or("expected the type of a variable")?;
                let (len, rest) = read(rest)?;
                let (name, rest) = read(rest.strip_prefix("] ").ok_or("expected the name of a variable")?)?;
                let var = shader.vars.push(VarData { ty: type_of(ty)?, len, name });
                if head != var.to_string() {
                    return Err("variables are numbered in their order");
                }
                rest
            }
            _ => return Err("not a declaration"),
        };
        end(rest)
    }

    fn region(&mut self, depth: usize) -> Parsed<Region> {
        if depth > DEPTH {
            return Err("regions are nested too deeply");
        }
        let mut nodes = Vec::new();
        loop {
            let line = self.next()?;
            let node = match self.line(line)? {
                Line::Node(node) => node,
                Line::End(term) => return Ok(Region { nodes, term }),
                Line::Nested(results, rest) => self.nested(&results, rest, depth)?,
            };
            nodes.push(node);
        }
    }

    fn line(&mut self, line: &'a str) -> Parsed<Line<'a>> {
        if line == "unreachable" {
            return Ok(Line::End(Term::Unreachable));
        }
        if let Some(args) = keyword(line, "yield") {
            return Ok(Line::End(Term::Yield(self.list(args)?)));
        }
        if let Some(rest) = keyword(line, "break") {
            let (label, args) = rest.split_once(' ').unwrap_or((rest, ""));
            let label = *self.labels.get(label).ok_or("no such label")?;
            return Ok(Line::End(Term::Break(label, self.list(args)?)));
        }
        let (results, rest) = match line.split_once(" = ") {
            Some((results, rest)) if results.starts_with('v') => {
                (results.split(", ").map(typed).collect::<Parsed<_>>()?, rest)
            }
            _ => (Vec::new(), line),
        };
        if ["if", "loop", "scope"].iter().any(|word| keyword(rest, word).is_some()) {
            return Ok(Line::Nested(results, rest));
        }
        Ok(Line::Node(self.inst(&results, rest)?))
    }

    /// Reads a node with regions, whose first line is known.
    fn nested(&mut self, results: &[(&'a str, Ty)], first: &'a str, depth: usize) -> Parsed<Node> {
        let first = first.strip_suffix(" {").ok_or("expected a region")?;
        if let Some(cond) = keyword(first, "if") {
            let cond = self.value(cond)?;
            let then = self.region(depth + 1)?;
            if self.next()? != "} else {" {
                return Err("expected the other region");
            }
            let else_ = self.region(depth + 1)?;
            self.close()?;
            return Ok(Node::If(Box::new(If { cond, then, else_, results: self.define(results)? })));
        }
        if let Some(name) = keyword(first, "scope") {
            let label = self.label(name)?;
            let body = self.region(depth + 1)?;
            self.close()?;
            return Ok(Node::Scope(Box::new(Scope { label, body, results: self.define(results)? })));
        }
        let head = keyword(first, "loop").and_then(|rest| rest.strip_suffix(')')).ok_or("expected a loop")?;
        let (name, params) = head.split_once('(').ok_or("expected parameters")?;
        let params = params.split(", ").filter(|param| !param.is_empty());
        let params: Vec<_> =
            params.map(|param| param.split_once(" = ").ok_or("expected a first value")).collect::<Parsed<_>>()?;
        let inits = params.iter().map(|param| self.value(param.1)).collect::<Parsed<_>>()?;
        let params: Vec<_> = params.iter().map(|param| typed(param.0)).collect::<Parsed<_>>()?;
        let (label, params) = (self.label(name)?, self.define(&params)?);
        let body = self.region(depth + 1)?;
        self.close()?;
        Ok(Node::Loop(Box::new(Loop { label, params, inits, body, results: self.define(results)? })))
    }

    fn close(&mut self) -> Parsed<()> {
        if self.next()? == "}" { Ok(()) } else { Err("expected the end of the region") }
    }

    /// Reads an instruction behind its results.
    fn inst(&mut self, results: &[(&'a str, Ty)], text: &'a str) -> Parsed<Node> {
        let types: Vec<Ty> = results.iter().map(|result| result.1).collect();
        let (text, source) = text.split_once("  ; %").unwrap_or((text, "0"));
        let source = source.parse().map_err(|_| "expected an id of SPIR-V")?;
        let (op, rest) = match keyword(text, "const") {
            Some(constant) => {
                let &[ty] = &types[..] else { return Err("a constant has one result") };
                let (bits, rest) = constant_bits(constant, ty)?;
                (Op::Const(bits), rest)
            }
            None => {
                let (tree, rest) = Tree::parse(text).ok_or("expected an operation")?;
                (operation(&tree).ok_or("not an operation")?, rest)
            }
        };
        let (mut args, mut flags) = (Vec::new(), FloatFlags::NONE);
        for word in rest.split_whitespace().map(|word| word.trim_end_matches(',')) {
            match FloatFlags::from_name(word) {
                Some(flag) => flags |= flag,
                None => args.push(self.value(word)?),
            }
        }
        let inst = self.shader.inst(op, &args, &types, source);
        self.shader.insts[inst].float = flags;
        self.name(results, &self.shader.insts[inst].results().collect::<Vec<_>>())?;
        Ok(Node::Inst(inst))
    }

    /// Makes values that regions define.
    fn define(&mut self, names: &[(&'a str, Ty)]) -> Parsed<Vec<Value>> {
        let values: Vec<Value> = names.iter().map(|name| self.shader.region_value(name.1)).collect();
        self.name(names, &values)?;
        Ok(values)
    }

    fn name(&mut self, names: &[(&'a str, Ty)], values: &[Value]) -> Parsed<()> {
        for (name, &value) in names.iter().zip(values) {
            if self.values.insert(name.0, value).is_some() {
                return Err("a value is defined twice");
            }
        }
        Ok(())
    }

    fn label(&mut self, name: &'a str) -> Parsed<Label> {
        let label = self.shader.new_label();
        if self.labels.insert(name, label).is_some() { Err("a label is used twice") } else { Ok(label) }
    }

    fn value(&self, name: &str) -> Parsed<Value> {
        self.values.get(name).copied().ok_or("no such value")
    }

    fn list(&self, names: &str) -> Parsed<Vec<Value>> {
        names.split(", ").filter(|name| !name.is_empty()).map(|name| self.value(name)).collect()
    }
}

/// Returns the text after a word at the beginning of a line, or `None` without the word.
fn keyword<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(word)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(' ') }
}

fn read<T: FromText>(text: &str) -> Parsed<(T, &str)> {
    let (tree, rest) = Tree::parse(text).ok_or("expected a value")?;
    Ok((T::from_text(&tree).ok_or("the value does not have the expected type")?, rest))
}

fn push<'a, T: FromText>(list: &mut Vec<T>, text: &'a str) -> Parsed<&'a str> {
    let (value, rest) = read(text)?;
    list.push(value);
    Ok(rest)
}

fn end(rest: &str) -> Parsed<()> {
    if rest.is_empty() { Ok(()) } else { Err("expected the end of the line") }
}

/// Reads a name with its type, as `v1: f32`.
fn typed(text: &str) -> Parsed<(&str, Ty)> {
    let (name, ty) = text.split_once(": ").ok_or("expected a type")?;
    Ok((name, type_of(ty)?))
}

fn type_of(name: &str) -> Parsed<Ty> {
    TYPES.into_iter().find(|ty| ty.to_string() == name).ok_or("not a type")
}

/// Reads the bits of a constant, which are in parentheses if it is a float, and returns the text
/// after it.
fn constant_bits(text: &str, ty: Ty) -> Parsed<(u64, &str)> {
    let (text, close) = text.split_once(" (").map_or((text, ""), |(_, bits)| (bits, ")"));
    let (tree, rest) = Tree::parse(text).ok_or("expected a constant")?;
    let rest = rest.strip_prefix(close).ok_or("expected the end of the constant")?;
    let bits = match (tree, ty) {
        (Tree::Number(number), Ty::I32) => i32::try_from(number).ok().map(|n| u64::from(n as u32)),
        (Tree::Number(number), _) => u64::try_from(number).ok(),
        _ => None,
    };
    Ok((bits.ok_or("expected the bits of a constant")?, rest))
}

/// Builds an operation from its text ([`super::print::name`]).
fn operation(tree: &Tree) -> Option<Op> {
    Op::from_text(tree)
        .or_else(|| FromText::from_text(tree).map(Op::Unary))
        .or_else(|| FromText::from_text(tree).map(Op::Binary))
        .or_else(|| FromText::from_text(tree).map(Op::Cmp))
        .or_else(|| FromText::from_text(tree).map(Op::Convert))
        .or_else(|| FromText::from_text(tree).map(Op::Builtin))
}

impl FromText for super::Var {
    fn from_text(tree: &Tree) -> Option<Self> {
        let number: u32 = tree.name()?.strip_prefix("var")?.parse().ok()?;
        Some(super::Var::new(number as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::super::examples::variants;
    use super::super::print::name;
    use super::*;

    #[test]
    fn every_operation_is_read_back() {
        let is_constant = |op: &Op| matches!(op, Op::Const(_));
        for op in Op::examples().iter().flat_map(variants).filter(|op| !is_constant(op)) {
            let text = format!("{:?}", name(&op));
            let (tree, rest) = Tree::parse(&text).expect("the text of an operation");
            assert_eq!((operation(&tree), rest), (Some(op), ""), "{text}");
        }
    }

    #[test]
    fn errors_name_the_line() {
        let text = "Vertex \"main\"\nlabel0: {\n  v0: i32 = const 1\n  v1: i32 = IAdd v0, v7\n  yield\n}\n";
        assert_eq!(parse(text).err().as_deref(), Some("line 4: no such value: v1: i32 = IAdd v0, v7"));
        assert_eq!(parse("").err().as_deref(), Some("line 1: the text ends: no text"));
        assert!(parse("Vertex \"main\"\nlabel0: {").is_err());
    }
}
