package main

import "slices"

// faults are errors that are easily made, most of them by simplifying what looks
// needlessly careful.
var faults = slices.Concat(readFaults, resumeFaults)

// readFaults are in what a stream reads, from list and watch to the events.
var readFaults = in("./internal/source", []fault{
	{
		name: "a scan's step function is flattened to its last position",
		file: "internal/view/cursor.go",
		old:  "c.seen, c.passed, c.scanning = c.passed, nil, false",
		new:  "c.seen, c.passed, c.scanning = seenAll(v.headLocked()), nil, false",
	},
	{
		name: "a live read stops midway and counts all as seen up to there",
		file: "internal/view/cursor.go",
		old:  "b.Events = b.Events[:0]\n\t\t\tc.beginScan()\n\t\t\treturn false",
		new:  "b.Events = b.Events[:n]\n\t\t\tc.seen = seenAll(p - 1)\n\t\t\treturn true",
	},
	{
		name: "the ring is read one change behind its end",
		file: "internal/view/cursor.go",
		old:  "if from+1 < v.ring.oldest(head) {",
		new:  "if from+2 < v.ring.oldest(head) {",
	},
	{
		name: "synced is told with the first batch of a snapshot",
		file: "internal/view/cursor.go",
		old:  "if c.next < c.end {\n\t\treturn\n\t}",
		new:  "if b.Synced, c.initial = c.initial, false; c.next < c.end {\n\t\treturn\n\t}",
	},
	{
		name: "a scan's passed batches do not keep ended stays",
		file: "internal/view/cursor.go",
		old:  "if len(c.passed) > 0 {\n\t\tfloor = c.passed.lowest()\n\t}",
		new:  "",
	},
	{
		name: "what a scan has not reached yet does not keep ended stays",
		file: "internal/view/cursor.go",
		old:  "} else if c.seen.covers(c.next) {",
		new:  "} else if false {",
	},
	{
		name: "who was overtaken is not reset",
		file: "internal/view/cursor.go",
		old:  "if b.Rewritten || Position(c.floor.Load()) < v.ended.forgotten {",
		new:  "if b.Rewritten {",
	},
	{
		name: "ended stays are forgotten one change too early",
		file: "internal/view/stays.go",
		old:  "e.refs[n].end <= floor",
		new:  "e.refs[n].end <= floor+1",
	},
	{
		name: "who saw a stay's end counts as holding it",
		file: "internal/view/slot.go",
		old:  "s.stays[i].end > g }",
		new:  "s.stays[i].end >= g }",
	},
	{
		name: "of an object that left, came back and is gone, the leaving is told",
		file: "internal/view/slot.go",
		old:  "return &s.stays[i+sort.Search(len(later), func(i int) bool { return later[i].uid != uid })]",
		new:  "_, _ = uid, later\n\treturn &s.stays[i]",
	},
	{
		name: "an object of the same name counts as the same object",
		file: "internal/view/apply.go",
		old:  "case s.live && s.uid == c.New.UID:",
		new:  "case s.live:",
	},
	{
		name: "a change that leaves the projected object equal is told",
		file: "internal/view/apply.go",
		old:  "if version == s.version && bytes.Equal(json, s.object.JSON()) {",
		new:  "if version == s.version && bytes.Equal(json, s.object.JSON()) && r.ResourceVersion == s.resourceVersion {",
	},
	{
		name: "a suppressed change does not refresh the resourceVersion",
		file: "internal/view/apply.go",
		old:  "v.setLocked(s, r, json, version)\n\t\treturn",
		new:  "return",
	},
	{
		name: "the digest keeps what another object of its name replaced",
		file: "internal/view/apply.go",
		old:  "v.digest.remove(s.uid, s.version)\n\treason,",
		new:  "if c.New == nil || c.New.UID == s.uid {\n\t\tv.digest.remove(s.uid, s.version)\n\t}\n\treason,",
	},
	{
		name: "a change wakes nobody",
		file: "internal/view/apply.go",
		old:  "if moved {",
		new:  "if moved && len(s.Changes) > 1 {",
	},
	{
		name: "a patch is sent to who holds an older version than its base",
		file: "internal/view/slot.go",
		old:  "patches && s.previous <= g && s.patch",
		new:  "patches && s.patch",
	},
	{
		name: "a patch names the base of the one before",
		file: "internal/view/apply.go",
		old:  "s.base, s.patch = s.version, wire.Event{}",
		new:  "s.patch = wire.Event{}",
	},
	{
		name: "a suppressed change does not refresh the resourceVersion of a patch",
		file: "internal/view/apply.go",
		old:  "if s.patch.Size() > 0 && r.ResourceVersion != s.resourceVersion {",
		new:  "if false {",
	},
	{
		name: "a list is made visible item by item",
		file: "internal/source/step.go",
		old:  "if r.Listed || s.heldBackLocked() {",
		new:  "if s.history.fresh {",
	},
	{
		name: "the watermark moves before the list is complete",
		file: "internal/source/step.go",
		old:  "s.listed.add(r.Key(), c)",
		new:  "s.listed.add(r.Key(), c)\n\t\ts.watermark = r.ResourceVersion",
	},
	{
		name: "what a list misses counts only if an earlier list was made visible",
		file: "internal/source/step.go",
		old:  "s.listed.add(key, missing(namespace, key))",
		new:  "if s.objects[namespace][key] != nil {\n\t\ts.listed.add(key, missing(namespace, key))\n\t}",
	},
})

