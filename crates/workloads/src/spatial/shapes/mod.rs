//! Shapes of a file, such as the countries of Natural Earth, in the tables of the suite.
//!
//! They are rounded to whole numbers, so answers are exact, as with the generated country.
//! - **Shapes** are all polygons with an area; a country of many islands is many of them.
//! - **Cells** are those that are valid and overlap no earlier one.
//! - **Departments** are sixteen squares; a cell belongs to the one with its first corner.
//! - **Roads** are the file's lines, or else the borders of the cells.
//! - **Points** are the file's, or else generated.

mod file;
mod planar;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use model::Facts;

use self::file::Features;
use self::planar::{BoundingBox, Contact, Polygon, ShapeFlaw, SpatialRelation, doubled, tidy_ring};
use super::data::{CLASSES, Country};
use super::dialect;
use super::exact::{
    Fixed, PlaneSide, Pt, convex_hull, distance_squared, is_simple, path_length, segments_of, share_a_stretch,
    twice_area,
};
use super::land::{Answers, LandTable, SpatialData};
use super::oracle::{FEW_ROADS, PROBES, centroid, count_and_checksum, expected_half, is_near};
use super::query::{Expected, Query};

/// Departments along one side.
const DEPARTMENTS: i64 = 4;

pub(super) struct Shapes {
    name: String,
    checksum: u32,
    features: Features,
    points: Vec<Pt>,
    /// Made when first needed: `etalon plan` does not need it.
    map: OnceLock<Map>,
}

struct Map {
    shapes: Vec<Vec<Vec<Pt>>>,
    /// The numbers, from 1, of the shapes that are not valid.
    invalid: Vec<i64>,
    cells: Vec<Polygon>,
    /// Indices of two touching cells, the lower first.
    contacts: Vec<(usize, usize, Contact)>,
    roads: Vec<Vec<Pt>>,
    left_out: LeftOut,
}

/// What the file holds and some tables do not.
#[derive(Default)]
struct LeftOut {
    /// Polygons without an area.
    flat: usize,
    /// Polygons whose rings touch.
    touching: usize,
    /// Polygons that overlap an earlier one, in no table but that of the shapes.
    overlapping: usize,
    /// Lines without a length, or that lie on themselves.
    lines: usize,
}

impl Shapes {
    /// Reads the shapes of a file's text; `drawn` supplies the points if the file has none.
    pub(super) fn read(name: &str, text: &str, object: Option<&str>, drawn: &Country) -> Result<Shapes, String> {
        let features = file::read_features(text, object)?;
        let points = if features.points.is_empty() {
            let over =
                |p: Pt| Pt { x: p.x * features.width / drawn.extent(), y: p.y * features.height / drawn.extent() };
            (1..=drawn.point_count()).map(|id| over(drawn.point_at(id))).collect()
        } else {
            features.points.clone()
        };
        let mut checksum = flate2::Crc::new();
        checksum.update(text.as_bytes());
        Ok(Shapes { name: name.to_owned(), checksum: checksum.sum(), features, points, map: OnceLock::new() })
    }

    /// About how many bytes the tables of these shapes take.
    pub(super) fn size_bytes(&self) -> u64 {
        let corners: usize = self.features.polygons.iter().flatten().chain(&self.features.lines).map(Vec::len).sum();
        // Corners are in cells, in shapes and perhaps in roads.
        (corners * 48 + self.points.len() * 170 + self.features.polygons.len() * 600) as u64
    }

    /// The map of these shapes, made once.
    fn map(&self) -> &Map {
        self.map.get_or_init(|| Map::new(&self.features))
    }

    /// Number of a cell's department, from 1: the square with its first corner.
    fn department_of(&self, cell: &Polygon) -> i64 {
        let corner = cell.rings[0][0];
        corner.y * DEPARTMENTS / self.extent() * DEPARTMENTS + corner.x * DEPARTMENTS / self.extent() + 1
    }
}

impl SpatialData for Shapes {
    /// Side of the square that holds all shapes.
    fn extent(&self) -> i64 {
        self.features.width.max(self.features.height) + 1
    }

    /// Number of a table's rows: cells, roads, points or shapes.
    fn row_count(&self, table: LandTable) -> i64 {
        let map = self.map();
        let rows = match table {
            LandTable::Cell => map.cells.len(),
            LandTable::Road => map.roads.len(),
            LandTable::Point => self.points.len(),
            LandTable::Shape => map.shapes.len(),
        };
        rows as i64
    }

