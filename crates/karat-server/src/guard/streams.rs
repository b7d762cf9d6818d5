//! One thread for many streams of events. A thread for each would keep memory for itself, and most only wait.

use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

/// Time between two steps: four a second.
pub(crate) const PERIOD: Duration = Duration::from_millis(250);

/// A stream that is sent in steps, none of which waits for its reader.
pub(crate) trait Stream: Send {
    /// Sends what is new. Returns false once nothing more comes.
    fn step(&mut self) -> bool;
}

/// The streams that share a thread. It begins with the first of them.
#[derive(Default)]
pub(crate) struct SharedStreams(OnceLock<mpsc::Sender<Box<dyn Stream>>>);

impl SharedStreams {
    pub fn add(&self, stream: Box<dyn Stream>) {
        let sender = self.0.get_or_init(|| {
            let (sender, added) = mpsc::channel();
            // Without a thread the streams end at once, and their readers connect again.
            let _ = thread::Builder::new().name("events".to_owned()).spawn(move || run(&added));
            sender
        });
        let _ = sender.send(stream);
    }
}

/// Steps all streams that were added until the server has gone. While there is none, it waits for one.
fn run(added: &mpsc::Receiver<Box<dyn Stream>>) {
    let mut streams = Vec::new();
    loop {
        if streams.is_empty() {
            match added.recv() {
                Ok(stream) => streams.push(stream),
                Err(_) => return,
            }
        }
        streams.extend(added.try_iter());
        streams.retain_mut(|stream| stream.step());
        thread::sleep(PERIOD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Countdown(u32, mpsc::Sender<u32>);

    impl Stream for Countdown {
        fn step(&mut self) -> bool {
            self.0 -= 1;
            self.1.send(self.0).unwrap();
            self.0 > 0
        }
    }

    /// SV-28: streams share a thread, each ends by itself, and later ones are taken up.
    #[test]
    fn streams_are_stepped_to_their_ends() {
        let (streams, (sender, steps)) = (SharedStreams::default(), mpsc::channel());
        streams.add(Box::new(Countdown(1, sender.clone())));
        streams.add(Box::new(Countdown(3, sender.clone())));
        let mut seen: Vec<u32> = (0..4).map(|_| steps.recv().unwrap()).collect();
        seen.sort_unstable();
        assert_eq!(seen, [0, 0, 1, 2]);
        streams.add(Box::new(Countdown(1, sender)));
        assert_eq!(steps.recv().unwrap(), 0);
    }
}
