/*
 * What the processes of requests have in common: how a write gets an answer (store.go), and what a record that is there means
 * (acquire.go).
 */

/* a late copy */
#define SEND(K, S, V, B, ST, TX, PR, OPEN) \
	dk = K; dt = t; ds = S; df = f; dv = V; db = B; dst = ST; did = id; dtx = TX; dpr = PR; dopen = OPEN; \
	dover = ((K == K_ACQUIRE || K == K_SHOTNEW || K == K_KEEPOUTNEW) && st != NONE && FREE)

/* a window outlasts a call: nothing is sent again in the next one */
#define SAMECALL (n == 0 || win == inWindow || tok == t)

/*
 * persist: send; without an answer read the record, and send again if the write may still be needed, or the read has no answer
 * either; until there is no time left. Twice is enough for a fault or two. ANSWER takes in, in the same step, what the answer
 * says. STAGED: a condition of a staged write may fail. AGAIN: the table knows the transaction's ClientRequestToken (or has
 * forgotten it, and evaluates it anew).
 * r: 1 applied, 2 not needed or refused, 3 no answer, 4 a staged write is refused.
 */
#define PERSIST(SENDS, APPLY, PENDING, ANSWER, LATE, STAGED, AGAIN) \
	n = 0; r = 0; \
	do \
	:: r == 0 -> \
		if \
		:: d_step { SAMECALL -> APPLY; ANSWER } \
		:: d_step { !SAMECALL -> r = 3; ANSWER } \
		:: d_step { SAMECALL && (STAGED) -> r = 4; ANSWER } \
		:: d_step { SAMECALL && (AGAIN) -> r = 1; ANSWER } \
		:: d_step { SAMECALL && faults < MAXF -> faults++; APPLY; r = 0; old = 0; n++; inWindow = win } \
		:: d_step { faults < MAXF -> faults++; r = 3; ANSWER } \
		:: d_step { SAMECALL && DELAY && faults < MAXF && dk == 0 -> faults++; LATE; n++; inWindow = win } \
		fi; \
		if \
		:: r != 0 -> skip \
		:: r == 0 && n < SENDS && SAMECALL -> skip \
		:: d_step { r == 0 && SAMECALL && !(PENDING) -> r = 2; ANSWER } \
		:: d_step { r == 0 -> r = 3; ANSWER } \
		fi \
	:: r != 0 -> break \
	od

#define FREE (st == NONE || ((ro || BR) && !(st == INP && !(lo || BL))))

/* to hand out an outcome: it is what is recorded, for this fingerprint */
inline handOut() {
	assert(I3 || recorded[win] == outc);
	assert(I1 || fpOf[outc] == f);
	assert(WINDOW || !ro || BR || tok == t);       /* its own is no replay */
	v = outc; b = body; dec = D_REPLAY
}

/* decide, in the step in which the record was read: window, fingerprint, state */
inline decide(TX) {
	if
	:: FREE && (G_EXPIRY || st == NONE) -> dec = D_NEW; s = 0
	:: else ->
		if
		:: G_MATCH && fp != f -> dec = D_END
		:: else ->
			if
			:: st == COMP -> handOut()
			:: st == INP && !(lo || BL) -> dec = D_LIVE
			:: st == REL -> dec = D_REL; s = tok; my = stp
			:: st == UNK || (st == INP && (lo || BL)) ->
				s = tok; my = stp;
				if
				:: TX && (form || !G_FORM) && !ext && (!prior || !G_NOPRIOR) -> dec = D_TAKETX
				:: else ->
					if
					:: RR || (TX == 2 && !G_POLICY) -> dec = D_TAKE
					:: else ->
						dec = D_END;    /* ErrOutcomeUnknown */
						if
						:: A_BLOCK -> assert(BLOCK || ranOnce || !ended[tok])
						:: else
						fi
					fi
				fi
			fi
		fi
	fi
}

/* the items of an outcome that is handed out; what is not there is lost, and nothing runs */
inline readItems() {
	if
	:: b == 0 || b == NOBODY -> skip
	:: else -> assert(BODY || (item1[b] == v && (item2[b] == v || (LOST && item2[b] == 0))))
	fi
}

#define INORDER (!ALIKE || rounds > 0 || begunBy == id)

inline begins() {
	if
	:: ALIKE && rounds == 0 -> begunBy++
	:: else
	fi
}

inline aToken() {
	if
	:: !G_FRESH -> t = 1; fpOf[t] = f
	:: else ->
		if
		:: t == 0 || owned[t] || left[t] || dt == t -> nt++; t = nt; fpOf[t] = f; by[t] = id
		:: else -> skip                         /* it is nowhere: as good as a new one */
		fi
	fi
}
