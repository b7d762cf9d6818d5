//! A server in a process of its own, and requests to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::place::Place;

/// A server that ends with the test.
pub struct Served {
    server: Child,
    pub address: String,
}

impl Drop for Served {
    /// A test that fails leaves no server behind.
    fn drop(&mut self) {
        let _ = self.server.kill();
    }
}

impl Served {
    pub fn start(place: &Place, arguments: &[&str]) -> Self {
        Self::spawn(place, arguments, Stdio::inherit())
    }

    fn spawn(place: &Place, arguments: &[&str], messages: Stdio) -> Self {
        let arguments = [&["serve", "--listen", "127.0.0.1:0"], arguments].concat();
        let mut server = place.command(&arguments).stdout(Stdio::piped()).stderr(messages).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
        Self { server, address }
    }

    /// Sends a request and returns the status and the whole answer.
    pub fn ask(&self, line: &str, headers: &str, body: &str) -> (u16, String) {
        let Self { address, .. } = self;
        let mut connection = TcpStream::connect(address).unwrap();
        let length = body.len();
        let head = format!("{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n");
        write!(connection, "{head}{headers}\r\n{body}").unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        (answer[9..12].parse().unwrap(), answer)
    }

    /// Ends the server as a service manager does.
    pub fn end(mut self) -> Option<i32> {
        Command::new("kill").args(["-TERM", &self.server.id().to_string()]).status().unwrap();
        self.server.wait().unwrap().code()
    }

    /// Starts a server whose messages are kept.
    pub fn start_logged(place: &Place, arguments: &[&str]) -> Self {
        Self::spawn(place, arguments, Stdio::piped())
    }

    /// Ends the server, and returns its messages.
    pub fn end_with_log(mut self) -> String {
        Command::new("kill").args(["-TERM", &self.server.id().to_string()]).status().unwrap();
        let mut log = String::new();
        self.server.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        assert_eq!(self.server.wait().unwrap().code(), Some(0));
        log
    }

    /// Ends the server as a crash does.
    pub fn kill(mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }

    /// Asks for a run until it has more finished cells, and returns their number.
    pub fn wait_for_more(&self, run: &str, before: u64) -> u64 {
        for _ in 0..1_200 {
            let answer = self.ask(&format!("GET /eval/runs/{run}"), "", "").1;
            let done = answer.split_once("\"done\":").and_then(|(_, rest)| rest.split(',').next()?.parse().ok());
            match done {
                Some(done) if done > before => return done,
                _ => std::thread::sleep(Duration::from_millis(50)),
            }
        }
        panic!("run {run} does not go on");
    }

    /// Asks for a run until it has a status.
    pub fn wait_for(&self, run: &str, status: &str) -> String {
        let wanted = format!("\"status\":\"{status}\"");
        for _ in 0..1_200 {
            let answer = self.ask(&format!("GET /eval/runs/{run}"), "", "").1;
            if answer.contains(&wanted) {
                return answer;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("run {run} is not {status}: {}", self.ask(&format!("GET /eval/runs/{run}"), "", "").1);
    }
}
