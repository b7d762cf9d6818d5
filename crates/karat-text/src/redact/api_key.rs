//! Keys: by the forms of well-known services, by the name that stands before them, and behind `Bearer`.
//!
//! A form is a prefix that nothing else has. Where a prefix or a name could also begin an ordinary word, what follows must look
//! random: `hf_download_snapshot` and `bearer instruments` are none.

use std::ops::Range;

use regex::Regex;

use super::Rule;

/// Prefixes of keys. Behind them stand at least [`SHORTEST`] letters, digits, `_` and `-` that look random.
#[rustfmt::skip]
const PREFIXES: &[&str] = &[
    // Models: OpenRouter, DeepSeek and others begin with `sk-`, as OpenAI and Anthropic do.
    "gsk_", "hf_", "api_org_", "xai-", "pplx-", "nvapi-", "r8_", "csk-", "fw_", "fpk_", "tgp_v1_", "sess-", "jina_",
    "esecret_", "rpa_", "wandb_v1_", "lsv2_pt_", "lsv2_sk_", "ls__", "pcsk_", "tvly-", "llx-", "AQ.", "ABSK", "bedrock-api-key-",
    "ya29.", "GOCSPX-", "vck_",
    // Code and packages.
    "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-",
    "glagent-", "glsoat-", "gloas-", "ATATT3x", "ATBB", "ATCTT3x", "npm_", "pypi-", "rubygems_", "dckr_pat_", "dckr_oat_",
    "CLOJARS_",
    // Clouds and operation.
    "dop_v1_", "doo_v1_", "dor_v1_", "hvs.", "hvb.", "hvr.", "dp.st.", "dp.pt.", "dp.ct.", "pscale_tkn_", "pscale_pw_", "sbp_",
    "sb_secret_", "nfp_", "fm2_", "rnd_", "HRKU-", "NRAK-", "NRII-", "dt0c01.", "glsa_", "glc_", "sntrys_", "sntryu_", "phx_",
    "phc_", "tskey-", "LTAI", "AKID",
    // Work, money, messages.
    "whsec_", "xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-", "SG.", "PMAK-", "lin_api_", "ntn_",
    "secret_", "figd_", "pat-na1-", "pat-eu1-", "shpat_", "shpca_", "shppa_", "shpss_", "sq0atp-", "sq0csp-", "EAAA", "EZAK",
    "FLWSECK", "rzp_live_", "CFPAT-", "aio_", "SCWSECRET", "eyJrIjoi",
    // Karat's own tokens.
    "karat_",
];

/// Fewest characters behind a prefix, a name or `Bearer`.
const SHORTEST: usize = 16;

/// Forms that are sure by themselves.
const FORMS: &[&str] = &[
    r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----",
    r"\b(?:sk|pk|rk)[\-_](?:[A-Za-z0-9]+[\-_])*[A-Za-z0-9]{16,}[A-Za-z0-9_\-]*",
    r"\b(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[0-9A-Z]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{30,}|\bxox[baprs]-[A-Za-z0-9\-]{10,}|\bAIza[0-9A-Za-z_\-]{35}",
    r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}",
    // Azure's keys are known by letters within them.
    r"\b[A-Za-z0-9]{52}JQQJ9[9D][A-Za-z0-9]{26,27}\b",
    r"\bdapi[0-9a-f]{32}\b|\bkey-[0-9a-f]{32}\b|\bpa-[A-Za-z0-9_\-]{40,}",
    r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b",
    r"\bhooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_]{20,}|\bdiscord(?:app)?\.com/api/webhooks/[0-9]{10,}/[A-Za-z0-9_\-]{20,}",
    r"\b[0-9]{8,10}:AA[A-Za-z0-9_\-]{33}\b|\b[0-9a-f]{32}-us[0-9]{1,2}\b",
];

/// A name of a key, as in `MISTRAL_API_KEY`, `x-api-key`, `client secret`.
const NAME: &str = concat!(
    r"(?:(?:api|access|secret|auth|account|subscription|signing|private|license)[_\-. ]?key|apikey",
    r"|(?:access|auth|api|refresh|bearer|secret|session|id)[_\-. ]?token|client[_\-. ]?secret|app[_\-. ]?secret)"
);

/// Characters of a key that is known by its name.
const VALUE: &str = r"[A-Za-z0-9._~+/\-]{16,}={0,2}";

