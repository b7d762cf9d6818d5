//! The reservations of one process on disk (invariant 5, a paid call is durable).
//!
//! One block covers all calls that may run at once. A call draws its upper bound from the block before it is sent and
//! returns it once its record is on disk, so the next call needs no block of its own. The amount reserved on disk is
//! therefore what running calls can cost together, however long the run is, and no more than that counts as spent after
//! a kill.

use std::sync::{Mutex, MutexGuard, PoisonError};

use karat_store::Reservation;
use karat_types::Money;

/// The durable reservations of one process.
pub(crate) struct ReservationPool {
    /// Calls that may run at once.
    concurrency: u64,
    state: Mutex<PoolState>,
    /// Held while a block is written: of many calls that need one at once, the first reserves for all.
    growing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct PoolState {
    /// The sum of all blocks.
    held: Reservation,
    /// The part that no call has drawn.
    free: Reservation,
}

impl ReservationPool {
    /// An empty pool for so many calls at once.
    pub fn new(concurrency: usize) -> Self {
        Self { concurrency: concurrency as u64, state: Mutex::default(), growing: tokio::sync::Mutex::default() }
    }

    /// Draws a call of at most `upper`. If the free amount is too small, `reserve` first makes a block durable. Beyond
    /// the need of this call, all blocks together stay within `most`.
    ///
    /// # Errors
    /// The error of `reserve`; nothing was drawn then.
    pub async fn draw<E, F: Future<Output = Result<(), E>>>(
        &self,
        upper: Money,
        most: impl Fn() -> Reservation,
        reserve: impl Fn(Reservation) -> F,
    ) -> Result<(), E> {
        if self.try_draw(upper) {
            return Ok(());
        }
        let _turn = self.growing.lock().await;
        // Other calls draw while a block is written, so it may not suffice.
        while !self.try_draw(upper) {
            let block = self.next_block(upper, most());
            reserve(block).await?;
            let mut state = self.state();
            add(&mut state.held, block);
            add(&mut state.free, block);
        }
        Ok(())
    }

    /// Takes over what an earlier part of the run has drawn for calls in batches.
    pub fn take_over(&self, drawn: Reservation) {
        add(&mut self.state().held, drawn);
    }

    /// Returns what was drawn by calls whose record is on disk, or that were not sent.
    pub fn give_back(&self, drawn: Reservation) {
        add(&mut self.state().free, drawn);
    }

    /// Removes an amount that stays open for good: it counts as spent, no longer as held.
    pub fn lose(&self, upper: Money) {
        let held = &mut self.state().held;
        held.upper = held.upper - upper;
    }

    /// Takes the undrawn amount by which all blocks exceed `most`, so that it can be released on disk: after a kill, no
    /// more should count than could have been spent.
    pub fn take_surplus(&self, most: Reservation) -> Option<Reservation> {
        let PoolState { held, free } = &mut *self.state();
        let surplus = Reservation {
            calls: held.calls.saturating_sub(most.calls).min(free.calls),
            upper: (held.upper - most.upper).min(free.upper).max(Money::ZERO),
        };
        for sum in [held, free] {
            *sum = Reservation { calls: sum.calls - surplus.calls, upper: sum.upper - surplus.upper };
        }
        (surplus != Reservation::default()).then_some(surplus)
    }

    /// Takes the whole undrawn amount, to be released on disk at an orderly end.
    pub fn drain(&self) -> Reservation {
        let mut state = self.state();
        let free = std::mem::take(&mut state.free);
        state.held = Reservation { calls: state.held.calls - free.calls, upper: state.held.upper - free.upper };
        free
    }

    fn try_draw(&self, upper: Money) -> bool {
        let free = &mut self.state().free;
        let suffices = free.calls > 0 && free.upper >= upper;
        if suffices {
            *free = Reservation { calls: free.calls - 1, upper: free.upper - upper };
        }
        suffices
    }

