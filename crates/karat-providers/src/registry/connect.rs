//! From a registry entry to a model that can be called. All problems of an entry are found here, before any call.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use karat_text::env_template;
use karat_text::host::is_this_machine;
use karat_types::{ChatRequest, Key, ModelSpec};
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::answer::billing::CostReport;
use crate::answer::failure::{CallTarget, Callee};
use crate::attempt::refused_settings::RefusedSettings;
use crate::codec::media::MediaForm;
use crate::codec::openai::OPENAI;
use crate::codec::openai::embeddings::Embeddings;
use crate::codec::protocol::Codec;
use crate::http::request::PreparedRequest;
use crate::limiter::{Limiter, LimiterKey};
use crate::options;
use crate::options::{CommandOptions, HttpOptions, ScriptedOptions, StubOptions};
use crate::process::command_model::CommandModel;
use crate::registry::error::ProviderError;
use crate::registry::hosts::Host;
use crate::registry::key_command::KeyCommand;
use crate::registry::settings::Settings;
use crate::registry::{hosts, places};
use crate::scripted::Script;

/// A model that can be called.
pub(crate) struct ConnectedModel {
    /// Its entry, with every `${NAME}` in the model's name replaced.
    pub spec: ModelSpec,
    pub backend: Backend,
    /// Its rate limits.
    pub limiter: Arc<Limiter>,
    /// The settings that it has refused in this run.
    pub refused_settings: RefusedSettings,
}

/// The implementation behind a model.
pub(crate) enum Backend {
    Http(Box<Endpoint>),
    Command(Box<CommandModel>),
    Scripted(Box<Script>),
    Stub,
}

/// An address and everything that goes with each request to it.
pub(crate) struct Endpoint {
    pub codec: &'static dyn Codec,
    /// The way in which its server states costs.
    pub cost_report: CostReport,
    /// A request without a body.
    pub request: PreparedRequest,
    /// The address for messages, without query.
    pub address: String,
    /// The variable whose value is the key.
    pub key_variable: Option<String>,
    /// The program that prints the key.
    pub key_command: Option<Arc<KeyCommand>>,
    /// Hash of the key, or of the program that prints it.
    pub account: Key,
}

impl Endpoint {
    /// The source of the key in messages.
    fn key_source(&self) -> Option<&str> {
        let command = self.key_command.as_ref().map(|_| "`api_key_command`");
        self.key_variable.as_deref().or(command)
    }
}

impl ConnectedModel {
    /// The body of a request to it; in OpenAI's form if it has no server.
    pub fn body(&self, request: &ChatRequest, media: MediaForm) -> serde_json::Result<Bytes> {
        let (codec, host): (&dyn Codec, &str) = match &self.backend {
            Backend::Http(endpoint) => (endpoint.codec, endpoint.request.url().host_str().unwrap_or_default()),
            _ if request.wants_vectors() => (&Embeddings, ""),
            Backend::Command(_) | Backend::Scripted(_) | Backend::Stub => (&OPENAI, ""),
        };
        codec.write(&self.spec, host, request, media).map(Bytes::from)
    }

    pub fn call_target(&self) -> CallTarget<'_> {
        let endpoint = match &self.backend {
            Backend::Http(endpoint) => Some(endpoint),
            Backend::Command(_) | Backend::Scripted(_) | Backend::Stub => None,
        };
        let who = Callee::Model {
            id: &self.spec.id,
            name: &self.spec.model,
            key_variable: endpoint.and_then(|endpoint| endpoint.key_source()),
        };
        CallTarget { who, address: endpoint.map_or("", |endpoint| &endpoint.address) }
    }
}