    /// Department of a cell or class of a road; `None` in the other tables.
    fn group_number(&self, table: LandTable, id: i64) -> Option<i64> {
        match table {
            LandTable::Cell => Some(self.department_of(&self.map().cells[id as usize - 1])),
            LandTable::Road => Some(road_class(id)),
            LandTable::Point | LandTable::Shape => None,
        }
    }

    /// Writes the geometry of a cell, a road, a point or a shape in Well-Known Text.
    fn write_geometry(&self, table: LandTable, id: i64, text: &mut String) {
        let (map, place) = (self.map(), id as usize - 1);
        match table {
            LandTable::Cell => dialect::write_polygon(&map.cells[place].rings, text),
            LandTable::Road => dialect::write_line(&map.roads[place], text),
            LandTable::Point => dialect::write_point(self.points[place], text),
            LandTable::Shape => dialect::write_polygon(&map.shapes[place], text),
        }
    }

    /// Computes the right answers to queries.
    fn answers(&self, queries: &[Query]) -> Answers {
        let expected = queries.iter().map(|query| self.answer_to(*query)).collect();
        let furthest = self.nearest_squared().into_iter().max().unwrap_or(0);
        Answers { expected, window: furthest.isqrt() + 1 }
    }

    /// Facts of the shapes: checksum, counts, what was left out, and the unit.
    fn data_facts(&self) -> Facts {
        let map = self.map();
        let mut facts = Facts::default();
        facts.record_identity(format!("shapes.{}.crc32", self.name), format!("{:08x}", self.checksum));
        let corners: usize = map.cells.iter().flat_map(|cell| &cell.rings).map(Vec::len).sum();
        for (what, count) in [
            ("cells", map.cells.len()),
            ("corners_of_cells", corners),
            ("roads", map.roads.len()),
            ("points", self.points.len()),
            ("invalid", map.invalid.len()),
            ("left_out.flat", map.left_out.flat),
            ("left_out.touching_rings", map.left_out.touching),
            ("left_out.overlapping", map.left_out.overlapping),
            ("left_out.lines", map.left_out.lines),
        ] {
            facts.record_identity(format!("shapes.{}.{what}", self.name), count.to_string());
        }
        facts.record_identity(format!("shapes.{}.units", self.name), self.features.units.to_string());
        facts
    }
}

/// Class of a road, from 1, by its number.
fn road_class(id: i64) -> i64 {
    id % CLASSES + 1
}

impl Map {
    /// Sorts the shapes of a file into valid and invalid ones, cells and roads, and finds which cells touch.
    fn new(features: &Features) -> Map {
        let (mut shapes, mut invalid, mut left_out) = (Vec::new(), Vec::new(), LeftOut::default());
        let (mut cells, mut contacts): (Vec<Polygon>, Vec<(usize, usize, Contact)>) = Default::default();
        for rings in &features.polygons {
            let rings: Vec<Vec<Pt>> = rings.iter().map(|ring| tidy_ring(ring)).collect();
            match Polygon::new(rings.clone()) {
                Err(ShapeFlaw::Flat) => left_out.flat += 1,
                Err(ShapeFlaw::Touching) => left_out.touching += 1,
                Err(ShapeFlaw::Invalid) => {
                    // A ring needs four points even in a text.
                    shapes.push(rings.into_iter().filter(|ring| ring.len() >= 4).collect());
                    invalid.push(shapes.len() as i64);
                }
                Ok(polygon) => {
                    shapes.push(polygon.rings.clone());
                    match touched_cells(&cells, &polygon) {
                        Some(touched) => {
                            contacts.extend(touched.into_iter().map(|(at, contact)| (at, cells.len(), contact)));
                            cells.push(polygon);
                        }
                        None => left_out.overlapping += 1,
                    }
                }
            }
        }
        let roads = if features.lines.is_empty() {
            cells.iter().map(|cell| cell.rings[0].clone()).collect()
        } else {
            features.lines.iter().filter_map(|line| tidy_line(line)).collect::<Vec<_>>()
        };
        left_out.lines = features.lines.len().saturating_sub(roads.len());
        Map { shapes, invalid, cells, contacts, roads, left_out }
    }
}

/// Lists the cells that a polygon touches, by index; `None` if it overlaps one.
fn touched_cells(cells: &[Polygon], polygon: &Polygon) -> Option<Vec<(usize, Contact)>> {
    let mut touched = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        match cell.relation_to(polygon) {
            SpatialRelation::Apart => {}
            SpatialRelation::Touch(contact) => touched.push((at, contact)),
            SpatialRelation::Overlap => return None,
        }
    }
    Some(touched)
}

