//! Shards: parts of a plan that run apart from each other and are merged to one run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One of `count` parts of a plan's samples, numbered from 1.
///
/// A sample belongs to the shard that the hash of its cluster names, or that of its id if it has none: so a cluster stays
/// together, and a sample that is added moves no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Shard {
    number: u32,
    count: u32,
}

/// The largest number of shards of a run.
const MOST: u32 = 10_000;

/// The text is not the name of a shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a shard: write M/N, the number of the shard and the number of all, such as 1/4; M is 1 to N, N up to {MOST}"
)]
pub struct ParseShardError(pub String);

impl Shard {
    /// The shard with a number, from 1 to `count`; `None` if there is none.
    pub fn new(number: u32, count: u32) -> Option<Self> {
        (number >= 1 && number <= count && count <= MOST).then_some(Self { number, count })
    }

    /// Its number, from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// The number of all shards.
    pub fn count(self) -> u32 {
        self.count
    }

    /// Returns true if a sample belongs to the shard.
    pub fn holds(self, id: &str, cluster: Option<&str>) -> bool {
        let hash = blake3::hash(cluster.unwrap_or(id).as_bytes());
        let first = hash.as_bytes().first_chunk().copied().map_or(0, u64::from_le_bytes);
        first % u64::from(self.count) == u64::from(self.number - 1)
    }

    /// The part of a limit of all shards that one of them gets: rounded down, at least 1.
    pub fn share(self, limit: u64) -> u64 {
        (limit / u64::from(self.count)).max(1)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = ParseShardError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten();
        let shard = text.split_once('/').and_then(|(number, count)| Self::new(digits(number)?, digits(count)?));
        shard.ok_or_else(|| ParseShardError(text.chars().take(40).collect()))
    }
}

impl TryFrom<String> for Shard {
    type Error = ParseShardError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

/// The part of a plan that a run is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardRows {
    /// The shard.
    pub shard: Shard,
    /// Number of its rows.
    pub rows: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SC-01: a shard is written M/N with M from 1 to N; everything else is refused with the form.
    #[test]
    fn a_shard_is_a_number_of_a_number() {
        for (text, number, count) in [("1/4", 1, 4), ("4/4", 4, 4), ("1/1", 1, 1), ("007/10", 7, 10)] {
            let shard: Shard = text.parse().unwrap();
            assert_eq!((shard.number(), shard.count()), (number, count), "{text}");
        }
        for text in
            ["0/4", "5/4", "a/b", "", "/", "1", "1/0", "0/0", "-1/4", "+1/4", "1/4/2", " 1/4", "1/10001", "1 /4"]
        {
            let message = text.parse::<Shard>().unwrap_err().to_string();
            assert!(message.contains("M/N"), "{text}: {message}");
        }
        let shard = Shard::new(3, 8).unwrap();
        let json = serde_json::to_string(&shard).unwrap();
        assert_eq!((json.as_str(), serde_json::from_str::<Shard>(&json).unwrap()), ("\"3/8\"", shard));
        assert!(serde_json::from_str::<Shard>("\"9/8\"").is_err());
    }

    /// SC-01: each sample is in one shard, with its cluster; the assignment is fixed, since stored shards depend on it.
    #[test]
    fn each_sample_is_in_one_shard() {
        for count in [1, 2, 3, 7, 64] {
            let shards: Vec<Shard> = (1..=count).map(|number| Shard::new(number, count).unwrap()).collect();
            for row in 0..500 {
                let (id, cluster) = (format!("s{row}"), format!("c{}", row / 5));
                assert_eq!(shards.iter().filter(|shard| shard.holds(&id, None)).count(), 1, "{id} of {count}");
                let of_cluster: Vec<_> = shards.iter().filter(|shard| shard.holds(&id, Some(&cluster))).collect();
                let of_first: Vec<_> = shards.iter().filter(|shard| shard.holds("other", Some(&cluster))).collect();
                assert_eq!((of_cluster.len(), &of_cluster), (1, &of_first), "{cluster} of {count}");
            }
        }
        let first = Shard::new(1, 4).unwrap();
        let held: Vec<u32> = (0..20).filter(|row| first.holds(&format!("s{row}"), None)).collect();
        let spread: Vec<usize> = (1..=4)
            .map(|number| {
                let shard = Shard::new(number, 4).unwrap();
                (0..4_000).filter(|row| shard.holds(&format!("s{row}"), None)).count()
            })
            .collect();
        assert!(spread.iter().all(|count| (900..1_100).contains(count)), "{spread:?}");
        assert_eq!(held, [1, 8, 14]);
    }

    /// SC-01: limits of the suite are divided, rounded down, and stay at least 1.
    #[test]
    fn limits_are_divided() {
        let shard = Shard::new(2, 4).unwrap();
        assert_eq!([0, 1, 4, 7, 8, 100].map(|limit| shard.share(limit)), [1, 1, 1, 1, 2, 25]);
    }
}
