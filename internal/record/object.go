package record

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// What follows makes a Record an object for client-go, whose informers ask for
// the name, the resourceVersion and a bookmark's annotation. The rest of the
// metadata is not parsed and reads as absent; setters do nothing, for a record
// is immutable.
var (
	_ runtime.Object = (*Record)(nil)
	_ metav1.Object  = (*Record)(nil)
	_ runtime.Object = (*List)(nil)
)

// DeepCopyObject returns r itself: it is immutable.
func (r *Record) DeepCopyObject() runtime.Object { return r }

// GetObjectKind returns no kind; Raw holds it.
func (r *Record) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns l itself: it is immutable.
func (l *List) DeepCopyObject() runtime.Object { return l }

// GetObjectKind returns no kind: the caller knows what it listed.
func (l *List) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// GetNamespace returns the namespace.
func (r *Record) GetNamespace() string { return r.Namespace }

// GetName returns the name.
func (r *Record) GetName() string { return r.Name }

// GetUID returns the UID.
func (r *Record) GetUID() types.UID { return types.UID(r.UID) }

// GetResourceVersion returns the resourceVersion.
func (r *Record) GetResourceVersion() string { return r.ResourceVersion }

// GetAnnotations returns the one annotation that informers look for.
func (r *Record) GetAnnotations() map[string]string {
	if !r.initialEventsEnd {
		return nil
	}
	return map[string]string{metav1.InitialEventsAnnotationKey: "true"}
}

func (r *Record) GetGenerateName() string                       { return "" }
func (r *Record) GetGeneration() int64                          { return 0 }
func (r *Record) GetSelfLink() string                           { return "" }
func (r *Record) GetCreationTimestamp() metav1.Time             { return metav1.Time{} }
func (r *Record) GetDeletionTimestamp() *metav1.Time            { return nil }
func (r *Record) GetDeletionGracePeriodSeconds() *int64         { return nil }
func (r *Record) GetLabels() map[string]string                  { return nil }
func (r *Record) GetFinalizers() []string                       { return nil }
func (r *Record) GetOwnerReferences() []metav1.OwnerReference   { return nil }
func (r *Record) GetManagedFields() []metav1.ManagedFieldsEntry { return nil }
func (r *Record) SetNamespace(string)                           {}
func (r *Record) SetName(string)                                {}
func (r *Record) SetGenerateName(string)                        {}
func (r *Record) SetUID(types.UID)                              {}
func (r *Record) SetResourceVersion(string)                     {}
func (r *Record) SetGeneration(int64)                           {}
func (r *Record) SetSelfLink(string)                            {}
func (r *Record) SetCreationTimestamp(metav1.Time)              {}
func (r *Record) SetDeletionTimestamp(*metav1.Time)             {}
func (r *Record) SetDeletionGracePeriodSeconds(*int64)          {}
func (r *Record) SetLabels(map[string]string)                   {}
func (r *Record) SetAnnotations(map[string]string)              {}
func (r *Record) SetFinalizers([]string)                        {}
func (r *Record) SetOwnerReferences([]metav1.OwnerReference)    {}
func (r *Record) SetManagedFields([]metav1.ManagedFieldsEntry)  {}
