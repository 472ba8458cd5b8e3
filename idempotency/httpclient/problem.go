package httpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"time"
)

// How much of a problem document is read, in bytes, and how long.
const (
	maxProblem  = 64 << 10
	problemTime = 5 * time.Second
)

// problemCode is the code of the answer's problem document, "" if it has none, or none that comes in time and before
// the context ends. The body can be read after it as if it had not been.
func problemCode(ctx context.Context, resp *http.Response) string {
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "application/problem+json" {
		return ""
	}
	until, cancel := context.WithTimeout(ctx, problemTime)
	defer cancel()
	stop := closeAt(until, resp.Body)
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	stop()
	var rest io.Reader = resp.Body
	if err != nil {
		if ctx.Err() != nil {
			err = ended(ctx) // not that the body is closed, which is only how it was stopped
		}
		rest = failing{err} // whoever reads on gets to the same end
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), rest), resp.Body}
	var problem struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(text, &problem) != nil {
		return ""
	}
	return problem.Code
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
