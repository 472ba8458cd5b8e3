package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// telling is the SDK's HTTP client. It tells the outside of each reply once all of it is here, and goes on when that was
// heard: whoever kills the process there, kills it between a reply and whatever follows from it.
type telling struct{ outside outside }

var sdk = awshttp.NewBuildableClient()

func (t telling) Do(r *http.Request) (*http.Response, error) {
	resp, err := sdk.Do(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, t.outside.tell(r.Context(), "reply", nil)
}
