//! The terminal while an experiment is watched.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::Paragraph;

use super::reading::{Watched, now_unix_ms};
use super::text;
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::clean_text;
use crate::stamp::Stamp;

/// Least time between two looks at the store's files, and two drawings.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A look that takes a millisecond, with its drawing, is followed by a pause of this many: a third of a percent of a processor.
const PAUSES_PER_LOOK: u32 = 300;
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Lines that Page Up and Page Down leave in sight.
const KEPT_LINES: usize = 2;

/// What is on the screen.
struct Screen<'a> {
    store: &'a Path,
    watched: Watched,
    /// The files when they were last read.
    stamp: Stamp,
    /// Why the store cannot be read now; what was read stays.
    lost: Option<String>,
    /// First line of the text that is in sight.
    first: usize,
    /// Lines that had room at the last drawing.
    room: usize,
    /// Lines of the text then.
    lines: usize,
}

/// Shows the store on the terminal until the user leaves; restores the terminal, also after a panic.
/// `stamp` is older than `watched`.
pub fn show_screen(store: &Path, stamp: Stamp, watched: Watched) -> Result<(), CliError> {
    let cannot = |error: std::io::Error| CliError::could_not_run(format!("cannot use the terminal: {error}"));
    let ended = host::interrupt::interrupt_flag(Exit::Interrupted.code(), "");
    let mut screen = Screen { store, watched, stamp, lost: None, first: 0, room: 0, lines: 0 };
    let mut terminal = ratatui::try_init().map_err(cannot)?;
    let shown = screen.follow(&mut terminal, &ended);
    ratatui::restore();
    shown.map_err(cannot)
}

impl Screen<'_> {
    /// Draws the store's state again and again and handles keys, until a key or a signal ends it.
    fn follow(&mut self, terminal: &mut DefaultTerminal, ended: &AtomicBool) -> std::io::Result<()> {
        loop {
            let began = Instant::now();
            self.reload_if_changed();
            terminal.draw(|frame| self.draw(frame))?;
            let until = Instant::now() + (began.elapsed() * PAUSES_PER_LOOK).clamp(LOOK_EVERY, LONGEST_PAUSE);
            while let Some(left) = until.checked_duration_since(Instant::now()) {
                if ended.load(Ordering::Relaxed) {
                    return Ok(());
                }
                if !event::poll(left.min(LOOK_EVERY))? {
                    continue;
                }
                if let Event::Key(key) = event::read()?
                    && key.kind != KeyEventKind::Release
                {
                    if is_leaving_key(key) {
                        return Ok(());
                    }
                    self.scroll(key.code);
                    // A key asks for what is so now.
                    self.reload_if_changed();
                }
                terminal.draw(|frame| self.draw(frame))?;
            }
        }
    }

    /// Reads the store again if its files changed; an error is kept to be shown.
    fn reload_if_changed(&mut self) {
        let stamp = Stamp::of_store(self.store);
        if stamp == self.stamp && self.lost.is_none() {
            return;
        }
        match Watched::read(self.store) {
            Ok(watched) => (self.watched, self.lost, self.stamp) = (watched, None, stamp),
            Err(error) => self.lost = Some(error.to_string()),
        }
    }

    /// Draws the text and the line of keys.
    fn draw(&mut self, frame: &mut Frame<'_>) {
        let [body, foot] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(frame.area());
        let width = usize::from(frame.area().width);
        let mut shown =
            clean_text(&text::watched_text(self.store, &self.watched, now_unix_ms(), width)).replace('\t', " ");
        if let Some(lost) = &self.lost {
            let lost = report::text::wrap_to_width(&format!("{lost}; what was read before:"), width, 2);
            shown = format!("{}\n{shown}", clean_text(&lost));
        }
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let lines: Vec<Line<'_>> = shown
            .lines()
            .enumerate()
            .map(|(at, line)| Line::styled(line, if at == 0 { bold } else { Style::new() }))
            .collect();
        (self.room, self.lines) = (usize::from(body.height), lines.len());
        self.first = self.first.min(self.last_first());
        let rest = self.last_first() - self.first;
        frame.render_widget(Paragraph::new(Text::from_iter(lines.into_iter().skip(self.first))), body);
        let more = if rest > 0 { format!("↓ {rest} more lines  ") } else { String::new() };
        frame.render_widget(Paragraph::new(format!("{more}q leaves")), foot);
    }

    /// The first line in sight when the last one is in sight.
    fn last_first(&self) -> usize {
        self.lines.saturating_sub(self.room)
    }

    /// Moves the view by a key.
    fn scroll(&mut self, key: KeyCode) {
        let page = self.room.saturating_sub(KEPT_LINES).max(1);
        self.first = match key {
            KeyCode::Up | KeyCode::Char('k') => self.first.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.first + 1,
            KeyCode::PageUp => self.first.saturating_sub(page),
            KeyCode::PageDown | KeyCode::Char(' ') => self.first + page,
            KeyCode::Home => 0,
            KeyCode::End => self.last_first(),
            _ => self.first,
        };
    }
}

/// Tests whether a key leaves the screen.
fn is_leaving_key(key: KeyEvent) -> bool {
    let is_ctrl_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    is_ctrl_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
}
