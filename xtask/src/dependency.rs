//! Dependencies of extensions: expressions of names, `+` for all, `,` for any, and parentheses.

use crate::driver::Driver;

/// A dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dependency {
    /// An extension or a version.
    Name(String),
    /// All of these.
    All(Vec<Dependency>),
    /// Any of these.
    Any(Vec<Dependency>),
}

impl Dependency {
    /// Reads an expression; an empty one is always met.
    ///
    /// # Errors
    /// Returns a message if the expression is not understood.
    pub fn read(text: &str) -> Result<Dependency, String> {
        if text.is_empty() {
            return Ok(Dependency::All(Vec::new()));
        }
        let mut rest = text;
        let dependency = expression(&mut rest)?;
        if rest.is_empty() { Ok(dependency) } else { Err(format!("dependency {text}")) }
    }

    /// Returns the dependency without names that the driver has no row for, and that are never met;
    /// `None` if it is never met itself.
    pub fn known(self, driver: &Driver) -> Option<Dependency> {
        Some(match self {
            Dependency::Name(name) => {
                return driver.provides(&name).then_some(Dependency::Name(name));
            }
            Dependency::All(all) => {
                Dependency::All(all.into_iter().map(|one| one.known(driver)).collect::<Option<Vec<_>>>()?)
            }
            Dependency::Any(any) => {
                let any: Vec<Dependency> = any.into_iter().filter_map(|one| one.known(driver)).collect();
                match any.len() {
                    0 => return None,
                    1 => any.into_iter().next()?,
                    _ => Dependency::Any(any),
                }
            }
        })
    }

    /// Returns the dependencies that must all be met for this one.
    pub fn parts(self) -> Vec<Dependency> {
        match self {
            Dependency::All(all) => all,
            one => vec![one],
        }
    }

    /// Returns the dependency as an expression of the driver.
    pub fn text(&self) -> String {
        match self {
            Dependency::Name(name) => match name.strip_prefix("VK_VERSION_") {
                Some(version) => format!("Core(V{version})"),
                None => format!("Ext(E::{name})"),
            },
            Dependency::All(all) => format!("Dependency::All(&[{}])", texts(all)),
            Dependency::Any(any) => format!("Dependency::Any(&[{}])", texts(any)),
        }
    }
}

/// Returns dependencies as a list of expressions of the driver.
pub fn texts(dependencies: &[Dependency]) -> String {
    dependencies.iter().map(Dependency::text).collect::<Vec<_>>().join(", ")
}

/// Reads operands and operators of equal precedence from left to right.
fn expression(rest: &mut &str) -> Result<Dependency, String> {
    let mut left = operand(rest)?;
    loop {
        let operator = rest.chars().next();
        if !matches!(operator, Some('+' | ',')) {
            return Ok(left);
        }
        *rest = &rest[1..];
        let right = operand(rest)?;
        left = match (operator, left) {
            (Some('+'), Dependency::All(all)) => Dependency::All(all.into_iter().chain([right]).collect()),
            (Some('+'), left) => Dependency::All(vec![left, right]),
            (_, Dependency::Any(any)) => Dependency::Any(any.into_iter().chain([right]).collect()),
            (_, left) => Dependency::Any(vec![left, right]),
        };
    }
}

fn operand(rest: &mut &str) -> Result<Dependency, String> {
    if let Some(inner) = rest.strip_prefix('(') {
        *rest = inner;
        let dependency = expression(rest)?;
        *rest = rest.strip_prefix(')').ok_or_else(|| format!("dependency without ): {rest}"))?;
        return Ok(dependency);
    }
    let end = rest.find(['+', ',', '(', ')']).unwrap_or(rest.len());
    let (name, behind) = rest.split_at(end);
    if name.is_empty() {
        return Err(format!("dependency without a name: {rest}"));
    }
    *rest = behind;
    Ok(Dependency::Name(name.to_owned()))
}
