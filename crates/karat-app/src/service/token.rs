//! The text of a token: `karat_<id>_<secret><checksum>`.
//!
//! The id finds the token in the store. The secret has 256 random bits, so one fast hash of it is enough to store. The
//! checksum tells a mistyped token, and lets scanners of leaked secrets recognise ours without asking.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

const PREFIX: &str = "karat_";
const ID_LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
const BASE62: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
// Numbers of characters.
const ID: usize = 8;
const SECRET: usize = 43;
const CHECKSUM: usize = 6;

/// A token in its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenText {
    pub id: String,
    /// The secret: 256 bits as base64url.
    pub secret: String,
}

impl TokenText {
    /// A token from random bytes: eight for the id, then the secret.
    pub fn from_random(bytes: &[u8; ID + 32]) -> Self {
        let (id, secret) = bytes.split_at(ID);
        let letter = |byte: &u8| char::from(ID_LETTERS[usize::from(*byte) % ID_LETTERS.len()]);
        Self { id: id.iter().map(letter).collect(), secret: URL_SAFE_NO_PAD.encode(secret) }
    }

    /// Reads a token. Returns `None` if it has another form or a wrong checksum.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?;
        if !rest.is_ascii() || rest.len() != ID + 1 + SECRET + CHECKSUM {
            return None;
        }
        let (id, rest) = rest.split_at(ID);
        let (secret, checksum) = rest.strip_prefix('_')?.split_at(SECRET);
        let token = Self { id: id.to_owned(), secret: secret.to_owned() };
        (token.checksum() == checksum).then_some(token)
    }

    /// The hash that is stored.
    pub fn hash(&self) -> [u8; 32] {
        *blake3::hash(self.secret.as_bytes()).as_bytes()
    }

    /// The whole token, which is shown once.
    pub fn text(&self) -> String {
        format!("{PREFIX}{}_{}{}", self.id, self.secret, self.checksum())
    }

    fn checksum(&self) -> String {
        let mut rest = crc32fast::hash(format!("{PREFIX}{}_{}", self.id, self.secret).as_bytes());
        let mut digits = [b'0'; CHECKSUM];
        for digit in digits.iter_mut().rev() {
            *digit = BASE62[rest as usize % BASE62.len()];
            rest /= BASE62.len() as u32;
        }
        digits.iter().map(|digit| char::from(*digit)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SV-08: a token has this form, and a mistyped one is told from an unknown one.
    #[test]
    fn a_token_reads_back_and_a_mistyped_one_does_not() {
        let bytes: [u8; 40] = std::array::from_fn(|at| (at as u8).wrapping_mul(7));
        let token = TokenText::from_random(&bytes);
        let text = token.text();
        assert_eq!(text.len(), "karat_".len() + 8 + 1 + 43 + 6);
        assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        assert_eq!(TokenText::parse(&text), Some(token));
        for at in 0..text.len() {
            let mut wrong = text.clone().into_bytes();
            wrong[at] = if wrong[at] == b'a' { b'b' } else { b'a' };
            assert_eq!(TokenText::parse(std::str::from_utf8(&wrong).unwrap()), None, "{at}");
        }
        assert_eq!(TokenText::parse(""), None);
        assert_eq!(TokenText::parse(&text.replace('_', "é")), None);
    }
}
