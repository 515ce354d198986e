package watch

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runnel-dev/runnel/cmd/runnel/internal/resources"
)

// completeResources offers resources for the last name of a list.
func completeResources(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 && !strings.Contains(args[0], "/") {
		return nil, cobra.ShellCompDirectiveNoFileComp // names of objects: only the server knows
	}
	comma := strings.LastIndex(typed, ",") + 1
	list, prefix := typed[:comma], typed[comma:]
	before := strings.Split(list, ",")
	var offers []string
	for _, name := range resources.Complete(resources.Builtin(), prefix) {
		if !slices.Contains(before, name) {
			offers = append(offers, list+name)
		}
	}
	return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeFlags offers the values of flags that have few, and no files for those that
// take none.
func completeFlags(cmd *cobra.Command) {
	for flag, values := range map[string][]string{
		"output":     {"wide", "name", "json", "jsonpath=", "custom-columns="},
		"projection": {"whole", "metadata"},
		"color":      {"auto", "always", "never"},
		"server":     nil, "server-name": nil, "namespace": nil, "name": nil, "selector": nil, "field": nil, "path": nil, "ignore": nil,
		"label-columns": nil, "for": nil, "min-interval": nil, "bookmark-interval": nil,
	} {
		// It fails for a flag that does not exist, or has one already.
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}
