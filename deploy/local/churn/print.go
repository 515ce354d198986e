package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// print writes the tables.
func (r *results) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	whole := find(r.pods, wholeObjects)

	fmt.Fprintf(w, "\nPods, %s of churn:\n\n", r.took.Round(time.Second))
	fmt.Fprintln(w, "events\tbytes\tbytes/event\tof whole\tsnapshot bytes\t  subscribed as")
	for _, s := range r.pods {
		row(w, s.name, s.live, whole.live, fmt.Sprint(s.snapshot))
	}
	for _, d := range r.direct {
		row(w, d.name, d.live, whole.live, "")
	}

	fmt.Fprint(w, "\nThe same Pod events by type:\n\n")
	patched := find(r.pods, mergePatches)
	fmt.Fprintln(w, "events\tdirect, JSON\twhole\tpatched\twhole/patched\t  bytes/event of")
	for _, kind := range []struct {
		name           string
		whole, patched sum
	}{
		{addedType, whole.added, patched.added},
		{modifiedType, whole.allModified(), patched.allModified()},
		{deletedType, whole.deleted, patched.deleted},
	} {
		fmt.Fprintf(w, "%d\t%.0f\t%.0f\t%.0f\t%s\t  %s\n", kind.whole.events, r.direct[0].byType[kind.name].mean(),
			kind.whole.mean(), kind.patched.mean(), quotient(kind.whole.mean(), kind.patched.mean()), kind.name)
	}

	fmt.Fprint(w, "\nNodes that report their status:\n\n")
	fmt.Fprintln(w, "events\tbytes\tbytes/event\tof whole\tsnapshot bytes\t  subscribed as")
	for _, s := range r.nodes {
		row(w, s.name, s.live, find(r.nodes, wholeObjects).live, fmt.Sprint(s.snapshot))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, `
A ready Pod: median %d bytes of JSON, %d with managedFields.
%d of %d MODIFIED came as patches. Verified: the copy kept by merge patches has the digest of the
server and of the copy of whole objects, and each object is equal in both and in the API server.
`, median(r.sent), median(r.stored), patched.patched.events, patched.allModified().events)
	return err
}

func row(w io.Writer, name string, live, whole sum, snapshot string) {
	fmt.Fprintf(w, "%d\t%d\t%.0f\t%s\t%s\t  %s\n", live.events, live.bytes, live.mean(), share(live.bytes, whole.bytes), snapshot, name)
}

func quotient(a, b float64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", a/b)
}

func share(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}

// median is that of sorted numbers.
func median(sorted []int) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}
