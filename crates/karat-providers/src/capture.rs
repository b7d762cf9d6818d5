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

/// The known secrets of a set of models. They are found as they are, in hexadecimal digits and in base64 (by themselves or
/// within `user:key`), each in any JSON escape and percent-encoded.
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
        let values: Vec<&str> = values.iter().map(ExposeSecret::expose_secret).collect();
        let encodings: Vec<String> = values.iter().flat_map(|value| encodings(value.as_bytes())).collect();
        let forms: Vec<&str> = values.iter().copied().chain(encodings.iter().map(String::as_str)).collect();
        let any = |patterns: Vec<String>| Regex::new(&patterns.join("|"));
        // A backslash before one of these can only hide a form that holds it.
        let held = ['/', '"', '\\'].into_iter().filter(|c| forms.iter().any(|form| form.contains(*c)));
        let escapes = held.map(|c| regex::escape(&format!("\\{c}"))).chain([r"\\u|%[0-9A-Fa-f]{2}".to_owned()]);
        let spelled =
            values.iter().map(|value| pattern(value)).chain(encodings.iter().map(|form| encoded_pattern(form)));
        Ok(Self {
            plain: any(forms.iter().map(|form| regex::escape(form)).collect())?,
            escape: any(escapes.collect())?,
            spelled: any(spelled.collect())?,
        })
    }
}

/// A value in hexadecimal digits, and what of it is the same in every base64 text that holds it: wherever it begins
/// there, some bits at its ends share a character with their neighbours.
fn encodings(value: &[u8]) -> Vec<String> {
    const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let hex = |upper: bool| {
        value.iter().fold(String::new(), |mut text, byte| {
            let _ = if upper { write!(text, "{byte:02X}") } else { write!(text, "{byte:02x}") };
            text
        })
    };
    let bit = |at: usize| usize::from(value[at / 8] >> (7 - at % 8) & 1);
    let base64 = |skipped: usize| -> String {
        let whole = (skipped..).step_by(6).take_while(|at| at + 6 <= 8 * value.len());
        whole.map(|at| char::from(STANDARD[(at..at + 6).fold(0, |sextet, at| sextet << 1 | bit(at))])).collect()
    };
    let mut forms = vec![hex(false), hex(true)];
    // Behind no, two and one bytes of something else (modulo three), so many bits belong to a shared character.
    for text in [0, 2, 4].map(base64) {
        let for_addresses = text.replace('+', "-").replace('/', "_");
        forms.extend((for_addresses != text).then_some(for_addresses));
        forms.push(text);
    }
    forms.sort();
    forms.dedup();
    forms
}

/// A pattern for an encoded value, with the characters that it shares with its neighbours and the padding.
fn encoded_pattern(form: &str) -> String {
    format!("[A-Za-z0-9+/_-]?{}[A-Za-z0-9+/_-]?(?:=|%3[Dd]){{0,2}}", pattern(form))
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

    /// BY-06, law 2: a key within a basic-auth header, or echoed by a service in another encoding, is the key.
    #[test]
    fn a_secret_is_found_in_base64_and_hexadecimal_digits() {
        let key = "s3cret/Key+9?~~z";
        for encoded in [
            "czNjcmV0L0tleSs5P35+eg==",
            "czNjcmV0L0tleSs5P35-eg",
            "czNjcmV0L0tleSs5P35%2Beg%3D%3D",
            "7333637265742f4b65792b393f7e7e7a",
            "7333637265742F4B65792B393F7E7E7A",
        ] {
            assert_eq!(clean(&[key], &format!("<{encoded}>")), "<[secret removed]>", "{encoded}");
        }
        for (user, encoded) in [
            ("u:", "dTpzM2NyZXQvS2V5Kzk/fn56"),
            ("us:", "dXM6czNjcmV0L0tleSs5P35+eg=="),
            ("use:", "dXNlOnMzY3JldC9LZXkrOT9+fno="),
            ("use:", r"dXNlOnMzY3JldC9LZXkrOT9+fno="),
            ("u:", r"dTpzM2NyZXQvS2V5Kzk\/fn56"),
        ] {
            let cleaned = clean(&[key], &format!("Basic {encoded} ok"));
            assert!(cleaned.contains("[secret removed] ok"), "{user} {cleaned}");
        }
        assert_eq!(clean(&[key], "czNjcmV0L0tleTk5OTk5OQ=="), "czNjcmV0L0tleTk5OTk5OQ==", "another value stays");
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
