//! The environment that steps and scorers need for services and programs, checked before a run.

use karat_types::{EnvTemplate, EnvTemplatePart};
use secrecy::SecretString;

use crate::http::env_headers::EnvHeader;
use crate::registry::error::ProviderError;
use crate::registry::places;
use crate::registry::settings::Settings;

/// The requests of a run to services and programs, as far as they are known before it starts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExternalTexts {
    /// True if any of them is an HTTP request.
    pub http: bool,
    /// Texts with `${NAME}`, each with its owner (`step query`). All variables are checked before the run, and their
    /// values never stored.
    pub texts: Vec<(String, EnvTemplate)>,
    /// The host functions that are called, each with its caller.
    pub host_functions: Vec<(String, String)>,
    /// Headers with `${NAME}`.
    pub headers: Vec<EnvHeader>,
    /// The addresses of HTTP requests, each with its owner.
    pub urls: Vec<(String, EnvTemplate)>,
}

impl ExternalTexts {
    /// Checks every variable and collects the values that are set as secrets.
    pub(crate) fn check_and_collect(
        &self,
        settings: &Settings,
        secrets: &mut Vec<SecretString>,
        errors: &mut Vec<ProviderError>,
    ) {
        for (who, text) in &self.texts {
            for part in &text.0 {
                let EnvTemplatePart::Variable { name, default } = part else { continue };
                match settings.lookup(name) {
                    // An address is not a secret, and useful in messages.
                    Some(value) if value.starts_with("http") && !value.contains('@') => {}
                    Some(value) => secrets.push(value.into()),
                    None if default.is_some() => {}
                    None => {
                        let error = ProviderError::MissingGap { who: who.clone(), variable: name.clone() };
                        if !errors.contains(&error) {
                            errors.push(error);
                        }
                    }
                }
            }
        }
        for (who, function) in &self.host_functions {
            if settings.host.version(function).is_none() {
                errors.push(ProviderError::unknown_function(who, function, &settings.host.names()));
            }
        }
        errors.extend(self.headers.iter().filter_map(|header| header.problem(settings)));
        let mut check = |who: &str, url, sent: &[&EnvTemplate]| {
            if let Err(error) = places::check_texts(settings, who, url, sent)
                && !errors.contains(&error)
            {
                errors.push(error);
            }
        };
        self.urls.iter().for_each(|(who, url)| check(who, url, &[]));
        self.headers.iter().for_each(|header| check(&header.who, &header.url, &[&header.text]));
    }
}
