//! The tests that take minutes.

pub fn is_slow() -> bool {
    std::env::var("ETALON_SLOW").is_ok_and(|value| value == "1")
}
