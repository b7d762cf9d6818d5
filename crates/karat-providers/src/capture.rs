//! Removing secrets from what is kept.

use std::borrow::Cow;
use std::fmt::Write;

use bytes::Bytes;
use regex::bytes::{NoExpand, Regex};
use secrecy::{ExposeSecret, SecretString};

/// What stands where a secret stood.
const REMOVED: &str = "[secret removed]";

/// Shorter values (`x`, `none`, `ollama`) are placeholders that local servers want, and words that stand everywhere.
const SHORTEST: usize = 8;

/// Bytes that are kept of a body that broke off or is too large.
const KEPT: usize = 64 * 1024;

/// The known secrets of a set of models. They are found as they are, in any JSON escape and percent-encoded.
pub(crate) struct Secrets {
    /// The longest first: a key that begins with another one must go as a whole.
    values: Vec<SecretString>,
    patterns: Option<Patterns>,
}

/// Nearly all bytes hold neither a secret nor an escape in which one could hide, and two quick looks tell: 0.1 µs for
/// 4 KiB, where looking for every spelling takes 6 µs.
struct Patterns {
    /// The secrets as they are.
    plain: Regex,
    /// Anything that could spell a character of a secret differently.
    escape: Regex,
    /// The secrets in every spelling.
    spelled: Regex,
}

impl Secrets {
    /// Knows none.
    pub fn none() -> Self {
        Self { values: Vec::new(), patterns: None }
    }

    /// Knows these values.
    ///
    /// # Errors
    /// When they are too long to be looked for.
    pub fn new(mut values: Vec<SecretString>) -> Result<Self, regex::Error> {
        values.retain(|value| value.expose_secret().len() >= SHORTEST);
        values.sort_by_key(|value| std::cmp::Reverse(value.expose_secret().len()));
        let patterns = if values.is_empty() { None } else { Some(Patterns::new(&values)?) };
        Ok(Self { values, patterns })
    }

    /// The same bytes, shared, unless a secret stands in them.
    pub fn clean(&self, bytes: Bytes) -> Bytes {
        let Some(patterns) = &self.patterns else { return bytes };
        if !patterns.plain.is_match(&bytes) && !patterns.escape.is_match(&bytes) {
            return bytes;
        }
        match patterns.spelled.replace_all(&bytes, NoExpand(REMOVED.as_bytes())) {
            Cow::Borrowed(_) => bytes,
            Cow::Owned(cleaned) => cleaned.into(),
        }
    }

    /// The same for bytes that broke off: the beginning of a secret at their end goes too.
    pub fn clean_broken(&self, bytes: Bytes) -> Bytes {
        let cleaned = self.clean(bytes);
        let begun = |value: &SecretString| {
            let value = value.expose_secret().as_bytes();
            (SHORTEST..value.len()).rev().find(|length| cleaned.ends_with(&value[..*length]))
        };
        match self.values.iter().filter_map(begun).max() {
            Some(length) => [&cleaned[..cleaned.len() - length], REMOVED.as_bytes()].concat().into(),
            None => cleaned,
        }
    }

    /// The text without secrets.
    pub fn clean_text(&self, text: String) -> String {
        String::from_utf8_lossy(&self.clean(text.into())).into_owned()
    }

    /// What is kept of bytes that came in: all without secrets, or the beginning where they did not come to their end.
    pub fn captured(&self, bytes: Bytes, is_whole: bool) -> Bytes {
        if is_whole {
            return self.clean(bytes);
        }
        let mut cleaned = self.clean_broken(bytes);
        cleaned.truncate(KEPT);
        cleaned
    }
}

impl Patterns {
    fn new(values: &[SecretString]) -> Result<Self, regex::Error> {
        let all = |form: fn(&str) -> String| {
            let forms: Vec<String> = values.iter().map(|value| form(value.expose_secret())).collect();
            Regex::new(&forms.join("|"))
        };
        // A backslash before one of these can only hide a secret that holds it.
        let held = ['/', '"', '\\'].into_iter().filter(|c| values.iter().any(|it| it.expose_secret().contains(*c)));
        let escapes = held.map(|c| regex::escape(&format!("\\{c}"))).chain([r"\\u|%[0-9A-Fa-f]{2}".to_owned()]);
        let escape = Regex::new(&escapes.collect::<Vec<_>>().join("|"))?;
        Ok(Self { plain: all(regex::escape)?, escape, spelled: all(pattern)? })
    }
}

/// A pattern for every way in which a server can write the value back.
fn pattern(value: &str) -> String {
    value.chars().fold(String::new(), |mut pattern, c| {
        let plain = regex::escape(c.encode_utf8(&mut [0; 4]));
        let escaped = match c {
            '/' | '"' | '\\' => format!(r"|\\{plain}"),
            _ => String::new(),
        };
        let code = u32::from(c);
        let percent = if c.is_ascii() { format!("|%(?i:{code:02x})") } else { String::new() };
        // Longer forms first: the backslash of `\/` is no character of its own.
        let _ = write!(pattern, r"(?:\\u(?i:{code:04x}){escaped}{percent}|{plain})");
        pattern
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(values: &[&str], text: &str) -> String {
        secrets(values).clean_text(text.to_owned())
    }

    fn secrets(values: &[&str]) -> Secrets {
        Secrets::new(values.iter().map(|value| SecretString::from(*value)).collect()).unwrap()
    }

    #[test]
    fn a_secret_is_found_in_every_spelling() {
        let key = "sk-a/b+\"1\"";
        for spelling in
            ["sk-a/b+\"1\"", r#"sk-a\/b+\"1\""#, "sk-a%2Fb%2b%221%22", r"\u0073\u006b-a\u002Fb\u002b\u00221\u0022"]
        {
            assert_eq!(clean(&[key], &format!("<{spelling}>")), "<[secret removed]>", "{spelling}");
        }
    }

    #[test]
    fn the_longer_of_two_keys_goes_as_a_whole() {
        assert_eq!(clean(&["abcdefgh", "abcdefgh-1"], "abcdefgh-1 abcdefgh"), "[secret removed] [secret removed]");
    }

    #[test]
    fn what_holds_no_secret_is_not_copied() {
        let secrets = secrets(&["sk-12345678"]);
        let bytes = Bytes::from_static(b"{\"a\": \"sk-1234567\"}");
        assert_eq!(secrets.clean(bytes.clone()).as_ptr(), bytes.as_ptr());
        assert_eq!(secrets.clean_broken(bytes.clone()).as_ptr(), bytes.as_ptr());
        assert_eq!(clean(&["ollama", ""], "ollama"), "ollama");
    }

    #[test]
    fn a_secret_that_broke_off_is_removed() {
        let broken = |text: &'static str| secrets(&["sk-12345678"]).clean_broken(Bytes::from_static(text.as_bytes()));
        assert_eq!(broken("key sk-1234567"), "key [secret removed]");
        assert_eq!(broken("key sk-1234567."), "key sk-1234567.");
    }
}
