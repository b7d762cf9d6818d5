//! `karat view`: the address, the dashboard, and its end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::place::Place;

/// DB-05, DB-46: the address is the one line on stdout and answers at once, no suite is needed, and Ctrl-C ends it with 0.
#[test]
fn view_prints_its_address_and_ends_with_ctrl_c() {
    let place = Place::new();
    let mut view = place.command(&["view", "--style", "--no-open"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(view.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let started = Instant::now();
    let rest = line.trim_end().strip_prefix("http://").unwrap();
    let (address, path) = rest.split_once('/').unwrap();
    assert_eq!(path, "_style");
    let mut connection = TcpStream::connect(address).unwrap();
    write!(connection, "GET /_style HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer:.200}");
    assert!(started.elapsed() < Duration::from_secs(5));

    let interrupt = std::process::Command::new("kill").args(["-INT", &view.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    assert_eq!(view.wait().unwrap().code(), Some(0));
    let mut more = String::new();
    stdout.read_to_string(&mut more).unwrap();
    assert_eq!(more, "");
}

/// DB-05: a run that is not there is an error of the command, and a port that is taken says so.
#[test]
fn view_refuses_what_it_cannot_show() {
    let place = Place::new();
    let missing = place.karat(&["view", "nope", "--no-open"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (1, ""), "{}", missing.all());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let result = place.karat(&["view", "--no-open", "--port", &port]);
    assert_eq!(result.code, 1);
    assert!(result.stderr.contains("another program uses this port"), "{}", result.all());
}
