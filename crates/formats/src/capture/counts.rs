//! What a log holds besides the statements that were taken, counted by reason.

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Statements that are not in the capture.
    LeftOut,
    /// Records that are no statements.
    Aside,
    /// What makes the capture doubtful; the records themselves are counted elsewhere.
    Doubt,
}

macro_rules! reasons {
    ($($name:ident $group:ident $code:literal $text:literal)*) => {
        /// Why a record is no execution of the capture, or what is doubtful.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reason {
            $(#[doc = $text] $name),*
        }

        impl Reason {
            pub const ALL: &[Reason] = &[$(Reason::$name),*];

            /// The reason's name in the file.
            pub fn code(self) -> &'static str {
                match self {
                    $(Reason::$name => $code),*
                }
            }

            /// The reason in words.
            pub fn sentence(self) -> &'static str {
                match self {
                    $(Reason::$name => $text),*
                }
            }

            /// The group that the reason is of.
            pub fn group(self) -> Group {
                match self {
                    $(Reason::$name => Group::$group),*
                }
            }
        }
    };
}

reasons! {
    TooLong LeftOut "too_long" "the record is longer than 16 MiB"
    Nul LeftOut "nul" "the record has NUL bytes"
    NotUtf8 LeftOut "not_utf8" "the record is no UTF-8 text"
    CutOff LeftOut "cut_off" "the record is cut off, or of another form than the rest of the log"
    OtherLanguage LeftOut "other_language" "the record is in another language (lc_messages)"
    ValuesMissing LeftOut "values_missing" "the log does not have the values of its parameters"
    ValueCut LeftOut "value_cut" "a value ends in `...`, as a server writes those that it cuts (log_parameter_max_length)"
    CopyData LeftOut "copy_data" "COPY FROM STDIN: its data are not in a log"
    Fetch LeftOut "fetch" "a further fetch of a statement that ran already"
    FunctionCall LeftOut "function_call" "a call of a function without a statement"
    DurationOnly LeftOut "duration_only" "a duration without its statement"
    ErrorOnly LeftOut "error_only" "an error without its statement"
    PlanLogged Aside "plan_logged" "plans, written by auto_explain"
    Audited Aside "audited" "audit records, written by pgaudit"
    Preparation Aside "preparation" "parse and bind steps of prepared statements"
    DurationOfLogged Aside "duration_of_logged" "durations of statements that an earlier record has"
    Command Aside "command" "commands that are no statements, such as the end of a session"
    InRoutine Aside "in_routine" "statements of stored routines, whose calls are statements of their own"
    Message Aside "message" "other messages"
    Foreign Aside "foreign" "lines that do not begin as the log's records do"
    ClockBack Doubt "clock_back" "the clock was set back by more than a second, or the log is of two servers"
    FilesOverlap Doubt "files_overlap" "a file begins before the one before it ends: two servers, or one file twice"
    SessionsMixed Doubt "sessions_mixed" "one process has two sessions at a time: the log is of two servers"
    ErrorUnknown Doubt "error_unknown" "the record does not say whether the statement failed"
    WholeSeconds Doubt "whole_seconds" "the time of the record is in whole seconds"
}

/// One reason with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    pub reason: Reason,
    pub count: u64,
}

/// The numbers of all reasons.
#[derive(Clone, Debug, Default)]
pub struct Counts([u64; Reason::ALL.len()]);

impl Counts {
    /// Adds to the count of a reason.
    pub fn add(&mut self, reason: Reason, count: u64) {
        self.0[reason as usize] += count;
    }

    /// Lists the counts that are not zero, in the order of the reasons.
    pub fn nonzero(&self) -> Vec<Count> {
        let all = Reason::ALL.iter().map(|reason| Count { reason: *reason, count: self.0[*reason as usize] });
        all.filter(|counted| counted.count > 0).collect()
    }

    /// Sums the counts of a group's reasons.
    pub fn sum_of_group(&self, group: Group) -> u64 {
        self.nonzero().iter().filter(|counted| counted.reason.group() == group).map(|counted| counted.count).sum()
    }
}
