//! JSON objects without the members that an import has no use for.
//!
//! Most of a log are events and copies of messages. They are read over: only a flag remains of them.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io::Read;

use karat_types::json::{MOST_VALUES, NanAsNull, Within};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::error::ImportError;

/// An object whose members of these names become `true` if they hold something, else null.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lean(pub &'static [&'static str]);

/// Reads one object, and nothing after it.
pub(super) fn read_object(reader: impl std::io::BufRead, seed: Lean) -> Result<Map<String, Value>, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_reader(NanAsNull::new(reader));
    let object = seed.deserialize(&mut json)?;
    json.end()?;
    Ok(object)
}

impl<'de> DeserializeSeed<'de> for Lean {
    type Value = Map<String, Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Lean {
    type Value = Map<String, Value>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let (mut object, left) = (Map::new(), Cell::new(MOST_VALUES));
        while let Some(key) = members.next_key::<String>()? {
            let value = if self.0.contains(&key.as_str()) {
                if members.next_value_seed(Presence)? { Value::Bool(true) } else { Value::Null }
            } else {
                members.next_value_seed(Within(&left))?
            };
            object.insert(key, value);
        }
        Ok(object)
    }
}

/// Reads over a value; true if it holds something.
struct Presence;

impl<'de> DeserializeSeed<'de> for Presence {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Presence {
    type Value = bool;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any value")
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<bool, E> {
        Ok(value)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<bool, E> {
        Ok(!text.is_empty())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<bool, A::Error> {
        let mut holds = false;
        while members.next_element::<IgnoredAny>()?.is_some() {
            holds = true;
        }
        Ok(holds)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<bool, A::Error> {
        let mut holds = false;
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            holds = true;
        }
        Ok(holds)
    }
}

/// Gives each object of the list `samples` of an object to a handler, and reads over everything else.
pub(super) fn for_each_sample(
    reader: impl Read,
    seed: Lean,
    handle: &mut dyn FnMut(Map<String, Value>) -> Result<(), ImportError>,
) -> Result<(), SampleProblem> {
    let failure = RefCell::new(None);
    let mut json = serde_json::Deserializer::from_reader(reader);
    let result = Samples { seed, handle, failure: &failure }.deserialize(&mut json).and_then(|()| json.end());
    match failure.into_inner() {
        Some(error) => Err(SampleProblem::Refused(error)),
        None => result.map_err(SampleProblem::Invalid),
    }
}

/// The end of reading samples before the last one.
pub(super) enum SampleProblem {
    /// Invalid JSON.
    Invalid(serde_json::Error),
    /// The handler's own.
    Refused(ImportError),
}

struct Samples<'a> {
    seed: Lean,
    handle: &'a mut dyn FnMut(Map<String, Value>) -> Result<(), ImportError>,
    failure: &'a RefCell<Option<ImportError>>,
}

impl<'de> DeserializeSeed<'de> for Samples<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Samples<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a log, or a list of samples")
    }

    /// `samples: null`, of a log without samples.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Samples { seed, handle, failure } = self;
        while let Some(key) = members.next_key::<String>()? {
            if key == "samples" {
                members.next_value_seed(Samples { seed, handle: &mut *handle, failure })?;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(sample) = list.next_element_seed(self.seed)? {
            (self.handle)(sample).map_err(|error| {
                let message = error.to_string();
                *self.failure.borrow_mut() = Some(error);
                A::Error::custom(message)
            })?;
        }
        Ok(())
    }
}
