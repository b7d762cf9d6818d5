//! Removes secrets from everything that is stored, and redacts text quoted in messages.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use bytes::Bytes;
use karat_text::redact::Redactor;
use regex::bytes::Regex;
use secrecy::{ExposeSecret, SecretString};

use crate::answer::escapes::{ESCAPES, NUMBERED, Spelling};

/// The replacement of a secret.
const REMOVED: &str = "[secret removed]";

/// Minimum length of a secret that is removed, in bytes. Shorter values (`x`, `none`, `ollama`) are placeholders for
/// local servers, and ordinary words.
pub(crate) const SHORTEST_SECRET: usize = 8;

/// Characters after an encoded secret that may belong to it.
const TAIL: usize = 2;

/// Depth to which nested encodings are undone: a reply is often JSON within JSON, and may contain JSON itself. Bytes
/// are read at most fifteen times.
const NESTED: u32 = 3;

/// Bytes kept of a body that broke off or is too large.
const KEPT: usize = 64 * 1024;

/// The known secrets of a set of models. They are found literally, in hexadecimal and in base64 (alone or within
/// `user:key`), each also in other [spellings](crate::answer::escapes) and spellings of those, in any letter case,
/// with `+` for spaces as in forms, and in Latin-1.
pub(crate) struct Secrets {
    values: Vec<SecretString>,
    patterns: Option<Patterns>,
    /// The suite's rules for redaction.
    redactor: Option<Redactor>,
    /// Secrets that became known after the start: keys that a program printed. The latest ones; each stays known for
    /// hours after it was replaced.
    added: RwLock<Vec<Secrets>>,
}

/// Maximum number of secrets that became known after the start.
const MOST_ADDED: usize = 16;

/// Precompiled searches. Nearly all bytes contain neither a secret nor an escape that could hide one, and two quick
/// searches tell.
struct Patterns {
    /// The longest first: a key that begins with another one must be removed as a whole.
    forms: Vec<Form>,
    /// The beginnings of the forms.
    begin: Regex,
    /// Anything that could encode one of their characters, by the kind of encoding.
    spellings: [(Spelling, Regex); 2],
}

/// One form in which a secret can occur.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Form {
    bytes: Vec<u8>,
    /// True if it can share characters with its neighbours.
    is_base64: bool,
}

impl Secrets {
    /// No secrets.
    pub fn none() -> Self {
        Self { values: Vec::new(), patterns: None, redactor: None, added: RwLock::default() }
    }

    /// Secrets with these values.
    ///
    /// # Errors
    /// The values are too long to search for.
    pub fn new(mut values: Vec<SecretString>) -> Result<Self, regex::Error> {
        values.retain(|value| value.expose_secret().len() >= SHORTEST_SECRET);
        let patterns = if values.is_empty() { None } else { Some(Patterns::new(&values)?) };
        Ok(Self { values, patterns, redactor: None, added: RwLock::default() })
    }

    /// Adds a secret that became known after the start.
    ///
    /// # Errors
    /// The value is too long to search for.
    pub fn add(&self, value: SecretString) -> Result<(), regex::Error> {
        let is_known = |known: &Self| known.values.iter().any(|it| it.expose_secret() == value.expose_secret());
        if is_known(self) || self.read_added().iter().any(is_known) {
            return Ok(());
        }
        let new = Self::new(vec![value])?;
        let mut added = self.added.write().unwrap_or_else(PoisonError::into_inner);
        if added.len() == MOST_ADDED {
            added.remove(0);
        }
        added.push(new);
        Ok(())
    }

    fn read_added(&self) -> RwLockReadGuard<'_, Vec<Self>> {
        self.added.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Redacts messages with these rules, too.
    pub fn with_redactor(self, redactor: Option<Redactor>) -> Self {
        Self { redactor, ..self }
    }

