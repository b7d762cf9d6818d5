//! Limits of a server: connections, heads and bodies that are too slow or too large.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::place::Place;
use crate::server::served::Served;

/// SV-05: a thousand connections with half a head do not keep others out, and are closed after ten seconds.
#[test]
fn half_sent_heads_keep_nobody_out() {
    let place = Place::new();
    let served = Served::start(&place, &[]);
    let half = |_| {
        let mut connection = TcpStream::connect(&served.address).ok()?;
        write!(connection, "GET /healthz HTTP/1.1\r\nHost: localh").ok()?;
        Some(connection)
    };
    let open: Vec<TcpStream> = (0..1_000).map_while(half).collect();
    assert!(open.len() >= 500, "the system allows too few files for this test: {}", open.len());
    let begun = Instant::now();
    assert_eq!(served.ask("GET /healthz", "", "").0, 200);
    // The limit of the specification is 100 ms on an idle machine.
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let mut last = open.last().unwrap();
    last.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut answer = Vec::new();
    last.read_to_end(&mut answer).unwrap();
    assert!(!answer.starts_with(b"HTTP/1.1 200"));
    assert_eq!(served.end(), Some(0));
}

/// SV-05: heads above 16 KiB and bodies above 1 MiB are refused, declared or sent in chunks.
#[test]
fn large_heads_and_bodies_are_refused() {
    let place = Place::new();
    let served = Served::start(&place, &[]);
    let large = format!("X-Large: {}\r\n", "x".repeat(20 << 10));
    assert_eq!(served.ask("GET /livez", &large, "").0, 431);
    let json = "Content-Type: application/json\r\n";
    let (status, answer) = served.ask("POST /eval/plan", json, &" ".repeat((1 << 20) + 1));
    assert!(status == 413 && answer.contains("urn:karat:problem:too-large"), "{answer}");
    assert_eq!(served.end(), Some(0));
}
