//! The rule of where a key may go. An address, a proxy or a certificate that stands only in a file of the folder, such as
//! `.env`, gets a key only of the same file: a folder that was cloned must not direct the keys of the environment elsewhere.

use karat_text::env_template;
use karat_types::{EnvTemplate, EnvTemplatePart};
use reqwest::Url;

use crate::http::proxies::ProxyRules;
use crate::registry::error::ProviderError;
use crate::registry::settings::Settings;

/// A secret that is sent to an address and must not go astray.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Keys<'a> {
    /// The variables whose values are sent.
    pub variables: &'a [&'a str],
    /// True if a program prints the key.
    pub printed: bool,
}

/// Checks that an address which `variables` name may get these keys; also the proxy before it.
///
/// # Errors
/// The address or the proxy stands only in a file, and a key does not stand in the same one.
pub(crate) fn check(
    settings: &Settings,
    who: &str,
    url: &Url,
    variables: &[&str],
    keys: Keys<'_>,
) -> Result<(), ProviderError> {
    let proxy = ProxyRules::of(settings).ok().and_then(|rules| rules.before(url).cloned());
    let named = variables.iter().map(|variable| ("address", *variable, without_query(url)));
    let proxy = proxy.as_ref().map(|it| ("proxy", it.variable.as_str(), it.address.clone().unwrap_or_default()));
    for (what, variable, address) in named.chain(proxy) {
        let Some(file) = settings.file_of(variable) else { continue };
        let is_set = |key: &&&str| settings.lookup(key).is_some();
        let strange = keys.variables.iter().filter(is_set).find(|key| settings.file_of(key).as_ref() != Some(&file));
        let key = match strange {
            Some(key) => format!("{key} in {}", place(settings, key)),
            None if keys.printed => "what `api_key_command` prints".to_owned(),
            None => continue,
        };
        let (who, variable) = (who.to_owned(), variable.to_owned());
        return Err(ProviderError::KeyElsewhere { who, what, address, variable, file, key });
    }
    Ok(())
}

/// Checks a text with an address, and the texts that are sent to it.
///
/// # Errors
/// As [`check`].
pub fn check_texts(
    settings: &Settings,
    who: &str,
    url: &EnvTemplate,
    sent: &[&EnvTemplate],
) -> Result<(), ProviderError> {
    let host = host_variables(url);
    let all = url.variables().chain(sent.iter().flat_map(|text| text.variables()));
    let keys: Vec<&str> = all.filter(|name| !host.contains(name)).collect();
    let filled = env_template::fill(url, |name| settings.lookup(name)).ok();
    // Where a row decides, the scheme is known at least: it tells the proxy.
    let known = filled.as_deref().and_then(|text| Url::parse(text.trim()).ok());
    let scheme = || Url::parse(if filled.as_deref()?.starts_with("https") { "https://_" } else { "http://_" }).ok();
    match known.or_else(scheme) {
        Some(url) => check(settings, who, &url, &host, Keys { variables: &keys, printed: false }),
        None => Ok(()),
    }
}

/// The variables that decide which host an address is of: those before the end of its host.
pub(crate) fn host_variables(url: &EnvTemplate) -> Vec<&str> {
    let mut before = String::new();
    let mut variables = Vec::new();
    for part in &url.0 {
        match part {
            EnvTemplatePart::Text(text) => before.push_str(text),
            EnvTemplatePart::Variable { name, .. } => {
                // Without a scheme so far, a variable before holds it, and with it the host.
                let rest = before.split_once("://").map_or(before.as_str(), |(_, rest)| rest);
                let is_behind = rest.contains(['/', '?', '#', '\\']);
                if !is_behind {
                    variables.push(name.as_str());
                }
            }
        }
    }
    variables
}

/// The place of a variable in messages.
fn place(settings: &Settings, variable: &str) -> String {
    settings.file_of(variable).map_or_else(|| "the environment".to_owned(), |file| format!("`{file}`"))
}

