package config

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	// Field is the path of the field, such as "sources.preload[0].labelSelector";
	// empty where the file as a whole is meant.
	Field string
	// File and Line are where the field was set; empty and 0 if it was not set in a
	// file.
	File string
	Line int
	// Flag is the flag by which the field was set, without dashes; empty if it
	// was not.
	Flag string
	// Err is what is wrong.
	Err error
}

// String is the problem in one line: where, the field, and what.
func (p Problem) String() string {
	return strings.ReplaceAll(p.where()+p.Err.Error(), "\n", `\n`) // it may quote any text
}

func (p Problem) where() string {
	var where string
	switch {
	case p.Flag != "":
		return "--" + p.Flag + ": "
	case p.Line > 0:
		where = fmt.Sprintf("%s:%d: ", p.File, p.Line)
	case p.File != "":
		where = p.File + ": "
	}
	if p.Field != "" {
		where += p.Field + ": "
	}
	return where
}

// Problems is an error that tells everything that is wrong with a configuration.
type Problems []Problem

// Error has a line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}
