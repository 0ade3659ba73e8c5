// Package config turns command lines and FEEDGATE_ variables into checked
// settings. Every setting has one name: the flag -big-author-followers is the
// variable FEEDGATE_BIG_AUTHOR_FOLLOWERS. A flag wins over a variable, and a
// variable over the default. The same table of settings makes the help.
package config
