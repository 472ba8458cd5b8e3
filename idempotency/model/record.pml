/*
 * The record and its transitions. Each transition is ONE step here, as it is one conditional write there (I2).
 *
 * The conditions and updates as the code has them; idempotency/model_test.go compares these lines with the constants:
 *
 * acquireCondition = attribute_not_exists(#pk) OR (#attempt <> :mine AND #expiry < :expired AND
 *   (#status IN (:completed, :failed, :released, :unknown) OR (#status = :inprogress AND #in_progress_expiration < :now)))
 * reacquireCondition = #attempt = :seen AND #status = :released
 * takeOverCondition = #attempt = :seen AND (#status = :unknown OR (#status = :inprogress AND #in_progress_expiration < :now))
 * takeOverTxCondition = #attempt = :seen AND (#status = :unknown OR (#status = :inprogress AND #in_progress_expiration < :now))
 *   AND #form = :tx AND attribute_not_exists(#ext) AND attribute_not_exists(#prior_no)
 * ownCondition = #attempt = :mine AND #status = :inprogress
 * newTokenUpdate = SET #prev = #attempt, #prev_end = #status, #attempt = :mine, #attempt_no = #attempt_no + :one,
 * ownUpdate = SET #prev = #attempt, #prev_end = #status, #attempt = :mine, #attempt_no = #attempt_no + :one,
 *   #status = :inprogress, #form = :form, #started = :now, #in_progress_expiration = :lease, #expiry = :expiry
 * takeOverUpdate = SET #prev = #attempt, #prev_end = #status, #attempt = :mine, #attempt_no = #attempt_no + :one,
 *   #status = :inprogress, #form = :form, #started = :now, #in_progress_expiration = :lease, #expiry = :expiry,
 *   #prior_no = #attempt_no, #prior_started = if_not_exists(#prior_started, #started), #prior_lease = #in_progress_expiration
 * stepUpdate = SET #steps.#step = :result, #ext = :true
 * beginUpdate = SET #ext = :true
 * outcomeUpdate = SET #status = :status, #completed = :now, #expiry = :expiry
 * outcomeRemove = REMOVE #steps, #prior_no, #prior_started, #prior_lease, #in_progress_expiration
 * releaseUpdate = SET #status = :status, #expiry = :expiry
 * releasePriorUpdate = SET #status = :status, #expiry = :expiry,
 *   #prior_no = :prior_no, #prior_started = :prior_started, #prior_lease = :prior_lease
 * resolveUpdate = SET #prev = #attempt, #prev_end = #status, #attempt = :mine, #attempt_no = #attempt_no + :one,
 *   #status = :status, #expiry = :expiry
 * resolveOutcome = SET #prev = #attempt, #prev_end = #status, #attempt = :mine, #attempt_no = #attempt_no + :one,
 *   #status = :status, #expiry = :expiry, #completed = :at
 * resolveNotDone = SET #prev = #attempt, #prev_end = #status, #attempt = :mine, #attempt_no = #attempt_no + :one,
 *   #status = :status, #expiry = :expiry REMOVE #prior_no, #prior_started, #prior_lease
 * shotUpdate = SET #prev = #attempt, #prev_end = #status, #attempt = :mine, #attempt_no = #attempt_no + :one,
 *   #status = :status, #form = :form, #started = :started, #completed = :now, #expiry = :expiry
 * keepOutUpdate = SET #prev = #attempt, #prev_end = #status, #attempt = :mine, #attempt_no = #attempt_no + :one,
 *   #status = :status, #expiry = :expiry
 */

/* the item */
byte st;                    /* status: one of these */
#define NONE 0
#define INP  1
#define COMP 2              /* COMPLETED, FAILED */
#define REL  3
#define UNK  4
byte tok;                   /* attempt: the owner's token */
byte fp;                    /* validation */
byte outc;                  /* whose result the outcome is: the token of the run that made it */
byte body;                  /* 0: in the record; NOBODY; else the name of the items that have it */
#define NOBODY 15
bit lo, ro;                 /* the lease is over, the window is over: the true time, against which clocks may be wrong */
bit form;                   /* "tx" */
bit ext, stp;               /* a step began; its result is there */
bit prior;                  /* prior_no */
byte prev, prevst;          /* prev, prev_end; kept where PREVS asks for them */
bit back;                   /* given back while secrets rotate: over for every clock */

/* what a request decides */
#define D_NEW 1             /* acquire */
#define D_REL 2             /* re-acquire */
#define D_TAKE 3            /* take over */
#define D_TAKETX 4          /* take over between transactions */
#define D_LIVE 5            /* in progress */
#define D_END 6             /* mismatch, outcome unknown: answered */
#define D_REPLAY 7
#define D_MINE 8            /* the record is this request's */

byte item1[MAXT], item2[MAXT];  /* the items beside the record, by name: whose result they are part of */

