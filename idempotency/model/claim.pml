/* A request of Do (TX 0) or of a claimed transaction (TX 1): acquire.go, run.go, step.go, commit.go. */

/* the one conditional write that fits what was seen */
inline claim(T, S, F, TX, SEENSTEP) {
	if
	:: dec == D_NEW -> acquire(T, F, TX)
	:: dec == D_REL -> reacquire(T, S, F, TX)
	:: dec == D_TAKE -> takeOver(T, S, F, TX, SEENSTEP)
	:: dec == D_TAKETX -> takeOverTx(T, S, F, TX)
	fi
}

inline claimed(TX) {
	if
	:: r == 1 || (r == 2 && G_OWNCLAIM && tok == t && st == INP) ->
		dec = D_MINE; r = 1; pr = (prior || old); begun = ext;
		if
		:: G_STEPNEW -> my = stp
		:: else -> skip
		fi
	:: r == 2 && !(G_OWNCLAIM && tok == t && st == INP) -> assert(I7 || tok != t || st != INP); decide(TX)
	:: r == 3
	fi;
	old = 0
}

#define SEENPENDING(S) (tok == S && !(st == INP && !(lo || BL)) && st != COMP)
#define CLAIMPENDING (dec == D_NEW -> FREE : SEENPENDING(s))
#define ENDPENDING (tok == t && st == INP)

/* the handler starts: its record is its own, nobody has run before it without its knowing, and no outcome is there */
inline starts(TX) {
	assert(I8 || owned[t]);
	assert(I2 || !started[t]);
	assert(I3 || winOf[t] != win || recorded[win] == 0);
	if
	:: !STEPS && winOf[t] == win -> notBlind(t, (RR && pr))
	:: else
	fi;
	if
	:: A_CONC -> assert(CONC || running == 0); running++; busy[t] = 1
	:: else
	fi;
	started[t] = 1; ranOnce = 1;
	if
	:: !STEPS && TX == 0 -> eff[t] = 1
	:: else
	fi
}

/* a step's function starts; of a late attempt nothing is said, since a step is no fence */
inline stepStarts() {
	if
	:: tok == t && st == INP -> assert(STEP || !stepped[win]); notBlind(t, (RR && pr))
	:: else
	fi;
	eff[t] = 1; open = 1
}

inline stops() {
	if
	:: busy[t] -> busy[t] = 0; running--
	:: else
	fi
}

/* what the answer to a write of the outcome says */
inline finished() {
	if
	:: r == 1 -> assert(I9 || recorded[winOf[t]] == t || !G_ATOMIC); dec = D_END
	:: r == 2 ->
		if
		:: tok == t && st == COMP && G_OWNEND ->
			if
			:: (outc != t || body != b) && G_SAMEEND -> handOut()
			:: else -> assert(I3 || outc == t); dec = D_END
			fi
		:: else ->
			assert(I7 || !(left[t] && tok == t));
			if
			:: st == COMP && !(ro || BR) && (fp == f || !G_WINNER) -> handOut()
			:: else -> dec = D_END          /* ErrLeaseLost, or the record is gone: ErrNotRecorded */
			fi
		fi
	:: r > 2 -> dec = D_END
	fi
}

/* the caller gets the handler's error: nothing that it has staged is written, nor will be */
inline tells() {
	dec = D_END;
	if
	:: sent -> assert(I9 || NOTCOMMITTED(t)); said[t] = win + 1
	:: else
	fi
}

inline leftAs(TO) {
	if
	:: r == 1 || (r == 2 && ((tok == t && st == TO) || (PREVS && G_PREV && prev == t && prevst == TO))) -> tells()
	:: r == 2 && !((tok == t && st == TO) || (PREVS && G_PREV && prev == t && prevst == TO)) ->
		if
		:: sent && tok == t && st == COMP -> assert(I3 || outc == t); dec = D_END     /* its transaction has committed */
		:: else ->
		if
		:: A_PREV -> assert(I7 || taken[t] || !left[t])
		:: else
		fi;
		if
		:: st == COMP && !(ro || BR) && fp == f -> handOut()
		:: else -> tells()
		fi
		fi
	:: r == 3 -> dec = D_END        /* ErrNotRecorded if a transaction was sent, else the handler's error */
	fi
}

proctype Request(byte id; byte f; byte tx)
#if KILLED
	provided (!dead[id])
