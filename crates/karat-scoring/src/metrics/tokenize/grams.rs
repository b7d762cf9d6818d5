//! Counting common n-grams of all orders with one sort.

/// The number of n-grams of `candidate` that `references` confirm, for n = 1, 2, …, `ORDERS`.
///
/// An n-gram counts at most as often as in the reference that has it most (clipping). Symbols are
/// smaller than 2^(128 / `ORDERS`) − 1; `ORDERS` symbols fill one key, so that the sorted keys of
/// the positions group equal n-grams of every order at once.
pub(crate) fn clipped_matches<const ORDERS: usize>(candidate: &[u32], references: &[&[u32]]) -> [usize; ORDERS] {
    let width = 128 / ORDERS as u32;
    let mut keys = Vec::with_capacity(candidate.len() + references.iter().map(|r| r.len()).sum::<usize>());
    push_keys::<ORDERS>(candidate, 0, width, &mut keys);
    for (index, reference) in references.iter().enumerate() {
        push_keys::<ORDERS>(reference, index + 1, width, &mut keys);
    }
    keys.sort_unstable_by_key(|(key, _)| *key);

    let mut counts = vec![0; references.len() + 1];
    std::array::from_fn(|order| {
        let unused = width * (ORDERS - 1 - order) as u32;
        matches_of_order(&keys, width, unused, &mut counts)
    })
}

/// One key per position: the symbols from there on, first symbol highest, zeros after the end.
fn push_keys<const ORDERS: usize>(symbols: &[u32], source: usize, width: u32, keys: &mut Vec<(u128, usize)>) {
    let filled = width * ORDERS as u32;
    let mask = if filled == 128 { u128::MAX } else { (1 << filled) - 1 };
    let mut key = 0;
    let padded = symbols.iter().map(|symbol| u128::from(*symbol) + 1);
    let padding = std::iter::repeat_n(0, ORDERS - 1);
    for (read, symbol) in padded.chain(padding).enumerate() {
        key = ((key << width) | symbol) & mask;
        if read + 1 >= ORDERS && read + 1 - ORDERS < symbols.len() {
            keys.push((key, source));
        }
    }
}

/// Sums the clipped counts over the runs of keys that agree above the `unused` low bits.
fn matches_of_order(keys: &[(u128, usize)], width: u32, unused: u32, counts: &mut [usize]) -> usize {
    let last_symbol = ((1_u128 << (width - 1)) - 1) << 1 | 1;
    let mut matched = 0;
    for run in keys.chunk_by(|(a, _), (b, _)| a >> unused == b >> unused) {
        let beyond_the_end = (run[0].0 >> unused) & last_symbol == 0;
        if run.len() < 2 || beyond_the_end {
            continue;
        }
        counts.fill(0);
        for (_, source) in run {
            counts[*source] += 1;
        }
        if let [candidate, references @ ..] = &*counts {
            let most = references.iter().max().copied().unwrap_or(0);
            matched += most.min(*candidate);
        }
    }
    matched
}

/// The number of n-grams of order `n` in a sequence of `length` symbols.
pub(crate) fn total(length: usize, n: usize) -> usize {
    (length + 1).saturating_sub(n)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn bag(symbols: &[u32], n: usize) -> HashMap<&[u32], usize> {
        let mut bag = HashMap::new();
        for gram in symbols.windows(n) {
            *bag.entry(gram).or_default() += 1;
        }
        bag
    }

    fn plain_matches(candidate: &[u32], references: &[&[u32]], n: usize) -> usize {
        let references: Vec<_> = references.iter().map(|r| bag(r, n)).collect();
        let most = |gram| references.iter().filter_map(|r| r.get(gram)).max().copied();
        bag(candidate, n).into_iter().map(|(gram, count)| count.min(most(gram).unwrap_or(0))).sum()
    }

    fn symbols(largest: u32) -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(prop_oneof![0..4_u32, Just(largest)], 0..30)
    }

    proptest! {
        #[test]
        fn one_sort_counts_like_bags(
            candidate in symbols(0x10_ffff),
            a in symbols(0x10_ffff),
            b in symbols(0x10_ffff),
        ) {
            let references: [&[u32]; 2] = [&a, &b];
            let four = clipped_matches::<4>(&candidate, &references);
            let six = clipped_matches::<6>(&candidate, &references);
            for n in 1..=6 {
                let expected = plain_matches(&candidate, &references, n);
                prop_assert_eq!(six[n - 1], expected);
                if n <= 4 {
                    prop_assert_eq!(four[n - 1], expected);
                }
            }
        }
    }

    #[test]
    fn nothing_matches_nothing() {
        assert_eq!(clipped_matches::<2>(&[], &[]), [0, 0]);
        assert_eq!(clipped_matches::<2>(&[0, 0], &[&[]]), [0, 0]);
        assert_eq!(total(3, 4), 0);
        assert_eq!(total(4, 4), 1);
    }
}