// resumeFaults are in how a subscriber goes on that comes back.
var resumeFaults = in("./internal/subscriber", []fault{
	{
		name: "a view that has the token's number of objects counts as equal",
		file: "internal/subscriber/resume.go",
		old:  "if now == t.Digest {",
		new:  "if now.Count == t.Digest.Count {",
	},
	{
		name: "what a view remembers of the token's watermark is not compared",
		file: "internal/subscriber/resume.go",
		old:  "if remembered && then == t.Digest {",
		new:  "if remembered {",
	},
	{
		name: "a token of another view is taken",
		file: "internal/subscriber/resume.go",
		old:  "return sub.inScope() && t.View == sub.fingerprint && t.Exact",
		new:  "return sub.inScope() && t.Exact",
	},
	{
		name: "a floor is taken as an exact token",
		file: "internal/subscriber/resume.go",
		old:  "return sub.inScope() && t.View == sub.fingerprint && t.Exact",
		new:  "return sub.inScope() && t.View == sub.fingerprint",
	},
	{
		name: "a replica that is behind the token serves at once",
		file: "internal/subscriber/resume.go",
		old:  "if !record.OlderResourceVersion(sub.source.Watermark(), last) {",
		new:  "if true || last == \"\" {",
	},
	{
		name: "a token's floor does not outlast the stream that was resumed from it",
		file: "internal/subscriber/resume.go",
		old:  "sub.floor = sub.offer.token.Last",
		new:  "",
	},
	{
		name: "a replica that is behind for long says that history was rewritten",
		file: "internal/subscriber/resume.go",
		old:  "err == nil && record.OlderResourceVersion(current, last) {",
		new:  "err == nil && current != \"\" {",
	},
	{
		name: "that history was rewritten is never found out from a token",
		file: "internal/subscriber/resume.go",
		old:  "err == nil && record.OlderResourceVersion(current, last) {",
		new:  "err == nil && current == \"\" {",
	},
	{
		name: "an object that a complete subscriber does not know is not another history's",
		file: "internal/subscriber/resume.go",
		old:  "if sub.parts[i].cursor.Settle(sub.offer.known, complete) {",
		new:  "if sub.parts[i].cursor.Settle(sub.offer.known, complete) && complete == \"\" {",
	},
	{
		name: "a subscriber that does not hold what its token says is resumed from it",
		file: "internal/subscriber/resume.go",
		old:  "!ordered || sub.diverged() {",
		new:  "!ordered {",
	},
	{
		name: "what is gone of the known versions is not told",
		file: "internal/subscriber/resume.go",
		old:  "len(deleted) > 0; {",
		new:  "len(deleted) > 1; {",
	},
	{
		name: "a token is exact as soon as each view was read to its end",
		file: "internal/subscriber/subscription.go",
		old:  "return sub.level() && (len(sub.parts) == 1 || !sub.pending())",
		new:  "return sub.level()",
	},
	{
		name: "a token is exact before the snapshot is synced",
		file: "internal/subscriber/stream.go",
		old:  "if n == len(events) && !b.Initial {",
		new:  "if n == len(events) {",
	},
	{
		name: "a batch in several frames carries its last token in each",
		file: "internal/subscriber/stream.go",
		old:  "if n == len(events) && !b.Initial {",
		new:  "if !b.Initial {",
	},
	{
		name: "who is complete up to a resourceVersion is found one change later",
		file: "internal/view/ring.go",
		old:  "return oldest + Position(n) - 1, true",
		new:  "return min(oldest+Position(n), newest), true",
	},
	{
		name: "what is known counts as held in every version",
		file: "internal/view/slot.go",
		old:  "case s.version == version:",
		new:  "case s.version == version || s.version != 0:",
	},
	{
		name: "a patch is sent to who knows another version than its base",
		file: "internal/view/slot.go",
		old:  "case patches && s.patch.Size() > 0 && s.base == version:",
		new:  "case patches && s.patch.Size() > 0:",
	},
	{
		name: "a view is rebuilt from what is there now",
		file: "internal/source/source.go",
		old:  "s.recent.before(objects), s.recent.since",
		new:  "objects, s.recent.since",
	},
	{
		name: "a rebuilt view begins where the source is",
		file: "internal/source/source.go",
		old:  "s.recent.since, s.recent.began)\n\tfor _, step := range s.recent.all() {",
		new:  "s.recent.since, s.recent.began)\n\tfor _, step := range s.recent.all()[len(s.recent.all()):] {",
	},
	{
		name: "a rewritten history is taken in like any list",
		file: "internal/source/history.go",
		old:  "v.Rewrite(s.inNamespaceLocked(v.namespace), watermark, now)",
		new:  "",
	},
})

func in(pkg string, faults []fault) []fault {
	for i := range faults {
		faults[i].pkg = pkg
	}
	return faults
}