#endif
{
	byte t, s, r, n, k, v, b, dec, rounds, to, inWindow;
	bit old, pr, my, begun, open, sent, created, again;

	dec = D_NEW;
claiming: skip;
	if
	:: rounds >= MAXR || nt >= MAXT - 1 -> goto out
	:: else
	fi;
	d_step { INORDER -> begins(); rounds++; aToken(); pr = (dec == D_TAKE); created = (dec == D_NEW) };
	PERSIST(2, claim(t, s, f, tx, my), CLAIMPENDING, claimed(tx), SEND(dec, (dec == D_NEW -> tok : s), 0, 0, st, (tx != 0), 0, my), 0, 0);
	if
	:: r == 3 && G_ANSWER -> goto givingBack
	:: r == 3 && !G_ANSWER -> goto starting
	:: else
	fi;
deciding: skip;
	if
	:: dec == D_MINE -> goto starting
	:: dec <= D_TAKETX -> goto claiming
	:: dec == D_LIVE && rounds < MAXR -> rounds++; d_step { decide(tx) }; goto deciding     /* wait */
	:: dec == D_LIVE || dec == D_END -> goto out
	:: dec == D_REPLAY -> goto reading
	fi;

givingBack: skip;     /* one send, best effort */
	if
	:: !G_GIVEBACK -> skip
	:: d_step {
		G_GIVEBACK ->
		if
		:: ROTATES && created -> leave(t, REL, 0, 0)
		:: else -> leave(t, (pr && G_BACKPRIOR -> UNK : REL), pr, 0)
		fi;
		if
		:: r == 1 && ROTATES && created -> ro = 1; back = 1
		:: else
		fi
	}
	:: d_step { G_GIVEBACK && faults < MAXF && !A_BLOCK -> faults++ }
	:: d_step { G_GIVEBACK && DELAY && !ROTATES && faults < MAXF && dk == 0 -> faults++; SEND(K_LEAVE, 0, (pr && G_BACKPRIOR -> UNK : REL), 0, 0, 0, pr, 0) }
	fi;
	goto out;

starting: skip;       /* the clock again, after the reply */
	if
	:: d_step { (tok == t && st == INP && !lo) || !G_CLOCK || !G_ANSWER -> starts(tx) }
	:: !(tok == t && st == INP && !lo) && G_CLOCK && G_ANSWER -> goto givingBack
	fi;

#if STEPS
	if
	:: my -> goto ending                            /* its recorded result */
	:: !my && (!tx || begun || !G_BEGIN) -> skip
	:: !my && tx && !begun && G_BEGIN ->
		PERSIST(2, begin(t), (tok == t && st == INP && !ext), skip, SEND(K_BEGIN, 0, 0, 0, 0, 0, 0, 0), 0, 0);
		if
		:: r == 1 || (r == 2 && tok == t && st == INP) -> begun = 1
		:: r == 3 -> to = REL; goto leaving           /* the step has not begun */
		:: r == 2 && !(tok == t && st == INP) -> to = UNK; goto leaving
		fi
	fi;
	d_step { stepStarts() };
	PERSIST(2, step(t), (tok == t && st == INP && !stp), skip, SEND(K_STEP, 0, 0, 0, 0, 0, 0, 0), 0, 0);
	if
	:: r == 1 || (r == 2 && tok == t && st == INP && stp) -> open = 0
	:: r == 3 -> skip
	:: r == 2 && !(tok == t && st == INP && stp) -> to = UNK; goto leaving
	fi;
#endif

ending: skip;
	d_step { stops() };
	if
	:: goto recording                               /* a result */
	:: tx && !LARGE -> goto completing              /* Terminal: nothing that is staged is written */
	:: to = REL; goto leaving                       /* an error before which nothing happened */
	:: to = UNK; goto leaving                       /* Unknown, a panic, the end of its time */
	fi;

recording:
#if LARGE
	b = (G_ITEMNAME -> t : 1);
	if
	:: G_ITEMSFIRST -> item1[b] = t; item2[b] = t
	:: G_ITEMSFIRST -> item1[b] = t; b = NOBODY     /* could not be written */
	:: !G_ITEMSFIRST -> skip
	fi;
#endif
	if
	:: tx ->
		PERSIST(2, commit(t, t, b), ENDPENDING, finished(), SEND(K_COMMIT, 0, t, b, 0, 0, 0, 0), MINE(t) && !committed[t], committed[t] && G_ATOMIC);
		sent = 1;
		if
		:: r == 4 -> goto refused
		:: r == 3 -> goto refused                     /* the table refuses, perhaps after it has applied an earlier copy */
		:: r == 3 -> goto out                         /* ErrNotRecorded */
		:: r == 1 && !G_ATOMIC -> goto completing
		:: (r == 1 && G_ATOMIC) || r == 2 -> goto reading
		fi
	:: else
	fi;

completing:
	PERSIST(2, complete(t, t, b), ENDPENDING, finished(), SEND(K_COMPLETE, 0, t, b, 0, 0, 0, 0), 0, 0);
	if
	:: r == 3 && LARGE && !again -> again = 1; b = NOBODY; goto completing   /* refused for its size */
	:: r == 3 -> goto out
	:: else -> goto reading
	fi;

refused: skip;        /* as if the handler had returned it */
	if
	:: b = 0; goto completing
	:: to = REL; goto leaving
	:: to = UNK; goto leaving
	fi;

leaving: skip;
	d_step {
		stops();
		if
		:: (pr && G_LEAVEPRIOR) || (open && G_OPEN) -> to = UNK
		:: else
		fi
	};
	PERSIST(2, leave(t, to, pr, open), ENDPENDING, leftAs(to), SEND(K_LEAVE, 0, to, 0, 0, 0, pr, open), 0, 0);

reading: skip;
	d_step {
		if
		:: dec == D_REPLAY -> readItems()
		:: else
		fi
	};

out: skip;
	d_step {
		if
		:: A_BLOCK -> ended[t] = 1
		:: else
		fi;
		t = 0; s = 0; r = 0; n = 0; k = 0; v = 0; inWindow = 0; b = 0; dec = 0; rounds = 0; to = 0;
		old = 0; pr = 0; my = 0; begun = 0; open = 0; sent = 0; created = 0; again = 0
	}
}
