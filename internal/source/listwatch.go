package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/bits"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializerjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/runnel-dev/runnel/internal/record"
	"github.com/runnel-dev/runnel/internal/resource"
)

// api lists and watches one resource. The objects are records, as far as the restriction
// lets them in.
type api struct {
	get   func(namespace string, options *metav1.ListOptions) *rest.Request
	limit restriction
	// unstreamed says that the API server streams no lists, though it says that it does.
	unstreamed *atomic.Bool
}

func newAPI(cfg *rest.Config, client *http.Client, res resource.Resource, limit restriction, log *slog.Logger) (api, error) {
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return api{}, fmt.Errorf("API server address: %w", err)
	}
	decoder := record.NewDecoder(res.GroupVersionKind())
	decoder.OnInvalidUTF8 = func(objects uint64) {
		if bits.OnesCount64(objects) == 1 { // the first, and then ever less often
			log.Warn("invalid UTF-8 was replaced by U+FFFD", "objects", objects)
		}
	}
	c, err := rest.NewRESTClient(base, "", rest.ClientContentConfig{
		AcceptContentTypes: runtime.ContentTypeJSON,
		ContentType:        runtime.ContentTypeJSON,
		GroupVersion:       res.GroupVersion(),
		Negotiator:         negotiator{decoder},
	}, nil, client)
	if err != nil {
		return api{}, err
	}
	version := []string{"apis", res.Group, res.Version}
	if res.Group == "" {
		version = []string{"api", res.Version}
	}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	params := runtime.NewParameterCodec(scheme)
	get := func(namespace string, options *metav1.ListOptions) *rest.Request {
		return c.Get().AbsPath(version...).NamespaceIfScoped(namespace, namespace != "").Resource(res.Resource).
			SpecificallyVersionedParams(options, params, metav1.SchemeGroupVersion)
	}
	return api{get, limit, new(atomic.Bool)}, nil
}

func (a api) list(ctx context.Context, options metav1.ListOptions) (*record.List, error) {
	a.limit.apply(&options)
	return a.listRecords(ctx, "", options)
}

func (a api) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	a.limit.apply(&options)
	options.Watch = true
	return a.get("", &options).Watch(ctx)
}

// identities calls f with each object's identity and resourceVersion, by quorum reads, and
// returns the resourceVersion of which that is the state.
func (a api) identities(ctx context.Context, f func(*record.Record)) (string, error) {
	const page = 2000 // some 500 KB; the API server holds no more at a time
	options := metav1.ListOptions{Limit: page}
	a.limit.apply(&options)
	for {
		l, err := a.get("", &options).
			SetHeader("Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json").
			Do(ctx).Get()
		if err != nil {
			return "", err
		}
		list, ok := l.(*record.List)
		if !ok {
			return "", fmt.Errorf("a list decodes to %T", l)
		}
		for _, r := range list.Items {
			f(r)
		}
		if list.Continue == "" {
			return list.ResourceVersion, nil
		}
		options.Continue = list.Continue
	}
}

// current is the newest resourceVersion, by a quorum read.
func (a api) current(ctx context.Context) (string, error) {
	options := metav1.ListOptions{Limit: 1}
	a.limit.apply(&options)
	list, err := a.listRecords(ctx, "", options)
	if err != nil {
		return "", err
	}
	return list.ResourceVersion, nil
}

// at is the object of the record's name as it was in a resourceVersion; nil if there was
// none.
func (a api) at(ctx context.Context, r *record.Record, resourceVersion string) (*record.Record, error) {
	options := metav1.ListOptions{ResourceVersion: resourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	a.limit.apply(&options)
	name := fields.OneTermEqualSelector(metav1.ObjectNameField, r.Name).String()
	options.FieldSelector = strings.TrimPrefix(options.FieldSelector+","+name, ",")
	list, err := a.listRecords(ctx, r.Namespace, options)
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return list.Items[0], nil
}

func (a api) listRecords(ctx context.Context, namespace string, options metav1.ListOptions) (*record.List, error) {
	l, err := a.get(namespace, &options).Do(ctx).Get()
	if err != nil {
		return nil, err
	}
	list, ok := l.(*record.List)
	if !ok {
		return nil, fmt.Errorf("a list decodes to %T", l)
	}
	return list, nil
}

// negotiator makes a REST client decode lists and watches into records. It
// implements runtime.ClientNegotiator.
type negotiator struct{ objects *record.Decoder }

// Encoder fails: a source only reads.
func (negotiator) Encoder(string, map[string]string) (runtime.Encoder, error) {
	return nil, errors.New("a source writes nothing")
}

// Decoder decodes responses that are no streams: lists.
func (n negotiator) Decoder(contentType string, _ map[string]string) (runtime.Decoder, error) {
	if contentType != runtime.ContentTypeJSON {
		return nil, runtime.NegotiateError{ContentType: contentType}
	}
	return decode(func(data []byte) (runtime.Object, error) { return n.objects.DecodeList(data) }), nil
}

// StreamDecoder decodes watches.
func (n negotiator) StreamDecoder(contentType string, _ map[string]string) (runtime.Decoder, runtime.Serializer, runtime.Framer, error) {
	if contentType != runtime.ContentTypeJSON {
		return nil, nil, nil, runtime.NegotiateError{ContentType: contentType, Stream: true}
	}
	object := decode(func(data []byte) (runtime.Object, error) { return n.objects.Decode(data) })
	return object, eventSerializer{}, serializerjson.Framer, nil
}

// decode is a runtime.Decoder; a Status in the place of an object is returned as
// such.
type decode func(data []byte) (runtime.Object, error)

// Decode decodes data, whatever its kind.
func (d decode) Decode(data []byte, _ *schema.GroupVersionKind, _ runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, err := d(data)
	if status := (*record.StatusError)(nil); errors.As(err, &status) {
		gvk := metav1.Unversioned.WithKind("Status")
		return status.Status, &gvk, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return obj, &schema.GroupVersionKind{}, nil
}

// eventSerializer reads the envelope of a watch event and leaves the object in it
// as it is.
type eventSerializer struct{}

// Decode reads one metav1.WatchEvent, whose object aliases data.
func (eventSerializer) Decode(data []byte, _ *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	event, ok := into.(*metav1.WatchEvent)
	if !ok {
		return nil, nil, fmt.Errorf("cannot decode a watch event into %T", into)
	}
	err := record.Members(data, func(name string, value jsontext.Value) error {
		switch name {
		case "type":
			text, err := jsontext.AppendUnquote(nil, value)
			event.Type = string(text)
			return err
		case "object":
			event.Object.Raw = value
		}
		return nil
	})
	return event, &schema.GroupVersionKind{}, err
}

// Encode fails: a source only reads.
func (eventSerializer) Encode(runtime.Object, io.Writer) error {
	return errors.New("a source writes nothing")
}

// Identifier names the serializer.
func (eventSerializer) Identifier() runtime.Identifier { return "runnel watch event" }