/// `form`: sure by itself; `tail`: behind a prefix; `value`: behind a name or `Bearer`, which stay.
static API_KEY: Rule = Rule::new(|| {
    let prefixes: Vec<String> = PREFIXES.iter().map(|prefix| regex::escape(prefix)).collect();
    let quote = r#"\\?["'`]?"#;
    let patterns = [
        format!(r"(?P<form>{})", FORMS.join("|")),
        format!(r"\b(?:{})(?P<tail>[A-Za-z0-9_\-]{{{SHORTEST},}}(?:\.[A-Za-z0-9_\-]{{16,}})*=*)", prefixes.join("|")),
        format!(
            r"(?:\b(?i:bearer)|\b(?i:authorization){quote}\s{{0,2}}[:=]\s{{0,2}}{quote}(?i:basic|token|key))[ \t:+]{{1,2}}(?P<bearer>{VALUE})"
        ),
        format!(
            r"(?:(?i:{NAME})|\b[A-Z][A-Z0-9_]*_(?:KEY|TOKEN|SECRET)){quote}\s{{0,3}}(?:=>|:=|=|:|is)\s{{0,3}}{quote}(?P<value>{VALUE})"
        ),
    ];
    // The boundaries of ASCII words: those of Unicode would make texts with other letters slow.
    Regex::new(&patterns.join("|").replace(r"\b", r"(?-u:\b)")).ok()
});
static NAMED: Rule = Rule::new(|| Regex::new(&format!(r"(?i:{NAME})$|^[A-Z][A-Z0-9_]*_(?:KEY|TOKEN|SECRET)$")).ok());

pub(super) fn regex() -> Option<&'static Regex> {
    API_KEY.as_ref()
}

/// The key in a candidate: a prefix belongs to it, a name or `Bearer` stays.
pub(super) fn part(text: &str, at: Range<usize>) -> Option<Range<usize>> {
    let found = API_KEY.as_ref()?.captures_at(text, at.start)?;
    if found.name("form").is_some() {
        return Some(at);
    }
    if let Some(tail) = found.name("tail") {
        return looks_random(tail.as_str(), Certainty::Prefix).then_some(at);
    }
    let value = found.name("bearer").or_else(|| found.name("value"))?;
    let length = value.as_str().trim_end_matches(['.', '-', '/']).len();
    looks_random(value.as_str(), Certainty::Name).then(|| value.start()..value.start() + length)
}

/// Returns true if a member of an object is a key: its name says so, and its value looks random.
pub(super) fn is_value_of(name: &str, value: &str) -> bool {
    let value = value.trim();
    let is_key = |c: char| c.is_ascii_alphanumeric() || "._~+/-=".contains(c);
    value.len() >= SHORTEST
        && value.chars().all(is_key)
        && NAMED.as_ref().is_some_and(|rule| rule.is_match(name))
        && looks_random(value, Certainty::Name)
}

/// The hint that there is a key, beside its letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Certainty {
    Prefix,
    Name,
}

