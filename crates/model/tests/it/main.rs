//! Plans, from their text to what is stored.

#[cfg(test)]
mod common;
#[cfg(test)]
mod plan_changes;
mod plan_errors;
#[cfg(test)]
mod plan_errors_set;
#[cfg(test)]
mod plan_errors_values;
#[cfg(test)]
mod plan_order;
#[cfg(test)]
mod plan_parse;
#[cfg(test)]
mod plan_redact;
#[cfg(test)]
mod plan_schema;
#[cfg(test)]
mod plan_tables;
