//! The texts within a member of a list.

use serde_json::Value;

/// The texts within a member of a list.
#[derive(Debug, Default)]
pub(crate) struct ItemTexts<'a> {
    /// Its own texts.
    pub own: Vec<&'a str>,
    /// Texts under `quote`: its evidence.
    pub quoted: Vec<&'a str>,
}

impl<'a> ItemTexts<'a> {
    /// Those of a member. One that is nothing but a quote says it itself.
    pub fn of(member: &'a Value) -> Self {
        let mut texts = Self::default();
        texts.collect(member, false);
        if texts.own.is_empty() { Self { own: texts.quoted, quoted: Vec::new() } } else { texts }
    }

    fn collect(&mut self, value: &'a Value, is_quote: bool) {
        match value {
            Value::String(text) if is_quote => self.quoted.push(text),
            Value::String(text) => self.own.push(text),
            Value::Array(items) => items.iter().for_each(|item| self.collect(item, is_quote)),
            Value::Object(members) => {
                members.iter().for_each(|(name, value)| self.collect(value, is_quote || name == "quote"));
            }
            _ => {}
        }
    }
}
