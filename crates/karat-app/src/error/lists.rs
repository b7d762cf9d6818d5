//! Lists and figures in messages.

use std::fmt::{self, Display};

use karat_report::{count_noun, usd};
use karat_types::Money;

/// Names in one line; `none` where there is none.
#[derive(Debug, Clone, Default)]
pub struct Names(pub Vec<String>);

impl Names {
    /// The names as they are displayed.
    pub fn of<T: Display>(names: impl IntoIterator<Item = T>) -> Self {
        Self(names.into_iter().map(|name| name.to_string()).collect())
    }
}

impl Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("none") } else { f.write_str(&self.0.join(", ")) }
    }
}

/// Several errors, one a line.
#[derive(Debug)]
pub struct Lines<T>(pub Vec<T>);

impl<T: Display> Display for Lines<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// A number of calls: `1 call`, `2 calls`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallCount(pub u64);

impl Display for CallCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&count_noun(self.0, "call"))
    }
}

/// An amount in dollars, as reports write it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usd(pub f64);

impl From<Money> for Usd {
    fn from(money: Money) -> Self {
        Self(money.usd())
    }
}

impl Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&usd(Some(self.0)))
    }
}
