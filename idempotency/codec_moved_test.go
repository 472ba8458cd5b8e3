package idempotency_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// Who can write the table, and has no key, can make an answer of none of the sealed ones: what is moved from one record to
// another, from one part to another, or changed, does not open, and the handler does not run.
func TestCodec_Moved(t *testing.T) {
	t.Parallel()
	long := noise(5 << 10)
	from := func(t *testing.T, f *fixture, w *worker, value string) item {
		t.Helper()
		w.must(localtest.Invocation(t, time.Second), t, request("theirs"), returns(value))
		return f.record(t, request("theirs"))
	}
	for name, forge := range map[string]func(*testing.T, *fixture, *worker) item{
		"data": func(t *testing.T, f *fixture, w *worker) item {
			return item{"data": from(t, f, w, "theirs")["data"]}
		},
		"items": func(t *testing.T, f *fixture, w *worker) item {
			theirs := from(t, f, w, long)
			pointer, _ := theirs["body"].(*types.AttributeValueMemberM)
			copied := f.at(t, item{"id": text(theirs.text("id") + "#" + item(pointer.Value).text("name") + "#0")})
			copied["id"] = text(id(request("k")) + "#" + item(pointer.Value).text("name") + "#0")
			f.put(t, copied)
			return item{"data": nil, "body": pointer}
		},
		"a step": func(t *testing.T, _ *fixture, _ *worker) item {
			return item{"data": &types.AttributeValueMemberB{Value: sealedStep(t)[1:]}}
		},
		"a bit": func(t *testing.T, f *fixture, _ *worker) item {
			data, _ := f.record(t, request("k"))["data"].(*types.AttributeValueMemberB)
			changed := bytes.Clone(data.Value)
			changed[len(changed)-1] ^= 1
			return item{"data": &types.AttributeValueMemberB{Value: changed}}
		},
		"emptied": func(*testing.T, *fixture, *worker) item {
			return item{"data": &types.AttributeValueMemberB{Value: []byte{}}}
		},
		"said plain":  func(*testing.T, *fixture, *worker) item { return item{"encoding": nil} },
		"said packed": func(*testing.T, *fixture, *worker) item { return item{"encoding": text("deflate+sealed")} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				w := f.worker(t, codec(newSealer(t, "k1")))
				w.must(localtest.Invocation(t, time.Second), t, request("k"), returns("mine"))
				f.edit(t, request("k"), forge(t, f, w))
				forged := f.record(t, request("k"))
				f.quiet()
				for range 2 {
					res, err := w.do(localtest.Invocation(t, time.Second), request("k"), returns("twice"))
					wantErr(t, err, idempotency.ErrBadRecord)
					if res.Value != "" {
						t.Errorf("answered %q", res.Value)
					}
				}
				f.wantRuns(t, 0)
				f.wantUntouched(t, request("k"), forged)
				f.wantKinds(t, idempotency.KindStoreFailure, idempotency.KindStoreFailure)
			})
		})
	}
}

// sealedStep is what a step of the key would have in a table where it is still in work.
func sealedStep(t *testing.T) []byte {
	t.Helper()
	elsewhere := newFixture(t)
	_, err := elsewhere.worker(t, codec(newSealer(t, "k1"))).do(localtest.Invocation(t, time.Second), request("k"), func(ctx context.Context) (string, error) {
		_, err := idempotency.Step(ctx, "charge", func(context.Context) (string, error) { return "mine", nil })
		return "", errors.Join(err, errPlain)
	})
	wantErr(t, err, errPlain)
	steps, _ := elsewhere.record(t, request("k"))["steps"].(*types.AttributeValueMemberM)
	step, _ := steps.Value["charge"].(*types.AttributeValueMemberB)
	return step.Value
}

// Nor can a step's result be given to another step, or to that step of another record. What the step has done stays done.
func TestCodec_MovedSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, ran := newFixture(t), 0
		w := f.worker(t, rerun, codec(newSealer(t, "k1")))
		h := func(ctx context.Context) (string, error) {
			for _, name := range []string{"charge", "mail"} {
				if _, err := idempotency.Step(ctx, name, func(context.Context) (string, error) { ran++; return name, nil }); err != nil {
					return "", err
				}
			}
			return "", errPlain
		}
		for _, k := range []string{"k", "theirs"} {
			_, err := w.do(localtest.Invocation(t, time.Second), request(k), h)
			wantErr(t, err, errPlain)
		}
		mine, _ := f.record(t, request("k"))["steps"].(*types.AttributeValueMemberM)
		theirs, _ := f.record(t, request("theirs"))["steps"].(*types.AttributeValueMemberM)
		for name, steps := range map[string]attributes{
			"another step's":   {"charge": mine.Value["mail"], "mail": mine.Value["mail"]},
			"another record's": theirs.Value,
			"said plain":       {"charge": text("\x01forged"), "mail": text(`"forged"`)},
		} {
			f.edit(t, request("k"), item{"steps": &types.AttributeValueMemberM{Value: steps}})
			_, err := w.do(localtest.Invocation(t, time.Second), request("k"), h)
			if !errors.Is(err, idempotency.ErrBadRecord) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if ran != 4 {
			t.Errorf("%d steps ran, want 4", ran)
		}
	})
}
