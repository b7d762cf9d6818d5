//! The folder of a soak: suites, state on a small disk, and a clock that steps set.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::error_of;
use super::suites::{HOOK_SECRET, MODEL_KEY};
use crate::{Scratch, scratch};

/// Size of the disk of the state. Below 256 MiB of free space, a server counts as down.
const DISK_MIB: u32 = 512;

/// The folder of a soak, and the program in it.
pub(crate) struct World {
    program: PathBuf,
    hook: String,
    /// Unmounted before the folder is removed.
    disk: Option<SmallDisk>,
    folder: Scratch,
}

impl World {
    /// A folder with suites. Its state is on a disk of its own where this user may mount one.
    pub fn new(program: &Path, hook: String, files: &[(String, String)]) -> Result<Self, String> {
        let folder = scratch().map_err(error_of("making a folder"))?;
        for (name, text) in files {
            folder.write(&format!("root/{name}"), text).map_err(error_of("writing a suite"))?;
        }
        let home = folder.path().join("root/.karat");
        fs::create_dir_all(&home).map_err(error_of("making the state folder"))?;
        Ok(Self { program: program.to_owned(), folder, hook, disk: None })
    }

    /// Puts the state on a disk of its own, if this user may mount one.
    pub fn mount_disk(&mut self) {
        self.disk = SmallDisk::mount(&self.home());
    }

    /// The folder of the suites.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// The folder of the state.
    pub fn home(&self) -> PathBuf {
        self.root().join(".karat")
    }

    /// The messages of all servers.
    pub fn log(&self) -> PathBuf {
        self.folder.path().join("serve.log")
    }

    pub fn disk(&self) -> Option<&SmallDisk> {
        self.disk.as_ref()
    }

    pub fn write(&self, name: &str, text: &str) -> Result<(), String> {
        // Replaced at once: a run that begins meanwhile reads the old one or the new one.
        let part = self.folder.write("part", text).map_err(error_of("writing a file"))?;
        fs::rename(part, self.root().join(name)).map_err(error_of("replacing a file"))
    }

    /// The milliseconds that the program takes for now.
    pub fn now(&self) -> i64 {
        let ahead = fs::read_to_string(self.clock()).ok().and_then(|text| text.parse::<i64>().ok());
        system_time() + ahead.unwrap_or_default()
    }

    /// Sets the clock.
    pub fn set_time(&self, time: i64) -> Result<(), String> {
        let part = self.folder.write("clock.part", (time - system_time()).to_string());
        let part = part.map_err(error_of("setting the clock"))?;
        fs::rename(part, self.clock()).map_err(error_of("setting the clock"))
    }

    fn clock(&self) -> PathBuf {
        self.folder.path().join("clock")
    }

    /// A command of the program in the folder of the suites, with nothing of the outer environment that matters.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(self.root()).stdin(Stdio::null());
        #[expect(clippy::disallowed_methods, reason = "variables are removed, not read")]
        let outer = std::env::vars_os();
        for (name, _) in outer {
            let text = name.to_string_lossy();
            if ["KARAT_", "OPENAI_", "ANTHROPIC_", "HTTP", "NO_PROXY", "http", "NOTIFY_"]
                .iter()
                .any(|prefix| text.starts_with(prefix))
            {
                command.env_remove(&name);
            }
        }
        command
            .env("KARAT_TEST_CLOCK", self.clock())
            .env("SOAK_KEY", MODEL_KEY)
            .env("HOOK", &self.hook)
            .env("HOOK_SECRET", HOOK_SECRET);
        command
    }

    /// Runs a command to its end.
    pub fn karat(&self, arguments: &[&str]) -> Result<Output, String> {
        self.command(arguments).output().map_err(error_of("starting karat"))
    }

    /// Runs a command that must succeed, and returns what it prints.
    pub fn succeed(&self, arguments: &[&str]) -> Result<String, String> {
        let output = self.karat(arguments)?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(format!("karat {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// Makes, resumes or retries a run to its end. A gate that is not met is not a failure.
    ///
    /// # Errors
    /// The messages of a run that did not end.
    pub fn make_run(&self, arguments: &[&str]) -> Result<(), String> {
        let output = self.karat(&[arguments, &["-q"]].concat())?;
        match output.status.code() {
            Some(0 | 2) => Ok(()),
            _ => Err(format!("karat {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// Runs a command that must succeed and prints JSON.
    pub fn json(&self, arguments: &[&str]) -> Result<Vec<Value>, String> {
        let text = self.succeed(arguments)?;
        serde_json::from_str(&text).map_err(error_of(&format!("reading karat {}", arguments.join(" "))))
    }
}

/// The time of this machine, in milliseconds.
fn system_time() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "the clock of the soak is ahead of this one")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// A small file system of its own; unmounted when dropped.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(folder: &Path) -> Option<Self> {
        let size = format!("size={DISK_MIB}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder).output();
        mounted.is_ok_and(|done| done.status.success()).then(|| Self(folder.to_owned()))
    }

    /// Fills it to the last byte.
    pub fn fill(&self) -> Result<(), String> {
        let mut filler = fs::File::create(self.0.join("filler")).map_err(error_of("filling the disk"))?;
        for size in [1 << 20, 4096, 1] {
            while filler.write_all(&vec![1; size]).is_ok() {}
        }
        Ok(())
    }

    /// Makes room again.
    pub fn free(&self) -> Result<(), String> {
        fs::remove_file(self.0.join("filler")).map_err(error_of("freeing the disk"))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A process that has just ended may hold the folder for a moment.
        for _ in 0..20 {
            if Command::new("umount").arg(&self.0).output().is_ok_and(|done| done.status.success()) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
}
