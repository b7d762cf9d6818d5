//! A PostgreSQL cluster for tests: one a process, in a temporary folder, reached by a socket, with fsync as in production.
//!
//! A shell waits for the end of this process, however it ends, then stops the cluster and removes its folder.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Runs the server and waits for the end of the process that holds the other end of its input. `$1` is the folder with
/// the programs, `$2` the folder of the cluster.
const KEEPER: &str = "\"$1/pg_ctl\" -s -w -t 60 -D \"$2/data\" -l \"$2/log\" start && echo ready
    cat >/dev/null
    \"$1/pg_ctl\" -s -D \"$2/data\" -m immediate stop
    rm -rf \"$2\"";

const SETTINGS: &str = "listen_addresses = ''\nfsync = on\nsynchronous_commit = on\nmax_connections = 300\n\
                        shared_buffers = 64MB\nlog_min_messages = error\n";

/// A cluster that lives as long as this process.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    folder: PathBuf,
    owner: Option<(u32, u32)>,
    /// Its input keeps the cluster alive.
    _keeper: Option<Child>,
    /// The address of another server, from `KARAT_TEST_POSTGRES`.
    other: Option<String>,
    databases: AtomicU32,
}

/// Returns the cluster of this process, and starts it at the first call. Returns `None`, and says so, where PostgreSQL is
/// not installed.
///
/// # Panics
/// In CI (`CI` is set) without PostgreSQL, and wherever a cluster cannot be made with it.
#[allow(clippy::panic, clippy::expect_used, reason = "a test must not pass without the server that it is about")]
#[expect(clippy::disallowed_methods, reason = "the environment says which server tests use")]
pub fn postgres() -> Option<&'static Postgres> {
    static CLUSTER: OnceLock<Option<Postgres>> = OnceLock::new();
    let start = || {
        if let Ok(other) = std::env::var("KARAT_TEST_POSTGRES") {
            let (programs, folder) = (programs().unwrap_or_default(), PathBuf::new());
            let databases = AtomicU32::new(0);
            return Some(Postgres { programs, folder, owner: None, _keeper: None, other: Some(other), databases });
        }
        match programs() {
            Some(programs) => Some(Postgres::start(programs).expect("a PostgreSQL cluster for tests")),
            None if std::env::var_os("CI").is_some() => {
                panic!("PostgreSQL is not installed: `pg_config --bindir` names no folder with initdb")
            }
            None => {
                let _ = writeln!(
                    io::stderr(),
                    "SKIPPED: tests with PostgreSQL, which is not installed (apt-get install postgresql)"
                );
                None
            }
        }
    };
    CLUSTER.get_or_init(start).as_ref()
}

/// The folder with the server's programs.
fn programs() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").stderr(Stdio::null()).output().ok()?;
    let folder = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    folder.join("initdb").exists().then_some(folder)
}

