//! JSON as Python writes it.

use std::io::{self, BufRead, Read};

/// Words that Python writes for numbers that JSON lacks.
const WORDS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];

/// A reader that turns `NaN` and infinities, which Python writes and JSON does not know, into `null`. Texts stay as they
/// are, and so does the number of lines.
pub(crate) struct NanAsNull<R> {
    inner: R,
    is_in_text: bool,
    is_escaped: bool,
    /// Bytes that may begin one of the words.
    held: Vec<u8>,
    out: Vec<u8>,
    sent: usize,
}

impl<R: BufRead> NanAsNull<R> {
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

    use serde_json::{Value, json};

    use super::*;

    fn parse(text: &str, buffer: usize) -> Result<Value, serde_json::Error> {
        serde_json::from_reader(NanAsNull::new(BufReader::with_capacity(buffer, text.as_bytes())))
    }

    /// IO-07: a score of `NaN` is read as null, wherever the buffer ends; texts keep the word.
    #[test]
    fn words_of_python_are_null_outside_of_texts() {
        let text = r#"{"a": NaN, "b": [-Infinity,Infinity, -1, null], "NaN": "\"NaN\\", "c": "Infinity", "d": NaN}"#;
        let expected = json!({"a": null, "b": [null, null, -1, null], "NaN": "\"NaN\\", "c": "Infinity", "d": null});
        for buffer in [1, 2, 3, 7, 4096] {
            assert_eq!(parse(text, buffer).unwrap(), expected, "{buffer}");
        }
    }

    #[test]
    fn other_words_stay_errors() {
        for text in ["{\"a\": Na}", "N", "-Inf", "{\"a\": Nan}"] {
            assert!(parse(text, 4096).is_err(), "{text}");
        }
    }
}
