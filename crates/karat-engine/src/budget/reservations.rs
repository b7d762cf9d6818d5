//! What a process has reserved on disk (BY-05, law 5).
//!
//! One block covers all calls that may be in flight. A call draws its upper bound from it before it is sent and gives it
//! back when its record is on disk, so the next call needs no block of its own. What is on disk as reserved is therefore
//! what calls in flight can cost together, however long the run is, and no more than that counts as spent after a kill.

use std::sync::{Mutex, MutexGuard, PoisonError};

use karat_store::Reservation;
use karat_types::Money;

/// The durable reservations of one process.
pub(crate) struct Credit {
    /// Calls that may be in flight.
    concurrency: u64,
    state: Mutex<State>,
    /// One block at a time: of many calls that come short at once, the first reserves for all.
    growing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    /// All blocks.
    held: Reservation,
    /// What of them no call has drawn.
    free: Reservation,
}

impl Credit {
    /// Nothing reserved yet, for so many calls at once.
    pub fn new(concurrency: usize) -> Self {
        Self { concurrency: concurrency as u64, state: Mutex::default(), growing: tokio::sync::Mutex::default() }
    }

    /// Draws a call of at most `upper`. Where what is free falls short, `reserve` makes a block durable first; beyond
    /// this call's need, all blocks together stay within `most`.
    ///
    /// # Errors
    /// That of `reserve`: then nothing was drawn.
    pub async fn draw<E, F: Future<Output = Result<(), E>>>(
        &self,
        upper: Money,
        most: impl Fn() -> Reservation,
        reserve: impl Fn(Reservation) -> F,
    ) -> Result<(), E> {
        if self.drawn(upper) {
            return Ok(());
        }
        let _turn = self.growing.lock().await;
        // Others draw while a block is on its way to the disk, so it may fall short.
        while !self.drawn(upper) {
            let block = self.block(upper, most());
            reserve(block).await?;
            let mut state = self.state();
            add(&mut state.held, block);
            add(&mut state.free, block);
        }
        Ok(())
    }

    /// Gives back what was drawn by calls whose record is on disk, or that were not sent.
    pub fn give_back(&self, drawn: Reservation) {
        add(&mut self.state().free, drawn);
    }

    /// What was drawn and stays open for good counts as spent, no longer as held.
    pub fn lose(&self, upper: Money) {
        let held = &mut self.state().held;
        held.upper = held.upper - upper;
    }

    /// Takes out what nobody has drawn and all blocks together are more than `most`, so that it can be given back on disk:
    /// after a kill no more shall count than could have been spent.
    pub fn surplus(&self, most: Reservation) -> Option<Reservation> {
        let State { held, free } = &mut *self.state();
        let surplus = Reservation {
            calls: held.calls.saturating_sub(most.calls).min(free.calls),
            upper: (held.upper - most.upper).min(free.upper).max(Money::ZERO),
        };
        for sum in [held, free] {
            *sum = Reservation { calls: sum.calls - surplus.calls, upper: sum.upper - surplus.upper };
        }
        (surplus != Reservation::default()).then_some(surplus)
    }

    /// Takes out what nobody has drawn: at an orderly end it is given back on disk.
    pub fn drain(&self) -> Reservation {
        let mut state = self.state();
        let free = std::mem::take(&mut state.free);
        state.held = Reservation { calls: state.held.calls - free.calls, upper: state.held.upper - free.upper };
        free
    }

    fn drawn(&self, upper: Money) -> bool {
        let free = &mut self.state().free;
        let suffices = free.calls > 0 && free.upper >= upper;
        if suffices {
            *free = Reservation { calls: free.calls - 1, upper: free.upper - upper };
        }
        suffices
    }

