//! `${NAME}` and `${NAME:-default}`: references to the environment. The plan keeps the name, never the value; only the
//! path of a parameter is resolved while loading, through a lookup that the caller passes.

use std::fmt;
use std::sync::Arc;

/// The caller's view of the environment.
#[derive(Clone, Default)]
pub struct Environment(Option<Arc<Lookup>>);

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Environment {
    /// An environment that answers by a function. Without one every variable is unset.
    pub fn new(lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(lookup)))
    }

    /// A text with its references replaced; the name of a variable that is unset and has no default is the error.
    pub(crate) fn expand(&self, text: &str) -> Result<String, String> {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some(reference) = next(rest) {
            expanded.push_str(&rest[..reference.start]);
            let value = self.0.as_ref().and_then(|lookup| lookup(reference.name)).filter(|value| !value.is_empty());
            match value.as_deref().or(reference.default) {
                Some(value) => expanded.push_str(value),
                None => return Err(reference.name.to_owned()),
            }
            rest = &rest[reference.end..];
        }
        expanded.push_str(rest);
        Ok(expanded)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}

/// Whether a text holds a reference.
pub(crate) fn mentions(text: &str) -> bool {
    next(text).is_some()
}

struct Reference<'a> {
    name: &'a str,
    default: Option<&'a str>,
    start: usize,
    end: usize,
}

fn next(text: &str) -> Option<Reference<'_>> {
    let mut from = 0;
    while let Some(found) = text[from..].find("${") {
        let start = from + found;
        let end = start + text[start..].find('}')?;
        let inner = &text[start + 2..end];
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let is_name = !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
        if is_name {
            return Some(Reference { name, default, start, end: end + 1 });
        }
        from = start + 2;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_replaced_or_named() {
        let environment = Environment::new(|name| (name == "HOME").then(|| "/h".to_owned()));
        assert_eq!(environment.expand("${HOME}/x/${DIR:-data}").as_deref(), Ok("/h/x/data"));
        assert_eq!(environment.expand("${DIR}"), Err("DIR".to_owned()));
        assert_eq!(environment.expand("$HOME ${not a name} ${"), Ok("$HOME ${not a name} ${".to_owned()));
        assert!(mentions("a ${B:-} c"));
    }
}
