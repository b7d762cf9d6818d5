//! JSON from outside, read so that no number loses a digit.
//!
//! A number that 64 bits hold is kept as their shortest spelling, so that `1.50` and `1.5` are one value. Any other, such as
//! an integer of 30 digits, keeps its digits as they are written. What is read with [`parse`] and its siblings can be compared
//! with `==`; numbers from elsewhere with [`same_number`].

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, Read};

use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Number, Value};

/// The key under which serde_json passes a number by its digits.
const NUMBER: &str = "$serde_json::private::Number";

/// Values of one JSON text: in memory each takes up to fifty times the bytes of its text, so a limit of bytes is none.
pub const MOST_VALUES: usize = 5_000_000;

/// Decimal digits that every float keeps.
const DIGITS_OF_FLOATS: usize = 15;

/// Reads one JSON value. Of keys that stand twice in an object the last one counts.
///
/// # Errors
/// A syntax error, a number beyond the range of floats that is not an integer, or more than [`MOST_VALUES`] values.
pub fn parse(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str::<Parsed>(text).map(|parsed| parsed.value)
}

/// Reads one JSON value; see [`parse`].
///
/// # Errors
/// As [`parse`]; also bytes that are not UTF-8.
pub fn parse_slice(bytes: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice::<Parsed>(bytes).map(|parsed| parsed.value)
}

/// Reads one JSON value in which no object has a key twice: which of the two counts would be a guess.
///
/// # Errors
/// As [`parse`]; also the second of two equal keys.
pub fn parse_strict(text: &str) -> serde_json::Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let parsed = JsonReader { is_strict: true, left: &Cell::new(MOST_VALUES) }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(parsed.value)
}

/// Reads a float in a type that serde buffers before it knows its form (`untagged`, `flatten`, `tag`), for
/// `deserialize_with`: there a number stands by its digits, which plain `f64` does not read.
///
/// # Errors
/// The value is not a number.
pub fn float<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = Number::deserialize(deserializer)?;
    number.as_f64().ok_or_else(|| D::Error::custom(format!("{number} is out of range")))
}

/// Reads a type that holds floats in such forms, for which [`float`] is not a way because they belong to another type.
///
/// # Errors
/// As [`parse`]; also a value that is not of the type.
pub fn decode<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_value(parse(text)?)
}

/// A value for a format other than JSON, which would not know numbers by their digits.
#[derive(Debug)]
pub struct Native<'a>(pub &'a Value);

impl Serialize for Native<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_i128(), number.as_f64()) {
                (Some(number), ..) => serializer.serialize_u64(number),
                (_, Some(number), ..) => serializer.serialize_i64(number),
                (_, _, Some(number), _) => serializer.serialize_i128(number),
                (_, _, _, Some(number)) => serializer.serialize_f64(number),
                _ => serializer.serialize_str(number.as_str()),
            },
            Value::Array(items) => serializer.collect_seq(items.iter().map(Native)),
            Value::Object(members) => {
                serializer.collect_map(members.iter().map(|(name, member)| (name, Native(member))))
            }
            other => other.serialize(serializer),
        }
    }
}

/// The number that a text writes as JSON does: in its shortest spelling if 64 bits hold it, else with all its digits. `None`
/// if the text is not a JSON number, or is beyond the range of floats without being an integer.
pub fn number(text: &str) -> Option<Number> {
    let written: Number = text.parse().ok()?;
    if !text.contains(['.', 'e', 'E']) && text != "-0" {
        let short = text.parse::<u64>().map(Number::from).or_else(|_| text.parse::<i64>().map(Number::from));
        return Some(short.unwrap_or(written));
    }
    let short = Number::from_f64(text.parse().ok()?)?;
    let is_short = text.bytes().filter(u8::is_ascii_digit).count() <= DIGITS_OF_FLOATS;
    Some(if is_short || same_number(&short, &written) { short } else { written })
}

