//! Reads values back from the text that `derive(Debug)` writes, so that dumps of intermediate forms
//! can be inputs of tests.
//!
//! [`Tree::parse`] reads the text of any value, and [`FromText`] builds a value from it. The derive
//! macro of that name implements the trait; the text form of a type is thus its `Debug` form.

#![forbid(unsafe_code)]

pub use from_text::FromText;

/// Upper bound of the nesting depth of a value.
const DEPTH: usize = 32;

/// A value that can be built from the text of `derive(Debug)`.
pub trait FromText: Sized {
    /// Builds the value. Returns `None` if the tree is not that of such a value.
    fn from_text(tree: &Tree) -> Option<Self>;
}

/// The text of a value, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// An integer.
    Number(i128),
    /// A string.
    Text(String),
    /// Elements of a list or an array.
    List(Vec<Tree>),
    /// A structure or variant: its name, and its fields with their names or positions.
    Named(String, Vec<(String, Tree)>),
}

impl Tree {
    /// Reads a value from the beginning of a text, and returns it with the rest of the text.
    /// Returns `None` if the text does not begin with a value.
    pub fn parse(text: &str) -> Option<(Tree, &str)> {
        let mut reader = Reader { text, depth: 0 };
        let tree = reader.value()?;
        Some((tree, reader.text))
    }

    /// Returns the name of a structure or variant.
    pub fn name(&self) -> Option<&str> {
        match self {
            Tree::Named(name, _) => Some(name),
            _ => None,
        }
    }

    /// Returns true if the structure or variant has this number of fields.
    pub fn has_fields(&self, count: usize) -> bool {
        matches!(self, Tree::Named(_, fields) if fields.len() == count)
    }

    /// Builds the value of a field, which has a name or a position.
    pub fn field<T: FromText>(&self, name: &str) -> Option<T> {
        let Tree::Named(_, fields) = self else { return None };
        T::from_text(&fields.iter().find(|field| field.0 == name)?.1)
    }
}

struct Reader<'a> {
    text: &'a str,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self) -> Option<Tree> {
        self.depth += 1;
        let first = self.text.chars().next().filter(|_| self.depth <= DEPTH)?;
        let tree = match first {
            '"' => self.string(),
            '[' => self.list(['[', ']'], |reader, _| reader.value()).map(Tree::List),
            '-' | '0'..='9' => self.number(),
            _ => self.named(),
        };
        self.depth -= 1;
        tree
    }

    /// Takes the longest beginning whose characters all pass the test.
    fn take(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let end = self.text.find(|c| !is_part(c)).unwrap_or(self.text.len());
        let (part, rest) = self.text.split_at(end);
        self.text = rest;
        part
    }

    /// Takes a text that is expected here.
    fn expect(&mut self, text: &str) -> Option<()> {
        self.text = self.text.strip_prefix(text)?;
        Some(())
    }

    fn number(&mut self) -> Option<Tree> {
        let negative = self.expect("-").is_some();
        let value = match self.expect("0x") {
            Some(()) => i128::from_str_radix(self.take(|c| c.is_ascii_hexdigit()), 16),
            None => self.take(|c| c.is_ascii_digit()).parse(),
        }
        .ok()?;
        Some(Tree::Number(if negative { -value } else { value }))
    }

    fn string(&mut self) -> Option<Tree> {
        let mut text = String::new();
        let mut chars = self.text.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.text = &self.text[at + 1..];
                    return Some(Tree::Text(text));
                }
                '\\' => text.push(escape(&mut chars)?),
                c => text.push(c),
            }
        }
        None
    }

    fn named(&mut self) -> Option<Tree> {
        let name = self.take(|c| c.is_alphanumeric() || c == '_').to_owned();
        let fields = if self.text.starts_with('(') {
            self.list(['(', ')'], |reader, i| Some((i.to_string(), reader.value()?)))?
        } else if self.text.starts_with(" {") {
            self.expect(" ")?;
            self.list(['{', '}'], |reader, _| {
                let name = reader.take(|c| c.is_alphanumeric() || c == '_').to_owned();
                reader.expect(": ")?;
                Some((name, reader.value()?))
            })?
        } else {
            Vec::new()
        };
        if name.is_empty() { None } else { Some(Tree::Named(name, fields)) }
    }

    /// Takes elements, which are separated by commas, between two characters.
    fn list<T>(&mut self, [open, close]: [char; 2], element: impl Fn(&mut Self, usize) -> Option<T>) -> Option<Vec<T>> {
        self.expect(open.encode_utf8(&mut [0; 4]))?;
        let mut list = Vec::new();
        loop {
            self.take(|c| c == ' ');
            if self.text.starts_with(close) {
                self.expect(close.encode_utf8(&mut [0; 4]))?;
                return Some(list);
            }
            if !list.is_empty() {
                self.expect(",")?;
                self.take(|c| c == ' ');
            }
            list.push(element(self, list.len())?);
        }
    }
}

