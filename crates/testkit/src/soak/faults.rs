//! The faults of a soak: which, and when. All of it follows from the seed.

use rand::RngExt as _;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

use super::network::Mood;

/// Minutes of a step.
pub(crate) const STEP_MINUTES: i64 = 5;

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `kill -9` in the midst of a step. The server is down for the steps that follow.
    Kill {
        /// Steps until it is started again.
        down: usize,
        /// Share of the step, in thousandths, at which it is killed.
        at: u64,
    },
    /// The provider answers otherwise for some steps.
    Provider { mood: Mood, steps: usize },
    /// The receiver answers otherwise for some steps.
    Receiver { mood: Mood, steps: usize },
    /// No byte is free on the disk for some steps.
    DiskFull { steps: usize },
    /// The clock is set by so many minutes.
    Jump { minutes: i64 },
}

/// The faults of a soak, each with the minutes since its begin.
pub(crate) fn plan(hours: u32, seed: u64) -> Vec<(i64, Fault)> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let minutes = i64::from(hours) * 60;
    let is_long = hours > 5;
    let mut planned = Vec::new();
    // A part of the day, in hundredths, in which a fault begins.
    let mut add = |random: &mut ChaCha8Rng, from: i64, to: i64, fault: Fault| {
        let at = random.random_range(minutes * from / 100..=minutes * to / 100);
        planned.push((at - at % STEP_MINUTES, fault));
    };
    // The last two fifths pass without a kill, so that growth of one process would be seen.
    let kills = if is_long { i64::from(hours) / 2 } else { 2 };
    for kill in 0..kills {
        let (from, to) = (8 + kill * 48 / kills, 8 + (kill + 1) * 48 / kills - 1);
        let down = random.random_range(0..=if is_long { 6 } else { 1 });
        let at = random.random_range(50..950);
        add(&mut random, from, to, Fault::Kill { down, at });
    }
    let moods = [Mood::Fails, Mood::Limits, Mood::Hangs, Mood::Cuts, Mood::Drops];
    let outages = if is_long { moods.len() * 2 } else { 2 };
    for outage in 0..outages {
        let at = 10 + (outage * 80 / outages) as i64;
        let mood = moods[(outage + seed as usize) % moods.len()];
        let steps = if is_long { random.random_range(2..=4) } else { 1 };
        add(&mut random, at, at + 8, Fault::Provider { mood, steps });
    }
    let moods = [Mood::Fails, Mood::Drops, Mood::Limits];
    for (at, mood) in (0..if is_long { moods.len() } else { 1 }).map(|at| (at, moods[(at + seed as usize) % 3])) {
        // In a short soak there is one incident, at the first due time.
        let (from, to) = if is_long { (15 + 25 * at as i64, 25 + 25 * at as i64) } else { (0, 0) };
        let steps = if is_long { random.random_range(8..=14) } else { 7 };
        add(&mut random, from, to, Fault::Receiver { mood, steps });
    }
    // The second full disk is not followed by a start of the server: it must recover by itself.
    let parts: &[(i64, i64)] = if is_long { &[(20, 30), (65, 70)] } else { &[(65, 70)] };
    for (from, to) in parts {
        add(&mut random, *from, *to, Fault::DiskFull { steps: if is_long { 4 } else { 2 } });
    }
    let (ahead, back) = if is_long { (120, -60) } else { (20, -10) };
    add(&mut random, 33, 38, Fault::Jump { minutes: ahead });
    add(&mut random, 80, 85, Fault::Jump { minutes: back });
    planned.sort_by_key(|(at, _)| *at);
    planned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_the_faults_and_each_kind_comes() {
        for hours in [1, 24] {
            assert_eq!(plan(hours, 7), plan(hours, 7));
            assert_ne!(plan(hours, 7), plan(hours, 8));
            let planned = plan(hours, 7);
            let count = |is: fn(&Fault) -> bool| planned.iter().filter(|(_, fault)| is(fault)).count();
            assert_eq!(count(|fault| matches!(fault, Fault::Kill { .. })), if hours == 1 { 2 } else { 12 });
            assert!(count(|fault| matches!(fault, Fault::Provider { .. })) >= 2);
            assert!(count(|fault| matches!(fault, Fault::Receiver { .. })) >= 1);
            assert!(count(|fault| matches!(fault, Fault::DiskFull { .. })) >= 1);
            assert_eq!(count(|fault| matches!(fault, Fault::Jump { .. })), 2);
            assert!(planned.iter().all(|(at, _)| at % STEP_MINUTES == 0 && *at < i64::from(hours) * 60));
        }
    }
}
