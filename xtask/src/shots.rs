//! `cargo xtask shots`: what a report looks like, for whoever judges it: light, dark, on a phone,
//! and printed.
//!
//! Chromium's own `--screenshot` cuts at the window's height, so this speaks the DevTools protocol
//! (<https://chromedevtools.github.io/devtools-protocol/>), which also tells whether the page
//! reported errors and whether it is wider than the screen.

mod browser;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine;
use serde_json::{Value, json};

use browser::Browser;

/// Taller pictures come out empty: the largest texture of Chromium's software renderer.
const MAX_HEIGHT_PX: f64 = 16_000.0;

/// One picture.
struct Shot {
    file: &'static str,
    width_px: u32,
    /// The value of `prefers-color-scheme`.
    scheme: &'static str,
    /// Whether the page is laid out as on a telephone: its viewport element counts.
    mobile: bool,
}

const SHOTS: [Shot; 4] = [
    Shot { file: "light.png", width_px: 1280, scheme: "light", mobile: false },
    Shot { file: "dark.png", width_px: 1280, scheme: "dark", mobile: false },
    Shot { file: "phone.png", width_px: 390, scheme: "light", mobile: true },
    Shot { file: "phone-dark.png", width_px: 390, scheme: "dark", mobile: true },
];

/// Writes the pictures of `report` into `output`. False if the page has errors or is too wide.
///
/// # Errors
///
/// When there is no Chromium, it does not answer, or a file cannot be written.
pub fn run(report: &Path, output: &Path) -> Result<bool> {
    let report = fs::canonicalize(report).with_context(|| report.display().to_string())?;
    fs::create_dir_all(output).with_context(|| output.display().to_string())?;
    let url = file_url(&report.to_string_lossy());
    let mut browser = Browser::start()?;
    let mut is_good = true;
    for shot in &SHOTS {
        is_good &= picture(&mut browser, &url, shot, output)?;
    }
    let printed = browser.call("Page.printToPDF", json!({"printBackground": true, "preferCSSPageSize": true}))?;
    write(output, "print.pdf", &printed)?;
    let mut problems = browser.problems();
    problems.sort();
    problems.dedup();
    for problem in problems {
        eprintln!("{}: {problem}", report.display());
        is_good = false;
    }
    Ok(is_good)
}

fn picture(browser: &mut Browser, url: &str, shot: &Shot, output: &Path) -> Result<bool> {
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        json!({"width": shot.width_px, "height": 900, "deviceScaleFactor": 1, "mobile": shot.mobile}),
    )?;
    browser.call(
        "Emulation.setEmulatedMedia",
        json!({"features": [{"name": "prefers-color-scheme", "value": shot.scheme}]}),
    )?;
    browser.open(url)?;
    let metrics = browser.call("Page.getLayoutMetrics", json!({}))?;
    let size = |name: &str| metrics["cssContentSize"][name].as_f64().unwrap_or(0.0);
    let (width_px, height_px) = (size("width"), size("height"));
    let picture = browser.call(
        "Page.captureScreenshot",
        json!({
            "format": "png",
            "captureBeyondViewport": true,
            "clip": {
                "x": 0, "y": 0, "scale": 1,
                "width": width_px, "height": height_px.min(MAX_HEIGHT_PX),
            },
        }),
    )?;
    write(output, shot.file, &picture)?;
    if height_px > MAX_HEIGHT_PX {
        eprintln!("{}: cut at {MAX_HEIGHT_PX} of {height_px} px", shot.file);
    }
    let fits = width_px <= f64::from(shot.width_px);
    if !fits {
        eprintln!("{}: the page is {width_px} px wide, the screen {} px", shot.file, shot.width_px);
    }
    Ok(fits)
}

fn write(output: &Path, file: &str, answer: &Value) -> Result<()> {
    let text = answer["data"].as_str().context("Chromium sent no data")?;
    let bytes = base64::engine::general_purpose::STANDARD.decode(text)?;
    let path = output.join(file);
    fs::write(&path, bytes).with_context(|| path.display().to_string())?;
    eprintln!("{}", path.display());
    Ok(())
}

/// The `file:` URL of an absolute path, of either kind of platform.
fn file_url(path: &str) -> String {
    let path = path.trim_start_matches(r"\\?\").replace('\\', "/");
    let mut url = "file://".to_owned();
    if !path.starts_with('/') {
        url.push('/');
    }
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => url.push(byte.into()),
            b'/' | b'-' | b'.' | b'_' | b'~' | b':' => url.push(byte.into()),
            _ => url += &format!("%{byte:02X}"),
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_url() {
        assert_eq!(file_url("/tmp/a b#1.html"), "file:///tmp/a%20b%231.html");
        assert_eq!(file_url(r"\\?\C:\x\é.html"), "file:///C:/x/%C3%A9.html");
    }
}