/// Connects one model and adds values that must never be stored to `secrets`.
pub(crate) fn connect(
    spec: &ModelSpec,
    settings: &Settings,
    secrets: &mut Vec<SecretString>,
) -> Result<ConnectedModel, ProviderError> {
    let setup = ModelSetup { spec, settings };
    let backend = match (spec.provider.as_str(), hosts::host(&spec.provider)) {
        (_, Some(host)) => Backend::Http(Box::new(setup.endpoint(host, secrets)?)),
        (options::COMMAND, _) => Backend::Command(Box::new(setup.command()?)),
        (options::SCRIPTED, _) => Backend::Scripted(Box::new(setup.script()?)),
        (options::STUB, _) => {
            let StubOptions {} = setup.options()?;
            Backend::Stub
        }
        _ => return Err(setup.unknown_provider()),
    };
    let model = setup.expand("model", &spec.model)?;
    let spec = ModelSpec { model, ..spec.clone() };
    let limiter = match &backend {
        Backend::Http(endpoint) => settings.limiters.of(&LimiterKey {
            address: endpoint.address.clone(),
            account: endpoint.account,
            model: spec.model.clone(),
            limits: spec.limits,
        }),
        // Nobody else counts their calls.
        Backend::Command(_) | Backend::Scripted(_) | Backend::Stub => Limiter::new(spec.limits),
    };
    let refused_settings = RefusedSettings::default();
    Ok(ConnectedModel { spec, backend, limiter, refused_settings })
}

/// A registry entry while it is connected.
struct ModelSetup<'a> {
    spec: &'a ModelSpec,
    settings: &'a Settings,
}

