//! The outputs of the worst cells of a comment.

use std::collections::BTreeMap;
use std::fmt;

use karat_types::RunRows;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::document::CommentDocument;
use crate::shared::report::RenderError;

/// Outputs by the ordinal of their cell.
#[derive(Debug, Default)]
pub(super) struct Outputs(BTreeMap<u64, String>);

impl Outputs {
    /// Reads them from a stored run.
    pub(super) fn of_rows(document: &CommentDocument, rows: &dyn RunRows) -> Result<Self, RenderError> {
        let mut outputs = Self::default();
        for ordinal in document.worst_ordinals() {
            if let Some(output) = rows.output(ordinal)? {
                outputs.0.insert(ordinal, text(output));
            }
        }
        Ok(outputs)
    }

    /// Reads them from a report, one cell at a time. Outputs that the report does not contain are absent.
    pub(super) fn of_document(document: &CommentDocument, bytes: &[u8]) -> Result<Self, String> {
        let mut outputs = Self::default();
        for ordinal in document.worst_ordinals() {
            outputs.0.insert(ordinal, String::new());
        }
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        Members(&mut outputs).deserialize(&mut reader).map_err(|error| format!("it is not a report: {error}"))?;
        outputs.0.retain(|_, text| !text.is_empty());
        Ok(outputs)
    }

    pub(super) fn get(&self, ordinal: u64) -> Option<&str> {
        self.0.get(&ordinal).map(String::as_str)
    }
}

fn text(output: Value) -> String {
    match output {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Visits the members of a report, and of these only the cells.
struct Members<'a>(&'a mut Outputs);

impl<'de> DeserializeSeed<'de> for Members<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a report")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if name == "cells" {
                map.next_value_seed(Cells(&mut *self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct Cells<'a>(&'a mut Outputs);

impl<'de> DeserializeSeed<'de> for Cells<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Cells<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of cells")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        #[derive(Deserialize)]
        struct Cell {
            ordinal: u64,
            #[serde(default)]
            output: Option<Value>,
        }
        while let Some(cell) = list.next_element::<Cell>()? {
            if let (Some(slot), Some(output)) = (self.0.0.get_mut(&cell.ordinal), cell.output) {
                *slot = text(output);
            }
        }
        Ok(())
    }
}