    /// Bytes as a message may quote them. They are redacted before they are cut: half a number is no longer recognized
    /// as one.
    pub fn redact_for_message<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let cleaned = self.redactor.as_ref().and_then(|redactor| redactor.body(bytes));
        cleaned.map_or(Cow::Borrowed(bytes), Cow::Owned)
    }

    /// Parses bytes with a reader whose error may quote them; the quotation is redacted.
    ///
    /// # Errors
    /// The reader's error.
    pub fn read_redacted<T, E>(&self, bytes: &[u8], read: impl Fn(&[u8]) -> Result<T, E>) -> Result<T, E> {
        read(bytes).map_err(|error| match self.redact_for_message(bytes) {
            Cow::Borrowed(_) => error,
            Cow::Owned(cleaned) => read(&cleaned).err().unwrap_or(error),
        })
    }

    /// The bytes without secrets; shared, not copied, if there are none.
    pub fn clean(&self, bytes: Bytes) -> Bytes {
        self.read_added().iter().fold(self.clean_known(bytes), |bytes, added| added.clean_known(bytes))
    }

    fn clean_known(&self, bytes: Bytes) -> Bytes {
        let Some(patterns) = &self.patterns else { return bytes };
        let places = patterns.find_all(&bytes, NESTED);
        if places.is_empty() { bytes } else { remove_places(&bytes, &places).into() }
    }

    /// Returns whether the bytes contain a known secret, in any form that [`Self::clean`] finds.
    pub fn are_in(&self, bytes: &[u8]) -> bool {
        self.patterns.as_ref().is_some_and(|patterns| !patterns.find_all(bytes, NESTED).is_empty())
            || self.read_added().iter().any(|added| added.are_in(bytes))
    }

    /// Like [`Secrets::clean`] for bytes that broke off: the beginning of a secret at their end is removed, too.
    pub fn clean_broken(&self, bytes: Bytes) -> Bytes {
        let cleaned = self.clean(bytes);
        let cut_length = |value: &SecretString| {
            let value = value.expose_secret().as_bytes();
            (SHORTEST_SECRET..value.len()).rev().find(|length| cleaned.ends_with(&value[..*length]))
        };
        let added = self.read_added();
        let values = self.values.iter().chain(added.iter().flat_map(|added| &added.values));
        match values.filter_map(cut_length).max() {
            Some(length) => [&cleaned[..cleaned.len() - length], REMOVED.as_bytes()].concat().into(),
            None => cleaned,
        }
    }

    /// The text without secrets.
    pub fn clean_text(&self, text: String) -> String {
        String::from_utf8_lossy(&self.clean(text.into())).into_owned()
    }

    /// The stored form of received bytes: without secrets, and only the beginning if they broke off.
    pub fn capture(&self, bytes: Bytes, is_whole: bool) -> Bytes {
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
        let forms: BTreeSet<Form> = values.iter().flat_map(|value| forms(value.expose_secret())).collect();
        let mut forms: Vec<Form> = forms.into_iter().collect();
        forms.sort_by_key(|form| std::cmp::Reverse(form.bytes.len()));
        // Compiling whole forms would take milliseconds.
        let begin = |form: &Form| form.bytes[..SHORTEST_SECRET].iter().map(|byte| format!(r"\x{byte:02x}")).collect();
        let begins: BTreeSet<String> = forms.iter().map(begin).collect();
        // Only escapes of characters that occur in a form can hide it.
        let held = ESCAPES.iter().filter(|(_, byte)| forms.iter().any(|form| form.bytes.contains(byte)));
        let escapes = held.map(|(name, _)| format!(r"\\\x{name:02x}"));
        // The same for quoted-printable numbers, which look like many assignments; those that begin another escape
        // count, too.
        let is_held = |byte: &u8| {
            b"%\\&=\r\n".contains(byte)
                || forms.iter().any(|form| form.bytes.iter().any(|held| held.eq_ignore_ascii_case(byte)))
        };
        let quoted = (0..=u8::MAX).filter(is_held).map(|byte| format!("={byte:02x}"));
        let any = |patterns: Vec<String>| Regex::new(&format!("(?i-u){}", patterns.join("|")));
        Ok(Self {
            begin: any(begins.into_iter().collect())?,
            spellings: [
                (Spelling::Escapes, any(escapes.chain([NUMBERED.to_owned()]).collect())?),
                (Spelling::QuotedPrintable, any(quoted.chain([r"=\r?\n".to_owned()]).collect())?),
            ],
            forms,
        })
    }

    /// The places of secrets, in order and disjoint, also in nested encodings up to this depth.
    fn find_all(&self, bytes: &[u8], depth: u32) -> Vec<Range<usize>> {
        let mut places = self.find_plain(bytes);
        let spellings = self.spellings.iter().filter(|(_, pattern)| depth > 0 && pattern.is_match(bytes));
        for (spelling, _) in spellings {
            let plain = self.find_all(&spelling.decode(bytes), depth - 1);
            places.extend(spelling.to_source(bytes, &plain));
        }
        places.sort_by_key(|place| place.start);
        let mut apart: Vec<Range<usize>> = Vec::with_capacity(places.len());
        for place in places {
            match apart.last_mut().filter(|last| place.start < last.end) {
                Some(last) => last.end = last.end.max(place.end),
                None => apart.push(place),
            }
        }
        apart
    }

    /// The places of secrets in any form, without undoing escapes; in order and disjoint.
    fn find_plain(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let (mut places, mut at) = (Vec::new(), 0);
        while let Some(found) = self.begin.find_at(bytes, at) {
            let start = found.start();
            let is_here = |form: &&Form| {
                bytes[start..].get(..form.bytes.len()).is_some_and(|there| there.eq_ignore_ascii_case(&form.bytes))
            };
            at = match self.forms.iter().find(is_here) {
                Some(form) => {
                    places.push(form.place(bytes, start));
                    start + form.bytes.len()
                }
                None => start + 1,
            };
        }
        places
    }
}

