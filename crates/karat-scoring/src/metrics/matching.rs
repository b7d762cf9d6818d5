//! Pairs of two lists: the most that can be made, and the most that keep the order.

/// The largest matching of two lists, as the partner of each left member.
///
/// Kuhn's algorithm: each left member searches a path of alternating edges to a free right member, so that an earlier choice is
/// taken back where another one allows more pairs. At most `left · left · right` tests.
///
/// ```
/// use karat_scoring::metrics::matching::largest_matching;
///
/// // Taking the first partner that fits would leave the second without one.
/// let fits = |left: usize, right: usize| left == 0 || right == 0;
/// assert_eq!(largest_matching(2, 2, fits), [Some(1), Some(0)]);
/// ```
#[must_use]
pub fn largest_matching(left: usize, right: usize, fits: impl Fn(usize, usize) -> bool) -> Vec<Option<usize>> {
    let edges: Vec<Vec<usize>> = (0..left).map(|at| (0..right).filter(|other| fits(at, *other)).collect()).collect();
    let mut search = PathSearch { edges, partner_of: vec![None; right] };
    for at in 0..left {
        search.augment(at);
    }
    let mut partners = vec![None; left];
    for (other, at) in search.partner_of.into_iter().enumerate() {
        if let Some(partner) = at.and_then(|at| partners.get_mut(at)) {
            *partner = Some(other);
        }
    }
    partners
}

struct PathSearch {
    /// Right members that fit each left one.
    edges: Vec<Vec<usize>>,
    /// The left member that holds each right one.
    partner_of: Vec<Option<usize>>,
}

impl PathSearch {
    /// Finds a partner for a left member. The path is searched breadth first, so that no list is too long for the stack.
    fn augment(&mut self, start: usize) {
        // The left member from which each right one was reached.
        let mut reached_from = vec![None; self.partner_of.len()];
        let mut open = vec![start];
        let mut at = 0;
        while let Some(&left) = open.get(at) {
            at += 1;
            for &right in &self.edges[left] {
                if reached_from[right].is_some() {
                    continue;
                }
                reached_from[right] = Some(left);
                match self.partner_of[right] {
                    Some(holder) => open.push(holder),
                    None => return self.flip(right, &reached_from),
                }
            }
        }
    }

    /// Gives each right member on the path to the left one that reached it.
    fn flip(&mut self, end: usize, reached_from: &[Option<usize>]) {
        let mut next = Some(end);
        while let Some(right) = next {
            let Some(left) = reached_from[right] else { return };
            next = self.partner_of.iter().position(|holder| *holder == Some(left));
            self.partner_of[right] = Some(left);
        }
    }
}

/// The longest common subsequence of two lists, as the partner of each left member; of several the one that takes the first
/// members.
#[must_use]
pub fn common_subsequence(left: usize, right: usize, fits: impl Fn(usize, usize) -> bool) -> Vec<Option<usize>> {
    let width = right + 1;
    let mut longest = vec![0_usize; (left + 1) * width];
    let fitting: Vec<bool> = (0..left * right).map(|cell| fits(cell / right, cell % right)).collect();
    for at in (0..left).rev() {
        for other in (0..right).rev() {
            let apart = longest[(at + 1) * width + other].max(longest[at * width + other + 1]);
            let together = longest[(at + 1) * width + other + 1] + 1;
            longest[at * width + other] = if fitting[at * right + other] { together.max(apart) } else { apart };
        }
    }
    let mut partners = vec![None; left];
    let (mut at, mut other) = (0, 0);
    while at < left && other < right {
        let here = longest[at * width + other];
        if fitting[at * right + other] && here == longest[(at + 1) * width + other + 1] + 1 {
            partners[at] = Some(other);
            (at, other) = (at + 1, other + 1);
        } else if here == longest[at * width + other + 1] {
            other += 1;
        } else {
            at += 1;
        }
    }
    partners
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The most pairs, by trying every choice.
    fn brute_matching(edges: &[Vec<bool>], at: usize, used: u32) -> usize {
        let Some(row) = edges.get(at) else { return 0 };
        let with = row.iter().enumerate().filter(|(other, fits)| **fits && used & (1 << other) == 0);
        let best = with.map(|(other, _)| 1 + brute_matching(edges, at + 1, used | 1 << other)).max();
        best.unwrap_or(0).max(brute_matching(edges, at + 1, used))
    }

    fn brute_subsequence(edges: &[Vec<bool>], at: usize, other: usize) -> usize {
        let Some(fits) = edges.get(at).and_then(|row| row.get(other)) else { return 0 };
        let apart = brute_subsequence(edges, at + 1, other).max(brute_subsequence(edges, at, other + 1));
        if *fits { apart.max(1 + brute_subsequence(edges, at + 1, other + 1)) } else { apart }
    }

    fn edges() -> impl Strategy<Value = Vec<Vec<bool>>> {
        (0_usize..6, 0_usize..6)
            .prop_flat_map(|(left, right)| prop::collection::vec(prop::collection::vec(any::<bool>(), right), left))
    }

    fn count(partners: &[Option<usize>]) -> usize {
        partners.iter().flatten().count()
    }

    proptest! {
        /// TG-30: the matching is as large as the best of all choices, uses each member once and only pairs that fit.
        #[test]
        fn matching_is_the_largest(edges in edges()) {
            let right = edges.first().map_or(0, Vec::len);
            let partners = largest_matching(edges.len(), right, |at, other| edges[at][other]);
            prop_assert_eq!(count(&partners), brute_matching(&edges, 0, 0));
            let mut taken: Vec<usize> = partners.iter().flatten().copied().collect();
            taken.sort_unstable();
            taken.dedup();
            prop_assert_eq!(taken.len(), count(&partners));
            prop_assert!(partners.iter().enumerate().all(|(at, other)| other.is_none_or(|other| edges[at][other])));
        }

        /// TG-30: the subsequence is as long as the best of all choices, in order, and only of pairs that fit.
        #[test]
        fn subsequence_is_the_longest(edges in edges()) {
            let right = edges.first().map_or(0, Vec::len);
            let partners = common_subsequence(edges.len(), right, |at, other| edges[at][other]);
            prop_assert_eq!(count(&partners), brute_subsequence(&edges, 0, 0));
            let taken: Vec<usize> = partners.iter().flatten().copied().collect();
            prop_assert!(taken.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(partners.iter().enumerate().all(|(at, other)| other.is_none_or(|other| edges[at][other])));
        }
    }
}
