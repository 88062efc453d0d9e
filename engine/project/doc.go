// Package project reads what a repository declares: the workspace declaration,
// its components, the graph between them and its terraform roots. It works on
// decoded nodes that know their file and line; drivers/declare makes them from
// JSON and YAML. Everything here is a pure function of its arguments: no file is
// opened, no clock read. It never guesses: what it does not know it refuses, and
// a setting this version does not enforce is reported, not ignored.
package project