/* ghosts: what the checks remember and no process reads */
byte win;                   /* the window that the key is in */
byte nt;                    /* tokens made */
byte fpOf[MAXT], winOf[MAXT], by[MAXT];
bit owned[MAXT];            /* has owned the record */
bit taken[MAXT];            /* was replaced in progress */
bit left[MAXT];             /* an ending write of it was applied */
bit started[MAXT];          /* its handler began */
bit eff[MAXT];              /* it may have had an effect outside of the table */
bit told[MAXT];             /* said, by its release or by a person, that it has not */
bit committed[MAXT];        /* its transaction was applied */
byte said[MAXT];            /* the window, plus one, in which its caller was told that the transaction was not */
bit stepped[MAXW];          /* a step's result was recorded */
byte bound[MAXW];           /* the fingerprint */
byte recorded[MAXW];        /* whose result is recorded */
byte effects[MAXW];         /* how often staged writes were committed */
byte running;               /* handlers at once */
bit ranOnce;

/* the names of the properties: an assertion is broken if what stands behind its name is false */
bit I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, STEP, BODY, WINDOW, BLOCK, CONC, BACK;

#define BL (SKEWL && id == 1)   /* that worker takes every lease for over */
#define BR (SKEWR && id == 1)   /* and every window */
#define RR ((RERUN >> id) & 1)  /* its policy */

/* acquireCondition; an item that is there has a known status */
#define ACQUIRABLE(T) (st == NONE || ((tok != T || !G_MINE) && (ro || BR) && (st != INP || lo || BL || !G_ACQLEASE)))
#define REACQUIRABLE(S) (st != NONE && (tok == S || !G_RSEEN) && (st == REL || !G_RSTATUS))
#define TAKEABLE(S) (st != NONE && (tok == S || !G_TSEEN) && (st == UNK || (st == INP && (lo || BL || !G_TLEASE)) || !G_TSTATUS))
#define TAKEABLETX(S) (TAKEABLE(S) && (form || !G_FORM) && (!ext || !G_EXT) && (!prior || !G_NOPRIOR))
#define MINE(T) (st != NONE && (tok == T || !G_TOKEN) && (st == INP || !G_STATUS))

/* one request on its way: what it was sent with, and for an acquire the record that was over when it was sent */
byte dk, dt, ds, df, dv, db, dst, did;
bit dtx, dover, dpr, dopen;

/* a window lasts a day or longer: what was sent in it is not on its way any more when it ends */
inline ages() {
	if
	:: dover && tok == ds && st == dst -> dover = 0        /* it was over when that was sent */
	:: else -> dk = 0; dt = 0; ds = 0; df = 0; dv = 0; db = 0; dst = 0; did = 0; dtx = 0; dover = 0; dpr = 0; dopen = 0
	fi
}

inline nextWindow() {
	if
	:: ro && !back -> win++; ages()
	:: back -> bound[win] = 0       /* as if it had never been */
	:: else
	fi
}

/* whoever is replaced in progress: its lease must be over */
inline replaces(T) {
	if
	:: st == INP && tok != T -> assert(I6 || lo || SKEWL); taken[tok] = 1
	:: else
	fi
}

inline newToken(T) {
	if
	:: PREVS -> prev = tok; prevst = st
	:: else
	fi;
	assert(BACK || tok != T || !left[T]);
	tok = T; ro = 0; winOf[T] = win
}

/* ownUpdate */
inline owns(T, TX) {
	newToken(T);
	st = INP; lo = 0; outc = 0; body = 0; form = TX; owned[T] = 1; taken[T] = 0
}

/* a window has one fingerprint */
inline binds(F) {
	assert(I1 || bound[win] == 0 || bound[win] == F);
	bound[win] = F
}

inline records(V, B) {
	assert(I3 || recorded[win] == 0);
	assert(BODY || B == 0 || B == NOBODY || (item1[B] != 0 && item2[B] != 0));
	st = COMP; outc = V; body = B; lo = 0; ro = 0; ext = 0; stp = 0; prior = 0; form = 0;
	recorded[win] = V
}

/* the staged writes, in the same transaction */
inline commits(T) {
	assert(I9 || said[T] != win + 1);
	effects[win]++;
	assert(I10 || effects[win] == 1);
	committed[T] = 1
}

/* nobody who may have had an effect is run over, unless the policy says so and the handler is told */
inline notBlind(T, ALLOWED) {
	k = 1;
	do
	:: k <= nt -> assert(I5 || k == T || !eff[k] || told[k] || winOf[k] != win || ALLOWED); k++
	:: else -> break
	od;
	k = 0
}

/* what the caller of T is told did not commit, did not: inside of the window, which outlasts the call */
#define NOTCOMMITTED(T) (!committed[T] || winOf[T] != win || ro)

/* r: 1 applied, 2 the condition has failed */

inline acquire(T, F, TX) {
	if
	:: ACQUIRABLE(T) ->
		replaces(T);
		old = (st == INP || st == UNK);     /* of the ALL_OLD item: rule 8 */
		nextWindow();
		binds(F);
		owns(T, TX);
		fp = F; prior = 0; ext = 0; stp = 0; prev = 0; prevst = 0; back = 0;
		r = 1
	:: else -> r = 2
	fi
}

