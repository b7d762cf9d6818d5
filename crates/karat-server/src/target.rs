//! The addresses of pages. Ids come from users and suites, so each is encoded.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but the characters that RFC 3986 never reserves.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A page that another program can open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The list of runs.
    Runs,
    /// A run, by its id.
    Run(String),
    /// Two runs, by their ids.
    Comparison(String, String),
    /// The page with every component and chart.
    Style,
}

impl Target {
    /// The path and query of the page.
    pub fn path(&self) -> String {
        match self {
            Self::Runs => "/".to_owned(),
            Self::Run(run) => format!("/runs/{}", encode(run)),
            Self::Comparison(a, b) => format!("/compare?a={}&b={}", encode(a), encode(b)),
            Self::Style => "/_style".to_owned(),
        }
    }
}

/// Encodes a text for a part of a path or a value of a query.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_cannot_leave_their_place() {
        assert_eq!(Target::Run("a/../b?c#d é".to_owned()).path(), "/runs/a%2F..%2Fb%3Fc%23d%20%C3%A9");
        assert_eq!(Target::Comparison("x&b=y".to_owned(), "z".to_owned()).path(), "/compare?a=x%26b%3Dy&b=z");
    }
}