/// Drops a line's repeated points; `None` if it has no length or lies on itself.
///
/// SQL Server takes such a line for invalid, and its length depends on whether it is taken for a set of points.
fn tidy_line(line: &[Pt]) -> Option<Vec<Pt>> {
    let mut line = line.to_vec();
    line.dedup();
    let all: Vec<_> = segments_of(&line).collect();
    let mut pairs =
        all.iter().enumerate().flat_map(|(index, one)| all[index + 1..].iter().map(move |other| (one, other)));
    (line.len() >= 2 && (is_simple(&line) || !pairs.any(|(one, other)| share_a_stretch(*one, *other)))).then_some(line)
}

impl Shapes {
    /// Computes the right answer to a query.
    fn answer_to(&self, query: Query) -> Vec<Expected> {
        let map = self.map();
        let touching = || map.contacts.iter().map(|(a, b, contact)| (*a as i64 + 1, *b as i64 + 1, contact));
        match query {
            Query::Validity => self.validity(),
            Query::LargestCell => {
                let (twice, id) = map
                    .cells
                    .iter()
                    .map(Polygon::twice_area)
                    .zip(1_i64..)
                    .map(|(twice, id)| (twice, -id))
                    .max()
                    .unwrap_or_default();
                vec![Expected::exact("cell", i128::from(-id)), expected_half("area", twice)]
            }
            Query::RoadLengths => self.road_lengths(),
            Query::PointsInCells => self.points_in_cells(),
            Query::TouchingCells => count_and_checksum(touching().map(|(a, b, _)| (a, b))),
            Query::RoadsCrossCells => {
                count_and_checksum(self.crossed_cells().into_iter().map(|(road, cell)| (road + 1, cell + 1)))
            }
            Query::ClippedRoads => {
                vec![Expected::near_real(
                    "length",
                    self.crossed_cells()
                        .into_iter()
                        .map(|(road, cell)| -> f64 {
                            segments_of(&map.roads[road as usize])
                                .map(|s| map.cells[cell as usize].clipped_length(s))
                                .sum()
                        })
                        .sum(),
                )]
            }
            Query::Departments => self.dissolved_departments(),
            // Never asked: `Query::is_known_of_shapes`.
            Query::Buffers => Vec::new(),
            Query::Nearest => {
                let found = self.nearest_squared();
                let sum: Fixed = found.iter().map(|square| Fixed::square_root(*square)).sum();
                vec![Expected::exact("points", found.len() as i128), Expected::near("sum of distances", sum)]
            }
            Query::NearRoads => self.points_near_roads(),
            Query::Hulls => self.hull_areas(),
            Query::Differences => {
                vec![expected_half(
                    "area",
                    self.twice_hull_area() - map.cells.iter().map(Polygon::twice_area).sum::<i128>(),
                )]
            }
            Query::Relations => {
                // FF2F11212: an edge in common, and each has border of its own.
                let edges = touching()
                    .filter(|(.., contact)| contact.shared > Fixed::default() && contact.free == (true, true));
                count_and_checksum(edges.map(|(a, b, _)| (a, b)))
            }
            Query::Text => vec![
                Expected::exact("cells", map.cells.len() as i128),
                expected_half("area", map.cells.iter().map(Polygon::twice_area).sum()),
            ],
        }
    }

    /// Answers S1: shapes that are no valid polygons, roads that touch themselves.
    fn validity(&self) -> Vec<Expected> {
        let map = self.map();
        let touching: Vec<i64> =
            map.roads.iter().zip(1..).filter(|(road, _)| !is_simple(road)).map(|(_, id)| id).collect();
        vec![
            Expected::exact("invalid shapes", map.invalid.len() as i128),
            Expected::exact("sum of their numbers", sum_of_ids(&map.invalid)),
            Expected::exact("roads that touch themselves", touching.len() as i128),
            Expected::exact("sum of their numbers", sum_of_ids(&touching)),
        ]
    }

    /// Answers S3: number and length of the roads of each class.
    fn road_lengths(&self) -> Vec<Expected> {
        let mut classes: BTreeMap<i64, (i128, Fixed)> = BTreeMap::new();
        for (road, id) in self.map().roads.iter().zip(1..) {
            let (count, sum) = classes.entry(road_class(id)).or_default();
            *count += 1;
            *sum += path_length(road);
        }
        classes
            .into_iter()
            .flat_map(|(class, (count, sum))| {
                [Expected::exact("class", class.into()), Expected::exact("roads", count), Expected::near("length", sum)]
            })
            .collect()
    }

