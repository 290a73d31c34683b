//! Bandwidths of fio's text, and the size of an I/O that they show.

use super::Direct;
use crate::size;
use crate::text::leading_number;

/// Parses a bandwidth in bytes a second: `98.3MiB/s (103MB/s)(5898MiB/60002msec)`.
/// Also `103MB/s (98.3MiB/s)…` (`--kb_base=1000`), bits (`--unit_base=1`), and fio 2, whose KB are KiB: it prints one
/// form alone.
pub fn bandwidth_bytes_s(text: &str) -> Option<f64> {
    let end = text.find([',', ')']).unwrap_or(text.len());
    let mut forms = text[..end].split('(');
    let is_version_3 = text.contains("iB") || text.contains("ibit");
    let binary = forms.clone().find_map(|form| if is_binary(form) { parse_bytes(form, 1024.0) } else { None });
    binary.or_else(|| parse_bytes(forms.next()?, if is_version_3 { 1000.0 } else { 1024.0 }))
}

/// Whether a form's unit has its prefix as `Ki`, `Mi`.
fn is_binary(form: &str) -> bool {
    leading_number(form.trim_start())
        .is_some_and(|(_, unit)| unit.as_bytes().get(1) == Some(&b'i') && !unit.starts_with('b'))
}

/// Parses a number with a unit of bytes or bits, in bytes.
fn parse_bytes(form: &str, thousand: f64) -> Option<f64> {
    let (figure, unit) = leading_number(form.trim_start())?;
    let power = ["k", "m", "g", "t", "p"].iter().position(|prefix| unit.to_ascii_lowercase().starts_with(prefix));
    let rest = if power.is_some() { unit[1..].trim_start_matches('i') } else { unit };
    let bytes = if rest.starts_with('b') { figure / 8.0 } else { figure };
    Some(power.map_or(bytes, |power| bytes * thousand.powi(power as i32 + 1)))
}

/// Computes the mean bytes of an I/O, rounded to 4, 5, 6 or 7 times a power of two: rates of few digits tell no more.
/// Below 8 I/Os a second, of which fio prints whole ones, it is rounded to a power of two.
pub fn mean_block_size(direct: &Direct) -> Option<String> {
    let (bytes, iops) = (direct.bytes_per_s?, direct.iops?);
    // What stands behind the point is cut off: in the middle, by ratio, between this and the next whole number.
    let mean = bytes / (iops.floor() * (iops.floor() + 1.0)).sqrt();
    if !(1.0..1e12).contains(&mean) {
        return None;
    }
    let step = if iops < 8.0 { mean.log2().round().exp2() } else { (mean.log2().floor() - 2.0).exp2() };
    size::canonical_size(&((mean / step).round() * step).round().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_is_read_in_each_of_its_forms() {
        let mib = 1_048_576.0;
        for (text, bytes) in [
            ("98.3MiB/s (103MB/s)(5898MiB/60002msec)", 98.3 * mib),
            ("103MB/s (98.3MiB/s)(5898MiB/60002msec)", 98.3 * mib),
            ("103MB/s (98.3MiB/s)(6184MB/60002msec)", 98.3 * mib),
            ("103MB/s, io=6184MiB", 103e6),
            ("512B/s (512B/s)(30.0KiB/60002msec)", 512.0),
            ("1023.3KB/s, iops=170 , runt=318686msec", 1023.3 * 1024.0),
            ("800Mibit/s (839Mbit/s)(5898MiB/60002msec)", 100.0 * mib),
            ("839Mbit/s (800Mibit/s)(5898MiB/60002msec)", 100.0 * mib),
            ("800Mib/s (839Mb/s)(5898MiB/60002msec)", 100.0 * mib),
            ("8000bit/s (8000bit/s)(58.6KiB/60002msec)", 1000.0),
            ("8.0Mbit/s, iops=256 , runt=60002msec", mib),
            ("2.5GiB/s (2684MB/s)(150GiB/60002msec)", 2560.0 * mib),
        ] {
            assert_eq!(bandwidth_bytes_s(text), Some(bytes), "{text}");
        }
        assert_eq!(bandwidth_bytes_s("none"), None);
    }

    fn of(bytes: f64, iops: f64) -> Option<String> {
        mean_block_size(&Direct { bytes_per_s: Some(bytes), iops: Some(iops), ..Direct::default() })
    }

    #[test]
    fn mean_block_size_stands_still_where_rates_are_rounded() {
        let kib = 1024.0;
        for iops in [1.1, 2.9, 7.9, 8.0, 9.9, 100.0, 2560.7, 1e6] {
            for (size, text) in [(4.0, "4k"), (64.0, "64k"), (1024.0, "1m")] {
                assert_eq!(of(size * kib * iops, iops.floor()).as_deref(), Some(text), "{size} KiB at {iops}");
            }
        }
        assert_eq!(of(12.1 * kib * 1e3, 1e3).as_deref(), Some("12k"));
        assert_eq!((of(0.0, 10.0), of(1e300, 1.0), of(f64::NAN, 1.0)), (None, None, None));
    }
}
