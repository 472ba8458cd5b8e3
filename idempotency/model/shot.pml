/* A single shot: singleshot.go, transition_shot.go. */

inline shot() {
	if
	:: dec == D_NEW -> shotNew(t, f, h, b, !fin)
	:: else -> shotOver(t, s, dec, f, h, b, !fin)
	fi
}

inline shotFinished() {
	if
	:: r == 1 -> assert(I9 || recorded[winOf[t]] == h); dec = D_END
	:: r == 2 ->
		if
		:: tok == t && st == COMP ->
			if
			:: outc != h || body != b -> handOut()
			:: else -> dec = D_END
			fi
		:: else -> decide(2)
		fi
	:: r > 2
	fi;
	old = 0
}

/* the caller gets the handler's error: none of its transactions has committed, nor will */
inline tellsAll() {
	dec = D_END;
	k = 1;
	do
	:: k <= nt ->
		if
		:: by[k] == id && fpOf[k] == f -> assert(I9 || NOTCOMMITTED(k)); said[k] = win + 1
		:: else
		fi;
		k++
	:: else -> break
	od;
	k = 0
}

inline keepOut() {
	if
	:: kind == D_NEW -> keepOutNew(t, f)
	:: else -> keepOutOver(t, s, kind)
	fi
}

inline keptOut() {
	if
	:: r == 1 || (r == 2 && tok == t) -> tellsAll()
	:: r == 2 && tok != t ->
		if
		:: !FREE && st == COMP && fp == f -> handOut()
		:: !FREE && fp != f -> dec = D_END
		:: FREE && kind == D_NEW -> dec = D_NEW
		:: else -> tellsAll()
		fi
	:: r == 3 -> dec = D_END        /* ErrNotRecorded */
	fi;
	old = 0
}

#define SHOTPENDING (dec == D_NEW -> FREE : SEENPENDING(s))
#define KEEPPENDING (kind == D_NEW -> FREE : SEENPENDING(s))
#define WOULDCOMMIT (dec == D_NEW -> ACQUIRABLE(t) : SHOTABLE(s, dec))

proctype Shot(byte id; byte f)
{
	byte t, h, s, r, n, k, v, b, dec, rounds, kind, w0, inWindow;
	bit old, my, fin, sent, was;

	d_step { was = (st == COMP && fp == f && !ro); w0 = win };
	/* the handler, which reads and stages */
	if
	:: skip
	:: fin = 1                                      /* Terminal */
	:: goto failed                                  /* another error, perhaps about its own earlier effect */
	fi;
committing:
	dec = D_NEW; s = 0;
sending: skip;
	if
	:: rounds >= MAXR || nt >= MAXT - 1 -> goto out
	:: else
	fi;
	d_step {
		INORDER -> begins(); rounds++; aToken(); kind = dec;
		if
		:: h == 0 -> h = t
		:: else
		fi
	};
#if LARGE
	b = (G_ITEMNAME -> t : 1);
	if
	:: item1[b] = h; item2[b] = h
	:: item1[b] = h; b = NOBODY
	fi;
#endif
	sent = (sent || !fin);
	PERSIST(2, shot(), SHOTPENDING, shotFinished(), SEND((dec == D_NEW -> K_SHOTNEW : K_SHOTOVER), (dec == D_NEW -> tok : s), h, b, (dec == D_NEW -> st : dec), !fin, 0, 0), !fin && !committed[t] && WOULDCOMMIT, !fin && committed[t]);
	if
	:: r == 4 -> fin = 1; goto committing             /* Else(Terminal) */
	:: r == 4 -> goto failed
	:: r == 3 && !fin -> goto failed                  /* the table refuses */
	:: r == 3 -> goto out                             /* ErrNotRecorded, or the table's error */
	:: r <= 2 ->
		if
		:: dec <= D_TAKETX -> goto sending
		:: dec == D_LIVE && sent -> d_step { tellsAll() }; goto out    /* "in progress" says that nothing is written */
		:: dec == D_LIVE && !sent -> goto out
		:: else -> goto reading
		fi
	fi;

failed: skip;
	if
	:: sent && G_KEEPOUT -> skip
	:: else ->
		d_step {
			if
			:: G_LOOK && !FREE && st == COMP && fp == f -> handOut()
			:: else ->
				assert(I3 || !was || w0 != win || st != COMP || ro);
				if
				:: sent -> tellsAll()
				:: else -> dec = D_END
				fi
			fi
		};
		goto reading
	fi;
keeping: skip;
	if
	:: nt >= MAXT - 1 -> goto out
	:: else
	fi;
	d_step { aToken() };
	PERSIST(2, keepOut(), KEEPPENDING, keptOut(), SEND((kind == D_NEW -> K_KEEPOUTNEW : K_KEEPOUTOVER), (kind == D_NEW -> tok : s), 0, 0, (kind == D_NEW -> st : kind), 0, 0, 0), 0, 0);
	if
	:: dec == D_NEW && r == 2 && rounds < MAXR -> rounds++; goto keeping
	:: else
	fi;

reading: skip;
	d_step {
		if
		:: dec == D_REPLAY -> readItems()
		:: else
		fi
	};
out: skip;
	d_step {
		t = 0; h = 0; s = 0; r = 0; n = 0; k = 0; v = 0; inWindow = 0; b = 0; dec = 0; rounds = 0; kind = 0; w0 = 0;
		old = 0; my = 0; fin = 0; sent = 0; was = 0
	}
}