impl Postgres {
    fn start(programs: PathBuf) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("karat-pg-").tempdir()?.keep();
        let owner = server_user()?;
        if let Some((user, group)) = owner {
            std::os::unix::fs::chown(&folder, Some(user), Some(group))?;
        }
        let mut cluster = Self { programs, folder, owner, _keeper: None, other: None, databases: AtomicU32::new(0) };
        let data = cluster.folder.join("data");
        let arguments = ["-U", "karat", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"];
        cluster.run(cluster.command("initdb").args(arguments).arg(&data))?;
        let sockets = format!("{SETTINGS}unix_socket_directories = '{}'\n", cluster.folder.display());
        std::fs::OpenOptions::new().append(true).open(data.join("postgresql.conf"))?.write_all(sockets.as_bytes())?;
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "keeper"]).arg(&cluster.programs).arg(&cluster.folder);
        cluster.as_owner(&mut keeper).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Ctrl-C is for the tests; the keeper ends when they have ended.
        std::os::unix::process::CommandExt::process_group(&mut keeper, 0);
        let mut keeper = keeper.spawn()?;
        let mut line = String::new();
        if let Some(output) = keeper.stdout.take() {
            io::BufRead::read_line(&mut io::BufReader::new(output), &mut line)?;
        }
        if line.trim() != "ready" {
            let log = std::fs::read_to_string(cluster.folder.join("log")).unwrap_or_default();
            return Err(io::Error::other(format!("the server does not start: {log}")));
        }
        cluster._keeper = Some(keeper);
        Ok(cluster)
    }

    /// Returns the address of a new, empty database.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn database(&self) -> io::Result<String> {
        let name = format!("t{}_{}", std::process::id(), self.databases.fetch_add(1, Ordering::Relaxed));
        if let Some(other) = &self.other {
            let mark = if other.contains('?') { '&' } else { '?' };
            return Ok(format!("{other}{mark}schema={name}"));
        }
        let host = self.folder.display().to_string();
        self.run(self.command("createdb").args(["-h", &host, "-U", "karat", "-T", "template1", &name]))?;
        Ok(format!("postgres:///{name}?host={}&user=karat", host.replace('/', "%2F")))
    }

    /// Stops the server at once, as when its machine is lost, and starts it again after a pause. `false` if it is not
    /// this process's own.
    ///
    /// # Errors
    /// It does not start again.
    pub fn crash(&self, pause: Duration) -> io::Result<bool> {
        if self.other.is_some() {
            return Ok(false);
        }
        let data = self.folder.join("data");
        self.run(self.command("pg_ctl").args(["-s", "-m", "immediate", "stop", "-D"]).arg(&data))?;
        std::thread::sleep(pause);
        let log = self.folder.join("log");
        self.run(self.command("pg_ctl").args(["-s", "-w", "-t", "60", "start", "-l"]).arg(log).arg("-D").arg(&data))?;
        Ok(true)
    }

    /// The socket of the server, unless it is another one.
    pub fn socket(&self) -> Option<PathBuf> {
        self.other.is_none().then(|| self.folder.join(".s.PGSQL.5432"))
    }

    /// Runs statements in a database and returns what `psql` prints: one row a line, columns separated by `|`.
    ///
    /// # Errors
    /// They fail.
    pub fn query(&self, address: &str, statements: &str) -> io::Result<String> {
        let address = address.split("&schema=").next().unwrap_or(address);
        let output = self
            .command("psql")
            .args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", statements, address])
            .output()?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        self.as_owner(&mut command);
        command.stdin(Stdio::null());
        command
    }

    fn as_owner<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        if let Some((user, group)) = self.owner {
            std::os::unix::process::CommandExt::uid(command, user);
            std::os::unix::process::CommandExt::gid(command, group);
        }
        command.current_dir(if self.folder.as_os_str().is_empty() { Path::new("/") } else { &self.folder })
    }

    fn run(&self, command: &mut Command) -> io::Result<()> {
        // The server that `pg_ctl` starts would keep a pipe open.
        let log = tempfile::tempfile()?;
        let status = command.stdout(Stdio::null()).stderr(log.try_clone()?).status()?;
        match status.success() {
            true => Ok(()),
            false => {
                let mut said = String::new();
                let mut log = log;
                io::Seek::rewind(&mut log)?;
                io::Read::read_to_string(&mut log, &mut said)?;
                Err(io::Error::other(format!("{:?} failed: {said}", command.get_program())))
            }
        }
    }
}

/// The user and group that run the server: it refuses to be run by root.
fn server_user() -> io::Result<Option<(u32, u32)>> {
    let own = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self")?);
    if own != 0 {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd")?;
    let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields[0] == "postgres");
    let number = |at: usize| fields.as_ref().and_then(|fields| fields.get(at)?.parse().ok());
    match (number(2), number(3)) {
        (Some(user), Some(group)) => Ok(Some((user, group))),
        _ => Err(io::Error::other("there is no user postgres to run the server")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SC-09: a cluster of the installed PostgreSQL waits for its disk; each test has an empty database.
    #[test]
    fn a_cluster_has_a_database_for_each_test() {
        let Some(cluster) = postgres() else { return };
        let (one, two) = (cluster.database().unwrap(), cluster.database().unwrap());
        assert_ne!(one, two);
        assert_eq!(cluster.query(&one, "show fsync").unwrap(), "on");
        cluster.query(&one, "create table here (n int)").unwrap();
        assert_eq!(cluster.query(&two, "select count(*) from pg_tables where tablename = 'here'").unwrap(), "0");
        assert!(cluster.query(&two, "select * from here").is_err());
    }

    /// SC-09: after the server was stopped at once, it starts again with what was committed.
    #[test]
    fn a_crashed_server_keeps_what_was_committed() {
        // A cluster of its own: the other tests need theirs to stay.
        let Some(programs) = programs() else { return };
        let cluster = Postgres::start(programs).unwrap();
        let address = cluster.database().unwrap();
        cluster.query(&address, "create table kept (n int); insert into kept values (7)").unwrap();
        if cluster.crash(Duration::ZERO).unwrap() {
            assert_eq!(cluster.query(&address, "select n from kept").unwrap(), "7");
        }
    }
}
