package lambda

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"pgregory.net/rapid"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

func tenantContext(ctx context.Context, tenant string) context.Context {
	return lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{TenantID: tenant})
}

// The form is part of the records' identity: a change makes every tenant's keys run again.
func TestTenantScope_Golden(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ tenant, scope, want string }{
		{"", "", ""},
		{"", "user 7", "user 7"},
		{"", "*", "*"},
		{"acme", "", "oncekey/tenant/4/acme"},
		{"acme", "user 7", "oncekey/tenant/4/acmeuser 7"},
		{"acme", "*", "oncekey/tenant/4/acme*"},
		{"é", "s", "oncekey/tenant/2/és"}, // bytes
		{"", "oncekey/tenant/4/acme", "oncekey/tenant/0/oncekey/tenant/4/acme"},
	} {
		if got := tenantScope(tenantContext(t.Context(), tt.tenant), tt.scope); got != tt.want {
			t.Errorf("tenantScope(%q, %q) = %q, want %q", tt.tenant, tt.scope, got, tt.want)
		}
	}
	for name, ctx := range map[string]context.Context{
		"no Lambda context":  t.Context(),
		"nil Lambda context": lambdacontext.NewContext(t.Context(), nil),
	} {
		if got := tenantScope(ctx, "user 7"); got != "user 7" {
			t.Errorf("%s: %q, want the scope as it is", name, got)
		}
	}
}

// I11: no two pairs of tenant and scope have the same scope in the end.
func TestTenantScope_TenantsNeverMeet(t *testing.T) {
	t.Parallel()
	part := rapid.StringMatching(`(oncekey/tenant/)?[0-3]?/?[a0]{0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		a := [2]string{part.Draw(t, "tenant"), part.Draw(t, "scope")}
		b := [2]string{part.Draw(t, "tenant"), part.Draw(t, "scope")}
		// A scope that is what another pair is turned into is the dangerous one.
		if rapid.Bool().Draw(t, "forged") {
			b = [2]string{"", tenantScope(tenantContext(context.Background(), a[0]), a[1])}
		}
		same := tenantScope(tenantContext(context.Background(), a[0]), a[1]) == tenantScope(tenantContext(context.Background(), b[0]), b[1])
		if same != (a == b) {
			t.Fatalf("%q and %q: same scope: %v", a, b, same)
		}
	})
}

func TestWrap_TenantIsPartOfTheScope(t *testing.T) {
	t.Parallel()
	db := localtest.Start(t)
	r, err := idempotency.New(db.Client(), idempotency.Config{Table: db.CreateTable(t, idempotency.Table("idempotency", idempotency.Schema{}))})
	if err != nil {
		t.Fatal(err)
	}
	type event struct{ Scope string }
	runs := 0
	h := Wrap(r, func(_ context.Context, e event) (idempotency.Request, error) {
		return idempotency.Request{Operation: "pay", Scope: e.Scope, Key: "k"}, nil
	}, func(context.Context, event) (int, error) {
		runs++
		return runs, nil
	})
	const missing = -1
	for i, tt := range []struct {
		tenant, scope string
		want          int
	}{
		{"", "", missing}, // without a tenant the scope stays required
		{"", "s", 1},
		{"", idempotency.GlobalScope, 2},
		{"t1", "s", 3},
		{"t2", "s", 4},
		{"t1", "", 5},
		{"t2", "", 6},
		{"t1", idempotency.GlobalScope, 7},
		{"t2", idempotency.GlobalScope, 8},
		{"t", "1s", 9},
		{"", "s", 1},
		{"t1", "s", 3},
		{"t2", "", 6},
		{"t1", idempotency.GlobalScope, 7},
	} {
		got, err := h(tenantContext(localtest.Invocation(t, time.Minute), tt.tenant), event{tt.scope})
		if field, ok := errors.AsType[*idempotency.FieldError](err); ok && field.Field == "Request.Scope" {
			got, err = missing, nil
		}
		if got != tt.want || err != nil {
			t.Errorf("event %d, tenant %q, scope %q: run %d, %v, want run %d", i, tt.tenant, tt.scope, got, err, tt.want)
		}
	}
}
