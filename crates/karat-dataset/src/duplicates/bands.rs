//! Bands of signatures: two texts whose signatures agree in all places of one band are candidates.
//!
//! Memory holds a 32-bit number for each text and band. Signatures are not kept: candidates are verified by their shingles, so
//! that a collision of keys costs a comparison and nothing else.

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

    /// The number of bands without a shared bucket from which on texts at the cut are ruled out, up to [`MISSED`].
    pub fn bands_needed(self, cut: f64) -> usize {
        let shared = cut.powi(self.places as i32);
        (0..self.bands).find(|looked| (1.0 - shared).powi(*looked as i32) < MISSED).unwrap_or(self.bands)
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

/// The entries of one band by their keys, those of one key in order.
#[derive(Debug)]
pub(crate) struct Buckets {
    /// Key and entry, the key in the upper half, sorted.
    sorted: Vec<u64>,
}

impl Buckets {
    /// Sorts the keys of the entries of a band.
    pub fn new(keys: &[u32]) -> Self {
        let entries = (0_u64..).zip(keys);
        let mut sorted: Vec<u64> = entries.map(|(entry, key)| u64::from(*key) << 32 | entry).collect();
        sorted.sort_unstable();
        Self { sorted }
    }

    /// Calls `found` with the entries of each bucket that holds more than one.
    pub fn for_each(&self, found: &mut dyn FnMut(&[u32])) {
        let mut entries = Vec::new();
        let buckets = self.sorted.chunk_by(|one, other| one >> 32 == other >> 32);
        for bucket in buckets.filter(|bucket| bucket.len() > 1) {
            entries.clear();
            entries.extend(bucket.iter().map(|it| *it as u32));
            found(&entries);
        }
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
        assert_eq!(Banding::of_cut(0.8).bands_needed(0.8), 14);
    }

    #[test]
    fn a_bucket_holds_the_entries_of_one_key() {
        let mut buckets = Vec::new();
        Buckets::new(&[7, 9, 7, 3, 7, 3]).for_each(&mut |entries| buckets.push(entries.to_vec()));
        assert_eq!(buckets, [vec![3, 5], vec![0, 2, 4]]);
    }
}
