//! People who read pages the whole day.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::network::lock;
use super::server::Caller;

const PAGES: [&str; 9] = [
    "/",
    "/service",
    "/runs/latest",
    "/eval/runs?limit=20",
    "/schedules",
    "/incidents",
    "/eval/runs/latest/report?format=html",
    "/metrics",
    "/traces",
];

/// Time between two pages.
const PAUSE: Duration = Duration::from_millis(150);

/// The pages that were read.
#[derive(Debug, Clone, Default)]
pub(crate) struct PagesRead {
    pub read: usize,
    /// Pages that were not shown, each with the reason.
    pub bad: Vec<String>,
    pub slowest: Duration,
}

/// A thread that reads pages.
pub(crate) struct Reader {
    stop: Arc<AtomicBool>,
    /// Set while no byte is free on the disk: a page may be refused.
    pub is_full: Arc<AtomicBool>,
    pages: Arc<Mutex<PagesRead>>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    pub fn start(caller: Caller) -> std::io::Result<Self> {
        let (stop, is_full) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let pages = Arc::<Mutex<PagesRead>>::default();
        let (own_stop, own_full, own_pages) = (Arc::clone(&stop), Arc::clone(&is_full), Arc::clone(&pages));
        let thread = std::thread::Builder::new().name("reader".to_owned()).spawn(move || {
            for page in PAGES.iter().cycle() {
                if own_stop.load(Ordering::SeqCst) {
                    return;
                }
                read(&caller, page, &own_full, &own_pages);
                std::thread::sleep(PAUSE);
            }
        })?;
        Ok(Self { stop, is_full, pages, thread: Some(thread) })
    }

    /// Ends the thread, and returns what it read.
    pub fn end(mut self) -> PagesRead {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        lock(&self.pages).clone()
    }
}

fn read(caller: &Caller, page: &str, is_full: &AtomicBool, pages: &Mutex<PagesRead>) {
    let Some((_, server)) = caller.address.get() else { return };
    let was_full = is_full.load(Ordering::SeqCst);
    #[expect(clippy::disallowed_methods, reason = "a time is measured")]
    let start = Instant::now();
    let answer = caller.ask(&format!("GET {page}"), "", "");
    let time = start.elapsed();
    // It was killed meanwhile.
    if !caller.address.is_still(server) {
        return;
    }
    let is_excused = was_full || is_full.load(Ordering::SeqCst);
    let mut pages = lock(pages);
    match answer {
        Ok(answer) if answer.status == 200 => {
            pages.read += 1;
            pages.slowest = pages.slowest.max(time);
        }
        Ok(answer) if is_excused && answer.status == 503 => {}
        // The newest run has not ended: it has no report yet.
        Ok(answer) if answer.status == 409 && page.contains("report") => {}
        Ok(answer) => pages.bad.push(format!("{page}: {}", answer.status)),
        Err(error) => pages.bad.push(format!("{page}: {error}")),
    }
}
