//! Keys that a program prints: `api_key_command`. A key is used for half an hour, and never stored.

use std::time::Duration;

use bytes::Bytes;
use karat_types::CallErrorCode;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::answer::failure::Failure;
use crate::answer::secrets::Secrets;
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
    state: Mutex<KeyState>,
}

#[derive(Debug, Default)]
struct KeyState {
    current: Option<PrintedKey>,
    /// The failure of the program. It is not run again: each call would wait for the same end.
    failure: Option<Failure>,
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
        Some(Self { program, state: Mutex::default() })
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
        let key = self.key(settings, secrets).await?;
        let headers = codec.headers(Some(key.value.expose_secret()));
        let headers = headers.map_err(|_| self.failure("it printed characters that no header may contain"))?;
        Ok((request.with_headers(headers), key.number))
    }

    /// Runs the program if there is no key, or an old one; other calls wait for it.
    ///
    /// # Errors
    /// The program fails, now or before in this run, or prints nothing.
    pub async fn prepare(&self, settings: &Settings, secrets: &Secrets) -> Result<(), Failure> {
        self.key(settings, secrets).await.map(drop)
    }

    async fn key(&self, settings: &Settings, secrets: &Secrets) -> Result<PrintedKey, Failure> {
        let mut state = self.state.lock().await;
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        let before = state.current.as_ref();
        if let Some(key) = before.filter(|key| !key.is_refused() && key.printed.elapsed() < LIFETIME) {
            return Ok(key.clone());
        }
        let number = KeyNumber(before.map_or(0, |key| key.number.0) + 1);
        let printed = match self.print(settings).await {
            Ok(value) => {
                secrets.add(value.clone()).map(|_| value).map_err(|_| self.failure("it printed more than a key"))
            }
            Err(failure) => Err(failure),
        };
        match printed {
            Ok(value) => Ok(state.current.insert(PrintedKey { value, printed: Instant::now(), number }).clone()),
            Err(failure) => Err(state.failure.insert(failure).clone()),
        }
    }

    /// Discards a key that was refused, unless another one has replaced it.
    pub async fn discard(&self, refused: KeyNumber) {
        if let Some(key) = self.state.lock().await.current.as_mut().filter(|key| key.number == refused) {
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
                // Its output may be a key or part of one, so it is never quoted, not even where the complaint repeats it.
                let key = printed.trim_ascii();
                let repeats = |line: &[u8]| !key.is_empty() && line.windows(key.len()).any(|part| part == key);
                let complaint = failure.program_output.filter(|_| failure.what.ends_with(" and said "));
                let line =
                    complaint.as_deref().map(first_line).filter(|line| !repeats(line)).map(Bytes::copy_from_slice);
                let what = match &line {
                    Some(_) => failure.what,
                    None => failure.what.trim_end_matches(" and printed ").trim_end_matches(" and said ").to_owned(),
                };
                Err(Failure { program_output: line, ..self.failure_of(what) })
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

/// The first line with content.
fn first_line(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty()).unwrap_or_default()
}

impl PrintedKey {
    /// Returns true if the provider refused it.
    fn is_refused(&self) -> bool {
        self.value.expose_secret().is_empty()
    }
}
