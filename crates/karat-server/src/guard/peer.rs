//! The user at the other end of a connection of this machine. A server without tokens answers the user who started it, and
//! root, who could read the store anyway.
//!
//! Linux lists every socket with its user in `/proc/net/tcp` and `tcp6`. The list has a row for each end of a connection;
//! the one that counts is the other's, whose own address is that of our peer.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;

/// The lists of sockets.
const LISTS: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// Readings of the lists until a socket counts as not there: rows may be skipped while others come and go.
const READINGS: usize = 3;
const PAUSE: Duration = Duration::from_millis(5);

/// Returns true if the system tells the users of connections.
pub(crate) fn is_told() -> bool {
    cfg!(target_os = "linux") && std::fs::read_to_string(LISTS[0]).is_ok_and(|list| list.contains("inode"))
}

/// The other end of a connection, whose user is looked up once.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    from: SocketAddr,
    to: SocketAddr,
    is_ours: Arc<OnceCell<bool>>,
}

impl Peer {
    /// The other end of a connection from one address to another, which is the server's.
    pub fn new(from: SocketAddr, to: SocketAddr) -> Self {
        Self { from, to, is_ours: Arc::default() }
    }

    /// Returns true if the user of this process, or root, made the connection.
    pub async fn is_ours(&self) -> bool {
        let look_up = || async {
            for _ in 0..READINGS {
                let (from, to) = (self.from, self.to);
                let user = tokio::task::spawn_blocking(move || user_of(from, to)).await.ok().flatten();
                if let Some(user) = user {
                    return user == 0 || Some(user) == own_user();
                }
                tokio::time::sleep(PAUSE).await;
            }
            false
        };
        *self.is_ours.get_or_init(look_up).await
    }
}

#[cfg(unix)]
fn own_user() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

#[cfg(not(unix))]
fn own_user() -> Option<u32> {
    None
}

/// The user of the socket with this address that is connected with another.
fn user_of(own: SocketAddr, other: SocketAddr) -> Option<u32> {
    LISTS.iter().find_map(|list| user_in(&std::fs::read_to_string(list).ok()?, own, other))
}

/// The user of a socket in a list. A socket that its process has closed has no inode and counts as root's, whoever it was.
fn user_in(list: &str, own: SocketAddr, other: SocketAddr) -> Option<u32> {
    list.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (local, remote) = (address(fields.nth(1)?)?, address(fields.next()?)?);
        let (user, inode) = (fields.nth(4)?, fields.nth(1)?);
        let is_it = inode != "0" && is_same(local, own) && is_same(remote, other);
        is_it.then(|| user.parse().ok()).flatten()
    })
}

/// An IPv4 address may be written as one of IPv6.
fn is_same(one: SocketAddr, other: SocketAddr) -> bool {
    (one.ip().to_canonical(), one.port()) == (other.ip().to_canonical(), other.port())
}

/// An address of the list: words of four bytes as the processor has them, and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let word = |at: usize| Some(u32::from_str_radix(ip.get(8 * at..8 * at + 8)?, 16).ok()?.to_ne_bytes());
    let ip: IpAddr = match ip.len() {
        8 => IpAddr::from(word(0)?),
        32 => IpAddr::from(<[u8; 16]>::try_from([word(0)?, word(1)?, word(2)?, word(3)?].concat()).ok()?),
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// X5: the row of the other end says the user; the row of our own end, a closed socket and other connections do not.
    #[cfg(target_endian = "little")]
    #[test]
    fn the_list_says_who_is_at_the_other_end() {
        let list = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 0 20 4 30 10 -1
   2: 0100007F:C001 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 65534        0 13 1 0 20 4 30 10 -1
   3: 0100007F:C002 0100007F:1F90 06 00000000:00000000 03:00000EA6 00000000     0        0 0 3 0
";
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let user = |own: &str| user_in(list, at(own), at("127.0.0.1:8080"));
        assert_eq!((user("127.0.0.1:49153"), user("127.0.0.1:49154"), user("127.0.0.1:1")), (Some(65534), None, None));
        assert_eq!(user("[::ffff:127.0.0.1]:49153"), Some(65534));
        assert_eq!(address("00000000000000000000000001000000:1F90"), Some(at("[::1]:8080")));
        assert_eq!(address("0000000000000000FFFF00000100007F:0050"), Some(at("[::ffff:127.0.0.1]:80")));
        assert_eq!((address("x"), address("0100007F"), address("0100:50")), (None, None, None));
    }

    /// X5: a connection of this process is its user's, over IPv4 and IPv6, until it is closed.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn an_own_connection_is_known() {
        use tokio::net::{TcpListener, TcpStream};
        assert!(is_told());
        for bound in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(bound).await else { continue };
            let port = listener.local_addr().unwrap().port();
            let to = if bound.starts_with("[::1]") { format!("[::1]:{port}") } else { format!("127.0.0.1:{port}") };
            let Ok(stream) = TcpStream::connect(&to).await else { continue };
            let (accepted, from) = listener.accept().await.unwrap();
            assert!(Peer::new(from, accepted.local_addr().unwrap()).is_ours().await, "{bound}");
            drop(stream);
            assert!(!Peer::new(from, accepted.local_addr().unwrap()).is_ours().await, "{bound}: it is closed");
        }
    }
}
