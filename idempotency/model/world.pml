/* Time and the network, which do what they like when they like. */

active proctype Time() {
	do
	:: d_step {
		st == INP && !lo -> lo = 1;
		if
		:: KILLED ->
			dead[by[tok]] = 1;
			if
			:: busy[tok] -> busy[tok] = 0; running--
			:: else
			fi
		:: else
		fi
	}
	:: d_step { ENDS && st != NONE && !ro && win < MAXW - 1 && (st != INP || lo || !G_RETENTION) -> ro = 1 }
	:: d_step {
		TTL && st != NONE && ro ->
		assert(I6 || st != INP || lo);
		if
		:: st == INP -> taken[tok] = 1
		:: else
		fi;
		if
		:: back -> back = 0; bound[win] = 0
		:: else -> win++; ages()
		fi;
		st = NONE; tok = 0; fp = 0; outc = 0; body = 0; lo = 0; ro = 0; form = 0; ext = 0; stp = 0; prior = 0; prev = 0; prevst = 0
	}
#if LOST
	:: d_step { st == COMP && body != 0 && body != NOBODY && item2[body] != 0 -> item2[body] = 0 }
#endif
	od
}

/* the request on its way */
#define K_ACQUIRE 1
#define K_REACQUIRE 2
#define K_TAKEOVER 3
#define K_TAKEOVERTX 4
#define K_COMPLETE 5
#define K_LEAVE 6
#define K_STEP 7
#define K_BEGIN 8
#define K_COMMIT 9
#define K_SHOTNEW 10
#define K_SHOTOVER 11
#define K_KEEPOUTNEW 12
#define K_KEEPOUTOVER 13
#define K_RESOLVE 14

/* an acquire that comes late has an old :now: it replaces what was over when it was sent, and nothing newer */
#define LATEACQUIRES (st == NONE || (tok == ds && st == dst && dover) || (back && (tok != dt || !G_MINE)))

#if DELAY
active proctype Network() {
	byte r, id, k;
	bit old, known[MAXT];
	do
	:: d_step {
		dk != 0 ->
		id = did;
		if
		:: dk == K_ACQUIRE && LATEACQUIRES -> acquire(dt, df, dtx)
		:: dk == K_REACQUIRE -> reacquire(dt, ds, df, dtx)
		:: dk == K_TAKEOVER -> takeOver(dt, ds, df, dtx, dopen)
		:: dk == K_TAKEOVERTX -> takeOverTx(dt, ds, df, dtx)
		:: dk == K_COMPLETE -> complete(dt, dv, db)
		:: dk == K_LEAVE -> leave(dt, dv, dpr, dopen)
#if STEPS
		:: dk == K_STEP -> step(dt)
		:: dk == K_BEGIN -> begin(dt)
#endif
#if NTX
		:: dk == K_COMMIT && !committed[dt] -> commit(dt, dv, db)
#endif
#if NSHOT
		:: dk == K_SHOTNEW && LATEACQUIRES && !committed[dt] -> shotNew(dt, df, dv, db, dtx)
		:: dk == K_SHOTOVER && !committed[dt] -> shotOver(dt, ds, dst, df, dv, db, dtx)
		:: dk == K_KEEPOUTNEW && LATEACQUIRES -> keepOutNew(dt, df)
		:: dk == K_KEEPOUTOVER -> keepOutOver(dt, ds, dst)
#endif
		:: else
		fi;
		dk = 0; dt = 0; ds = 0; df = 0; dv = 0; db = 0; dst = 0; did = 0; dtx = 0; dover = 0; dpr = 0; dopen = 0;
		r = 0; id = 0; old = 0
	}
	od
}
#endif
