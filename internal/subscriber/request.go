package subscriber

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/runnel-dev/runnel/internal/fieldpath"
	"github.com/runnel-dev/runnel/internal/projection"
	"github.com/runnel-dev/runnel/internal/selector"
	"github.com/runnel-dev/runnel/internal/status"
	"github.com/runnel-dev/runnel/internal/token"
	"github.com/runnel-dev/runnel/internal/view"
	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// selection is what a request says about one resource, checked as far as it can
// be without asking the API server.
type selection struct {
	// field is the selection's path in the request.
	field                    string
	group, version, resource string
	namespaces               []string
	criteria                 *selector.Criteria
	projection               projection.Projection
	offer                    offer
}

// selectors returns one selector for each namespace, or one for all.
func (s *selection) selectors() []*selector.Selector {
	if len(s.namespaces) == 0 {
		return []*selector.Selector{s.criteria.In("")}
	}
	all := make([]*selector.Selector, len(s.namespaces))
	for i, namespace := range s.namespaces {
		all[i] = s.criteria.In(namespace)
	}
	return all
}

// viewKey is equal for selections that select and show the same of one resource.
type viewKey struct{ resource, namespaces, criteria, projection string }

func (s *selection) viewKey(resource string) viewKey {
	// No namespace's name holds a comma.
	return viewKey{resource, strings.Join(s.namespaces, ","), s.criteria.Key(), s.projection.Key()}
}

// parse checks a request and reports everything that is wrong with it at once.
func parse(req *runnelv1.SubscribeRequest, limits Limits) ([]selection, error) {
	p := parser{limits: limits}
	selections := p.request(req)
	switch {
	case p.exceeded != nil:
		return nil, p.exceeded
	case len(p.invalid) > 0:
		return nil, status.Invalid(p.invalid)
	case len(p.unimplemented) > 0:
		return nil, status.Unimplemented(p.unimplemented)
	}
	return selections, nil
}

type parser struct {
	limits        Limits
	exceeded      error
	invalid       []status.Violation
	unimplemented []string
}

func (p *parser) request(req *runnelv1.SubscribeRequest) []selection {
	if !p.within(largest(req), proto.Size(req), p.limits.RequestBytes, "bytes") {
		return nil
	}
	if len(req.GetResources()) == 0 {
		p.reject("resources", errors.New("at least one is needed"))
	}
	if !p.within("resources", len(req.GetResources()), p.limits.Resources, "resources") {
		return nil
	}
	p.interval("min_interval", req.GetMinInterval())
	p.interval("bookmark_interval", req.GetBookmarkInterval())
	selections := make([]selection, len(req.GetResources()))
	for i, r := range req.GetResources() {
		selections[i] = p.resource(fmt.Sprintf("resources[%d]", i), r)
	}
	return selections
}

func (p *parser) resource(field string, r *runnelv1.ResourceSubscription) selection {
	s := selection{field: field, group: r.GetGroup(), version: r.GetVersion(), resource: r.GetResource()}
	if s.group != "" {
		p.check(field+".group", validation.IsDNS1123Subdomain(s.group))
	}
	if s.version != "" {
		p.check(field+".version", validation.IsDNS1035Label(s.version))
	}
	if s.resource == "" {
		p.reject(field+".resource", errors.New(`the plural name is needed, such as "pods"`))
	} else {
		p.check(field+".resource", validation.IsDNS1123Label(s.resource))
	}

	if p.within(field+".namespaces", len(r.GetNamespaces()), p.limits.Namespaces, "namespaces") {
		s.namespaces = sorted(r.GetNamespaces())
		for _, namespace := range s.namespaces {
			p.check(field+".namespaces", validation.IsDNS1123Label(namespace))
		}
	}
	var names []string
	if p.within(field+".names", len(r.GetNames()), p.limits.Names, "names") {
		names = r.GetNames()
		for _, name := range names {
			if name == "" {
				p.reject(field+".names", errors.New("a name must not be empty"))
			}
			p.check(field+".names", content.IsPathSegmentName(name))
		}
	}
	var requirements labels.Requirements
	if p.within(field+".label_selector", len(r.GetLabelSelector()), p.limits.SelectorBytes, "bytes") {
		parsed, err := selector.ParseLabels(r.GetLabelSelector())
		if err != nil {
			p.reject(field+".label_selector", err)
		}
		if p.within(field+".label_selector", len(parsed), p.limits.Requirements, "requirements") {
			requirements = parsed
		}
	}
	var fields selector.Fields
	if p.within(field+".field_selector", len(r.GetFieldSelector()), p.limits.SelectorBytes, "bytes") {
		parsed, err := selector.ParseFields(r.GetFieldSelector(), s.group, s.resource)
		if err != nil {
			p.reject(field+".field_selector", err)
		}
		if p.within(field+".field_selector", len(parsed), p.limits.Requirements, "requirements") {
			fields = parsed
		}
	}
	s.criteria = selector.NewCriteria(names, requirements, fields)
	s.projection = p.projection(field, r)
	p.unserved(field+".expression", r.GetExpression() != "")
	s.offer = p.offer(field, r)
	return s
}

