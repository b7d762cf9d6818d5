//! Commands, and what they print.

mod agree;
mod calibration;
mod compare;
mod flags;
mod gates;
mod help;
mod init;
mod inspect;
mod progress;
