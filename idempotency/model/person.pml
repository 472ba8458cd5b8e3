/*
 * Somebody who resolves: resolve.go. What the person has found out is about the attempts that had the record when it was read.
 * A copy that comes late is as a person who is slow.
 */
proctype Person(byte id)
{
	byte t, s, r, n, k, b, f, to, inWindow;
	bit old, known[MAXT];

	d_step {
		st == INP || st == UNK -> s = tok; f = fp;
		k = 1;
		do
		:: k <= nt -> known[k] = (owned[k] && winOf[k] == win); k++
		:: else -> break
		od;
		k = 0
	};
	if
	:: nt >= MAXT - 1 -> goto out
	:: else
	fi;
	d_step { nt++; t = nt; fpOf[t] = f; by[t] = id };
	if
	:: to = REL                                     /* NotDone */
	:: to = COMP                                    /* Completed, Failed */
#if LARGE
		; b = (G_ITEMNAME -> t : 1); item1[b] = t; item2[b] = t
#endif
	fi;
	PERSIST(2, resolve(t, s, to, b), SEENPENDING(s), skip, skip, 0, 0);
out: skip;
	d_step {
		t = 0; s = 0; r = 0; n = 0; b = 0; f = 0; inWindow = 0; to = 0;
		k = 0;
		do
		:: k < MAXT -> known[k] = 0; k++
		:: else -> break
		od;
		k = 0
	}
}