// offer reads what the subscriber says it holds. A token that cannot be read is one that
// has expired.
func (p *parser) offer(field string, r *runnelv1.ResourceSubscription) (o offer) {
	if len(r.GetResumeToken()) > 0 {
		o.any = true
		o.token, _ = token.Parse(r.GetResumeToken())
	}
	if len(r.GetKnown()) > 0 {
		known, err := view.ParseKnown(r.GetKnown())
		if err != nil {
			p.reject(field+".known", err)
		}
		o.any, o.known = true, known
	}
	return o
}

func (p *parser) projection(field string, r *runnelv1.ResourceSubscription) projection.Projection {
	proj := projection.Whole()
	switch part := r.GetProjection().GetPart().(type) {
	case *runnelv1.Projection_MetadataOnly:
		proj = projection.MetadataOnly()
	case *runnelv1.Projection_Paths:
		if len(part.Paths.GetPaths()) == 0 {
			p.reject(field+".projection.paths", errors.New("at least one path is needed"))
		}
		proj = projection.Paths(p.paths(field+".projection.paths", part.Paths.GetPaths()))
	}
	proj, err := proj.Ignore(p.paths(field+".ignore_paths", r.GetIgnorePaths()))
	if err != nil {
		p.reject(field+".ignore_paths", err)
	}
	return proj
}

func (p *parser) paths(field string, texts []string) []fieldpath.Path {
	if !p.within(field, len(texts), p.limits.Paths, "paths") {
		return nil
	}
	paths := make([]fieldpath.Path, 0, len(texts))
	for _, text := range texts {
		path, err := fieldpath.Parse(text)
		if err != nil {
			p.reject(field, err)
			continue
		}
		paths = append(paths, path)
	}
	return paths
}

// largest names the resource that takes most of the request.
func largest(req *runnelv1.SubscribeRequest) string {
	index, most := 0, -1
	for i, r := range req.GetResources() {
		if size := proto.Size(r); size > most {
			index, most = i, size
		}
	}
	return fmt.Sprintf("resources[%d]", index)
}

func (p *parser) interval(field string, d *durationpb.Duration) {
	if d != nil && (d.CheckValid() != nil || d.AsDuration() < 0) {
		p.reject(field, errors.New("must not be negative"))
	}
}

func (p *parser) reject(field string, err error) {
	p.invalid = append(p.invalid, status.Violation{Field: field, Err: err})
}

func (p *parser) check(field string, problems []string) {
	for _, problem := range problems {
		p.reject(field, errors.New(problem))
	}
}

func (p *parser) unserved(field string, set bool) {
	if set {
		p.unimplemented = append(p.unimplemented, field)
	}
}

func (p *parser) within(field string, n, limit int, unit string) bool {
	if n <= limit {
		return true
	}
	if p.exceeded == nil {
		p.exceeded = status.LimitExceeded(field, fmt.Sprintf("%d %s are more than the limit of %d", n, unit, limit))
	}
	return false
}

func sorted(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}
