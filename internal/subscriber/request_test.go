package subscriber

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/runnel-dev/runnel/internal/status"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

type resourceRequest = runnelv1.ResourceSubscription

func TestBadRequestsAreRefusedNamingTheField(t *testing.T) {
	many := func(n int, r *resourceRequest) *runnelv1.SubscribeRequest {
		return request(slices.Repeat([]*resourceRequest{r}, n)...)
	}
	one := func(r *resourceRequest) *runnelv1.SubscribeRequest { return request(r) }
	for _, tt := range []struct {
		name   string
		req    *runnelv1.SubscribeRequest
		code   codes.Code
		reason string
		fields []string
	}{
		{"no resource", request(), codes.InvalidArgument, status.ReasonInvalidField, []string{"resources"}},
		{"too many resources", many(65, &resourceRequest{Resource: "pods"}), codes.ResourceExhausted, status.ReasonLimitExceeded, []string{"resources"}},
		{"same view twice", many(2, &resourceRequest{Resource: "pods"}), codes.InvalidArgument, status.ReasonInvalidField, []string{"resources[1]"}},
		{"same view, written differently",
			request(&resourceRequest{Resource: "pods", LabelSelector: "a=b,c!=d", Namespaces: []string{"x", "y"}},
				&resourceRequest{Resource: "pods", Version: "v1", LabelSelector: "c notin (d),a in (b)", Namespaces: []string{"y", "x", "x"}}),
			codes.InvalidArgument, status.ReasonInvalidField, []string{"resources[1]"}},
		{"no resource name", one(&resourceRequest{}), codes.InvalidArgument, status.ReasonInvalidField, []string{"resources[0].resource"}},
		{"malformed names of the resource", one(&resourceRequest{Resource: "Pods/log", Group: "a b", Version: "1"}),
			codes.InvalidArgument, status.ReasonInvalidField, []string{"resources[0].group", "resources[0].version", "resources[0].resource"}},
		{"malformed selector", one(&resourceRequest{Resource: "pods", LabelSelector: "a in (b"}),
			codes.InvalidArgument, status.ReasonInvalidField, []string{"resources[0].label_selector"}},
		{"malformed label value", one(&resourceRequest{Resource: "pods", LabelSelector: "a=b c"}),
			codes.InvalidArgument, status.ReasonInvalidField, []string{"resources[0].label_selector"}},
		{"huge selector", one(&resourceRequest{Resource: "pods", LabelSelector: strings.Repeat("a", 300<<10)}),
			codes.ResourceExhausted, status.ReasonLimitExceeded, []string{"resources[0].label_selector"}},
		{"many label requirements", one(&resourceRequest{Resource: "pods", LabelSelector: strings.Repeat("!a,", 100) + "!a"}),
			codes.ResourceExhausted, status.ReasonLimitExceeded, []string{"resources[0].label_selector"}},
		{"many field requirements", one(&resourceRequest{Resource: "pods", FieldSelector: strings.Repeat("!a,", 100) + "!a"}),
			codes.ResourceExhausted, status.ReasonLimitExceeded, []string{"resources[0].field_selector"}},
		{"malformed namespace", one(&resourceRequest{Resource: "pods", Namespaces: []string{"a/b"}}),
			codes.InvalidArgument, status.ReasonInvalidField, []string{"resources[0].namespaces"}},
		{"empty name", one(&resourceRequest{Resource: "pods", Names: []string{""}}),
			codes.InvalidArgument, status.ReasonInvalidField, []string{"resources[0].names"}},
		{"namespace of a cluster-scoped resource", one(&resourceRequest{Resource: "nodes", Namespaces: []string{"a"}}),
			codes.InvalidArgument, status.ReasonInvalidField, []string{"resources[0].namespaces"}},
		{"negative interval", &runnelv1.SubscribeRequest{
			Resources: []*resourceRequest{{Resource: "pods"}}, BookmarkInterval: durationpb.New(-time.Second)},
			codes.InvalidArgument, status.ReasonInvalidField, []string{"bookmark_interval"}},
		{"unknown resource", one(&resourceRequest{Resource: "nothings"}),
			codes.NotFound, status.ReasonUnknownResource, []string{"resources[0].resource"}},
		{"only unknown resources", request(&resourceRequest{Resource: "nothings"}, &resourceRequest{Resource: "nobodies"}),
			codes.NotFound, status.ReasonUnknownResource, []string{"resources[1].resource"}},
		{"one unknown resource with fail_fast", &runnelv1.SubscribeRequest{
			Resources: []*resourceRequest{{Resource: "pods"}, {Resource: "nothings"}}, FailFast: true},
			codes.NotFound, status.ReasonUnknownResource, []string{"resources[1].resource"}},
		{"resource without watch", request(&resourceRequest{Resource: "tokenreviews"}, &resourceRequest{Resource: "pods"}),
			codes.InvalidArgument, status.ReasonInvalidField, []string{"resources[0].resource"}},
		{"what is not served yet", &runnelv1.SubscribeRequest{
			Resources: []*resourceRequest{{Resource: "pods", Expression: "true"}}},
			codes.Unimplemented, status.ReasonUnimplementedField, []string{"resources[0].expression"}},
		{"known versions that are no pairs", one(&resourceRequest{Resource: "pods", Known: make([]byte, 17)}),
			codes.InvalidArgument, status.ReasonInvalidField, []string{"resources[0].known"}},
		{"malformed field selector", one(&resourceRequest{Resource: "pods", FieldSelector: "spec.list[*]=a"}),
			codes.InvalidArgument, status.ReasonInvalidField, []string{"resources[0].field_selector"}},
		{"long malformed selector", one(&resourceRequest{Resource: "pods", LabelSelector: strings.Repeat("é", 100<<10)}),
			codes.InvalidArgument, status.ReasonInvalidField, []string{"resources[0].label_selector"}},
		{"malformed paths", one(&resourceRequest{Resource: "pods", IgnorePaths: []string{"a..b"},
			Projection: &runnelv1.Projection{Part: &runnelv1.Projection_Paths{Paths: &runnelv1.Paths{Paths: []string{"a b"}}}}}),
			codes.InvalidArgument, status.ReasonInvalidField, []string{"resources[0].projection.paths", "resources[0].ignore_paths"}},
		{"no paths", one(&resourceRequest{Resource: "pods", Projection: &runnelv1.Projection{Part: &runnelv1.Projection_Paths{}}}),
			codes.InvalidArgument, status.ReasonInvalidField, []string{"resources[0].projection.paths"}},
		{"ignored identity", one(&resourceRequest{Resource: "pods", IgnorePaths: []string{"metadata"}}),
			codes.InvalidArgument, status.ReasonInvalidField, []string{"resources[0].ignore_paths"}},
		{"negative min_interval", &runnelv1.SubscribeRequest{
			Resources: []*resourceRequest{{Resource: "pods"}}, MinInterval: durationpb.New(-time.Second)},
			codes.InvalidArgument, status.ReasonInvalidField, []string{"min_interval"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, pods, nodes)
			err := subscribe(t, serve(t, Config{Resolver: c, Sources: c}), tt.req).end()
			s := grpcstatus.Convert(err)
			if s.Code() != tt.code {
				t.Errorf("code is %v (%s), want %v", s.Code(), s.Message(), tt.code)
			}
			var info *errdetails.ErrorInfo
			var fields []string
			retry := false
			for _, d := range s.Details() {
				switch d := d.(type) {
				case *errdetails.ErrorInfo:
					info = d
				case *errdetails.BadRequest:
					for _, v := range d.GetFieldViolations() {
						fields = append(fields, v.GetField())
					}
				case *errdetails.RetryInfo:
					retry = true
				}
			}
			if info.GetReason() != tt.reason || info.GetDomain() != "runnel.v1" {
				t.Errorf("info is %v, want reason %s", info, tt.reason)
			}
			if fields = slices.Compact(fields); !slices.Equal(fields, tt.fields) {
				t.Errorf("fields are %v, want %v", fields, tt.fields)
			}
			if wantRetry := tt.code == codes.ResourceExhausted; retry != wantRetry {
				t.Errorf("retry hint: %v, want %v", retry, wantRetry)
			}
			if c.open != 0 {
				t.Errorf("%d sources left open", c.open)
			}
		})
	}
}
