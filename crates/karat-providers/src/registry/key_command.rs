//! Keys that a program prints: `api_key_command` (TG-56). A key is used for half an hour, and never stored.

use std::time::Duration;

use bytes::Bytes;
use karat_types::CallErrorCode;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::attempt::failure::Failure;
use crate::capture::secrets::Secrets;
use crate::codec::protocol::Codec;
use crate::http::request::PreparedRequest;
use crate::process::program::{Environment, Program};
use crate::registry::settings::Settings;

/// Time for which a key is used. Tokens of cloud providers are valid for an hour.
const LIFETIME: Duration = Duration::from_secs(30 * 60);

/// Timeout of the program.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that prints a key, and the key that it printed last.
#[derive(Debug)]
pub(crate) struct KeyCommand {
    program: Program,
    current: Mutex<Option<PrintedKey>>,
}

#[derive(Debug, Clone)]
struct PrintedKey {
    value: SecretString,
    printed: Instant,
    number: KeyNumber,
}

/// The ordinal of a key: a refused one is discarded once, however many calls it was refused for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct KeyNumber(u64);

/// Commands are equal if they run the same program: then they share a key.
impl PartialEq for KeyCommand {
    fn eq(&self, other: &Self) -> bool {
        self.program == other.program
    }
}

impl KeyCommand {
    /// The command with this program and its arguments; `None` without a program. It inherits the environment, which
    /// holds its own login.
    pub fn of(words: &[String]) -> Option<Self> {
        words.first()?;
        let environment = Environment::Without(Vec::new());
        let program = Program { run: words.to_vec(), environment, folder: String::new() };
        Some(Self { program, current: Mutex::default() })
    }

    /// A request with the key, which is added to the secrets. Runs the program if there is no key, or an old one; other
    /// calls wait for it.
    ///
    /// # Errors
    /// The program fails, prints nothing, or prints what no header may contain.
    pub async fn authorize(
        &self,
        request: &PreparedRequest,
        codec: &dyn Codec,
        settings: &Settings,
        secrets: &Secrets,
    ) -> Result<(PreparedRequest, KeyNumber), Failure> {
        let mut current = self.current.lock().await;
        let key = match current.as_ref() {
            Some(key) if !key.is_refused() && key.printed.elapsed() < LIFETIME => key.clone(),
            before => {
                let number = KeyNumber(before.map_or(0, |key| key.number.0) + 1);
                let value = self.print(settings).await?;
                secrets.add(value.clone()).map_err(|_| self.failure("it printed more than a key"))?;
                current.insert(PrintedKey { value, printed: Instant::now(), number }).clone()
            }
        };
        drop(current);
        let headers = codec.headers(Some(key.value.expose_secret()));
        let headers = headers.map_err(|_| self.failure("it printed characters that no header may contain"))?;
        Ok((request.with_headers(headers), key.number))
    }

    /// Discards a key that was refused, unless another one has replaced it.
    pub async fn discard(&self, refused: KeyNumber) {
        if let Some(key) = self.current.lock().await.as_mut().filter(|key| key.number == refused) {
            key.value = SecretString::default();
        }
    }

    async fn print(&self, settings: &Settings) -> Result<SecretString, Failure> {
        // Boxed, like all calls of programs.
        let (printed, end) = Box::pin(self.program.run(settings, Bytes::new(), PATIENCE)).await;
        match end {
            Ok(_) => match std::str::from_utf8(&printed).map(str::trim) {
                Ok(key) if !key.is_empty() => Ok(SecretString::from(key)),
                Ok(_) => Err(self.failure("it printed nothing")),
                Err(_) => Err(self.failure("it printed no text")),
            },
            Err(failure) => {
                // Its output may be a key, or a part of one, and is quoted nowhere.
                let output = failure.program_output.filter(|_| printed.trim_ascii().is_empty());
                let what = failure.what.trim_end_matches(" and printed ").to_owned();
                Err(Failure { program_output: output, ..self.failure_of(what) })
            }
        }
    }

    fn failure(&self, problem: &str) -> Failure {
        self.failure_of(format!("program `{}`: {problem}", self.program.name()))
    }

    /// A failure to get a key, after which nothing was sent.
    fn failure_of(&self, what: String) -> Failure {
        let line = self.program.run.join(" ");
        let remedy = format!("run `{line}` in a shell: it must print the key and nothing else");
        let what = format!("has no key, since `api_key_command` failed: {what}");
        Failure { retry: false, remedy: Some(remedy), ..Failure::new(CallErrorCode::Auth, what) }
    }
}

impl PrintedKey {
    /// Returns true if the provider refused it.
    fn is_refused(&self) -> bool {
        self.value.expose_secret().is_empty()
    }
}
