//! Charts as pictures.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use crate::error::CliError;

/// Pixels per unit: sharp on dense screens and on paper.
const SCALE: f32 = 2.0;

pub struct Painter {
    options: Options<'static>,
}

impl Painter {
    pub fn new() -> Result<Painter, CliError> {
        let mut options = Options::default();
        options.fontdb_mut().load_system_fonts();
        if options.fontdb.is_empty() {
            return Err(CliError::could_not("cannot draw the labels: this machine has no fonts")
                .hint("install some, as in `apt install fonts-dejavu-core`, or write `--format svg`"));
        }
        // Replaces families that are missing.
        let any = options.fontdb.faces().find_map(|face| face.families.first().map(|(name, _)| name.clone()));
        if let Some(family) = any {
            options.fontdb_mut().set_sans_serif_family(family.clone());
            options.font_family = family;
        }
        Ok(Painter { options })
    }

    pub fn draw(&self, svg: &str) -> Result<Vec<u8>, CliError> {
        let failed = |what: &str| CliError::could_not(format!("cannot draw a chart: {what}"));
        let tree = Tree::from_str(svg, &self.options).map_err(|error| failed(&error.to_string()))?;
        let size = tree.size();
        let pixels = |length: f32| (length * SCALE).ceil() as u32;
        let mut picture =
            Pixmap::new(pixels(size.width()), pixels(size.height())).ok_or_else(|| failed("it has no size"))?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut picture.as_mut());
        picture.encode_png().map_err(|error| failed(&error.to_string()))
    }
}
