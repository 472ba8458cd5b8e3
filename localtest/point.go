package localtest

import (
	"fmt"
	"os"

	"github.com/oncekey/oncekey/localtest/internal/runtimeapi"
)

// KillAt arms a kill: the nth call from now (1 = the next) of [Function.Reach] or [Point] with that
// name ends in SIGKILL. It kills once; several may be armed for the same point. That a point was
// reached shows in the invocation's end, which is then Runtime.ExitError.
func (f *Function) KillAt(point string, nth int) {
	f.tb.Helper()
	if err := f.fn.KillAt(point, nth); err != nil {
		f.tb.Fatalf("localtest: %v", err)
	}
}

// Reach says that the processes have caused the test's own code to come to this point. Where a kill
// is armed, every process is gone when Reach returns (which of them it was cannot be seen from
// here); else it returns at once.
//
// Called from a hook of [DB.Inject] it kills at the nth call to the table: after the call was applied from
// [Fault].After; before it, and instead of it, from Before of a fault whose Kind is [RequestLost]. From
// Before alone it kills while the request is under way: that is still applied.
func (f *Function) Reach(point string) { f.fn.Reach(point) }

// Point is for a test binary that is its own bootstrap: it names a point in the function, and does
// not return if this is where the process is to be killed. Other processes live on. Outside of a
// process that [StartFunction] started it does nothing.
func Point(name string) {
	address := os.Getenv(runtimeapi.PointsVariable)
	if address == "" {
		return
	}
	if err := runtimeapi.Point(address, name); err != nil {
		panic(fmt.Sprintf("localtest: %v", err)) // the test is no more, or broken
	}
}
