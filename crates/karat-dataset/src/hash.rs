//! A seeded 64-bit hash: the same on every platform and version, so that a draw or a cluster can be made again.

/// The finaliser of SplitMix64: a bijection in which every input bit reaches every output bit.
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The hash of bytes.
pub(crate) fn hash_bytes(seed: u64, bytes: &[u8]) -> u64 {
    let mut hash = mix(seed ^ bytes.len() as u64);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = join(hash, u64::from_le_bytes(word));
    }
    mix(hash)
}

/// The hash of a sequence from that of its beginning and its next element. The order counts.
pub(crate) fn join(hash: u64, next: u64) -> u64 {
    let product = (hash ^ next).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (product ^ (product >> 32)).rotate_left(17)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_order_count() {
        assert_ne!(hash_bytes(1, b"a"), hash_bytes(1, b"a\0"));
        assert_ne!(hash_bytes(1, b"a"), hash_bytes(2, b"a"));
        assert_ne!(join(join(0, 1), 2), join(join(0, 2), 1));
    }
}
