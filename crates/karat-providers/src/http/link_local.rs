//! Link-local addresses and their like, at which a cloud gives credentials to every program of its machine. A suite, a parameter of a
//! request to the server, or a name in a receiver's DNS could lead there, so nothing is ever sent to one.
//!
//! Where a proxy is used, the proxy resolves names; addresses written as numbers are refused all the same.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Ends the sentence that begins with the model or service.
pub(crate) const REFUSED: &str = "is at a link-local address, where clouds keep credentials: it is never called";

/// Returns true if an address is written as a link-local number, in any spelling.
pub(crate) fn names_link_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host.parse().is_ok_and(is_link_local)
}

/// Addresses outside of the link-local range at which clouds keep credentials.
const OTHERS_V4: [Ipv4Addr; 2] = [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192)];
const OTHERS_V6: [[u16; 8]; 2] = [[0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254]];

/// Link-local addresses, those at which clouds keep credentials, and all forms of IPv6 that lead to one of IPv4.
fn is_link_local(ip: IpAddr) -> bool {
    let is_of_v4 = |ip: Ipv4Addr| ip.is_link_local() || OTHERS_V4.contains(&ip);
    match ip {
        IpAddr::V4(ip) => is_of_v4(ip),
        IpAddr::V6(ip) => {
            ip.is_unicast_link_local() || OTHERS_V6.contains(&ip.segments()) || inner_address(ip).is_some_and(is_of_v4)
        }
    }
}

/// The address of IPv4 to which one of IPv6 leads: mapped, compatible, translated (RFC 6052, RFC 8215) or 6to4.
fn inner_address(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match ip.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x64, 0xff9b, 1, .., high, low] => Some(of(high, low)),
        [0, 0, 0, 0, 0xffff, 0, high, low] | [0x2002, high, low, ..] => Some(of(high, low)),
        _ => None,
    }
}

#[derive(Debug, thiserror::Error)]
#[error("link-local")]
struct LinkLocalName;

/// Returns true if a request failed because its name leads to a link-local address.
pub(crate) fn is_link_local_error(error: &reqwest::Error) -> bool {
    let outermost: &(dyn Error + 'static) = error;
    std::iter::successors(Some(outermost), |error| (*error).source()).any(|cause| cause.is::<LinkLocalName>())
}

/// Resolves names as the system does, and refuses those that lead to a link-local address.
pub(crate) struct Resolver;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            check(&found)?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

fn check(found: &[SocketAddr]) -> Result<(), LinkLocalName> {
    match found.iter().any(|address| is_link_local(address.ip())) {
        true => Err(LinkLocalName),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request::PreparedRequest;

    /// SV-17, SV-10: an address is known in every spelling, and a name is judged by where it leads.
    #[test]
    fn link_local_addresses_are_known_in_every_spelling() {
        let names = |url: &str| names_link_local(&Url::parse(url).unwrap());
        for url in [
            "http://169.254.169.254/latest/meta-data",
            "http://[fe80::1]/",
            "http://[::ffff:169.254.169.254]/",
            "http://[fd00:ec2::254]/",
            "http://2852039166/",
            "http://0xa9.0376.43518/",
        ] {
            assert!(names(url), "{url}");
        }
        for url in ["http://127.0.0.1/", "http://169.254.example.org/", "http://[::1]/", "https://example.org/"] {
            assert!(!names(url), "{url}");
        }
        // Names are resolved when they are called.
        let of = |text: &str| text.parse::<SocketAddr>().unwrap();
        assert!(check(&[of("127.0.0.1:0"), of("[::1]:0")]).is_ok());
        assert!(check(&[of("93.184.215.14:0"), of("169.254.169.254:0")]).is_err());
    }

    /// X18: addresses that a translator leads to a link-local one, and those of clouds elsewhere, are refused; others of these forms
    /// are not.
    #[test]
    fn translated_addresses_are_known() {
        let names = |host: &str| names_link_local(&Url::parse(&format!("http://{host}/")).unwrap());
        for host in [
            "[64:ff9b::a9fe:a9fe]",
            "[64:ff9b:1::a9fe:a9fe]",
            "[::169.254.169.254]",
            "[::ffff:0:a9fe:a9fe]",
            "[2002:a9fe:a9fe::1]",
            "[64:ff9b::6464:64c8]",
            "100.100.100.200",
            "192.0.0.192",
            "[fd20:ce::254]",
        ] {
            assert!(names(host), "{host}");
        }
        for host in ["[64:ff9b::808:808]", "100.100.100.201", "[2002:808:808::1]", "[fd00:ec2::255]", "[::1]"] {
            assert!(!names(host), "{host}");
        }
        assert!(check(&["[64:ff9b::a9fe:a9fe]:0".parse().unwrap()]).is_err());
    }

    /// SV-10: no request can be made to one: a parameter or a suite that names it is refused before the run.
    #[test]
    fn link_local_addresses_are_never_called() {
        let url = Url::parse("http://169.254.169.254/latest/api/token").unwrap();
        let refused = PreparedRequest::new(reqwest::Method::PUT, &url, reqwest::header::HeaderMap::new(), None);
        assert_eq!(refused.unwrap_err(), format!("it {REFUSED}"));
    }
}
