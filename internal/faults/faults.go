package main

// faults are errors that are easily made, most of them by simplifying what looks
// needlessly careful.
var faults = []fault{
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
		old:  "floor < v.ended.forgotten {",
		new:  "floor != floor {",
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
		new:  "if moved && len(changes) > 1 {",
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
		old:  "s.listed.add(key, view.Change{",
		new:  "if s.objects[namespace][key] == nil {\n\t\treturn\n\t}\n\ts.listed.add(key, view.Change{",
	},
}