/// Returns true if letters look like those of a key and not like words: digits or both cases, in a long piece.
fn looks_random(text: &str, certainty: Certainty) -> bool {
    let longest = text.split(|c: char| !c.is_ascii_alphanumeric()).map(str::len).max().unwrap_or_default();
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let has_cases = text.contains(|c: char| c.is_ascii_lowercase()) && text.contains(|c: char| c.is_ascii_uppercase());
    match certainty {
        Certainty::Prefix => longest >= 12 && (digits > 0 || has_cases || longest >= 20) || digits >= 4,
        Certainty::Name => longest >= 12 && digits > 0 || digits >= 8,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Kind, Redactor};
    use super::PREFIXES;

    fn redactor() -> Redactor {
        Redactor::new([Kind::ApiKey], []).unwrap()
    }

    fn redacted(text: &str) -> String {
        redactor().text(text).into_owned()
    }

    /// Letters as a key has them.
    fn letters(count: usize) -> String {
        "a8Bc3dEf5GhJ2kLmN7pQrS4tUvW9xYz6".chars().cycle().take(count).collect()
    }

    /// F42: every prefix with as many letters as its keys have, alone, quoted, and in an address.
    #[test]
    fn keys_with_a_prefix_are_found() {
        assert!(PREFIXES.len() >= 30);
        for prefix in PREFIXES {
            for count in [16, 20, 32, 48, 80] {
                let key = format!("{prefix}{}", letters(count));
                for (before, after) in
                    [("key ", " ok"), ("\"", "\""), ("https://a.example/x?k=", "&n=1"), ("(", ")."), ("KEY=", "\n")]
                {
                    let text = format!("{before}{key}{after}");
                    assert_eq!(redacted(&text), format!("{before}[api_key]{after}"), "{text}");
                }
            }
        }
    }

    /// F42: forms of keys of models' providers and of others.
    #[test]
    fn keys_of_services_are_found() {
        let hex: String = "0123456789abcdef".chars().cycle().take(32).collect();
        for key in [
            format!("sk-{hex}"),
            format!("sk-proj-{}-{}_x", letters(20), letters(40)),
            format!("sk-ant-api03-{}-{}AA", letters(60), letters(8)),
            format!("sk-or-v1-{hex}{hex}"),
            format!("sk-lf-{hex}"),
            "AKIAIOSFODNN7EXAMPLE".to_owned(),
            "ASIAIOSFODNN7EXAMPLE".to_owned(),
            format!("AIza{}", letters(35)),
            format!("github_pat_{}_{}", letters(22), letters(59)),
            format!("SG.{}.{}", letters(22), letters(43)),
            format!("xoxb-{}", "1234567890-1234567890"),
            format!("https://hooks.slack.com/services/T00000000/B00000000/{}", letters(24)).replace("https://", ""),
            format!("123456789:AA{}", letters(33)),
            format!("{hex}-us12"),
            format!("dapi{hex}"),
            format!("pa-{}", letters(43)),
            format!("{}JQQJ99{}", letters(52), letters(26)),
            format!("eyJ{}.{}.{}", letters(20), letters(40), letters(43)),
            format!("karat_abcd1234_{}", letters(49)),
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\nab\n-----END PGP PRIVATE KEY BLOCK-----".to_owned(),
        ] {
            assert_eq!(redacted(&format!("it is {key}, ok")), "it is [api_key], ok", "{key}");
        }
    }

    /// F42: keys without a form of their own are known by their names, which stay.
    #[test]
    fn named_keys_and_bearer_tokens_are_found() {
        let hex: String = "0123456789abcdef".chars().cycle().take(32).collect();
        for (before, after) in [
            ("Bearer ", ""),
            ("Authorization: Bearer ", "\n"),
            ("authorization: bearer ", " --data x"),
            ("Authorization: Basic ", "\n"),
            ("MISTRAL_API_KEY=", "\n"),
            ("export AZURE_OPENAI_API_KEY=\"", "\""),
            ("x-api-key: ", ""),
            ("{\"api_key\": \"", "\"}"),
            ("{\\\"apiKey\\\":\\\"", "\\\"}"),
            ("https://a.example/?api_key=", "&n=1"),
            ("my api key is ", ", ok"),
            ("client_secret=", "&grant"),
            ("DB_TOKEN: '", "'"),
            ("Ocp-Apim-Subscription-Key: ", ""),
            ("AccountKey=", ";EndpointSuffix"),
        ] {
            assert_eq!(redacted(&format!("{before}{hex}{after}")), format!("{before}[api_key]{after}"), "{before}");
        }
        let mut value =
            json!({"api_key": hex, "x": {"MISTRAL_API_KEY": hex, "key": hex}, "apiKey": "none", "note": "api key"});
        redactor().value(&mut value);
        let expected = json!({"api_key": "[api_key]", "x": {"MISTRAL_API_KEY": "[api_key]", "key": hex}, "apiKey": "none", "note": "api key"});
        assert_eq!(value, expected);
    }

    /// F42: names, hashes, ids and words that only look alike stay.
    #[test]
    fn look_alikes_stay() {
        let hex = "d41d8cd98f00b204e9800998ecf8427e";
        for text in [
            "hf_download_snapshot_of_models",
            "hf_download_v2_snapshot_models",
            "npm_config_registry_address",
            "secret_santa_of_the_team",
            "pa-rliamentary-procedures-here",
            "key-performance-indicators-of-2026",
            "the bearer of responsibilities",
            "Bearer instruments and responsibilities",
            "bearer bonds-of-the-series-2031",
            "Authorization: Bearer ${OPENAI_API_KEY}",
            "api_key_env: OPENAI_API_KEY",
            "the api key is rotated-every-quarter",
            "PRIMARY_KEY=customer_identifier_2024",
            "ls__recursive_directory_listing",
            "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            hex,
            "123e4567-e89b-12d3-a456-426614174000",
            "dapifications-are-not-a-thing",
            "Asiatic",
            "ASIA PACIFIC 2026",
            "karat_store_migrations_table",
            "xai-explanations-of-decisions",
            "EAAA-conference-proceedings",
            "API key: see the documentation",
            "x-api-key: {{ token }}",
            "ghp_short",
            "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        ] {
            assert_eq!(redacted(text), text);
        }
    }
}
