#![no_main]

use libfuzzer_sys::fuzz_target;

// Decoders of Parquet and Arrow panic on damaged files, which the product contains: only a panic that reaches the target
// counts, and libFuzzer's hook would end the process before.
fuzz_target!(init: karat_fuzz::files::rows::allow_contained_panics(), |data: &[u8]| karat_fuzz::files::rows::run(data));
