//! An hour of the service in fast motion: the short form of `cargo xtask soak service`.

use std::time::Duration;

use testkit::Soak;

/// SV-07, SV-12, SV-13, SV-15, SV-18, SV-21, BY-04: in an hour with kills, a provider and a receiver that fail, a full disk
/// and a clock that jumps, no due time is lost, nothing is paid twice, each incident is told under one id, and reports are
/// those of undisturbed runs. `KARAT_TEST_SEED` chooses other faults.
#[test]
fn an_hour_of_faults_loses_nothing() {
    let seed = std::env::var("KARAT_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let program = env!("CARGO_BIN_EXE_karat").into();
    let soak = Soak { program, hours: 1, seed, step: Duration::from_millis(1_300), compared: 8 };
    let summary = soak.run().unwrap();
    eprintln!("{summary}");
    assert!(summary.is_kept(), "{summary}");
}