impl Form {
    /// The place of a form found here: in base64 including the characters that it shares with its neighbours, its last
    /// ones and the padding.
    fn place(&self, bytes: &[u8], start: usize) -> Range<usize> {
        let end = start + self.bytes.len();
        if !self.is_base64 {
            return start..end;
        }
        let is_digit = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
        let before = bytes[..start].iter().rev().take(1).take_while(is_digit).count();
        let tail = bytes[end..].iter().take(TAIL + 1).take_while(is_digit).count();
        let padding = bytes[end + tail..].iter().take(2).take_while(|byte| **byte == b'=').count();
        start - before..end + tail + padding
    }
}

/// The bytes with [`REMOVED`] in these places.
fn remove_places(bytes: &[u8], places: &[Range<usize>]) -> Vec<u8> {
    let mut cleaned = Vec::with_capacity(bytes.len());
    let mut kept = 0;
    for place in places {
        cleaned.extend_from_slice(&bytes[kept..place.start]);
        cleaned.extend_from_slice(REMOVED.as_bytes());
        kept = place.end;
    }
    cleaned.extend_from_slice(&bytes[kept..]);
    cleaned
}

/// The forms of a value, apart from escapes and letter case.
fn forms(value: &str) -> Vec<Form> {
    let mut spelled = vec![value.as_bytes().to_vec()];
    if !value.is_ascii() {
        // As a server returns it that reads or writes Latin-1.
        spelled.push(value.bytes().map(char::from).collect::<String>().into_bytes());
        spelled.extend(value.chars().map(|c| u8::try_from(c).ok()).collect::<Option<Vec<u8>>>());
    }
    let hex = |bytes: &Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes();
    // Encoded text is often JSON, or a part of an address.
    let encoded: BTreeSet<Vec<u8>> = spelled.iter().cloned().chain(json_and_percent_forms(value)).collect();
    let in_digits: Vec<Vec<u8>> = encoded.iter().map(hex).collect();
    let in_base64: Vec<String> = encoded.iter().flat_map(|bytes| base64(bytes)).collect();
    let changed = decoded_forms(value.as_bytes()).into_iter().chain([value.replace(' ', "+").into_bytes()]);
    let plain = spelled.into_iter().chain(in_digits).chain(changed).map(|bytes| Form { bytes, is_base64: false });
    let in_base64 = in_base64.into_iter().map(|text| Form { bytes: text.into_bytes(), is_base64: true });
    plain.chain(in_base64).filter(|form| form.bytes.len() >= SHORTEST_SECRET).collect()
}

