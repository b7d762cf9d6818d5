//! The server: a process that is started, asked, killed and started again.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::error_of;
use super::network::lock;
use super::resources::Resources;
use super::world::World;

/// Time for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The address of the server, for those that ask it; empty while it is down.
#[derive(Clone, Default)]
pub(crate) struct Address(Arc<Mutex<(String, usize)>>);

impl Address {
    /// The address, and the number of servers before it. `None` while it is down.
    pub fn get(&self) -> Option<(String, usize)> {
        let known = lock(&self.0).clone();
        (!known.0.is_empty()).then_some(known)
    }

    /// Returns whether the server is still the one after so many.
    pub fn is_still(&self, number: usize) -> bool {
        self.get().is_some_and(|(_, known)| known == number)
    }

    fn set(&self, address: String) {
        let mut known = lock(&self.0);
        known.1 += usize::from(!address.is_empty());
        known.0 = address;
    }
}

/// A running `karat serve`.
pub(crate) struct Server {
    process: Child,
    address: Address,
}

impl Server {
    /// Starts it. Its messages are appended to the log of the world.
    pub fn start(world: &World, address: &Address) -> Result<Self, String> {
        let log =
            OpenOptions::new().create(true).append(true).open(world.log()).map_err(error_of("opening the log"))?;
        let mut command = world.command(&["serve", "--listen", "127.0.0.1:0", "--log", "json"]);
        let mut process =
            command.stdout(Stdio::piped()).stderr(log).spawn().map_err(error_of("starting karat serve"))?;
        let mut line = String::new();
        if let Some(stdout) = process.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).map_err(error_of("reading the address"))?;
        }
        let listens = line.trim().trim_start_matches("http://").split('/').next().unwrap_or_default().to_owned();
        if listens.is_empty() {
            let _ = process.kill();
            return Err(format!("karat serve has not started; see {}", world.log().display()));
        }
        address.set(listens);
        Ok(Self { process, address: address.clone() })
    }

    /// Ends it as a crash does.
    pub fn kill(mut self) {
        // First, so that callers know why they got no answer.
        self.address.set(String::new());
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Ends it as a service manager does. Returns its exit code.
    pub fn end(mut self) -> Option<i32> {
        self.address.set(String::new());
        let _ = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
        self.process.wait().ok()?.code()
    }

    /// Returns the exit code of a server that has ended by itself.
    pub fn has_ended(&mut self) -> Option<String> {
        let status = self.process.try_wait().ok()??;
        self.address.set(String::new());
        Some(status.to_string())
    }

    /// The resources that it uses now.
    pub fn resources(&self, world: &World) -> Resources {
        Resources::of(self.process.id(), &world.home())
    }
}

impl Drop for Server {
    /// A soak that cannot go on leaves no server behind.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The answer to a request.
pub(crate) struct Answer {
    pub status: u16,
    pub body: String,
}

/// A caller with a token.
#[derive(Clone)]
pub(crate) struct Caller {
    pub address: Address,
    pub token: String,
}

impl Caller {
    /// Sends a request. An error is a server that is down, or that ended meanwhile.
    pub fn ask(&self, line: &str, headers: &str, body: &str) -> std::io::Result<Answer> {
        let (address, _) = self.address.get().ok_or(std::io::ErrorKind::NotConnected)?;
        let mut connection = TcpStream::connect(&address)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        connection.set_write_timeout(Some(PATIENCE))?;
        let (token, length) = (&self.token, body.len());
        write!(
            connection,
            "{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
             Content-Length: {length}\r\n{headers}\r\n{body}"
        )?;
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer)?;
        let text = String::from_utf8_lossy(&answer).into_owned();
        let status = text.get(9..12).and_then(|status| status.parse().ok());
        let (Some(status), Some((_, body))) = (status, text.split_once("\r\n\r\n")) else {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        };
        Ok(Answer { status, body: body.to_owned() })
    }
}
