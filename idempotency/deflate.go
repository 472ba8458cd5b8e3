package idempotency

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"slices"
	"sync"
)

// deflater compresses, and keeps what that takes, more than a megabyte, from one answer to the next. The standard library's
// fastest level: of JSON it leaves 3 % more than the sixth one in half of the time, and zstd 10 % less, for a module and
// 400 KB of everybody's binary.
type deflater struct {
	writers sync.Pool // *flate.Writer
	readers sync.Pool // io.ReadCloser, as flate.NewReader makes it
}

// deflate returns data compressed, or data itself where a record with it costs one unit anyway.
func (d *deflater) deflate(data []byte) []byte {
	if writeUnits(recordSize+len(data)) == 1 {
		return data
	}
	var short bytes.Buffer
	w, _ := d.writers.Get().(*flate.Writer)
	if w == nil {
		w, _ = flate.NewWriter(&short, flate.BestSpeed) // a valid level is no error
	} else {
		w.Reset(&short)
	}
	defer d.writers.Put(w)
	// A bytes.Buffer takes everything.
	_, _ = w.Write(data)
	_ = w.Close()
	return short.Bytes()
}

// inflate reads what deflate has written, and no more than an outcome may have.
func (d *deflater) inflate(data []byte) ([]byte, error) {
	in := bytes.NewReader(data)
	r, _ := d.readers.Get().(io.ReadCloser)
	if r == nil {
		r = flate.NewReader(in)
	} else if err := r.(flate.Resetter).Reset(in, nil); err != nil {
		return nil, err
	}
	defer d.readers.Put(r)
	long, err := io.ReadAll(io.LimitReader(r, maxOutcome+1))
	switch {
	case err != nil:
		return nil, err
	case len(long) > maxOutcome:
		return nil, fmt.Errorf("it is over %d bytes", maxOutcome)
	case in.Len() > 0:
		return nil, fmt.Errorf("%d bytes follow its end", in.Len())
	}
	return slices.Clip(long), nil
}