impl ModelSetup<'_> {
    fn endpoint(&self, host: &Host, secrets: &mut Vec<SecretString>) -> Result<Endpoint, ProviderError> {
        let HttpOptions { headers: extra, cost } = self.options()?;
        let (base, origin) = self.base_url(host)?;
        let key = self.key(host, &base, origin)?;
        self.check_places(host, &base, origin, key.as_ref().map(|(variable, _)| variable.as_str()), &extra)?;
        let value = key.as_ref().map(|(_, value)| value.expose_secret());
        let codec = match self.spec.embeds {
            true => host.embeddings().ok_or_else(|| self.no_embeddings())?,
            false => host.codec,
        };
        let mut headers = codec.headers(value).map_err(|_| self.bad_header(key_name(&key)))?;
        for (name, template) in &extra {
            let text = self.expand("with.headers", template)?;
            let is_secret = text != *template;
            let (name, mut value) = HeaderName::try_from(name)
                .ok()
                .zip(HeaderValue::try_from(&text).ok())
                .ok_or_else(|| self.bad_header(&format!("header `{name}`")))?;
            value.set_sensitive(is_secret);
            headers.insert(name, value);
            if is_secret {
                secrets.push(text.into());
            }
        }
        let url = codec.url(&base, &self.expand("model", &self.spec.model)?);
        let mut shown = url.clone();
        shown.set_query(None);
        if origin == Origin::Entry && self.spec.base_url.as_ref().is_some_and(|written| written.contains("${")) {
            secrets.extend(base.query_pairs().map(|(_, value)| value.into_owned().into()));
        }
        let account = account(value, &self.spec.api_key_command);
        let (key_variable, value) = key.unzip();
        secrets.extend(value);
        let request_head = PreparedRequest::new(Method::POST, &url, headers, None);
        let request_head = request_head.map_err(|problem| self.bad_url(host, origin, problem))?;
        let key_command = KeyCommand::of(&self.spec.api_key_command).map(Arc::new);
        let cost_report = CostReport::of(self.spec, cost.as_ref(), Some(&base));
        let cost_report = cost_report.map_err(|problem| self.bad_options(format!("`cost`: {problem}")))?;
        let request_head = request_head.reading_header(cost_report.header().cloned());
        Ok(Endpoint {
            codec,
            cost_report,
            request: request_head,
            address: shown.into(),
            key_variable,
            key_command,
            account,
        })
    }

    /// The API root: the entry's, the environment's, or the provider's own.
    fn base_url(&self, host: &Host) -> Result<(Url, Origin), ProviderError> {
        let from_variable = || host.base_url_variable.and_then(|variable| self.settings.lookup(variable));
        let (text, origin) = match &self.spec.base_url {
            Some(text) => (self.expand("base_url", text)?, Origin::Entry),
            None => match (from_variable(), host.base_url) {
                (Some(text), _) => (text, Origin::Variable),
                (None, Some(text)) => (text.to_owned(), Origin::Provider),
                (None, None) => return Err(self.no_base_url(host)),
            },
        };
        let wrong = |problem| self.bad_url(host, origin, problem);
        let mut url = Url::parse(&text).map_err(|error| wrong(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong(format!("`{}:` is not http or https", url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("it holds a user name; name the key's variable in `api_key_env` instead".to_owned()));
        }
        if let Some(version) = host.version_variable.and_then(|variable| self.settings.lookup(variable))
            && !url.query_pairs().any(|(name, _)| name == crate::codec::azure::VERSION)
        {
            url.query_pairs_mut().append_pair(crate::codec::azure::VERSION, &version);
        }
        Ok((url, origin))
    }

    /// The variables that name the host of the address.
    fn address_variables(&self, host: &Host, origin: Origin) -> Vec<String> {
        let of_entry = || env_template::parts(self.spec.base_url.as_deref().unwrap_or_default());
        match origin {
            Origin::Entry => places::host_variables(&of_entry()).into_iter().map(str::to_owned).collect(),
            Origin::Variable => host.base_url_variable.into_iter().map(str::to_owned).collect(),
            Origin::Provider => Vec::new(),
        }
    }

    /// Refuses to send what is not the address's own.
    fn check_places(
        &self,
        host: &Host,
        base: &Url,
        origin: Origin,
        key: Option<&str>,
        headers: &BTreeMap<String, String>,
    ) -> Result<(), ProviderError> {
        let variables = self.address_variables(host, origin);
        let url = env_template::parts(self.spec.base_url.as_deref().unwrap_or_default());
        let headers: Vec<_> = headers.values().map(|text| env_template::parts(text)).collect();
        let sent = url.variables().chain(headers.iter().flat_map(|text| text.variables())).chain(key);
        let keys: Vec<&str> = sent.filter(|name| !variables.iter().any(|variable| variable == name)).collect();
        let keys = places::Keys { variables: &keys, printed: !self.spec.api_key_command.is_empty() };
        let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
        places::check(self.settings, &format!("model {}", self.spec.id), base, &variables, keys)
    }

    fn no_base_url(&self, host: &Host) -> ProviderError {
        let model = self.spec.id.clone();
        match host.base_url_variable {
            Some(variable) => {
                ProviderError::MissingVariable { model, field: "base_url", variable: variable.to_owned() }
            }
            None => ProviderError::MissingBaseUrl { model, provider: self.spec.provider.clone() },
        }
    }

    fn bad_url(&self, host: &Host, origin: Origin, problem: String) -> ProviderError {
        let origin = match origin {
            Origin::Variable => host.base_url_variable.unwrap_or_default().to_owned(),
            Origin::Entry | Origin::Provider => "`base_url`".to_owned(),
        };
        ProviderError::BadUrl { model: self.spec.id.clone(), origin, problem }
    }

    /// The key and its variable. A server on this machine needs no key, and gets the provider's standard key only if
    /// the environment put it in the provider's place.
    fn key(&self, host: &Host, base: &Url, origin: Origin) -> Result<Option<(String, SecretString)>, ProviderError> {
        let is_loopback = is_loopback(base);
        let is_set = |variable: &&&str| self.settings.lookup(variable).is_some();
        let standard = host.key_variables.iter().find(is_set).or(host.key_variables.first());
        let variable = match (&self.spec.api_key_env, standard) {
            _ if !self.spec.api_key_command.is_empty() => return Ok(None),
            (Some(variable), _) => variable.as_str(),
            (None, None) => return Ok(None),
            (None, Some(_)) if is_loopback && origin == Origin::Entry => return Ok(None),
            (None, Some(variable)) => variable,
        };
        match self.settings.lookup(variable) {
            Some(value) => Ok(Some((variable.to_owned(), value.into()))),
            None if is_loopback => Ok(None),
            None => Err(ProviderError::MissingKey {
                model: self.spec.id.clone(),
                provider: self.spec.provider.clone(),
                variable: variable.to_owned(),
            }),
        }
    }

    fn command(&self) -> Result<CommandModel, ProviderError> {
        let options: CommandOptions = self.options()?;
        let name = self.expand("model", &self.spec.model)?;
        CommandModel::new(options, &name).map_err(|problem| self.bad_options(problem))
    }

    fn script(&self) -> Result<Script, ProviderError> {
        let options: ScriptedOptions = self.options()?;
        Script::new(options).map_err(|problem| self.bad_options(problem))
    }

    fn options<T: DeserializeOwned>(&self) -> Result<T, ProviderError> {
        serde_json::from_value(Value::Object(self.spec.with.clone()))
            .map_err(|error| self.bad_options(error.to_string()))
    }

    fn expand(&self, field: &'static str, text: &str) -> Result<String, ProviderError> {
        env_template::fill(&env_template::parts(text), |name| self.settings.lookup(name))
            .map_err(|variable| ProviderError::MissingVariable { model: self.spec.id.clone(), field, variable })
    }

    fn bad_options(&self, problem: String) -> ProviderError {
        ProviderError::BadOptions { model: self.spec.id.clone(), provider: self.spec.provider.clone(), problem }
    }

    fn no_embeddings(&self) -> ProviderError {
        self.bad_options("Karat cannot ask this provider for the vectors of texts".to_owned())
    }

    fn bad_header(&self, place: &str) -> ProviderError {
        ProviderError::BadHeader { model: self.spec.id.clone(), place: place.to_owned() }
    }

    fn unknown_provider(&self) -> ProviderError {
        let known: Vec<&str> = hosts::HOSTS.iter().map(|host| host.name).chain(options::OFFLINE).collect();
        ProviderError::UnknownProvider {
            model: self.spec.id.clone(),
            provider: self.spec.provider.clone(),
            known: known.join(", "),
        }
    }
}

/// The address of a model, the variables that name its host, and whether it is the provider's own; `None` for a model
/// without a server, or with a wrong address.
pub(crate) fn own_address(spec: &ModelSpec, settings: &Settings) -> Option<(Url, Vec<String>, bool)> {
    let (host, setup) = (hosts::host(&spec.provider)?, ModelSetup { spec, settings });
    let (url, origin) = setup.base_url(host).ok()?;
    let is_own = host.base_url.and_then(|own| Url::parse(own).ok()).is_some_and(|own| own == url);
    Some((url, setup.address_variables(host, origin), is_own))
}

/// The source of an API root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Entry,
    Variable,
    Provider,
}

/// Hash of a key, or of the command that prints it.
fn account(key: Option<&str>, command: &[String]) -> Key {
    match key {
        Some(key) => Key::of("karat/account-key/1", key.as_bytes()),
        None => Key::of("karat/account-command/1", command.join("\0").as_bytes()),
    }
}

fn key_name(key: &Option<(String, SecretString)>) -> &str {
    key.as_ref().map_or("the key", |(variable, _)| variable)
}

/// Returns whether an address is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(is_this_machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_known_in_every_spelling() {
        let loopback = |text: &str| is_loopback(&Url::parse(text).unwrap());
        for url in
            ["http://LOCALHOST:1", "http://localhost./v1", "http://127.1/v1", "http://127.0.0.1.", "http://[::1]:80"]
        {
            assert!(loopback(url), "{url}");
        }
        for url in ["http://10.0.0.1", "http://localhost.example.com", "https://127.0.0.1.nip.io"] {
            assert!(!loopback(url), "{url}");
        }
    }
}
