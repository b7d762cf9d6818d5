//! The names and values that a template can see.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use minijinja::Value;
use minijinja::value::{Enumerator, Object};
use serde::Serialize;
use serde_json::Map;

use super::fences::Fences;
use super::json::{from_json, from_members};

/// Names and their values. Values are converted once, when they are added; extending and cloning are cheap, and a
/// context that was extended does not change the one it came from.
#[derive(Clone, Default)]
pub struct Context(Option<Arc<Layer>>);

/// The additions of a context to another one.
enum Layer {
    Name { name: Box<str>, value: Value, below: Context },
    Names { above: Context, below: Context },
    Source { source: Arc<dyn Source>, converted: OnceLock<Context> },
}

/// Names whose values are converted only once a template needs more of them than a text that stands in them.
pub trait Source: Send + Sync {
    /// The text where a path leads to one; its first part is the name.
    fn text(&self, path: &[Box<str>]) -> Option<&str>;

    /// True if this is one of the names.
    fn has(&self, name: &str) -> bool;

    /// All of them, converted.
    fn context(&self) -> Context;
}

/// The result of looking up the text at a path.
enum Lookup<'a> {
    /// There is no such name.
    Nothing,
    Text(&'a str),
    /// The name is there, and something that must be converted or is an error.
    Other,
}

impl<'a> Lookup<'a> {
    fn of(text: Option<&'a str>) -> Self {
        text.map_or(Self::Other, Self::Text)
    }
}

impl Context {
    /// A context without names.
    pub fn new() -> Self {
        Self::default()
    }

    /// This context and one more name. A name that stands already is hidden. A value that JSON cannot hold is undefined.
    #[must_use]
    pub fn with<T: Serialize + ?Sized>(self, name: &str, value: &T) -> Self {
        let value = serde_json::to_value(value).map_or(Value::UNDEFINED, |value| from_json(&value));
        self.bind(name, value)
    }

    /// As [`with`](Self::with), for a value that is JSON already: it is converted without a copy.
    #[must_use]
    pub fn with_json(self, name: &str, value: &serde_json::Value) -> Self {
        self.bind(name, from_json(value))
    }

    /// As [`with`](Self::with), but converts only what `reads` names of the members ([`Template::reads`]), which saves time
    /// where rows are large. A template that reads anything else finds it undefined.
    ///
    /// [`Template::reads`]: super::Template::reads
    #[must_use]
    pub fn with_read(self, name: &str, members: &Map<String, serde_json::Value>, reads: &[String]) -> Self {
        let paths = reads.iter().map(|read| read.split('.').collect::<Vec<_>>());
        let paths: Vec<Vec<&str>> = paths.filter(|path| path.first() == Some(&name)).collect();
        let within: Vec<&[&str]> = paths.iter().map(|path| &path[1..]).collect();
        self.bind(name, part(members, &within))
    }

    /// A context of the names of a source.
    pub fn of(source: Arc<dyn Source>) -> Self {
        Self(Some(Arc::new(Layer::Source { source, converted: OnceLock::new() })))
    }

    /// The names of this context above those of another one. Values are shared, not converted again.
    #[must_use]
    pub fn over(&self, below: &Self) -> Self {
        Self(Some(Arc::new(Layer::Names { above: self.clone(), below: below.clone() })))
    }

    /// A context that starts out with everything of this one.
    #[must_use]
    pub fn child(&self) -> Self {
        self.clone()
    }

    /// The names that can be seen, innermost first, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.gather(&mut names);
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(*name));
        names
    }

    fn gather<'a>(&'a self, names: &mut Vec<&'a str>) {
        let mut context = self;
        while let Some(layer) = context.0.as_deref() {
            context = match layer {
                Layer::Name { name, below, .. } => {
                    names.push(name);
                    below
                }
                Layer::Names { above, below } => {
                    above.gather(names);
                    below
                }
                Layer::Source { source, converted } => converted.get_or_init(|| source.context()),
            };
        }
    }

    fn bind(self, name: &str, value: Value) -> Self {
        Self(Some(Arc::new(Layer::Name { name: name.into(), value, below: self })))
    }

    pub(super) fn get(&self, wanted: &str) -> Option<&Value> {
        let mut context = self;
        loop {
            context = match context.0.as_deref()? {
                Layer::Name { name, value, .. } if **name == *wanted => return Some(value),
                Layer::Name { below, .. } => below,
                Layer::Names { above, below } => match above.get(wanted) {
                    Some(value) => return Some(value),
                    None => below,
                },
                Layer::Source { source, converted } => converted.get_or_init(|| source.context()),
            };
        }
    }

    /// The text that stands at a path, where one does that need not be converted.
    pub(super) fn text(&self, path: &[Box<str>]) -> Option<&str> {
        match self.find(path) {
            Lookup::Text(text) => Some(text),
            Lookup::Nothing | Lookup::Other => None,
        }
    }

    fn find(&self, path: &[Box<str>]) -> Lookup<'_> {
        let Some((first, rest)) = path.split_first() else { return Lookup::Nothing };
        let mut context = self;
        while let Some(layer) = context.0.as_deref() {
            context = match layer {
                Layer::Name { name, value, .. } if name == first => {
                    return Lookup::of(value.as_str().filter(|_| rest.is_empty()));
                }
                Layer::Name { below, .. } => below,
                Layer::Names { above, below } => match above.find(path) {
                    Lookup::Nothing => below,
                    there => return there,
                },
                Layer::Source { source, .. } if source.has(first) => return Lookup::of(source.text(path)),
                Layer::Source { .. } => break,
            };
        }
        Lookup::Nothing
    }

    /// The object in which templates look names up; their fences get the code of `fences`.
    pub(super) fn root(&self, fences: &Arc<Fences>) -> Value {
        Value::from_object(Root { context: self.clone(), fences: Value::from_dyn_object(Arc::clone(fences)) })
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// The members of an object that the paths lead to; all others are known by name only.
fn part(members: &Map<String, serde_json::Value>, paths: &[&[&str]]) -> Value {
    if paths.iter().any(|path| path.is_empty()) {
        return from_members(members);
    }
    Value::from_pairs(members.iter().map(|(key, value)| {
        let led: Vec<&[&str]> = paths.iter().filter(|path| path[0] == key).map(|path| &path[1..]).collect();
        let value = match value {
            _ if led.is_empty() => Value::UNDEFINED,
            serde_json::Value::Object(inner) => part(inner, &led),
            other => from_json(other),
        };
        (key.as_str(), value)
    }))
}

/// A context as minijinja's root object.
#[derive(Debug)]
struct Root {
    context: Context,
    fences: Value,
}

impl Object for Root {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        if key == Fences::NAME { Some(self.fences.clone()) } else { self.context.get(key).cloned() }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.context.names().into_iter().map(Value::from).collect())
    }
}
