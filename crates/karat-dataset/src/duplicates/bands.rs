//! Bands of signatures: two texts whose signatures agree in all places of one band are candidates.
//!
//! Memory holds three 32-bit numbers for each text and band. Signatures are not kept: candidates are verified by their
//! shingles, so that a collision of keys costs a comparison and nothing else.

use super::minhash::{PERMUTATIONS, Signature};
use crate::hash::{join, mix};

/// Probability with which candidates at the cut may be missed.
const MISSED: f64 = 1e-3;

/// The number of bands, and of places in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Banding {
    pub bands: usize,
    pub places: usize,
}

impl Banding {
    /// The widest bands that miss texts of this similarity with a probability below [`MISSED`]: 32 × 4 at 0.8, 64 × 2 at
    /// 0.5.
    pub fn of_cut(cut: f64) -> Self {
        let missed = |places: i32| (1.0 - cut.powi(places)).powi(PERMUTATIONS as i32 / places);
        let places = [8, 4, 2].into_iter().find(|places| missed(*places) < MISSED).unwrap_or(1);
        Self { bands: PERMUTATIONS / places as usize, places: places as usize }
    }

    /// The key of each band; `form` tells kinds of shingles apart.
    pub fn keys(self, signature: &Signature, form: u64) -> impl Iterator<Item = u32> {
        let bands = signature.chunks_exact(self.places).enumerate();
        bands.map(move |(band, places)| {
            let seed = join(form, band as u64);
            (mix(places.iter().fold(seed, |hash, place| join(hash, u64::from(*place)))) >> 32) as u32
        })
    }
}

/// The keys of all texts, ready to look candidates up.
#[derive(Debug)]
pub(crate) struct Buckets {
    bands: Vec<Band>,
}

#[derive(Debug)]
struct Band {
    /// The key of each entry.
    keys: Vec<u32>,
    /// The entries by key; those of one key by rank.
    order: Vec<u32>,
    /// The position of each entry in `order`.
    place: Vec<u32>,
}

impl Buckets {
    /// Sorts the keys. `rank` is the order in which entries are looked at.
    pub fn new(keys: Vec<Vec<u32>>, rank: &[u32]) -> Self {
        let band = |keys: Vec<u32>| {
            let mut order: Vec<u32> = (0..keys.len() as u32).collect();
            order.sort_unstable_by_key(|entry| (keys[*entry as usize], rank[*entry as usize]));
            let mut place = vec![0; keys.len()];
            for (at, entry) in order.iter().enumerate() {
                place[*entry as usize] = at as u32;
            }
            Band { keys, order, place }
        };
        Self { bands: keys.into_iter().map(band).collect() }
    }

    /// Returns whether an entry shares a bucket with another one.
    pub fn has_company(&self, entry: u32) -> bool {
        self.bands.iter().any(|band| {
            let at = band.place[entry as usize] as usize;
            let same = |neighbour: Option<&u32>| neighbour.is_some_and(|it| band.key(*it) == band.key(entry));
            same(at.checked_sub(1).and_then(|at| band.order.get(at))) || same(band.order.get(at + 1))
        })
    }

    /// Calls `found` with the entries of lower rank in each bucket of an entry, nearest first, at most `limit` a bucket.
    /// Returns whether there were more.
    pub fn earlier(&self, entry: u32, limit: usize, found: &mut dyn FnMut(u32)) -> bool {
        let mut has_more = false;
        for band in &self.bands {
            let (key, at) = (band.key(entry), band.place[entry as usize] as usize);
            let mut bucket = band.order[..at].iter().rev().take_while(|it| band.key(**it) == key);
            bucket.by_ref().take(limit).for_each(|it| found(*it));
            has_more |= bucket.next().is_some();
        }
        has_more
    }
}

impl Band {
    fn key(&self, entry: u32) -> u32 {
        self.keys[entry as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BC-03: the bands follow from the cut.
    #[test]
    fn bands_follow_the_cut() {
        assert_eq!(Banding::of_cut(0.8), Banding { bands: 32, places: 4 });
        assert_eq!(Banding::of_cut(0.5), Banding { bands: 64, places: 2 });
        assert_eq!(Banding::of_cut(0.1), Banding { bands: 128, places: 1 });
        assert_eq!(Banding::of_cut(1.0), Banding { bands: 16, places: 8 });
    }

    #[test]
    fn a_bucket_holds_the_entries_of_one_key() {
        let buckets = Buckets::new(vec![vec![7, 9, 7, 7], vec![1, 2, 3, 4]], &[0, 1, 2, 3]);
        let mut found = Vec::new();
        assert!(!buckets.earlier(3, 10, &mut |it| found.push(it)));
        assert_eq!(found, [2, 0]);
        assert!(buckets.earlier(3, 1, &mut |_| {}));
        assert!(buckets.has_company(0) && !buckets.has_company(1));
    }
}