/// Returns whether two numbers have the same value, digit by digit: `1` and `1.0` do, integers of 30 digits that differ in
/// the last one do not.
pub fn same_number(one: &Number, other: &Number) -> bool {
    one == other || decimal(one.as_str()).is_some_and(|value| Some(value) == decimal(other.as_str()))
}

/// Sign, digits without zeros at either end, and the power of ten of the last digit.
fn decimal(text: &str) -> Option<(bool, String, i64)> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (is_negative, unsigned) = mantissa.strip_prefix('-').map_or((false, mantissa), |rest| (true, rest));
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = format!("{whole}{fraction}");
    let kept = digits.trim_end_matches('0');
    let zeros = digits.len() - kept.len();
    let power = exponent.parse::<i64>().ok()?.checked_add(zeros as i64)?.checked_sub(fraction.len() as i64)?;
    match kept.trim_start_matches('0') {
        "" => Some((false, String::new(), 0)),
        digits => Some((is_negative, digits.to_owned(), power)),
    }
}

/// A value and the keys that stand twice in one of its objects (the last one counts).
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The value.
    pub value: Value,
    /// Its doubled keys.
    pub duplicates: Vec<DuplicateKey>,
}

/// A key that stands twice in an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateKey {
    /// The key.
    pub key: String,
    /// True if its value differs the second time.
    pub differs: bool,
}

impl Parsed {
    fn of(value: impl Into<Value>) -> Self {
        Self { value: value.into(), duplicates: Vec::new() }
    }
}

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        JsonReader { is_strict: false, left: &Cell::new(MOST_VALUES) }.deserialize(deserializer)
    }
}

/// Reads one value of several that together are bounded: the values that may still come.
#[derive(Debug, Clone, Copy)]
pub struct Within<'l>(pub &'l Cell<usize>);

impl<'de> DeserializeSeed<'de> for Within<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        JsonReader { is_strict: false, left: self.0 }.deserialize(deserializer).map(|parsed| parsed.value)
    }
}

