//! Headers that the environment fills, such as a token: what is done where nothing is set.
//!
//! `Authorization: "Bearer ${TOKEN:-}"` without TOKEN would send the word `Bearer` alone. A service on this machine is asked
//! without the header; any other address is refused before the first call.

use karat_text::env_template;
use karat_types::{GapText, Part};
use reqwest::Url;

use crate::connect::is_loopback;
use crate::error::ProviderError;
use crate::settings::Settings;

/// A header of a step or scorer, and the address that it goes to.
#[derive(Debug, Clone, PartialEq)]
pub struct HeaderText {
    /// Whose it is: `step query`.
    pub who: String,
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: GapText,
    /// The address.
    pub url: GapText,
}

impl HeaderText {
    /// What is wrong where nothing fills the header and its address is elsewhere.
    pub(crate) fn problem(&self, settings: &Settings) -> Option<ProviderError> {
        let variable = unfilled(&self.text, settings)?;
        let address = env_template::fill(&self.url, |name| settings.lookup(name)).ok();
        let is_here = address.and_then(|address| Url::parse(address.trim()).ok()).is_some_and(|url| is_loopback(&url));
        (!is_here).then(|| ProviderError::EmptyHeader {
            who: self.who.clone(),
            header: self.name.clone(),
            variable: variable.to_owned(),
        })
    }
}

/// The first variable of a text whose every gap stays empty; `None` where it has no gap, or one is filled.
pub(crate) fn unfilled<'a>(text: &'a GapText, settings: &Settings) -> Option<&'a str> {
    let gaps = text.0.iter().filter_map(|part| match part {
        Part::Variable { name, default } => Some((name, default)),
        Part::Text(_) => None,
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
