//! The arguments that an agent passes to a tool. An unknown name or another kind of value is an error that says what is wanted.

use serde_json::{Map, Value};

/// The arguments of a call, checked against the names that the tool has.
pub(crate) struct Arguments<'a>(&'a Map<String, Value>);

impl<'a> Arguments<'a> {
    /// Arguments with these names and no others.
    ///
    /// # Errors
    /// Another name, with those that there are.
    pub fn new(given: &'a Map<String, Value>, names: &[&str]) -> Result<Self, String> {
        match given.keys().find(|name| !names.contains(&name.as_str())) {
            Some(unknown) => Err(format!("there is no argument `{unknown}`; there are: {}", names.join(", "))),
            None => Ok(Self(given)),
        }
    }

    /// A text; `None` if it is absent.
    ///
    /// # Errors
    /// It is something else.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{name}` must be a text")),
        }
    }

    /// A text that has to be there.
    ///
    /// # Errors
    /// It is absent or something else.
    pub fn needed_text(&self, name: &str) -> Result<&'a str, String> {
        self.text(name)?.ok_or_else(|| format!("`{name}` is missing"))
    }

    /// A list of texts; empty if it is absent.
    ///
    /// # Errors
    /// It is something else.
    pub fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        let wrong = || format!("`{name}` must be a list of texts");
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => {
                items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
            }
            Some(_) => Err(wrong()),
        }
    }

    /// A whole number from 1 to `most`; `default` if it is absent.
    ///
    /// # Errors
    /// It is something else.
    pub fn count(&self, name: &str, default: u64, most: u64) -> Result<u64, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(default),
            Some(value) => match value.as_u64() {
                Some(count) if (1..=most).contains(&count) => Ok(count),
                _ => Err(format!("`{name}` must be a whole number from 1 to {most}")),
            },
        }
    }

    /// An amount of dollars; `None` if it is absent.
    ///
    /// # Errors
    /// It is no number, or less than 0.
    pub fn dollars(&self, name: &str) -> Result<Option<f64>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_f64() {
                Some(amount) if amount >= 0.0 && amount.is_finite() => Ok(Some(amount)),
                _ => Err(format!("`{name}` must be an amount of US dollars, 0 or more")),
            },
        }
    }

    /// Names and values of parameters, as the command line takes them.
    ///
    /// # Errors
    /// It is no object.
    pub fn params(&self, name: &str) -> Result<Vec<(String, String)>, String> {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Object(pairs)) => Ok(pairs.iter().map(|(name, value)| (name.clone(), text(value))).collect()),
            Some(_) => Err(format!("`{name}` must be an object")),
        }
    }
}
