package watch

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/runnel-dev/runnel/client"
	"github.com/runnel-dev/runnel/cmd/runnel/internal/printer"
)

// describe turns an error of a subscription into a text for people: the code in
// words, then the fields at fault or else the message with the server's reason.
func describe(err error) string {
	if errors.Is(err, io.EOF) {
		return "the server ended the stream"
	}
	s, ok := status.FromError(err)
	if !ok {
		return printer.OneLine(err.Error())
	}
	text := words(s.Code()) + ": "
	var fields []string
	reason := ""
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				fields = append(fields, v.GetField()+": "+v.GetDescription())
			}
		case *errdetails.ErrorInfo:
			reason = d.GetReason()
		}
	}
	switch {
	case len(fields) > 0:
		text += strings.Join(fields, "; ")
	case reason != "":
		text += s.Message() + " (" + reason + ")"
	default:
		text += s.Message()
	}
	return printer.OneLine(text)
}

// describeInterruption says why there is no stream now, and what follows.
func describeInterruption(i client.Interruption, server string) string {
	retry := fmt.Sprintf("in %v", i.RetryIn.Round(10_000_000))
	switch {
	case errors.Is(i.Err, client.ErrDigestMismatch), errors.Is(i.Err, client.ErrVersionMismatch), errors.Is(i.Err, client.ErrBaseMismatch):
		return fmt.Sprintf("%s; putting it right %s", describe(i.Err), retry)
	case errors.Is(i.Err, client.ErrTokenExpired):
		return fmt.Sprintf("the resume token has expired; asking for the difference %s", retry)
	case i.Connected:
		return fmt.Sprintf("stream ended: %s; subscribing again %s", describe(i.Err), retry)
	}
	if cause, unreachable := connectionError(i.Err); unreachable {
		return fmt.Sprintf("cannot reach server at %s: %s; retrying %s", server, cause, retry)
	}
	return fmt.Sprintf("server at %s: %s; retrying %s", server, describe(i.Err), retry)
}

// connectionError digs out why no connection could be made, if that is the error.
func connectionError(err error) (cause string, ok bool) {
	s, _ := status.FromError(err)
	if s.Code() != codes.Unavailable || len(s.Details()) > 0 {
		return "", false
	}
	cause = printer.OneLine(s.Message())
	for _, wrapping := range []string{"Error while dialing: ", "authentication handshake failed: ", "connection error: desc = "} {
		if _, inner, found := strings.Cut(cause, wrapping); found {
			cause = strings.Trim(inner, `"`)
			break
		}
	}
	switch {
	case strings.Contains(cause, "first record does not look like a TLS handshake"):
		cause += " (if it serves plaintext, use --insecure)"
	case strings.Contains(cause, "error reading server preface"):
		cause += " (if it serves TLS, leave out --insecure)"
	}
	return cause, true
}

// words is a code as people write it: "invalid argument".
func words(c codes.Code) string {
	var b strings.Builder
	for i, r := range c.String() {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
