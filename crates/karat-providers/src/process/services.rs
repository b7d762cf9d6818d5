//! Services of a suite: processes that are started before a run and stopped after it.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Stdio;
use std::time::Duration;

use karat_text::env_template;
use karat_text::template::{Context, Template};
use karat_types::ServiceSpec;
use reqwest::header::HeaderMap;
use reqwest::{Method, Url};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::answer::excerpt::quote;
use crate::http::request::PreparedRequest;
use crate::process::program::{Environment, Program, RunningProgram, read_stderr};
use crate::registry::providers::{Providers, RecordingMode};

/// Timeout until a service is ready.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Interval between readiness checks.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Timeout of its orderly end.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Address of a service that the recording does not know.
const UNUSED_URL: &str = "http://127.0.0.1:0";

/// The error of a service that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("service `{id}`: {problem}")]
pub struct ServiceError {
    /// Its id.
    pub id: String,
    /// The problem and the advice.
    pub problem: String,
}

/// The running services of a run. Dropping them kills them; [`Services::stop`] lets them end orderly.
#[derive(Default)]
pub struct Services {
    running: Vec<(RunningProgram, JoinHandle<Vec<u8>>)>,
    urls: BTreeMap<String, String>,
}

impl Services {
    /// The address of each service by id, without trailing slash.
    pub fn urls(&self) -> &BTreeMap<String, String> {
        &self.urls
    }

    /// Asks every service to end, and kills those that do not.
    pub async fn stop(self) {
        stop_all(self.running).await;
    }
}

async fn stop_all(running: Vec<(RunningProgram, JoinHandle<Vec<u8>>)>) {
    let mut stops = tokio::task::JoinSet::new();
    for (service, stderr) in running {
        stops.spawn(async move {
            service.stop(STOP_TIMEOUT).await;
            stderr.abort();
        });
    }
    while stops.join_next().await.is_some() {}
}

impl Providers {
    /// Starts services and waits until each is ready. A replay starts none and uses the recorded addresses.
    ///
    /// # Errors
    /// The first service that cannot be started, ends, or is not ready in time; those already running are stopped.
    pub async fn start(&self, specs: &BTreeMap<String, ServiceSpec>) -> Result<Services, ServiceError> {
        let mut services = Services::default();
        if let RecordingMode::Replay(player, _) = &self.recording {
            let at = |id: &String| player.service(id).unwrap_or(UNUSED_URL).to_owned();
            services.urls = specs.keys().map(|id| (id.clone(), at(id))).collect();
            return Ok(services);
        }
        for (id, spec) in specs {
            let failed =
                |problem: String| ServiceError { id: id.clone(), problem: self.dispatch.secrets.clean_text(problem) };
            let port = free_port().map_err(|error| failed(format!("no port is free for it ({error})")))?;
            let program = self.service_program(spec, port).map_err(failed)?;
            let started = program.start(&self.settings, Stdio::piped(), Stdio::null());
            let mut running = started.map_err(|failure| failed(failure.what))?;
            let stderr = tokio::spawn(read_stderr(running.child.stderr.take()));
            let url = format!("http://127.0.0.1:{port}");
            if let Err(problem) = self.wait_until_ready(&mut running, &url, spec.ready.as_deref()).await {
                drop(running);
                let output =
                    tokio::time::timeout(STOP_TIMEOUT, stderr).await.ok().and_then(Result::ok).unwrap_or_default();
                let output = self.dispatch.secrets.capture(output.into(), false);
                let output =
                    if output.is_empty() { String::new() } else { format!("; it said {}", quote(&output, 400)) };
                return Err(failed(format!("{problem}{output}. Run its `command` by hand in the suite's folder")));
            }
            if let RecordingMode::Record(recorder) = &self.recording {
                recorder.service(id, &url);
            }
            services.urls.insert(id.clone(), url);
            services.running.push((running, stderr));
        }
        Ok(services)
    }

    fn service_program(&self, spec: &ServiceSpec, port: u16) -> Result<Program, String> {
        let context = Context::new().with("port", &port);
        let render = |word: &String| {
            let template = Template::compile(word).map_err(|error| error.to_string())?;
            template.render(&context).map_err(|error| error.to_string())
        };
        let run = spec.command.iter().map(render).collect::<Result<_, String>>()?;
        let fill = |text: &String| env_template::fill(&env_template::parts(text), |name| self.settings.lookup(name));
        let own = spec.env.iter().map(|(name, text)| Ok((name.clone(), fill(text)?)));
        let mut env = own.collect::<Result<Vec<_>, String>>().map_err(|name| format!("{name} is not set"))?;
        env.push(("PORT".to_owned(), port.to_string()));
        Ok(Program { run, environment: Environment::Clean(env), folder: spec.folder.clone() })
    }

    async fn wait_until_ready(
        &self,
        running: &mut RunningProgram,
        url: &str,
        path: Option<&str>,
    ) -> Result<(), String> {
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            if let Ok(Some(status)) = running.child.try_wait() {
                return Err(format!("it exited ({status}) before it was ready"));
            }
            if self.is_ready(url, path).await {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(format!("it was not ready within {READY_WITHIN:?} at {url}{}", path.unwrap_or("")));
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    async fn is_ready(&self, url: &str, path: Option<&str>) -> bool {
        let Some(path) = path else {
            let address = url.trim_start_matches("http://");
            return tokio::net::TcpStream::connect(address).await.is_ok();
        };
        let (Some(transport), Ok(url)) =
            (&self.transport, Url::parse(&format!("{url}/{}", path.trim_start_matches('/'))))
        else {
            return false;
        };
        let Ok(prepared) = PreparedRequest::new(Method::GET, &url, HeaderMap::new(), None) else { return false };
        let (received, end) = transport.send(&prepared, Duration::from_secs(5)).await;
        end.is_ok() && received.status.is_some_and(|status| (200..300).contains(&status))
    }
}

/// A free port.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
