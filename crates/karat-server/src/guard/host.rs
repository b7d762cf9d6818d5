//! The `Host` header: it must be a name of this machine, or one that the user has allowed.

use http::header;
use http::request::Parts;

use crate::problem::Problem;

/// The names of this machine that never leave it.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The names under which a server may be asked.
pub(crate) struct AllowedHosts(Vec<String>);

impl AllowedHosts {
    /// The names of this machine, and these.
    pub fn new(more: &[String]) -> Self {
        let names = LOCAL.iter().map(|name| (*name).to_owned());
        Self(names.chain(more.iter().map(|name| name.to_ascii_lowercase())).collect())
    }

    /// Returns the host that the request asks, with its port.
    ///
    /// # Errors
    /// There is none, there are several, or it is another one.
    pub fn check(&self, head: &Parts) -> Result<String, Problem> {
        let mut given = head.headers.get_all(header::HOST).iter();
        let host = match (given.next(), given.next()) {
            (Some(host), None) => host.to_str().unwrap_or_default(),
            _ => return Err(Problem::bad_request("a request needs one `Host` header")),
        };
        // A request line with a whole address names the host as well.
        let authority = head.uri.authority().map(http::uri::Authority::as_str);
        if self.allows(host) && authority.is_none_or(|authority| self.allows(authority)) {
            return Ok(host.to_ascii_lowercase());
        }
        let detail = "the server is asked under a name that it does not know (`Host`)";
        Err(Problem::forbidden(detail).with_hint("open it under 127.0.0.1, or start it with `--host NAME`"))
    }

    fn allows(&self, host: &str) -> bool {
        let name = name_of(host);
        self.0.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
    }
}

/// Returns a host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !is_bare_v6(host) => name,
        _ => host,
    }
}

/// Returns whether a host is an IPv6 address in brackets without a port.
fn is_bare_v6(host: &str) -> bool {
    host.starts_with('[') && host.ends_with(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-51, SV-09: only names of this machine and configured ones, with any port.
    #[test]
    fn hosts_are_compared_without_their_port() {
        let hosts = AllowedHosts::new(&["Karat.Example".to_owned()]);
        for allowed in ["localhost", "LOCALHOST:80", "127.0.0.1:8787", "[::1]", "[::1]:1", "karat.example:443"] {
            assert!(hosts.allows(allowed), "{allowed}");
        }
        let refused = [
            "",
            ":80",
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.",
            "evil@localhost",
            "127.0.0.1:80:80",
            "::1",
        ];
        for refused in refused {
            assert!(!hosts.allows(refused), "{refused}");
        }
    }
}
