// Rust: generics, traits, closures, modules, inlined iterators, functions nested in functions.
use std::collections::BTreeMap;
use std::fmt::Debug;

mod outer {
    pub mod inner {
        #[inline(never)]
        pub fn pick<T: Clone + PartialOrd>(values: &[T], at: usize) -> Option<T> {
            fn wrap(at: usize, len: usize) -> usize {
                if len == 0 { 0 } else { at % len }
            }
            let mut best = values.get(wrap(at, values.len()))?.clone();
            for value in values {
                if *value > best {
                    best = value.clone();
                }
            }
            Some(best)
        }
    }

    pub trait Area {
        fn area(&self) -> u64;
        #[inline(never)]
        fn twice(&self) -> u64 {
            self.area() * 2
        }
    }

    #[derive(Debug, Clone, PartialEq)]
    pub struct Square(pub u64);

    #[derive(Debug, Clone)]
    pub struct Named<'a, T> {
        pub name: &'a str,
        pub value: T,
    }

    impl Area for Square {
        #[inline(never)]
        fn area(&self) -> u64 {
            self.0 * self.0
        }
    }

    impl<'a, T: Into<u64> + Copy> Area for Named<'a, T> {
        #[inline(never)]
        fn area(&self) -> u64 {
            self.value.into() + self.name.len() as u64
        }
    }
}

use outer::{inner::pick, Area, Named, Square};

#[inline(never)]
fn sum_of(shapes: &[Box<dyn Area>]) -> u64 {
    shapes.iter().map(|shape| shape.twice()).filter(|n| n % 2 == 0).sum()
}

#[inline(never)]
fn apply<F: FnMut(u64) -> u64>(mut f: F, n: u64) -> u64 {
    (0..n).fold(0, |total, i| total + f(i))
}

#[inline(never)]
fn show<T: Debug>(value: &T) -> usize {
    format!("{:?}", value).len()
}

#[no_mangle]
pub extern "C" fn plain_name(n: u32) -> u32 {
    n.wrapping_mul(2654435761)
}

fn main() {
    let count = std::env::args().count() as u64;
    let shapes: Vec<Box<dyn Area>> =
        vec![Box::new(Square(count)), Box::new(Named { name: "four", value: 4u8 }), Box::new(Named { name: "b", value: 7u32 })];
    let mut calls = 0;
    let applied = apply(|n| { calls += 1; n * count }, 10);
    let mut map = BTreeMap::new();
    map.insert(plain_name(count as u32), "key");
    println!("{} {} {} {:?} {} {}", sum_of(&shapes), applied, calls, pick(&[1.5, 2.5], 3),
             show(&map), show(&pick(&["x", "y"], 1)));
}
