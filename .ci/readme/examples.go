package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// libraries are the packages that users import.
var libraries = []string{"idempotency", "idempotency/httpclient", "lambda", "localtest"}

// exemption is an exported function, type or method without an Example that shows it, and why; or with the one of another, by its
// whole name.
type exemption struct{ name, shownBy, why string }

var exemptions = []exemption{
	{"idempotency.AttemptFrom", "ExampleWithAttempt", "the two belong together"},
	{"idempotency.Completed", "ExampleRunner_Unknowns", "a resolution goes with a record to resolve"},
	{"idempotency.NotDone", "ExampleRunner_Unknowns", "the same"},
	{"idempotency.Failure.ErrorType", "", "package lambda asks for it"},
	{"idempotency/httpclient.New", "Example", "the package's Example is of it"},
	{"idempotency/httpclient.WithKey", "Example", "the same"},
	{"lambda.DefaultHeaders", "ExampleMiddleware", "it goes with HTTPConfig.Headers"},
	{"lambda.NotStarted", "ExampleMiddleware", "it is for handlers"},
	{"lambda.OutcomeUnknown", "ExampleMiddleware", "the same"},
	{"lambda.RecordStripe", "ExampleRecordDefault", "the three are compared there"},
	{"lambda.RecordSuccess", "ExampleRecordDefault", "the same"},
	{"lambda.HTTPError.ErrorType", "", "the runtime asks for it"},
	{"lambda.KafkaItemIdentifier", "", "ExampleKafka prints one, as a part of the answer"},
	{"lambda.Start", "", "it does not return; the quick start calls it"},
	{"lambda.Option", "", "it is Start's"},
	{"lambda.WithEnableSIGTERM", "", "it is Start's"},
	{"localtest.NewQueue", "ExampleQueue", "a queue is nothing without its type"},
	{"localtest.Now", "", "it is for the function's process: the package comment has it, and the payments example's tests"},
	{"localtest.Point", "", "it is for the function's process, which ExampleStartFunction kills there"},
}

// plain are fields that need no comment: beside their neighbours the name says it.
var plain = []string{
	"idempotency.Event.Kind", "idempotency.Event.Operation", "idempotency.Record.Operation", "idempotency.Record.Started", "idempotency.WriteError.Table",
	"lambda.HTTPRequest.Caller", "lambda.HTTPRequest.Method",
	"lambda.KafkaBatchItemFailure.ItemIdentifier", "lambda.KafkaEventResponse.BatchItemFailures", "lambda.KafkaItemIdentifier.Offset",
	"localtest.Delivery.Event", "localtest.FrontDoor.Kind", "localtest.Message.Body", "localtest.Response.RequestID",
}

// undocumented returns the exported identifiers without a comment, and what is called plain and has one.
func undocumented(pkgs map[string]*pkg, plain []string) (found []string) {
	for folder, p := range pkgs {
		for name, s := range p.all {
			_, method, _ := strings.Cut(name, ".")
			if !s.documented && !slices.Contains(byOthers, method) && !slices.Contains(plain, folder+"."+name) {
				found = append(found, fmt.Sprintf("%s: %s %s has no comment", folder, s.kind, name))
			}
		}
	}
	for _, full := range plain {
		folder, name, _ := strings.Cut(full, ".")
		if p := pkgs[folder]; p == nil || p.all[name] == nil || p.all[name].documented {
			found = append(found, fmt.Sprintf("examples.go: %s is no field without a comment", full))
		}
	}
	return found
}

// unshown returns the functions without an Example of their own, and the types and methods that no Example uses, unless they are
// exempt; and the exemptions that are none.
func unshown(pkgs map[string]*pkg, exempt []exemption) (found []string) {
	isExempt := map[string]bool{}
	for _, e := range exempt {
		isExempt[e.name] = true
	}
	for folder, p := range pkgs {
		for name, s := range p.all {
			switch full := folder + "." + name; {
			case shown(pkgs, folder, name, s):
				if isExempt[full] {
					found = append(found, fmt.Sprintf("examples.go: %s has an Example: it needs no exemption", full))
				}
			case !isExempt[full]:
				found = append(found, fmt.Sprintf("%s: no Example shows %s", folder, name))
			}
		}
	}
	for _, e := range exempt {
		folder, name, _ := strings.Cut(e.name, ".")
		switch p := pkgs[folder]; {
		case p == nil || p.all[name] == nil:
			found = append(found, fmt.Sprintf("examples.go: %s is not exported", e.name))
		case e.why == "":
			found = append(found, fmt.Sprintf("examples.go: %s has no reason", e.name))
		case e.shownBy != "" && !p.examples[e.shownBy][path.Base(folder)+"."+name]:
			found = append(found, fmt.Sprintf("examples.go: %s does not show %s", e.shownBy, e.name))
		}
	}
	return found
}

// shown says whether an Example shows what a user calls: a function by its own, a type or a method by any that uses it.
func shown(pkgs map[string]*pkg, folder, name string, s *symbol) bool {
	own := func(name string) bool {
		for example := range pkgs[folder].examples {
			if example == "Example"+name || strings.HasPrefix(example, "Example"+name+"_") {
				return true
			}
		}
		return false
	}
	switch s.kind {
	case "func":
		return own(name)
	case "method":
		_, method, _ := strings.Cut(name, ".")
		return slices.Contains(byOthers, method) || own(strings.ReplaceAll(name, ".", "_")) || used(pkgs, "."+method)
	case "type":
		return own(name) || used(pkgs, path.Base(folder)+"."+name) || inSignature(pkgs, folder, name)
	}
	return true // fields and values come with what they belong to
}

// byOthers are methods that packages fmt, errors, encoding/json and net/http call, not users.
var byOthers = []string{"Error", "Unwrap", "String", "GoString", "LogValue", "MarshalJSON", "RoundTrip"}

func used(pkgs map[string]*pkg, selected string) bool {
	for _, p := range pkgs {
		for _, example := range p.examples {
			if example[selected] {
				return true
			}
		}
	}
	return false
}

// inSignature says whether a type is what a function of its package that an Example uses takes or returns.
func inSignature(pkgs map[string]*pkg, folder, name string) bool {
	for other, s := range pkgs[folder].all {
		_, method, isMethod := strings.Cut(other, ".")
		selected := path.Base(folder) + "." + other
		if isMethod {
			selected = "." + method
		}
		if slices.Contains(s.types, name) && used(pkgs, selected) {
			return true
		}
	}
	return false
}
