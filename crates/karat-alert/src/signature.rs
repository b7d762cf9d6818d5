//! Signatures of Standard Webhooks 1.0.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

/// The beginning of a secret of Standard Webhooks.
const PREFIX: &str = "whsec_";

/// A secret that cannot sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// It does not begin with `whsec_`.
    #[error("a webhook secret begins with `whsec_`")]
    Prefix,
    /// The rest is not base64.
    #[error("a webhook secret is base64 after `whsec_`")]
    Base64,
    /// It holds less than 24 or more than 64 bytes.
    #[error("a webhook secret holds 24 to 64 bytes; this one holds {0}")]
    Length(usize),
}

/// The value of `webhook-signature`: a signature for each secret, with a space between them. Two secrets, separated by
/// spaces or commas, are used while they are rotated. `seconds` is the time of the attempt, since 1970.
///
/// # Errors
/// A secret cannot sign.
pub fn sign(secrets: &str, id: &str, seconds: i64, body: &str) -> Result<String, SecretError> {
    let content = format!("{id}.{seconds}.{body}");
    let one = |secret: &str| {
        let encoded = secret.strip_prefix(PREFIX).ok_or(SecretError::Prefix)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| SecretError::Base64)?;
        if !(24..=64).contains(&bytes.len()) {
            return Err(SecretError::Length(bytes.len()));
        }
        let key = hmac::Key::new(hmac::HMAC_SHA256, &bytes);
        Ok(format!("v1,{}", STANDARD.encode(hmac::sign(&key, content.as_bytes()))))
    };
    let listed = secrets.split([' ', ',']).filter(|secret| !secret.is_empty());
    let signatures = listed.map(one).collect::<Result<Vec<_>, _>>()?;
    if signatures.is_empty() { Err(SecretError::Prefix) } else { Ok(signatures.join(" ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_a2FyYXQtdGVzdC1zZWNyZXQtMDEyMzQ1Njc4OWFiY2Q=";
    const ID: &str = "msg_01J0000000000000000000TEST";
    const BODY: &str =
        r#"{"type":"alert.opened","timestamp":"2027-03-28T01:00:07Z","data":{"alert":"quality","suite":"support"}}"#;
    const SIGNATURE: &str = "v1,3O6ZLfB6G2ePJywcuXXNyAOxF6+D6swfyjH74nxrkKU=";

    /// SV-17: the published vector; two secrets give two signatures.
    #[test]
    fn signatures_follow_standard_webhooks() {
        assert_eq!(sign(SECRET, ID, 1_806_195_607, BODY).as_deref(), Ok(SIGNATURE));
        let other = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
        let both = sign(&format!("{other} {SECRET}"), ID, 1_806_195_607, BODY).unwrap();
        assert_eq!(both.split(' ').count(), 2);
        assert!(both.ends_with(SIGNATURE) && both.starts_with("v1,"), "{both}");
    }

    /// SV-17: a secret that cannot sign says why, and is not repeated.
    #[test]
    fn a_wrong_secret_is_refused() {
        assert_eq!(sign("hunter2", ID, 0, BODY), Err(SecretError::Prefix));
        assert_eq!(sign("", ID, 0, BODY), Err(SecretError::Prefix));
        assert_eq!(sign("whsec_***", ID, 0, BODY), Err(SecretError::Base64));
        assert_eq!(sign("whsec_YWJj", ID, 0, BODY), Err(SecretError::Length(3)));
    }
}