/// Reads a character behind `\`.
fn escape(chars: &mut impl Iterator<Item = (usize, char)>) -> Option<char> {
    match chars.next()?.1 {
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        '0' => Some('\0'),
        'u' => {
            let digits: String = chars.map(|(_, c)| c).skip(1).take_while(|&c| c != '}').collect();
            char::from_u32(u32::from_str_radix(&digits, 16).ok()?)
        }
        c @ ('"' | '\'' | '\\') => Some(c),
        _ => None,
    }
}

macro_rules! numbers {
    ($($ty:ty)*) => {
        $(
            impl FromText for $ty {
                fn from_text(tree: &Tree) -> Option<Self> {
                    match tree {
                        Tree::Number(number) => (*number).try_into().ok(),
                        _ => None,
                    }
                }
            }
        )*
    };
}

numbers!(u8 i8 u16 i16 u32 i32 u64 i64 usize);

impl FromText for bool {
    fn from_text(tree: &Tree) -> Option<Self> {
        match tree.name()? {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }
}

impl FromText for String {
    fn from_text(tree: &Tree) -> Option<Self> {
        match tree {
            Tree::Text(text) => Some(text.clone()),
            _ => None,
        }
    }
}

impl<T: FromText> FromText for Option<T> {
    fn from_text(tree: &Tree) -> Option<Self> {
        match tree.name()? {
            "None" => Some(None),
            "Some" => tree.field("0").map(Some),
            _ => None,
        }
    }
}

impl<T: FromText> FromText for Vec<T> {
    fn from_text(tree: &Tree) -> Option<Self> {
        match tree {
            Tree::List(list) => list.iter().map(T::from_text).collect(),
            _ => None,
        }
    }
}

impl<T: FromText, const N: usize> FromText for [T; N] {
    fn from_text(tree: &Tree) -> Option<Self> {
        Vec::from_text(tree)?.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, FromText)]
    enum Example {
        Unit,
        Tuple(u8, Option<[i8; 2]>),
        Fields { word: u32, list: Vec<Inner>, text: String },
    }

    #[derive(Clone, Debug, PartialEq, FromText)]
    struct Inner(bool, i64);

    #[derive(Clone, Debug, Default, PartialEq, FromText)]
    struct Record {
        pub(crate) first: u32,
        /// Documentation and types with commas are skipped.
        second: Option<u64>,
    }

    fn round_trip<T: FromText + std::fmt::Debug + PartialEq>(value: T) {
        let text = format!("{value:?} rest");
        let (tree, rest) = Tree::parse(&text).expect("text of a value");
        assert_eq!((T::from_text(&tree), rest), (Some(value), " rest"), "{text}");
    }

    #[test]
    fn values_are_read_back_from_their_debug_text() {
        round_trip(Example::Unit);
        round_trip(Example::Tuple(255, Some([-128, 127])));
        round_trip(Example::Tuple(0, None));
        let list = vec![Inner(true, i64::MIN), Inner(false, i64::MAX)];
        round_trip(Example::Fields {
            word: u32::MAX,
            list,
            text: "a \"quoted\" \\ line\n\r\t\0\u{1}é\u{202e}x".into(),
        });
        round_trip(Example::Fields { word: 0, list: Vec::new(), text: String::new() });
        round_trip(Record { first: 1, second: Some(u64::MAX) });
    }

    #[test]
    fn other_texts_are_no_values() {
        let read = |text: &str| Tree::parse(text).and_then(|(tree, _)| Example::from_text(&tree));
        for text in ["", "Other", "Unit(1)", "Tuple(256, None)", "Tuple(1)", "Tuple(1, None", "Fields { word: 1 }"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(Tree::parse(&"[".repeat(100_000)), None);
        assert_eq!(Tree::parse("\"open"), None);
    }
}
