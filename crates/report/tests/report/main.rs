//! Tests of the report, all on evidence made by hand.

mod browser;
mod chromium;
mod comparison;
mod evidence;
mod gate;
mod html;
mod json;
mod text;