    /// The next block: more than is missing now.
    fn block(&self, upper: Money, most: Reservation) -> Reservation {
        let State { held, free } = &*self.state();
        let calls = grown(1 - i128::from(free.calls), self.concurrency.into(), held.calls.into(), most.calls.into());
        let full = upper.0.saturating_mul(self.concurrency.into());
        let money = grown(upper.0 - free.upper.0, full, held.upper.0, most.upper.0);
        Reservation { calls: u64::try_from(calls).unwrap_or(u64::MAX), upper: Money(money) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// By how much to grow from `held` towards `full`: at least by what is missing, by an eighth so that growing calls need few
/// blocks, and beyond what is missing never above `most`.
fn grown(missing: i128, full: i128, held: i128, most: i128) -> i128 {
    if missing <= 0 {
        return 0;
    }
    (full - held).max(held / 8).min(most - held).max(missing)
}

fn add(sum: &mut Reservation, more: Reservation) {
    sum.calls += more.calls;
    sum.upper += more.upper;
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::convert::Infallible;

    use futures::future::join_all;

    use super::*;

    const NO_LIMIT: Reservation = Reservation { calls: u64::MAX, upper: Money(i128::MAX) };

    /// Draws these calls at once, and says what blocks were made for them.
    async fn blocks(credit: &Credit, uppers: &[i128], most: Reservation) -> Vec<(u64, i128)> {
        let made = RefCell::new(Vec::new());
        let blocks = &made;
        let draw = |upper: i128| {
            credit.draw(
                Money(upper),
                move || most,
                |block: Reservation| async move {
                    tokio::task::yield_now().await;
                    blocks.borrow_mut().push((block.calls, block.upper.0));
                    Ok::<_, Infallible>(())
                },
            )
        };
        join_all(uppers.iter().map(|upper| draw(*upper))).await;
        made.into_inner()
    }

    /// BY-05: calls that come at once share one block, and those that follow need none: what a kill leaves open is what
    /// may be in flight, however many calls there were.
    #[tokio::test]
    async fn one_block_serves_all_calls_of_a_run() {
        let credit = Credit::new(8);
        assert_eq!(blocks(&credit, &[100; 8], NO_LIMIT).await, [(8, 800)]);
        for _ in 0..1_000 {
            credit.give_back(Reservation { calls: 1, upper: Money(100) });
            assert_eq!(blocks(&credit, &[100], NO_LIMIT).await, []);
        }
        (0..8).for_each(|_| credit.give_back(Reservation { calls: 1, upper: Money(100) }));
        assert_eq!(credit.drain(), Reservation { calls: 8, upper: Money(800) });
        assert_eq!(credit.drain(), Reservation::default());
    }

    /// BY-05: where each call is larger than the one before, blocks stay few and what is open stays bounded.
    #[tokio::test]
    async fn growing_calls_need_few_blocks() {
        let credit = Credit::new(4);
        let (mut count, mut held) = (0, 0);
        for upper in 100..1_100 {
            for (_, money) in blocks(&credit, &[upper; 4], NO_LIMIT).await {
                (count, held) = (count + 1, held + money);
            }
            (0..4).for_each(|_| credit.give_back(Reservation { calls: 1, upper: Money(upper) }));
        }
        assert!(count < 40 && held <= 4 * 1_099 * 9 / 8, "{count} blocks, {held}");
    }

    /// BY-05: what others draw while a block is on its way is missing, and is reserved, too: never is more drawn than is on disk.
    #[tokio::test]
    async fn what_is_drawn_is_on_disk() {
        let credit = Credit::new(1);
        assert_eq!(blocks(&credit, &[10], NO_LIMIT).await, [(1, 10)]);
        credit.give_back(Reservation { calls: 1, upper: Money(10) });
        // The larger one waits for a block of money; the smaller one has taken the free call by then.
        assert_eq!(blocks(&credit, &[100, 10], NO_LIMIT).await, [(0, 90), (1, 12)]);
        (0..2).for_each(|_| credit.give_back(Reservation { calls: 1, upper: Money::ZERO }));
        assert_eq!(credit.drain().calls, 2);
    }

    /// BY-05: what can no longer be spent is given back, but for what calls in flight have drawn.
    #[tokio::test]
    async fn what_can_no_longer_be_spent_is_given_back() {
        let credit = Credit::new(4);
        assert_eq!(blocks(&credit, &[100], NO_LIMIT).await, [(4, 400)]);
        assert_eq!(credit.surplus(NO_LIMIT), None);
        let most = |calls, upper| Reservation { calls, upper: Money(upper) };
        assert_eq!(credit.surplus(most(3, 250)), Some(most(1, 150)));
        assert_eq!(credit.surplus(most(0, -50)), Some(most(2, 150)));
        assert_eq!(credit.surplus(most(0, 0)), None);
        credit.give_back(most(1, 100));
        assert_eq!(credit.drain(), most(1, 100));
    }

    /// BY-05: no more is reserved than the run may still spend, unless calls that may be made need it.
    #[tokio::test]
    async fn blocks_stay_within_what_is_left() {
        let left = Reservation { calls: 3, upper: Money(250) };
        assert_eq!(blocks(&Credit::new(8), &[100; 2], left).await, [(3, 250)]);
    }
}
