// Package sample makes a small world to look at: people named after trees,
// birds and rivers, whom they follow, and what they wrote over the past weeks.
// One seed and one time always give the same world.
package sample
