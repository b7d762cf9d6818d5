//! Lists of SHA-256 checksums, in the form of `sha256sum`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Returns bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The checksum of bytes.
pub fn of_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Makes a list, sorted by name. It is what `sha256sum --check` reads.
pub fn list(sums: &BTreeMap<String, String>) -> String {
    sums.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect()
}

/// Reads a list: names with their checksums. Empty lines and lines with `#` are skipped.
///
/// # Errors
/// A line of another form.
pub fn read(text: &str) -> Result<BTreeMap<String, String>, String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let entry = |line: &str| {
        let (sum, name) =
            line.split_once("  ").ok_or_else(|| format!("reading checksums: {line:?} is not an entry"))?;
        let is_sum = sum.len() == 64 && sum.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c));
        match is_sum {
            true => Ok((name.to_owned(), sum.to_owned())),
            false => Err(format!("reading checksums: {sum:?} of {name} is not a SHA-256")),
        }
    };
    lines.map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SV-31: a list is read as it was written, and a damaged one is refused.
    #[test]
    fn lists_are_read_as_written() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(of_bytes(b""), empty);
        let sums = BTreeMap::from([("b".to_owned(), empty.to_owned()), ("a".to_owned(), "0".repeat(64))]);
        let text = list(&sums);
        assert!(text.ends_with(&format!("\n{empty}  b\n")), "{text}");
        assert_eq!(read(&format!("# comment\n\n{text}")).unwrap(), sums);
        for wrong in ["abc  name", &format!("{empty} name"), &format!("{}  name", "G".repeat(64))] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
