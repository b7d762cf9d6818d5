//! Hosts that are this machine: they need no proxy and no key, and cost nothing.

use std::net::IpAddr;

/// The hosts that [`is_this_machine`] knows, in the notation of `NO_PROXY`.
pub const THIS_MACHINE: &str = "localhost,localhost.,127.0.0.0/8,::1";

/// True if a host, as it stands in an address, is this machine.
///
/// ```
/// use karat_text::host::is_this_machine;
///
/// assert!(["localhost", "Localhost.", "api.localhost", "127.9.9.9", "[::1]"].into_iter().all(is_this_machine));
/// assert!(!["localhost.example", "notlocalhost", "127.0.0.1.example", "10.0.0.1", ""].into_iter().any(is_this_machine));
/// ```
#[must_use]
pub fn is_this_machine(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// The host of a web address, without port and user; empty if the text is not an address with a scheme.
///
/// ```
/// use karat_text::host::host_of;
///
/// assert_eq!(host_of("https://user@example.org.:8080/a?b"), "example.org");
/// assert_eq!((host_of("http://[::1]:80/"), host_of("example.org/a")), ("::1", ""));
/// ```
#[must_use]
pub fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let end = if host.starts_with('[') { ']' } else { ':' };
    host.trim_start_matches('[').split(end).next().unwrap_or_default().trim_end_matches('.')
}