#[derive(Clone, Copy)]
struct JsonReader<'l> {
    /// True if a doubled key is an error.
    is_strict: bool,
    /// Values that may still come.
    left: &'l Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for JsonReader<'_> {
    type Value = Parsed;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Parsed, D::Error> {
        let Some(left) = self.left.get().checked_sub(1) else {
            return Err(D::Error::custom(format!("more than {MOST_VALUES} values in one JSON text")));
        };
        self.left.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonReader<'_> {
    type Value = Parsed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Parsed, E> {
        Ok(Parsed::of(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Parsed, E> {
        Ok(Parsed::of(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Parsed, E> {
        Ok(Parsed::of(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Parsed, E> {
        Ok(Parsed::of(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Parsed, E> {
        Ok(Parsed::of(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Parsed, E> {
        Ok(Parsed::of(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Parsed, E> {
        Ok(Parsed::of(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Parsed, A::Error> {
        let (mut items, mut duplicates) = (Vec::new(), Vec::new());
        while let Some(mut item) = access.next_element_seed(self)? {
            items.push(item.value);
            duplicates.append(&mut item.duplicates);
        }
        Ok(Parsed { value: Value::Array(items), duplicates })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Parsed, A::Error> {
        let (mut members, mut duplicates) = (Map::new(), Vec::new());
        while let Some(key) = access.next_key::<String>()? {
            if key == NUMBER {
                let digits: String = access.next_value()?;
                let number = number(&digits).ok_or_else(|| A::Error::custom("number out of range"))?;
                return Ok(Parsed::of(Value::Number(number)));
            }
            let mut member = access.next_value_seed(self)?;
            duplicates.append(&mut member.duplicates);
            if self.is_strict && members.contains_key(&key) {
                return Err(A::Error::custom(format!("duplicate key {key:?}")));
            }
            insert(&mut members, key, member.value, &mut duplicates);
        }
        Ok(Parsed { value: Value::Object(members), duplicates })
    }
}

/// Adds a member to an object; a key that is there already is noted.
pub fn insert(members: &mut Map<String, Value>, key: String, value: Value, duplicates: &mut Vec<DuplicateKey>) {
    if let Some(before) = members.get(&key) {
        duplicates.push(DuplicateKey { key: key.clone(), differs: *before != value });
    }
    members.insert(key, value);
}

/// Words that Python writes for numbers that JSON lacks.
const WORDS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];

/// A text in which `NaN` and infinities, which Python writes and JSON does not know, are `null`: the rule for all files of
/// rows. Texts within it stay as they are, and so does the number of lines.
pub fn nan_as_null(text: &str) -> Cow<'_, str> {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return Cow::Borrowed(text);
    }
    let mut translated = String::with_capacity(text.len() + 8);
    match NanAsNull::new(text.as_bytes()).read_to_string(&mut translated) {
        Ok(_) => Cow::Owned(translated),
        Err(_) => Cow::Borrowed(text),
    }
}

/// A reader that turns `NaN` and infinities, which Python writes and JSON does not know, into `null`. Texts stay as they
/// are, and so does the number of lines.
pub struct NanAsNull<R> {
    inner: R,
    is_in_text: bool,
    is_escaped: bool,
    /// Bytes that may begin one of the words.
    held: Vec<u8>,
    out: Vec<u8>,
    sent: usize,
}

impl<R: BufRead> NanAsNull<R> {
    /// A reader of the same text.
    pub fn new(inner: R) -> Self {
        Self { inner, is_in_text: false, is_escaped: false, held: Vec::new(), out: Vec::new(), sent: 0 }
    }

    /// Translates the next part of the input. At its end nothing is added.
    fn fill(&mut self) -> io::Result<()> {
        self.out.clear();
        self.sent = 0;
        while self.out.is_empty() {
            let bytes = self.inner.fill_buf()?;
            if bytes.is_empty() {
                self.out.append(&mut self.held);
                return Ok(());
            }
            let length = bytes.len();
            let state = (&mut self.is_in_text, &mut self.is_escaped, &mut self.held);
            translate(bytes, state, &mut self.out);
            self.inner.consume(length);
        }
        Ok(())
    }
}

impl<R: BufRead> Read for NanAsNull<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.sent == self.out.len() {
            self.fill()?;
        }
        let mut rest = &self.out[self.sent..];
        let length = rest.read(into)?;
        self.sent += length;
        Ok(length)
    }
}

fn translate(bytes: &[u8], state: (&mut bool, &mut bool, &mut Vec<u8>), out: &mut Vec<u8>) {
    let (is_in_text, is_escaped, held) = state;
    for byte in bytes.iter().copied() {
        if *is_in_text {
            out.push(byte);
            (*is_in_text, *is_escaped) = (byte != b'"' || *is_escaped, byte == b'\\' && !*is_escaped);
            continue;
        }
        held.push(byte);
        if WORDS.contains(&held.as_slice()) {
            held.clear();
            out.extend_from_slice(b"null");
        } else if !WORDS.iter().any(|word| word.starts_with(held)) {
            *is_in_text = byte == b'"';
            out.append(held);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use serde_json::json;

    use super::*;

    fn number_text(text: &str) -> String {
        parse(text).unwrap().to_string()
    }

    /// F6: a number keeps its digits, and equal ones are one value where 64 bits hold them.
    /// X12: a text of few bytes and very many values is an error with its place, in every way of reading; lists, objects and
    /// nested ones count alike.
    #[test]
    fn values_are_bounded() {
        let list = format!("[0{}]", ",0".repeat(MOST_VALUES));
        let objects = format!("[{}0]", "{\"a\":{}},".repeat(MOST_VALUES / 2));
        for error in [
            parse(&list).unwrap_err(),
            parse_slice(list.as_bytes()).unwrap_err(),
            parse_strict(&list).unwrap_err(),
            serde_json::from_reader::<_, Parsed>(list.as_bytes()).unwrap_err(),
        ] {
            assert!(error.to_string().starts_with("more than 5000000 values in one JSON text at line 1"), "{error}");
        }
        assert!(parse(&objects).unwrap_err().to_string().starts_with("more than"));
        let most = format!("[{}0]", "0,".repeat(MOST_VALUES / 100));
        assert!(parse(&most).is_ok());
    }

    #[test]
    fn numbers_keep_their_digits() {
        let power = "1267650600228229401496703205376";
        let pi = "3.14159265358979323846";
        for text in [power, "-9223372036854775809", "18446744073709551616", pi, "0", "-1", "18446744073709551615"] {
            assert_eq!(number_text(text), text);
            assert_eq!(number_text(&format!("{{\"a\":[{text}]}}")), format!("{{\"a\":[{text}]}}"));
        }
        for (written, short) in [("1.50", "1.5"), ("1e5", "100000.0"), ("-0", "-0.0"), ("1E+400", "")] {
            assert_eq!(parse(written).map(|it| it.to_string()).unwrap_or_default(), short);
        }
        assert_eq!(number_text("0.1000000000000000000"), "0.1");
        assert_eq!(parse("1e21").unwrap(), parse("1.0e+21").unwrap());
        assert_eq!(number("12x"), None);
        // A float is read from its shortest spelling as the float that it was.
        for value in [0.1, 1e21, 5e-324, f64::MAX, 1.0 / 3.0, 2.0_f64.powi(60)] {
            assert_eq!(parse(&json!(value).to_string()).unwrap(), json!(value));
        }
    }

    /// F6: numbers are the same by value, whatever the spelling.
    #[test]
    fn numbers_are_compared_digit_by_digit() {
        let same = |one: &str, other: &str| {
            same_number(&serde_json::from_str(one).unwrap(), &serde_json::from_str(other).unwrap())
        };
        assert!(same("1", "1.0") && same("0", "-0.0") && same("1e3", "1000") && same("0.50", "5e-1"));
        assert!(same("1267650600228229401496703205376", "1267650600228229401496703205376.0"));
        assert!(!same("123456789012345678901", "123456789012345678999") && !same("1", "-1") && !same("1", "10"));
        assert!(!same("-9223372036854775809", "-9223372036854775808"));
    }

    /// A key that stands twice is noted, or an error.
    #[test]
    fn doubled_keys_are_noted() {
        let text = r#"{"a": {"b": 1, "b": 2}, "c": [1, -2, 0.1, 18446744073709551615, "x", null, true]}"#;
        let parsed: Parsed = serde_json::from_str(text).unwrap();
        assert_eq!(parsed.duplicates, [DuplicateKey { key: "b".to_owned(), differs: true }]);
        assert_eq!(parse(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        let error = parse_strict(text).unwrap_err();
        assert!(error.to_string().starts_with("duplicate key \"b\""), "{error}");
        assert!(parse_strict("{} {}").is_err());
    }

    fn parse_python(text: &str, buffer: usize) -> Result<Value, serde_json::Error> {
        serde_json::from_reader(NanAsNull::new(BufReader::with_capacity(buffer, text.as_bytes())))
    }

    /// IO-07: a score of `NaN` is read as null, wherever the buffer ends; texts keep the word.
    #[test]
    fn words_of_python_are_null_outside_of_texts() {
        let text = r#"{"a": NaN, "b": [-Infinity,Infinity, -1, null], "NaN": "\"NaN\\", "c": "Infinity", "d": NaN}"#;
        let expected = json!({"a": null, "b": [null, null, -1, null], "NaN": "\"NaN\\", "c": "Infinity", "d": null});
        for buffer in [1, 2, 3, 7, 4096] {
            assert_eq!(parse_python(text, buffer).unwrap(), expected, "{buffer}");
        }
    }

    #[test]
    fn other_words_stay_errors() {
        for text in ["{\"a\": Na}", "N", "-Inf", "{\"a\": Nan}"] {
            assert!(parse_python(text, 4096).is_err(), "{text}");
        }
    }
}
