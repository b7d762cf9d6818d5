//! A disk that is full: what is paid for is kept, and what is stored can be read.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use testkit::{Behaviour, FakeProvider, RequestLog, Script};

use crate::place::{Place, questions, suite};

/// A small file system of its own at the place's `.karat`; unmounted when dropped.
pub(super) struct SmallDisk<'a>(&'a Place);

impl<'a> SmallDisk<'a> {
    /// `None` where this user may not mount one.
    #[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
    pub(super) fn mount(place: &'a Place, megabytes: u32) -> Option<Self> {
        std::fs::create_dir(place.path().join(".karat")).unwrap();
        let disk = Self(place);
        if disk.run("mount", &["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "tmpfs"]) {
            return Some(disk);
        }
        eprintln!("SKIPPED: no small disk can be mounted, which needs root on Linux");
        None
    }

    fn run(&self, program: &str, arguments: &[&str]) -> bool {
        let folder = self.0.path().join(".karat");
        Command::new(program).args(arguments).arg(folder).output().is_ok_and(|done| done.status.success())
    }

    fn enlarge(&self, megabytes: u32) {
        assert!(self.run("mount", &["-o", &format!("remount,size={megabytes}m")]));
    }

    /// Fills it to the last byte, with the room that killed runs hold.
    pub(super) fn fill(&self) {
        for file in std::fs::read_dir(self.0.path().join(".karat")).unwrap().flatten() {
            if file.file_name().to_string_lossy().contains("-run-") {
                std::fs::remove_file(file.path()).unwrap();
            }
        }
        let filler = std::fs::File::create(self.0.path().join(".karat/filler")).unwrap();
        let mut zeros = std::io::repeat(0);
        std::io::copy(&mut zeros, &mut &filler).unwrap_err();
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        self.run("umount", &[]);
    }
}

/// Bytes that do not compress.
fn noise() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut state = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let letters = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'!' + (state % 90) as u8)
    });
    letters.filter(|letter| *letter != '\\' && *letter != '"').take(20_000).collect()
}

/// A2: a run on a disk that becomes full keeps the answers under way, and `resume` pays for nothing until there is room:
/// no call is made twice.
#[test]
fn answers_under_way_are_kept_on_a_full_disk() {
    const CELLS: usize = 600;
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place, 12) else { return };
    let provider = FakeProvider::start_on(0, Script::by(|_| Behaviour::ok(noise())), RequestLog::Counts).unwrap();
    place.write("data.jsonl", &questions(CELLS));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let result = place.karat(&["run", "--run-id", "full", "-q"]);
    assert!(result.code == 1 && result.stderr.contains("make room, then `karat resume full`"), "{}", result.all());
    let paid = provider.requests();
    assert!(paid > 16 && paid < CELLS, "{paid} calls");
    for _ in 0..3 {
        let result = place.karat(&["resume", "full", "-q"]);
        assert!(result.code == 1 && result.stderr.contains("full"), "{}", result.all());
    }
    assert_eq!(provider.requests(), paid, "calls on a full disk");
    disk.enlarge(64);
    place.succeed(&["resume", "full", "-q", "-o", "out"]);
    assert_eq!(provider.requests(), CELLS, "no answer was lost");
}

/// A3: with no byte free, also after a kill, runs are listed, reported and exported, and what writes says that the disk is
/// full.
#[test]
fn a_store_on_a_full_disk_is_read() {
    const CELLS: usize = 200;
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place, 32) else { return };
    let script = Script::by(|received| match received.number < 100 {
        true => Behaviour::ok("answer"),
        false => Behaviour::Hang,
    });
    let provider = FakeProvider::start_on(0, script, RequestLog::Counts).unwrap();
    place.write("data.jsonl", &questions(CELLS));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let mut child = place.command(&["run", "--run-id", "cut", "-q"]).spawn().unwrap();
    while provider.requests() < 116 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    disk.fill();
    assert!(place.succeed(&["ls"]).stdout.contains("cut"));
    let report = place.report("cut");
    let cells = report["totals"]["cells"].as_u64().unwrap();
    assert!((84..=100).contains(&cells), "{cells}");
    place.succeed(&["report", "cut", "-o", "elsewhere"]);
    place.succeed(&["export", "jsonl", "cut", "-o", "-"]);
    place.succeed(&["store", "check"]);
    for arguments in [&["cache", "prune", "--older-than", "1d"][..], &["run"], &["resume", "cut"]] {
        let result = place.karat(arguments);
        assert!(result.code == 1 && result.stderr.contains("full"), "{arguments:?}: {}", result.all());
    }
    assert_eq!(provider.requests(), 116, "nothing was paid for");
}

/// A3: on a full disk `cache prune` says how much room it needs, and that or the copy that it advises works; with some room it
/// prunes, and the file shrinks once there is enough.
#[test]
fn a_store_on_a_full_disk_is_pruned() {
    const PRUNE: [&str; 5] = ["cache", "prune", "--older-than", "1ms", "--traces"];
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place, 40) else { return };
    let provider = FakeProvider::start_on(0, Script::by(|_| Behaviour::ok(noise())), RequestLog::Counts).unwrap();
    place.write("data.jsonl", &questions(400));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.succeed(&["run", "--run-id", "big", "-q", "-o", "out"]);
    disk.fill();
    for arguments in [&PRUNE[..], &[&PRUNE[..], &["--dry-run"]].concat()] {
        let result = place.karat(arguments);
        assert!(result.code == 1 && result.stderr.contains("pruning needs 4 MiB of free space"), "{}", result.all());
    }

    std::fs::create_dir(place.path().join("copy")).unwrap();
    for file in std::fs::read_dir(place.path().join(".karat")).unwrap().flatten() {
        if file.file_name().to_string_lossy().starts_with("karat.db") {
            std::fs::copy(file.path(), place.path().join("copy").join(file.file_name())).unwrap();
        }
    }
    let size = |file: &str| std::fs::metadata(place.path().join(file)).unwrap().len();
    place.succeed(&[&PRUNE[..], &["--store", "sqlite:copy/karat.db"]].concat());
    assert!(size("copy/karat.db") * 3 < size(".karat/karat.db") * 2, "the copy is smaller");

    let filler = std::fs::OpenOptions::new().write(true).open(place.path().join(".karat/filler")).unwrap();
    filler.set_len(size(".karat/filler") - (4 << 20)).unwrap();
    let result = place.succeed(&PRUNE);
    assert!(result.stdout.contains("the file keeps its size, since making it smaller needs"), "{}", result.all());
    filler.set_len(0).unwrap();
    assert!(place.succeed(&PRUNE).stdout.contains("KiB of disk space freed"));
    assert!(size("copy/karat.db") <= size(".karat/karat.db") && size(".karat/karat.db") < 12 << 20);
    place.succeed(&["report", "big", "-o", "again"]);
}