pub(crate) fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(files: &'static [(&'static str, &'static str, &'static str)]) -> Settings {
        let find = move |name: &str| files.iter().find(|(variable, ..)| *variable == name);
        Settings {
            file_of: std::sync::Arc::new(move |name| {
                find(name).map(|(_, _, file)| (*file).to_owned()).filter(|it| !it.is_empty())
            }),
            ..Settings::new(move |name| find(name).map(|(_, value, _)| (*value).to_owned()))
        }
    }

    /// X4: only what stands before the end of the host decides where a request goes.
    #[test]
    fn variables_of_the_host_are_known() {
        for (url, expected) in [
            ("${BASE}/v1", vec!["BASE"]),
            ("https://${HOST}:${PORT}/v1", vec!["HOST", "PORT"]),
            ("https://a.example${REST}", vec!["REST"]),
            ("https://a.example/${TEAM}?key=${KEY}", vec![]),
            ("https://a.example?key=${KEY}", vec![]),
        ] {
            assert_eq!(host_variables(&env_template::parts(url)), expected, "{url}");
        }
    }

    /// X4: an address of a file gets keys of the same file, and no others; one of the environment gets all.
    #[test]
    fn an_address_of_a_file_gets_keys_of_that_file() {
        let texts = |files, url: &str, header: &str| {
            let (url, header) = (env_template::parts(url), env_template::parts(header));
            check_texts(&settings(files), "step s", &url, &[&header]).map_err(|error| error.to_string())
        };
        let refused =
            texts(&[("SERVICE", "http://a.example/q", ".env"), ("TOKEN", "t", "")], "${SERVICE}", "Bearer ${TOKEN}");
        let refused = refused.unwrap_err();
        for part in
            ["step s: ", "http://a.example/q", "SERVICE", "`.env`", "TOKEN in the environment", "export SERVICE"]
        {
            assert!(refused.contains(part), "{part}: {refused}");
        }
        assert!(
            texts(&[("SERVICE", "http://a.example/q", ".env"), ("TOKEN", "t", ".env")], "${SERVICE}", "${TOKEN}")
                .is_ok()
        );
        assert!(
            texts(&[("SERVICE", "http://a.example/q", ".env"), ("TOKEN", "t", ".env.local")], "${SERVICE}", "${TOKEN}")
                .is_err()
        );
        assert!(
            texts(&[("SERVICE", "http://a.example/q", ""), ("TOKEN", "t", ".env")], "${SERVICE}", "${TOKEN}").is_ok()
        );
        assert!(
            texts(&[("SERVICE", "http://a.example/q", ".env"), ("KEY", "t", "")], "${SERVICE}?key=${KEY}", "").is_err()
        );
        assert!(texts(&[("TEAM", "t", ".env"), ("KEY", "t", "")], "https://a.example/${TEAM}", "${KEY}").is_ok());
        // Without a key there is nothing to lose.
        assert!(texts(&[("SERVICE", "http://a.example/q", ".env")], "${SERVICE}", "plain").is_ok());
    }

    /// X4: a proxy of a file is as an address of it, except for what is called directly.
    #[test]
    fn a_proxy_of_a_file_gets_keys_of_that_file() {
        let check = |url: &str, files| {
            check_texts(&settings(files), "step s", &env_template::parts(url), &[&env_template::parts("${KEY}")])
                .is_ok()
        };
        const PROXY: &[(&str, &str, &str)] = &[("https_proxy", "http://p:1", ".env"), ("KEY", "k", "")];
        assert!(
            !check("https://a.example/", PROXY)
                && check("http://a.example/", PROXY)
                && check("https://localhost/", PROXY)
        );
        assert!(!check("https://{{ sample.host }}/", PROXY));
        const OPEN: &[(&str, &str, &str)] = &[("HTTPS_PROXY", "http://p:1", ""), ("KEY", "k", ".env")];
        assert!(check("https://a.example/", OPEN));
    }
}
