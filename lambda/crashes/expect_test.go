package main

import "slices"

// What a cell has to come to, by the rules and by what the path does.

func (c cell) story() story {
	s := rules[c.calls[c.at].role][c.trouble.kind]
	if c.cut {
		return *s.cut
	}
	return s
}

// given is the cell once it is known what its first request got, where that tells how the time has ended.
func (c cell) given(first got) cell {
	c.cut = c.story().cut != nil && first.classes[c.message(c.at)] == notRecorded
	return c
}

// ends are those of the message that the trouble is about.
func (c cell) ends() ends {
	w := c.story().refuse
	if c.rerun {
		w = c.story().rerun
	}
	if c.late {
		return w.after
	}
	return w.atOnce
}

// classesOf are what the requests of all messages get, if that with the trouble gets own.
func (c cell) classesOf(own class, first bool) []class {
	if c.batch == 0 {
		return []class{own}
	}
	classes := make([]class, c.batch)
	for i := range classes {
		mine := c.message(c.at)
		switch delayed := c.trouble.kind == delay; {
		case i == mine:
			classes[i] = own
		case first && own == gone: // the whole batch
			classes[i] = gone
		case first && i > mine && c.trouble.kind == throttle: // no time is left for it
			classes[i] = notStarted
		case first && i > mine && delayed: // the retry was faster
			classes[i] = replayed
		case first, i > mine && (c.ends().first == gone || delayed || c.trouble.kind == throttle):
			classes[i] = answered
		default:
			classes[i] = replayed
		}
	}
	return classes
}

// classes are the same as the path's caller can tell them apart: that a message is done with is all that a queue hears.
func (c cell) classes(own class, first bool) []class {
	classes := c.classesOf(own, first)
	for i := range classes {
		if c.batch > 0 && classes[i].isAnswer() {
			classes[i] = answered
		}
	}
	return classes
}

// kinds are the events of requests with these ends, as lambda.Metrics counts them.
func (c cell) kinds(classes []class, retry bool) map[string]int {
	counted := map[string]int{}
	count := func(names ...string) {
		for _, name := range names {
			counted[name]++
		}
	}
	for i, got := range classes {
		mine := i == c.message(c.at)
		ran := slices.Contains([]class{answered, overtaken, notRecorded, notWritten}, got) ||
			got == unavailable && c.story().word == heldBack.word
		switch {
		case !ran || c.calls[0].role == shot: // which claims nothing
		case retry && mine && c.overUnknown():
			count("TakenOver")
		default:
			count("Acquired")
		}
		switch got {
		case answered:
			count("Completed")
		case overtaken:
			count("LeaseLost")
		case replayed, noBody:
			count("Replayed")
		case inProgress:
			count("InProgress")
		case unknown:
			count("Unknown")
		case unavailable:
			count("StoreFailure")
		case notRecorded:
			if c.calls[c.at].role == step {
				count("StoreFailure") // its error is the handler's, which marks the outcome unknown, in vain
			} else {
				count("NotRecorded")
			}
		case notWritten:
			if c.story().leaves == "UNKNOWN" {
				count("Unknown")
			} else {
				count("Released")
			}
		default: // a process that dies counts nothing, nor does a message that is not started
		}
	}
	return counted
}

// overUnknown: a retry that runs has found an attempt that has not told how it ended.
func (c cell) overUnknown() bool {
	return c.story().leaves == "UNKNOWN" || c.story().refuse.atOnce.retry == inProgress
}

// effectsOf are how often each effect has happened in the end; to a message that the trouble is about, or another one.
func (c cell) effectsOf(mine bool) map[string]int {
	e := c.ends()
	if !mine {
		e = ends{answered, replayed}
	}
	counts := map[string]int{}
	for _, effect := range c.effects {
		at := c.own(c.at)
		if effect.staged {
			if e.first.isAnswer() || e.retry.isAnswer() { // one commit
				counts[effect.name]++
			}
			continue
		}
		if e.first == answered || effect.before <= at && e.first != replayed {
			counts[effect.name]++ // by the first run
		}
		if mine && e.retry == answered && (effect.step < 0 || !c.recorded(effect.step)) {
			counts[effect.name]++ // by the retry's, which knows of a recorded step
		}
	}
	return counts
}

// recorded: the first request's call was applied before the retry came.
func (c cell) recorded(call int) bool {
	at := c.own(c.at)
	return call < at || call == at && c.trouble.kind == diedDone
}