    /// Answers S4: points inside cells; those on a border are in none.
    fn points_in_cells(&self) -> Vec<Expected> {
        let (mut found, mut used) = (Vec::new(), 0);
        for (cell, id) in self.map().cells.iter().zip(1_i64..) {
            let before = found.len();
            let inside = |p: &Pt| {
                BoundingBox::around(&[*p]).meets(&cell.bounds) && cell.side_of(doubled(*p)) == PlaneSide::Inside
            };
            found.extend(self.points.iter().zip(1_i64..).filter(|(p, _)| inside(p)).map(|(_, point)| (id, point)));
            used += i128::from(found.len() > before);
        }
        let mut expected = count_and_checksum(found.into_iter());
        expected.push(Expected::exact("cells with points", used));
        expected
    }

    /// Lists pairs of roads and cells that have a point in common, by index, for S6 and S7.
    fn crossed_cells(&self) -> Vec<(i64, i64)> {
        let map = self.map();
        let mut found = Vec::new();
        for (road, at) in map.roads.iter().zip(0..) {
            let bounds = BoundingBox::around(road);
            for (cell, place) in map.cells.iter().zip(0..).filter(|(cell, _)| cell.bounds.meets(&bounds)) {
                let starts_in = cell.side_of(doubled(road[0])) != PlaneSide::Outside;
                if starts_in || segments_of(road).any(|segment| cell.meets_border(segment)) {
                    found.push((at, place));
                }
            }
        }
        found
    }

    /// Answers S8: the departments, dissolved: how many, their area, the length of their borders, and area by number.
    fn dissolved_departments(&self) -> Vec<Expected> {
        let map = self.map();
        let of: Vec<i64> = map.cells.iter().map(|cell| self.department_of(cell)).collect();
        let mut used = of.clone();
        used.sort_unstable();
        used.dedup();
        let twice: i128 = map.cells.iter().map(Polygon::twice_area).sum();
        let weighted = map.cells.iter().zip(&of).map(|(cell, of)| i128::from(*of) * cell.twice_area()).sum();
        let all: Fixed = map.cells.iter().map(Polygon::perimeter).sum();
        let inner = map.contacts.iter().filter(|(a, b, _)| of[*a] == of[*b]);
        // It was part of the border of both.
        let inner: Fixed = inner.map(|(.., contact)| contact.shared + contact.shared).sum();
        vec![
            Expected::exact("departments", used.len() as i128),
            expected_half("area", twice),
            Expected::near("length of the borders", all - inner),
            expected_half("area times number", weighted),
        ]
    }

    /// Squared distance from each probe to its nearest neighbour, for S10.
    fn nearest_squared(&self) -> Vec<i64> {
        let probes = self.points.iter().enumerate().take(PROBES as usize);
        probes
            .filter_map(|(at, here)| {
                let others = self.points.iter().enumerate().filter(|(other, _)| *other != at);
                others.map(|(_, there)| distance_squared(*here, *there)).min()
            })
            .collect()
    }

    /// Answers S11: points near some roads.
    fn points_near_roads(&self) -> Vec<Expected> {
        let roads = self.map().roads.iter().zip(1_i64..).take(FEW_ROADS as usize);
        let found = roads.flat_map(|(road, id)| {
            let points =
                self.points.iter().zip(1_i64..).filter(|(p, _)| segments_of(road).any(|segment| is_near(segment, **p)));
            points.map(|(_, point)| (id, point)).collect::<Vec<_>>()
        });
        count_and_checksum(found)
    }

    /// Twice the area of all cells' convex hulls.
    fn twice_hull_area(&self) -> i128 {
        self.map().cells.iter().map(|cell| twice_area(&convex_hull(&cell.rings[0]))).sum()
    }

    /// Answers S12: the area of the cells' convex hulls; the sum of their centroids.
    fn hull_areas(&self) -> Vec<Expected> {
        let (mut x, mut y) = (Fixed::default(), Fixed::default());
        for cell in &self.map().cells {
            let centroid = centroid(&cell.rings);
            x += centroid.0;
            y += centroid.1;
        }
        vec![
            expected_half("area of the hulls", self.twice_hull_area()),
            Expected::near("sum of the centroids' x", x),
            Expected::near("sum of the centroids' y", y),
        ]
    }
}

/// Sum of numbers.
fn sum_of_ids(ids: &[i64]) -> i128 {
    ids.iter().map(|id| i128::from(*id)).sum()
}

#[cfg(test)]
mod tests;
