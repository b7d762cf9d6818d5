//! The grammar of the suite language as tables: the checker, the decoder's accessors and the published JSON Schema all
//! read these. Each key has a description and an example, which editors and the reference show.
//!
//! - here: shapes of values, objects and keys
//! - `suite.rs`, `dataset.rs`, `step.rs`, `agent.rs`, `tool.rs`, `scorer.rs`, `rubric.rs`, `registry.rs`: the tables
//! - `schema.rs` publishes them as JSON Schema; `removed.rs` lists what earlier versions had

mod agent;
mod dataset;
mod registry;
pub(crate) mod removed;
mod rubric;
pub(crate) mod schema;
mod scorer;
mod step;
mod suite;
mod tool;

use serde_json::Value;

pub(crate) use dataset::DATASET;
pub(crate) use registry::{REGISTRY, SEED_SPELLINGS};
pub(crate) use rubric::RUBRIC;
pub(crate) use scorer::RUBRIC_ONLY;
pub(crate) use suite::{POLICY_FILE, SUITE, TRACE_KEYS};

/// The values that a key accepts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Anything.
    Any,
    /// A text: a scalar as written.
    Text,
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of these words, or something else.
    WordOr(&'static [&'static str], &'static Shape),
    /// A text with `{{ }}`.
    Template,
    /// A text with `{{ }}`, or something else.
    TemplateOr(&'static Shape),
    /// A text with placeholders in single braces, of these names.
    Placeholders(&'static [&'static str]),
    /// An expression, as inside `{{ }}`.
    Expression,
    /// A path into one document.
    Path,
    /// A file, relative to the file it is written in; may hold `{{ params.x }}`.
    File,
    /// True or false.
    Boolean,
    /// True or false, or something else.
    BooleanOr(&'static Shape),
    /// A whole number of at least this.
    Integer(i64),
    /// A whole number within these bounds.
    IntegerIn(i64, i64),
    /// A number within these bounds.
    Number(f64, f64),
    /// A number within these bounds, or something else.
    NumberOr(f64, f64, &'static Shape),
    /// A number, or a percentage such as `5%`.
    Share,
    /// A share within these bounds: a number, or a percentage such as `5%`.
    Fraction(f64, f64),
    /// A duration such as `120s`.
    Duration,
    /// Two numbers, the first one lower.
    Span,
    /// A list.
    List(&'static Shape),
    /// A map whose names the author invents.
    Map(&'static Shape),
    /// An object with known keys.
    Object(&'static Object),
    /// An object with known keys, or a bare text as its main key.
    Short(&'static Object, &'static str),
    /// An object with known keys and any others.
    Open(&'static Object),
    /// The options of the registered kind that its neighbour names.
    With(Kind),
}

/// A registry of kinds; the key beside `with` names the member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Metric,
    Analysis,
    Provider,
    /// Options that nothing checks in this version.
    Free,
}

/// An object of the language.
#[derive(Debug)]
pub(crate) struct Object {
    /// Name in messages and in the JSON Schema.
    pub name: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
    /// Keys of which exactly one must be present.
    pub one_of: &'static [&'static str],
    /// Keys of other tools and what they are called here.
    pub foreign: &'static [(&'static str, &'static str)],
    /// True if it may be laid over one of a ready rubric, which then has the required keys. The published schema requires none.
    pub is_overlay: bool,
}

/// A key of an object.
#[derive(Debug)]
pub(crate) struct Key {
    pub name: &'static str,
    pub shape: Shape,
    pub required: bool,
    /// Its description, in one or two sentences.
    pub about: &'static str,
    /// A value as a suite has it, in YAML.
    pub example: &'static str,
}

impl Key {
    /// The example as JSON, for the published schema.
    pub fn example_json(&self) -> Value {
        crate::syntax::yaml::value(self.example).unwrap_or_else(|_| self.example.into())
    }
}

impl Object {
    pub const fn new(name: &'static str, keys: &'static [Key]) -> Self {
        Self { name, keys, one_of: &[], foreign: &[], is_overlay: false }
    }

    pub const fn overlay(mut self) -> Self {
        self.is_overlay = true;
        self
    }

    pub const fn one_of(mut self, keys: &'static [&'static str]) -> Self {
        self.one_of = keys;
        self
    }

    pub const fn foreign(mut self, keys: &'static [(&'static str, &'static str)]) -> Self {
        self.foreign = keys;
        self
    }

    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

/// A key that may be left out.
const fn may(name: &'static str, shape: Shape, about: &'static str, example: &'static str) -> Key {
    Key { name, shape, required: false, about, example }
}

/// A key that must be given.
const fn must(name: &'static str, shape: Shape, about: &'static str, example: &'static str) -> Key {
    Key { name, shape, required: true, about, example }
}

const TEXTS: Shape = Shape::List(&Shape::Text);
const ANY: Shape = Shape::Map(&Shape::Any);
const POSITIVE: Shape = Shape::Number(0.0, f64::INFINITY);
const NUMBER: Shape = Shape::Number(f64::NEG_INFINITY, f64::INFINITY);
