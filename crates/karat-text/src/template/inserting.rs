//! Templates that do nothing but insert what stands somewhere: the usual prompt.
//!
//! Where all that they name is text, it is copied from where it stands: nothing is converted for minijinja, and nothing
//! interpreted, which takes several times as long. Anything else, errors among it, is left to minijinja.

use super::Context;

/// A text and what is inserted into it, in their order.
pub(super) struct PlainInsertion(Vec<InsertedPiece>);

enum InsertedPiece {
    Text(Box<str>),
    /// The path a hole names: `["sample", "question"]`.
    Path(Vec<Box<str>>),
}

impl PlainInsertion {
    /// A template of these holes only: `{{ sample.question }}`. `reads` are all names that it reads.
    pub fn of(text: &str, reads: &[String]) -> Option<Self> {
        // Of a lone carriage return at the end, minijinja knows what becomes.
        if text.contains("{%") || text.contains("{#") || text.ends_with('\r') {
            return None;
        }
        let mut pieces = Vec::new();
        let mut left = text;
        while let Some((before, hole)) = left.split_once("{{") {
            let (name, after) = hole.split_once("}}")?;
            let name = name.trim_matches(' ');
            // A word of minijinja's own, such as `true`, is not a name that is read.
            if !reads.iter().any(|read| read == name) {
                return None;
            }
            let path: Vec<Box<str>> = name.split('.').map(Box::from).collect();
            if !path.iter().all(|name| is_name(name)) {
                return None;
            }
            pieces.push(InsertedPiece::Text(before.into()));
            pieces.push(InsertedPiece::Path(path));
            left = after;
        }
        pieces.push(InsertedPiece::Text(left.into()));
        Some(Self(pieces))
    }

    /// The whole text; `None` where a hole names anything but text.
    pub fn text(&self, context: &Context) -> Option<String> {
        let parts = || self.0.iter().map(|piece| piece.text(context));
        let length = parts().map(|part| part.map(str::len)).sum::<Option<usize>>()?;
        let mut text = String::with_capacity(length);
        parts().flatten().for_each(|part| text.push_str(part));
        Some(text)
    }
}

impl InsertedPiece {
    fn text<'a>(&'a self, context: &'a Context) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Path(path) => context.text(path),
        }
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic())
        && name.chars().all(|it| it == '_' || it.is_ascii_alphanumeric())
}