/// A value in JSON, in JSON with escaped slashes, and percent-encoded.
fn json_and_percent_forms(value: &str) -> [Vec<u8>; 3] {
    let json = serde_json::Value::from(value).to_string();
    let json = &json[1..json.len() - 1];
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let percent = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    [json.into(), json.replace('/', r"\/").into(), value.bytes().map(percent).collect::<String>().into()]
}

/// A value with its own escapes undone in every way, because they are undone wherever they occur.
fn decoded_forms(value: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::from([value.to_vec()]);
    for _ in 0..NESTED {
        let ways = [Spelling::Escapes, Spelling::QuotedPrintable];
        let more: Vec<_> = all.iter().flat_map(|value| ways.map(|spelling| spelling.decode(value))).collect();
        all.extend(more);
    }
    all
}

/// The part of a value that is the same in every base64 text that contains it: depending on its offset, some bits at
/// its ends share a character with their neighbours. The last characters are not required: some cut them off with the
/// padding.
fn base64(value: &[u8]) -> impl Iterator<Item = String> + use<> {
    const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bit = |at: usize| usize::from((value[at / 8] >> (7 - at % 8)) & 1);
    let text = |skipped: usize| -> String {
        let whole = (skipped..).step_by(6).take_while(|at| at + 6 * (1 + TAIL) <= 8 * value.len());
        whole.map(|at| char::from(STANDARD[(at..at + 6).fold(0, |sextet, at| (sextet << 1) | bit(at))])).collect()
    };
    // After zero, two and one preceding bytes (modulo three), this number of bits belongs to a shared character.
    let texts = [0, 2, 4].map(text);
    let for_addresses = texts.clone().map(|text| text.replace('+', "-").replace('/', "_"));
    texts.into_iter().chain(for_addresses)
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

    /// Invariant 2, capture before parsing: a secret is found in HTML, form fields, program literals and lower case.
    #[test]
    fn a_secret_is_found_however_it_is_escaped() {
        let key = "p@ss/w+rd&\"<Planted> 7Q9z\\k";
        let bytes: String = key.bytes().map(|byte| format!(r"\x{byte:02x}")).collect();
        let numbers: String = key.chars().map(|c| format!("&#{};", u32::from(c))).collect();
        for spelling in [
            "p@ss/w+rd&amp;&quot;&lt;Planted&gt; 7Q9z\\k",
            "p@ss&#x2F;w+rd&amp;&#34;&lt;Planted&gt; 7Q9z&#92;k",
            &numbers,
            &bytes,
            &bytes.replace('\\', r"\\"),
            "p%40ss%2Fw%2Brd%26%22%3CPlanted%3E+7Q9z%5Ck",
            "p%40ss%2fw%2brd%26%22%3cplanted%3e%207q9z%5ck",
            "P@SS/W+RD&\"<PLANTED> 7Q9Z\\K",
            "cEBzcy93K3JkJiI8UGxhbnRlZD4gN1E5elxr",
            "cEBzcy93K3JkJiI8UGxhbnRlZD4gN1E5el",
        ] {
            assert_eq!(clean(&[key], &format!("<{spelling}>")), "<[secret removed]>", "{spelling}");
        }
        let percent = "100%41\"xyz";
        assert_eq!(clean(&[percent], &serde_json::json!([percent]).to_string()), r#"["[secret removed]"]"#);
    }

    /// Invariant 2, capture before parsing: a secret is found in answers of servers that mistake UTF-8 for Latin-1 or write Latin-1.
    #[test]
    fn a_secret_is_found_in_latin_1() {
        let key = "tok+planted/ÄÖ\"q=99";
        let taken_for: String = key.bytes().map(char::from).collect();
        for spelling in [
            taken_for.clone(),
            serde_json::json!(taken_for).to_string(),
            r#"tok+planted/\u00c3\u0084\u00c3\u0096\"q=99"#.to_owned(),
        ] {
            let cleaned = clean(&[key], &format!("<{spelling}>"));
            assert_eq!(cleaned.replace('"', ""), "<[secret removed]>", "{spelling}");
        }
        let quoted = clean(&[key], "=?utf-8?b?QmVhcmVyIHRvaytwbGFudGVkL8ODwoTDg8KWInE9OTk=?=");
        assert!(quoted.ends_with("[secret removed]?="), "{quoted}");
        let written: Vec<u8> = key.chars().map(|c| u8::try_from(c).unwrap()).collect();
        assert_eq!(secrets(&[key]).clean(written.into()), "[secret removed]");
        assert_eq!(clean(&["ÄÖÜß"], "<ÄÖÜß>"), "<[secret removed]>", "its Latin-1 is too short to be looked for");
    }

    /// BY-06, invariant 2, capture before parsing: a key within a basic-auth header, or in another encoding, is removed.
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
    fn bytes_without_secrets_are_not_copied() {
        let secrets = secrets(&["sk-12345678"]);
        let bytes = Bytes::from_static(b"{\"a\": \"sk-1234567\"}");
        assert_eq!(secrets.clean(bytes.clone()).as_ptr(), bytes.as_ptr());
        assert_eq!(secrets.clean_broken(bytes.clone()).as_ptr(), bytes.as_ptr());
        assert_eq!(clean(&["ollama", ""], "ollama"), "ollama");
    }

    /// Overlapping places are removed once, and the text around them stays; a key of several lines is one key.
    #[test]
    fn places_in_escaped_text_are_found_again() {
        let secrets = secrets(&["sk-12345678", "line one\nline two"]);
        let text = r#"{"é": "\u00e9 \n %41", "a": "sk-12345678", "b": "s\u006b-12345678", "c": "line one\nline two"}"#;
        let cleaned =
            r#"{"é": "\u00e9 \n %41", "a": "[secret removed]", "b": "[secret removed]", "c": "[secret removed]"}"#;
        assert_eq!(secrets.clean_text(text.to_owned()), cleaned);
        let nested = r#"{"content": "{\"a\": \"\\u0073k-12345678\", \"b\": \"sk-12345678\"}"}"#;
        let cleaned = r#"{"content": "{\"a\": \"[secret removed]\", \"b\": \"[secret removed]\"}"}"#;
        assert_eq!(secrets.clean_text(nested.to_owned()), cleaned);
        for odd in ["\\", "%", "%4", "\\u12", "\\ud800 %zz", "%ff%00"] {
            assert_eq!(secrets.clean(Bytes::from(odd)), odd);
        }
    }

    #[test]
    fn a_secret_that_broke_off_is_removed() {
        let broken = |text: &'static str| secrets(&["sk-12345678"]).clean_broken(Bytes::from_static(text.as_bytes()));
        assert_eq!(broken("key sk-1234567"), "key [secret removed]");
        assert_eq!(broken("key sk-1234567."), "key sk-1234567.");
    }

    /// Encodings in which services and models return a value, by name.
    fn spellings(value: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
        let text = String::from_utf8_lossy(value).into_owned();
        let each =
            |spell: &dyn Fn(u8) -> String| value.iter().map(|byte| spell(*byte)).collect::<String>().into_bytes();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        let json = serde_json::to_string(&text).unwrap();
        let json = json[1..json.len() - 1].to_owned();
        let printable = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'=';
        let quoted: Vec<String> = value
            .iter()
            .map(|byte| if printable(*byte) { char::from(*byte).to_string() } else { format!("={byte:02X}") })
            .collect();
        let soft = |end: &str| quoted.chunks(7).map(|line| line.concat()).collect::<Vec<_>>().join(end).into_bytes();
        vec![
            ("json", json.clone().into_bytes()),
            ("slashed", json.replace('/', "\\/").into_bytes()),
            ("numbered", text.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect::<String>().into_bytes()),
            ("hexed", each(&|byte| format!("\\x{byte:02x}"))),
            (
                "percent",
                each(&|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }),
            ),
            ("all percent", each(&|byte| format!("%{byte:02x}"))),
            ("html", text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").into_bytes()),
            ("entities", text.chars().map(|c| format!("&#{};", u32::from(c))).collect::<String>().into_bytes()),
            ("quoted-printable", quoted.concat().into_bytes()),
            ("all quoted-printable", each(&|byte| format!("={byte:02X}"))),
            ("soft breaks", soft("=\r\n")),
            ("soft breaks, one byte", soft("=\n")),
            ("digits", each(&|byte| format!("{byte:02x}"))),
            ("base64", in_base64(value)),
        ]
    }

    /// All of a value in base64, padded with spaces.
    fn in_base64(value: &[u8]) -> Vec<u8> {
        let digit = |sextet: u32| match sextet as u8 & 63 {
            upper @ 0..=25 => b'A' + upper,
            lower @ 26..=51 => b'a' + lower - 26,
            digit @ 52..=61 => b'0' + digit - 52,
            62 => b'+',
            _ => b'/',
        };
        let three = |bytes: &[u8]| (0..3).fold(0, |sum, at| sum << 8 | u32::from(*bytes.get(at).unwrap_or(&b' ')));
        value.chunks(3).map(three).flat_map(|bits| [18, 12, 6, 0].map(|shift| digit(bits >> shift))).collect()
    }

    /// Invariant 2, capture before parsing: two encodings hide nothing; within base64 and hexadecimal digits, JSON and addresses do not.
    #[test]
    fn a_secret_is_found_in_two_encodings() {
        for key in
            ["p@ss/w+rd&\"<Planted> 7Q9z\\k", "sk-proj.12345/ab_CD+ef==", "100%2541=2Exyz\\n\"k", "line one\nline two"]
        {
            let secrets = secrets(&[key]);
            for (inner, once) in spellings(key.as_bytes()) {
                for (outer, twice) in spellings(&once).into_iter().chain([("nothing", once.clone())]) {
                    let is_opaque = ["base64", "digits"].contains(&outer);
                    if is_opaque && !["json", "slashed", "percent"].contains(&inner) {
                        continue;
                    }
                    let cleaned = secrets.clean([b"<", &twice[..], b">"].concat().into());
                    let cleaned = String::from_utf8_lossy(&cleaned);
                    let rest = cleaned.replace(REMOVED, "");
                    assert!(rest.len() < cleaned.len() && rest.len() <= 16, "{key:?} {inner} in {outer}: {cleaned}");
                }
            }
        }
    }

    /// Invariant 2, capture before parsing: a key that ends in `=`, as those in base64 do, is found whatever follows it.
    #[test]
    fn text_after_a_key_hides_nothing() {
        let key = "ab/cd+ef12==";
        for text in ["ab/cd+ef12==41", r"ab\/cd+ef12==41 \u0041", "ab/cd+ef12==\r\n41", r"ab\/cd+ef12==\n41"] {
            assert!(clean(&[key], text).starts_with(REMOVED), "{text}");
        }
    }
}
