package token

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/runnel-dev/runnel/internal/view"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var tokens = []Token{
	{},
	{Scope: 1, View: 2, Last: "9"},
	{Scope: 1 << 63, View: 1<<64 - 1, Last: "10", Exact: true, Watermark: "12", Digest: view.Digest{Count: 3, Hash: 1 << 60}},
	{Last: "123456789012345678901234567890", Exact: true, Watermark: "abc"}, // C20
	{Exact: true},
}

func TestTokensReadBackAsTheyWere(t *testing.T) {
	for _, want := range tokens {
		if got, err := Parse(want.Encode()); err != nil || got != want {
			t.Errorf("%+v reads back as %+v, %v", want, got, err)
		}
	}
}

func TestTokensAreSmall(t *testing.T) {
	full := Token{Last: "1234567", Exact: true, Watermark: "1234599"}
	if n := len(full.Encode()); n > 60 {
		t.Errorf("%d bytes: one goes with every read", n)
	}
}

// C11: whatever happened to a token on the way, it is not taken for another one.
func TestDamagedTokensAreNoTokens(t *testing.T) {
	whole := tokens[2].Encode()
	for n := range whole {
		if _, err := Parse(whole[:n]); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
		for bit := range 8 {
			flipped := bytes.Clone(whole)
			flipped[n] ^= 1 << bit
			if _, err := Parse(flipped); !errors.Is(err, ErrDamaged) {
				t.Errorf("bit %d of byte %d flipped: %v", bit, n, err)
			}
		}
	}
	if _, err := Parse(append(whole, 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("with a byte more: %v", err)
	}
}

func TestResourceVersionThatIsTooLongMakesNoToken(t *testing.T) {
	if b := (Token{Last: strings.Repeat("9", longest+1)}).Encode(); b != nil {
		t.Errorf("%d bytes", len(b))
	}
}

// Whatever is read as a token is written again just so: no two byte strings are one
// token.
func FuzzParse(f *testing.F) {
	for _, t := range tokens {
		f.Add(t.Encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		// Sealed, so that what is behind the checksum is fuzzed, too.
		for _, b := range [][]byte{b, seal(bytes.Clone(b))} {
			got, err := Parse(b)
			if err != nil {
				if !errors.Is(err, ErrDamaged) {
					t.Fatal(err)
				}
				continue
			}
			if again := got.Encode(); !bytes.Equal(again, b) {
				t.Fatalf("%x reads as %+v, which is %x", b, got, again)
			}
		}
	})
}
