//! Headers filled from the environment, such as a token, and what happens if the variable is not set.
//!
//! `Authorization: "Bearer ${TOKEN:-}"` without TOKEN would send the word `Bearer` alone. A service on this machine is
//! called without the header; for any other address this is an error before the first call.

use karat_text::env_template;
use karat_types::{EnvTemplate, EnvTemplatePart};
use reqwest::Url;

use crate::registry::connect::is_loopback;
use crate::registry::error::ProviderError;
use crate::registry::settings::Settings;

/// A header of a step or scorer, and its address.
#[derive(Debug, Clone, PartialEq)]
pub struct EnvHeader {
    /// Its owner, such as `step query`.
    pub who: String,
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: EnvTemplate,
    /// The address.
    pub url: EnvTemplate,
}

impl EnvHeader {
    /// The error if no variable fills the header and the address is not on this machine.
    pub(crate) fn problem(&self, settings: &Settings) -> Option<ProviderError> {
        let variable = unset_variable(&self.text, settings)?;
        let address = env_template::fill(&self.url, |name| settings.lookup(name)).ok();
        let is_here = address.and_then(|address| Url::parse(address.trim()).ok()).is_some_and(|url| is_loopback(&url));
        (!is_here).then(|| ProviderError::EmptyHeader {
            who: self.who.clone(),
            header: self.name.clone(),
            variable: variable.to_owned(),
        })
    }
}

/// The first variable of a text in which no variable has a value; `None` if the text has no variable, or one has a
/// value.
pub(crate) fn unset_variable<'a>(text: &'a EnvTemplate, settings: &Settings) -> Option<&'a str> {
    let gaps = text.0.iter().filter_map(|part| match part {
        EnvTemplatePart::Variable { name, default } => Some((name, default)),
        EnvTemplatePart::Text(_) => None,
    });
    let mut first = None;
    for (name, default) in gaps {
        let has_default = default.as_ref().is_some_and(|default| !default.is_empty());
        if has_default || settings.lookup(name).is_some() {
            return None;
        }
        first = first.or(Some(name.as_str()));
    }
    first
}
