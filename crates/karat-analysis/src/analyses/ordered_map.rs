//! A map that keeps the order of insertion, such as the order in the suite or rubric.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// Values by name, in order of insertion; a JSON object with its keys in that order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderedMap<T>(Vec<(String, T)>);

impl<T> OrderedMap<T> {
    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &T)> + Clone {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The names, in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.iter().map(|(name, _)| name)
    }

    /// Returns true if the map is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Default for OrderedMap<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Default> OrderedMap<T> {
    /// The value of a name; a new name is appended.
    pub(crate) fn entry(&mut self, name: &str) -> &mut T {
        let at = self.0.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            self.0.push((name.to_owned(), T::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }
}

impl<T> FromIterator<(String, T)> for OrderedMap<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

impl<T: Serialize> Serialize for OrderedMap<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_kept() {
        let mut counts: OrderedMap<u64> =
            [("main".to_owned(), 2), ("alternatives".to_owned(), 1)].into_iter().collect();
        *counts.entry("main") += 1;
        *counts.entry("a") += 1;
        assert_eq!(serde_json::to_string(&counts).unwrap(), r#"{"main":3,"alternatives":1,"a":1}"#);
        assert_eq!((counts.get("a"), counts.get("b")), (Some(&1), None));
    }
}
