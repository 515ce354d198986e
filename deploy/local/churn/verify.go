package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// verify compares the copy that was kept by merge patches with the one of whole
// objects, and that with the API server. (Each copy was verified against the server's
// digests all along, by Replica.) It fills in the sizes of the Pods.
func (r *results) verify(ctx context.Context, work *workload) error {
	list, err := work.client.Resource(pods).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	whole, patched := find(r.pods, wholeObjects), find(r.pods, mergePatches)
	if a, b := whole.replica.Digest(0), patched.replica.Digest(0); a != b || a.Count != uint64(len(list.Items)) {
		return fmt.Errorf("the digests differ: whole objects %v, merge patches %v, and there are %d pods", a, b, len(list.Items))
	}
	for i := range list.Items {
		pod := &list.Items[i]
		a, _ := whole.replica.Object(0, namespace, pod.GetName())
		b, _ := patched.replica.Object(0, namespace, pod.GetName())
		stored, err := pod.MarshalJSON()
		if err != nil {
			return err
		}
		r.sent = append(r.sent, len(a))
		r.stored = append(r.stored, len(bytes.TrimSpace(stored)))

		pod.SetManagedFields(nil)
		current, err := pod.MarshalJSON()
		if err != nil {
			return err
		}
		if err := errors.Join(same(a, b), same(a, current)); err != nil {
			return fmt.Errorf("pod %s: %w", pod.GetName(), err)
		}
	}
	slices.Sort(r.sent)
	slices.Sort(r.stored)
	return nil
}

// same compares what two JSON texts mean, with numbers as they are written.
func same(a, b []byte) error {
	var x, y any
	for _, side := range []struct {
		text []byte
		into *any
	}{{a, &x}, {b, &y}} {
		d := json.NewDecoder(bytes.NewReader(side.text))
		d.UseNumber()
		if err := d.Decode(side.into); err != nil {
			return fmt.Errorf("decoding what is held: %w", err)
		}
	}
	if !reflect.DeepEqual(x, y) {
		return fmt.Errorf("copies differ:\n%s\n%s", a, b)
	}
	return nil
}

// find returns the subscriber of that name.
func find(subscribers []*subscriber, name string) *subscriber {
	i := slices.IndexFunc(subscribers, func(s *subscriber) bool { return s.name == name })
	return subscribers[i]
}
