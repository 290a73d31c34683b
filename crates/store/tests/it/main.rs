#[cfg(test)]
mod disk;
#[cfg(test)]
mod files;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod journal;
#[cfg(test)]
mod kill;
#[cfg(test)]
mod lock;
#[cfg(test)]
mod round_trip;
