package config

import (
	"cmp"
	"slices"

	"github.com/spf13/pflag"
)

// Read returns the configuration that a file's content makes, with the flags over it
// that were given on the command line. The name of the file is for messages; it is
// empty where there is no file, and flags may be nil. If anything is wrong, the error
// is a Problems with all of it, and the Config is what could be read.
func Read(file string, data []byte, flags *pflag.FlagSet) (Config, error) {
	config := Default()
	d := decoder{file: file, lines: map[string]int{}, unread: map[string]bool{}}
	if file != "" {
		config.APIVersion, config.Kind = "", ""
		d.decode(data, &config)
		if d.unread[""] {
			return Config{}, d.problems
		}
	}
	v := validator{file: file, lines: d.lines, unread: d.unread}
	if v.version(&config); v.other {
		return Config{}, v.problems
	}
	if flags != nil {
		var err error
		if v.flags, err = override(&config, flags); err != nil {
			return Config{}, Problems{{Err: err}}
		}
	}
	v.config(&config)
	problems := append(d.problems, v.problems...)
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	if len(problems) > 0 {
		return config, problems
	}
	return config, nil
}
