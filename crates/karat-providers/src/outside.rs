//! What steps and scorers will ask of services and programs, as it is known before a run.

use karat_types::{EnvTemplate, EnvTemplatePart};
use secrecy::SecretString;

use crate::error::ProviderError;
use crate::headers::HeaderText;
use crate::settings::Settings;

/// What a run will ask of services and programs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outside {
    /// Whether any of it goes over HTTP.
    pub http: bool,
    /// Texts with gaps, and whose they are (`step query`): every gap is tried before the run, and its value never kept.
    pub texts: Vec<(String, EnvTemplate)>,
    /// Headers with gaps.
    pub headers: Vec<HeaderText>,
}

impl Outside {
    /// Tries every gap, and gathers the values of those that are set.
    pub(crate) fn gather(&self, settings: &Settings, secrets: &mut Vec<SecretString>, errors: &mut Vec<ProviderError>) {
        for (who, text) in &self.texts {
            for part in &text.0 {
                let EnvTemplatePart::Variable { name, default } = part else { continue };
                match settings.lookup(name) {
                    // An address is no secret, and everybody wants to see it in messages.
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
        errors.extend(self.headers.iter().filter_map(|header| header.problem(settings)));
    }
}