inline reacquire(T, S, F, TX) {
	if
	:: REACQUIRABLE(S) -> binds(F); assert(I1 || fp == F); replaces(T); owns(T, TX); r = 1
	:: else -> r = 2
	fi
}

inline takeOver(T, S, F, TX, SEENSTEP) {
	if
	:: TAKEABLE(S) ->
		assert(I1 || fp == F);
		assert(I3 || st != COMP);
		replaces(T);
		owns(T, TX);
		prior = 1;
		if
		:: G_STEPKEEP -> skip
		:: else -> stp = SEENSTEP           /* a put of what was read */
		fi;
		r = 1
	:: else -> r = 2
	fi
}

inline takeOverTx(T, S, F, TX) {
	if
	:: TAKEABLETX(S) ->
		assert(I1 || fp == F);
		replaces(T);
		owns(T, TX);
		notBlind(T, RR);
		r = 1
	:: else -> r = 2
	fi
}

inline complete(T, V, B) {
	if
	:: MINE(T) ->
		assert(I4 || (owned[T] && !taken[T]));
		records(V, B);
		left[T] = 1; r = 1
	:: else -> r = 2
	fi
}

inline commit(T, V, B) {
	if
	:: MINE(T) ->
		assert(I4 || (owned[T] && !taken[T]));
		commits(T);
		if
		:: G_ATOMIC -> records(V, B); left[T] = 1
		:: else -> skip                         /* the outcome is left to a second write */
		fi;
		r = 1
	:: else -> r = 2
	fi
}

/* release, mark unknown, give back: TO is REL or UNK, PR the prior that the attempt has in memory */
inline leave(T, TO, PR, OPEN) {
	if
	:: MINE(T) ->
		assert(I4 || (owned[T] && !taken[T]));
		st = TO; lo = 0; ro = 0; left[T] = 1;
		if
		:: PR -> prior = 1
		:: else
		fi;
		if
		:: TO == REL && !OPEN -> told[T] = 1
		:: else
		fi;
		if
		:: TO == REL && !G_KEEP -> st = NONE; tok = 0; fp = 0; prior = 0; ext = 0; stp = 0
		:: else
		fi;
		r = 1
	:: else -> r = 2
	fi
}

inline step(T) {
	if
	:: MINE(T) -> assert(I4 || (owned[T] && !taken[T])); stp = 1; ext = 1; stepped[win] = 1; r = 1
	:: else -> r = 2
	fi
}

inline begin(T) {
	if
	:: MINE(T) -> assert(I4 || (owned[T] && !taken[T])); ext = 1; r = 1
	:: else -> r = 2
	fi
}

inline shotNew(T, F, V, B, TXN) {
	if
	:: ACQUIRABLE(T) ->
		replaces(T);
		nextWindow();
		binds(F);
		newToken(T);
		fp = F; prev = 0; prevst = 0; back = 0;
		notBlind(T, RR);
		if
		:: TXN -> commits(T)
		:: else
		fi;
		records(V, B); left[T] = 1; r = 1
	:: else -> r = 2
	fi
}

#define SHOTABLE(S, KIND) ((KIND == D_REL && REACQUIRABLE(S)) || (KIND == D_TAKE && TAKEABLE(S)) || (KIND == D_TAKETX && TAKEABLETX(S)))

inline shotOver(T, S, KIND, F, V, B, TXN) {
	if
	:: SHOTABLE(S, KIND) ->
		assert(I1 || fp == F);
		replaces(T);
		newToken(T);
		notBlind(T, RR);
		if
		:: TXN -> commits(T)
		:: else
		fi;
		records(V, B); left[T] = 1; r = 1
	:: else -> r = 2
	fi
}

/* a record that keeps a copy of the transaction out; left[T]: this token does nothing more */
inline keepOutNew(T, F) {
	if
	:: ACQUIRABLE(T) ->
		replaces(T);
		nextWindow();
		binds(F);
		newToken(T);
		st = REL; lo = 0; fp = F; outc = 0; body = 0; form = 1; prior = 0; ext = 0; stp = 0; prev = 0; prevst = 0; back = 0;
		left[T] = 1; r = 1
	:: else -> r = 2
	fi
}

inline keepOutOver(T, S, KIND) {
	if
	:: SHOTABLE(S, KIND) ->
		replaces(T);
		newToken(T);
		st = (KIND == D_TAKE && G_KEEPUNKNOWN -> UNK : REL); lo = 0;
		left[T] = 1; r = 1
	:: else -> r = 2
	fi
}

/* by hand: TO is COMP or REL */
inline resolve(T, S, TO, B) {
	if
	:: TAKEABLE(S) ->
		assert(I3 || st != COMP);
		replaces(T);
		if
		:: G_RFRESH -> newToken(T)
		:: else
		fi;
		if
		:: TO == COMP -> records(T, B)
		:: else ->
			st = REL; lo = 0; ro = 0; prior = 0;
			k = 1;
			do
			:: k < MAXT -> told[k] = told[k] || known[k]; k++
			:: else -> break
			od;
			k = 0
		fi;
		left[T] = 1; r = 1
	:: else -> r = 2
	fi
}