    /// The next block: at least what is missing now.
    fn next_block(&self, upper: Money, most: Reservation) -> Reservation {
        let PoolState { held, free } = &*self.state();
        let calls = growth(1 - i128::from(free.calls), self.concurrency.into(), held.calls.into(), most.calls.into());
        let full = upper.0.saturating_mul(self.concurrency.into());
        let money = growth(upper.0 - free.upper.0, full, held.upper.0, most.upper.0);
        Reservation { calls: u64::try_from(calls).unwrap_or(u64::MAX), upper: Money(money) }
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The growth from `held` towards `full`: at least what is missing, an eighth of `held` so that growing calls need few
/// blocks, and beyond what is missing never above `most`.
fn growth(missing: i128, full: i128, held: i128, most: i128) -> i128 {
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

    /// Draws these calls at once and returns the blocks made for them.
    async fn blocks(pool: &ReservationPool, uppers: &[i128], most: Reservation) -> Vec<(u64, i128)> {
        let made = RefCell::new(Vec::new());
        let blocks = &made;
        let draw = |upper: i128| {
            pool.draw(
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

    /// BY-05: concurrent calls share one block and later ones need none, so a kill leaves open only what may be
    /// running, however many calls there were.
    #[tokio::test]
    async fn one_block_covers_all_calls() {
        let pool = ReservationPool::new(8);
        assert_eq!(blocks(&pool, &[100; 8], NO_LIMIT).await, [(8, 800)]);
        for _ in 0..1_000 {
            pool.give_back(Reservation { calls: 1, upper: Money(100) });
            assert_eq!(blocks(&pool, &[100], NO_LIMIT).await, []);
        }
        (0..8).for_each(|_| pool.give_back(Reservation { calls: 1, upper: Money(100) }));
        assert_eq!(pool.drain(), Reservation { calls: 8, upper: Money(800) });
        assert_eq!(pool.drain(), Reservation::default());
    }

    /// BY-05: if each call is larger than the one before, blocks stay few and the open amount stays bounded.
    #[tokio::test]
    async fn growing_calls_need_few_blocks() {
        let pool = ReservationPool::new(4);
        let (mut count, mut held) = (0, 0);
        for upper in 100..1_100 {
            for (_, money) in blocks(&pool, &[upper; 4], NO_LIMIT).await {
                (count, held) = (count + 1, held + money);
            }
            (0..4).for_each(|_| pool.give_back(Reservation { calls: 1, upper: Money(upper) }));
        }
        assert!(count < 40 && held <= 4 * 1_099 * 9 / 8, "{count} blocks, {held}");
    }

    /// BY-05: amounts that other calls draw while a block is written are reserved too: never more is drawn than is on
    /// disk.
    #[tokio::test]
    async fn drawn_amounts_are_on_disk() {
        let pool = ReservationPool::new(1);
        assert_eq!(blocks(&pool, &[10], NO_LIMIT).await, [(1, 10)]);
        pool.give_back(Reservation { calls: 1, upper: Money(10) });
        // The larger call waits for a block of money; by then the smaller one has taken the free call.
        assert_eq!(blocks(&pool, &[100, 10], NO_LIMIT).await, [(0, 90), (1, 12)]);
        (0..2).for_each(|_| pool.give_back(Reservation { calls: 1, upper: Money::ZERO }));
        assert_eq!(pool.drain().calls, 2);
    }

    /// BY-05: amounts that can no longer be spent are released, except what running calls have drawn.
    #[tokio::test]
    async fn surplus_is_returned() {
        let pool = ReservationPool::new(4);
        assert_eq!(blocks(&pool, &[100], NO_LIMIT).await, [(4, 400)]);
        assert_eq!(pool.take_surplus(NO_LIMIT), None);
        let most = |calls, upper| Reservation { calls, upper: Money(upper) };
        assert_eq!(pool.take_surplus(most(3, 250)), Some(most(1, 150)));
        assert_eq!(pool.take_surplus(most(0, -50)), Some(most(2, 150)));
        assert_eq!(pool.take_surplus(most(0, 0)), None);
        pool.give_back(most(1, 100));
        assert_eq!(pool.drain(), most(1, 100));
    }

    /// BY-05: no more is reserved than the run may still spend, unless allowed calls need it.
    #[tokio::test]
    async fn blocks_stay_within_the_remaining_budget() {
        let left = Reservation { calls: 3, upper: Money(250) };
        assert_eq!(blocks(&ReservationPool::new(8), &[100; 2], left).await, [(3, 250)]);
    }
}
