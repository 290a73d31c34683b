//! `volume = { … }` of a system: a volume that étalon makes in an image file.

use super::VolumePlan;
use super::error::Problems;
use super::section::Section;
use super::tree::{Data, Node};

pub(super) const VOLUME_KEYS: [&str; 5] = ["image", "size", "fs", "block", "cluster"];
pub(super) const FILESYSTEMS: [(&str, &str); 2] = [("ext4", "ext4"), ("xfs", "xfs")];
/// Leads to the engine of a system that is a volume.
pub(super) const VOLUME_URL: &str = "disk:";
pub(super) const SIZE_PATTERN: &str = r"^[0-9]+ ?([KMGT](iB)?)?$";

const SMALLEST_BLOCK: u64 = 1 << 10;
const LARGEST_BLOCK: u64 = 1 << 16;
const LARGEST_CLUSTER: u64 = 1 << 24;

/// Reads the volume of a system; wrong or missing keys are reported.
pub(super) fn read_volume(system: &Section<'_>, node: &Node, problems: &mut Problems<'_>) -> Option<VolumePlan> {
    let example =
        || Some("write `volume = { image = \"…\", size = \"2G\", fs = \"ext4\", cluster = 65536 }`".to_owned());
    let Data::Table(entries) = &node.data else {
        return system.refuse("volume", node, "a table", example(), problems);
    };
    let section = Section { place: format!("`volume` of {}", system.place), entries };
    section.refuse_unknown(&VOLUME_KEYS, |_| None, problems);
    for key in ["image", "size"] {
        if section.get(key).is_none() {
            problems.add(&node.at, format!("{} has no `{key}`", section.place), example());
        }
    }
    let image = section.text("image", problems);
    let size_bytes = section.get("size").and_then(|node| read_size_bytes(&section, node, problems));
    let fs = section.choice("fs", &FILESYSTEMS, problems).unwrap_or("ext4");
    let block = read_power_of_two(&section, "block", SMALLEST_BLOCK, LARGEST_BLOCK, problems).unwrap_or(4096);
    let cluster = read_power_of_two(&section, "cluster", block, LARGEST_CLUSTER, problems).unwrap_or(block);
    Some(VolumePlan {
        image: image?.value,
        size_bytes: size_bytes?,
        fs: fs.to_owned(),
        block_bytes: block as u32,
        cluster_bytes: cluster as u32,
    })
}

/// Reads a power of two within limits, both inclusive; another value is reported.
fn read_power_of_two(section: &Section<'_>, key: &str, min: u64, max: u64, problems: &mut Problems<'_>) -> Option<u64> {
    let node = section.get(key)?;
    let value = if let Data::Int(n) = node.data { u64::try_from(n).ok() } else { None };
    let expected = format!("a power of two from {min} to {max}");
    value
        .filter(|n| n.is_power_of_two() && (min..=max).contains(n))
        .or_else(|| section.refuse(key, node, &expected, None, problems))
}

/// Reads a size in bytes, or as a text such as `2G` or `512 MiB`, both in powers of 1024.
fn read_size_bytes(section: &Section<'_>, node: &Node, problems: &mut Problems<'_>) -> Option<u64> {
    let value = match &node.data {
        Data::Int(n) => u64::try_from(*n).ok(),
        Data::Text(text) => parse_size(text),
        _ => None,
    };
    let expected = "a size such as \"2G\" or \"512 MiB\"";
    value.filter(|bytes| *bytes > 0).or_else(|| section.refuse("size", node, expected, None, problems))
}

/// Parses a size such as `2G` or `512 MiB` into bytes.
fn parse_size(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim() {
        "" => 0,
        "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        "T" | "TiB" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(parse_size("4096"), Some(4096));
        assert_eq!(parse_size("2G"), Some(2 << 30));
        assert_eq!(parse_size("512 MiB"), Some(512 << 20));
        for wrong in ["", "G", "2 GB", "2.5G", "-1", "5iB", "2GiBiB", "99999999999999T"] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
    }
}
